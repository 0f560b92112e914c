"""Escaping of CSV cells that a spreadsheet would run as formulas."""

import pytest

from knowledge_base.spreadsheet import escape_cell, unescape_cell


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@a", " =1", "\n=1", "\r=1", "\tx", "\nx", "\u00a0=1", "\uff1d1", "'=1", "''\n@a"]
)
def test_a_formula_is_escaped_and_comes_back(text: str) -> None:
    """Formulas after white space, in full-width characters, and with an existing escape are covered."""
    assert escape_cell(text) == f"'{text}"
    assert unescape_cell(escape_cell(text)) == text


@pytest.mark.parametrize("text", ["", "Was ist das?", " ein Wort", "1-2", "'n Abend", "''"])
def test_other_texts_stay(text: str) -> None:
    """A text that merely begins with a quotation mark is not unescaped."""
    assert escape_cell(text) == unescape_cell(text) == text
