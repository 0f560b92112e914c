"""Texts as they are known again."""

from hypothesis import example, given
from hypothesis import strategies as st

from proxy.protocol.canonical import fold, without_citation_lines

PIECES = st.sampled_from(
    ["a", "b.", "é", " ", "  ", "\n", "\r\n", "\t", "\x1f", "\x85", "\xa0", "\u2003", "\u2028", "\u3000"]
)


@given(st.lists(PIECES).map("".join))
@example("a  b")
@example(" a ")
def test_every_run_of_white_space_counts_as_a_single_space(text: str) -> None:
    """Also where the text has no line breaks, whose fold takes a shorter way."""
    assert fold(text) == " ".join(without_citation_lines(text).split())
