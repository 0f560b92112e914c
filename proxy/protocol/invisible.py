"""Removes invisible characters that can hide a text in a reply: tag characters and variation selectors. Pure.

Joiners and bidi marks are kept, because Persian, Indic scripts and emoji need them.
"""

import re
import unicodedata

_FLAG = "\U0001f3f4[\U000e0061-\U000e007a]{2}[\U000e0030-\U000e0039\U000e0061-\U000e007a]{1,3}\U000e007f"
"""The flag of a region: a black flag, its code in tag letters, and a cancel tag."""
_SELECTORS = "\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
_INVISIBLE = re.compile(rf"{_FLAG}|[{_SELECTORS}\U000e0000-\U000e00ff\U000e01f0-\U000e0fff]")
"""A flag, which stays; a variation selector; a tag character or a code point reserved for such characters."""
_HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TAKES = (
    (re.compile("[\ufe0e\ufe0f]"), re.compile("[\u203c\u2049\u2139\u3030]")),  # the other emoji: see _takes
    (re.compile("[\ufe00-\ufe02\U000e0100-\U000e01ef]"), re.compile(f"[{_HAN}]")),
    (re.compile("[\ufe00\ufe01]"), re.compile("[\u2018\u2019\u201c\u201d\u3001\u3002\uff01\uff0c\uff0e\uff1a\uff1b\uff1f]")),
    (re.compile("[\ufe00\ufe01]"), re.compile("[\u1000-\u109f\ua840-\ua87f\uaa60-\uaa7f\U00010ac0-\U00010aff]")),
    (re.compile("[\ufe00-\ufe06]"), re.compile("[\U00013000-\U0001345f]")),
    (re.compile("[\u180b-\u180d\u180f]"), re.compile("[\u1820-\u18aa]")),
)  # fmt: skip
"""Variation selectors and the characters that they may follow: Unicode's StandardizedVariants.txt, and ideographs."""
_ESCAPE = re.compile(r"\\(?:u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|u([0-9a-f]{4})|.)", re.IGNORECASE | re.DOTALL)


def remove_invisible(text: str) -> tuple[str, int]:
    """Remove tag characters outside flags, and variation selectors after a character that takes none.

    Returns:
        The text without these characters, and the number of removed characters.
    """
    if text.isascii():
        return text, 0
    visible = _INVISIBLE.sub(_replacement, text)
    return visible, len(text) - len(visible)


def remove_invisible_from_json(document: str) -> tuple[str, int]:
    """Remove invisible characters from a JSON document, also those written as escapes.

    Returns:
        The document without these characters, and the number of removed characters.
    """
    if "\\u" not in document:
        return remove_invisible(document)
    written = _ESCAPE.sub(_decode, document)
    visible, removed = remove_invisible(written)
    return (visible, removed) if removed else (document, 0)


def _replacement(match: re.Match[str]) -> str:
    found, text, at = match[0], match.string, match.start()
    keep = len(found) > 1 or (at > 0 and _takes(text[at - 1], found, text[at + 1 : at + 2]))
    return found if keep else ""


def _takes(base: str, selector: str, after: str) -> bool:
    """Return whether a variation selector may follow the character `base`.

    After a digit, `#` or `*`, it may only be part of a keycap emoji: `after`, the next character, must be U+20E3.
    """
    if base in "0123456789#*":
        return selector == "\ufe0f" and after == "\u20e3"
    category = unicodedata.category(base)
    if (selector in "\ufe0e\ufe0f" and category in ("So", "Sm")) or (selector == "\ufe00" and category == "Sm"):
        return not base.isascii()
    return any(selectors.match(selector) and bases.match(base) for selectors, bases in _TAKES)


def _decode(escape: re.Match[str]) -> str:
    """Return the character of an escape. Escapes of ASCII and of lone surrogates are returned unchanged."""
    if escape[1]:
        return (bytes.fromhex(escape[1]) + bytes.fromhex(escape[2])).decode("utf-16-be")
    if not escape[3] or (code := int(escape[3], 16)) < 0x80 or 0xD800 <= code < 0xE000:
        return escape[0]
    return chr(code)
