"""Judges' quotes, marked in the text that they are from."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.console.quote_marks import mark_quotes, merge_spans

TEXT = "Genes play a part. No single gene\ncauses it; many do. Ask your doctor."


@pytest.mark.parametrize(
    ("quotes", "marked"),
    [
        (["No single gene causes it"], ["No single gene\ncauses it"]),
        (["GENES PLAY A PART."], ["Genes play a part."]),
        (["no single gene ... ask your doctor"], ["No single gene", "Ask your doctor."]),
        (["single gene causes", "gene causes it"], ["single gene\ncauses it"]),
        (["en", "Gen", "", "...", "not there at all"], []),
    ],
)
def test_quotes_are_marked_where_they_stand(quotes: list[str], marked: list[str]) -> None:
    """Case, white space and punctuation do not matter; whole words do. What overlaps is marked once."""
    passages = mark_quotes(TEXT, quotes)
    assert [one.text for one in passages if one.is_quote] == marked


@given(st.text(), st.lists(st.text(max_size=30), max_size=5))
def test_nothing_of_the_text_is_lost(text: str, quotes: list[str]) -> None:
    """Whatever is marked, the passages together are the text."""
    assert "".join(one.text for one in mark_quotes(text, quotes)) == text


def test_spans_that_touch_become_one() -> None:
    """In whatever order, also one within another."""
    assert merge_spans([(5, 9), (0, 3), (3, 4), (6, 7)]) == [(0, 4), (5, 9)]
