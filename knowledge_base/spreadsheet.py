"""Pure: escapes untrusted texts in CSV cells, so that a spreadsheet does not run them as formulas."""

import re

_FORMULA = re.compile(r"'*(?:\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")
"""The beginning of a formula. Some spreadsheets skip white space before the sign, and some accept its full-width form. An escaped
text is escaped again, so that unescaping restores every text exactly."""


def escape_cell(text: str) -> str:
    """Return a text with a leading `'` if a spreadsheet would run it as a formula (CWE-1236)."""
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_cell(cell: str) -> str:
    """Undo `escape_cell`."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell
