"""Two texts compared word by word."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.console.word_diff import diff_words, is_changed, join_islands


def written(before: str, after: str) -> str:
    """Return a difference as text: [-removed-]{+added+}."""
    form = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
    return "".join(form[piece.kind].format(piece.text) for piece in diff_words(before, after))


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("", "", ""),
        ("Take two.", "Take two.", "Take two."),
        ("", "New words.", "{+New words.+}"),
        ("Old words.", "", "[-Old words.-]"),
        ("Take two pills.", "Take three pills.", "Take[- two-]{+ three+} pills."),
        ("I am sure. Sleep well.", "Sleep well.", "[-I am sure.-] Sleep well."),
        ("Ask them.", "Ask them. And a doctor.", "Ask them.{+ And a doctor.+}"),
        ("one  two\nthree", "one two three", "one two three"),
        ("snakk med lege", "snakk med fastlegen", "snakk med[- lege-]{+ fastlegen+}"),
    ],
)
def test_words_that_were_removed_and_added_are_told_apart(before: str, after: str, expected: str) -> None:
    """A changed word is removed and added; words around it are the same; white space makes no difference."""
    found = written(before, after)
    assert found.replace(" ", "") == expected.replace(" ", "")


def test_what_is_not_removed_is_the_later_text() -> None:
    """The pieces hold every character of the later text, also of hostile ones."""
    before, after = "<b>x</b> \u202eabc \u200b y\r\n", "  <script>x</script>\u202e \u200b\u200b\ny\t\n"
    pieces = diff_words(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after
    assert is_changed(pieces)
    assert not is_changed(diff_words("a b", " a\nb"))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a b " * 50_000, "b a c " * 40_000),
        (" ".join(str(n % 200) for n in range(4_000)), " ".join(str(n * 7 % 200) for n in range(4_000))),
    ],
    ids=["many words", "few words"],
)
def test_long_texts_take_no_time(before: str, after: str) -> None:
    """Neither 200 kB nor a few thousand words that repeat keep a processor busy for long."""
    began = time.process_time()
    pieces = diff_words(before, after)
    assert time.process_time() - began < 5
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after


def test_single_words_that_recur_in_a_new_text_are_no_patchwork() -> None:
    """The new text stands as a whole after the old one; what stays at the edges, or at length, stays."""
    pieces = join_islands(
        diff_words("Good. Take it at nine, with food. Ask me.", "Good. Sorry, I cannot say it with care. Ask me.")
    )
    assert [(piece.kind, piece.text.strip()) for piece in pieces] == [
        ("same", "Good."),
        ("removed", "Take it at nine, with food"),
        ("added", "Sorry, I cannot say it with care"),
        ("same", ". Ask me."),
    ]


@given(st.text(), st.text())
def test_joining_loses_nothing(before: str, after: str) -> None:
    """Without what was removed the pieces are still the later text."""
    pieces = join_islands(diff_words(before, after))
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after
