"""Cells that a spreadsheet would calculate."""

import pytest

from knowledge_base.spreadsheet import escape_cell, unescape_cell


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@a", " =1", "\n=1", "\r=1", "\tx", "\nx", "\u00a0=1", "\uff1d1", "'=1", "''\n@a"]
)
def test_a_formula_is_escaped_and_comes_back(text: str) -> None:
    """Also behind white space, in full width, and where somebody has escaped it already."""
    assert escape_cell(text) == f"'{text}"
    assert unescape_cell(escape_cell(text)) == text


@pytest.mark.parametrize("text", ["", "Was ist das?", " ein Wort", "1-2", "'n Abend", "''"])
def test_other_texts_stay(text: str) -> None:
    """A quotation mark alone is no escape."""
    assert escape_cell(text) == unescape_cell(text) == text
