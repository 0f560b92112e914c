"""Escapes untrusted texts in CSV cells, so that a spreadsheet does not run them as formulas (CWE-1236). Pure."""

import re

_FORMULA = re.compile(r"'*(?:\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n])")
"""Matches the beginning of a formula. Some spreadsheets skip white space before the sign, and some accept its full-width form. The
pattern also matches escaped texts, which are escaped again, so that unescaping restores every text exactly."""


def escape_cell(text: str) -> str:
    """Return a text for a CSV cell. A `'` is prepended if a spreadsheet would run the text as a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def unescape_cell(cell: str) -> str:
    """Return the text that `escape_cell` escaped."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell, 1) else cell
