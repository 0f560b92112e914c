"""Wrapping at words, of texts that come in pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from cli.wrap import Wrapper, wrap

TEXT = "Most adults need seven to nine hours of sleep.\n\n  - Going to bed at the same time helps.\n"


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("one two three", 7, "one two\nthree"),
        ("one two three", 8, "one two\nthree"),
        ("one  two", 6, "one\ntwo"),
        ("a\n\nb c", 1, "a\n\nb\nc"),
        ("  - one two", 8, "  - one\ntwo"),
        ("unbelievable", 5, "unbel\nievab\nle"),
        ("an unbelievable", 5, "an\nunbel\nievab\nle"),
        ("睡眠很重要。好", 6, "睡眠很\n重要。\n好"),
        ("ab 睡眠", 5, "ab 睡\n眠"),
        ("12\N{NO-BREAK SPACE}mg daily", 6, "12\N{NO-BREAK SPACE}mg\ndaily"),
        ("a\tbc d", 10, "a\tbc\nd"),
        ("cafe\u0301 cafe\u0301", 4, "cafe\u0301\ncafe\u0301"),
    ],
)
def test_lines_end_between_words(text: str, width: int, expected: str) -> None:
    """At white space, which the line break takes the place of; wide characters count twice; long words are cut."""
    assert wrap(text, width) == expected


def test_a_line_that_has_begun_counts() -> None:
    """What stands before the text, such as the chatbot's name."""
    wrapper = Wrapper(10, column=6)
    assert wrapper.feed("one two") + wrapper.end() == "one\ntwo"
    wrapper = Wrapper(10, column=6)
    assert wrapper.feed("unbelievable") + wrapper.end() == "\nunbelievab\nle"


def test_each_word_is_written_once_it_has_ended() -> None:
    """A reader of a stream waits for no more than a word."""
    wrapper = Wrapper(80)
    assert [wrapper.feed(piece) for piece in ("Mo", "st adu", "lts ", "need")] == ["", "Most", " adults", ""]
    assert wrapper.end() == " need"


@given(st.text(alphabet="ab \n\t睡。é-", max_size=60), st.integers(2, 20), st.integers(1, 5))
def test_pieces_make_no_difference_and_nothing_is_lost(text: str, width: int, size: int) -> None:
    """However a text is cut, it comes out the same, with every word, and no line too long."""
    wrapper = Wrapper(width)
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    whole = "".join([wrapper.feed(piece) for piece in pieces]) + wrapper.end()
    assert whole == wrap(text, width)
    assert "".join(whole.split()) == "".join(text.split())
    if "\t" not in text:
        assert all(cell_len(line.rstrip()) <= width for line in whole.split("\n"))


def test_where_there_is_no_width_nothing_changes() -> None:
    """As in a pipe."""
    assert wrap(TEXT, 10**9) == TEXT
