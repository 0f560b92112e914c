"""Pure: texts of strangers in the cells of a CSV file, none of which a spreadsheet calculates."""

import re

_FORMULA = re.compile(r"'*(?:\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")
"""How a cell begins that a spreadsheet would calculate: some skip white space before the sign, some read its full-width form.
What is escaped already is escaped again: so each text comes back as it was."""


def escape_cell(text: str) -> str:
    """Return a text with `'` before it where a spreadsheet would calculate it (CWE-1236)."""
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_cell(cell: str) -> str:
    """Return the text that `escape_cell` was given."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell
