"""Builds readable section ids from the document's name and the section's headings. Later imports give the same ids. Pure."""

import re
from collections.abc import Collection
from itertools import chain, count

from anyascii import anyascii

from knowledge_base.citations import CLASSES
from knowledge_base.library import ID

LONGEST = 64
"""Maximum characters of an id."""
_DOCUMENT_SHARE = 28
"""Maximum characters of the document's name within an id."""
_NOT_ALLOWED = {*CLASSES, "readme"}
"""Ids that no section may have. A README.md in a knowledge base is not a section."""


def slug(text: str, longest: int = LONGEST) -> str:
    """Convert a text to ASCII letters in lower case, digits and hyphens: `Über Mäuse!` becomes `uber-mause`.

    Args:
        longest: maximum characters of the result, which is cut between words if possible.
    """
    plain = re.sub(r"['’`´]", "", anyascii(text)).lower()
    words = re.findall(r"[a-z0-9]+", plain)
    whole = "-".join(words)
    if len(whole) <= longest:
        return whole
    at_word = whole[: longest + 1].rpartition("-")[0]
    return at_word if len(at_word) > longest / 2 else whole[:longest].strip("-")


def document_slug(name: str, prefix: str = "") -> str:
    """Return the common beginning of the ids of a document's sections.

    Args:
        name: the file name without its extension.
        prefix: text to put before the name.
    """
    own = slug(name, _DOCUMENT_SHARE) or "document"
    return f"{slug(prefix, _DOCUMENT_SHARE)}-{own}" if slug(prefix) else own


def section_id(document: str, headings: tuple[str, ...], part: int, taken_ids: Collection[str]) -> str:
    """Return an unused id for a section.

    The id contains the last heading. If that id is taken, it contains the last two headings, and so on, or finally a number.

    Args:
        document: the result of `document_slug`.
        headings: the heading of the section and all headings above it, outermost first.
        part: number of the part, from 1, if the section was split; else 1.
        taken_ids: ids that are already in use.
    """
    number = f"-{part}" if part > 1 else ""
    room = LONGEST - len(number)
    for depth in range(1, len(headings) + 1):
        ident = _join(document, [slug(heading) for heading in headings[-depth:]], room) + number
        if _is_free(ident, taken_ids):
            return ident
    base = _join(document, [slug(heading) for heading in headings[-1:]], LONGEST - len("-99999"))
    numbered = (f"{base}-{n}" for n in count(max(part, 2)))
    return next(one for one in chain((base,), numbered) if _is_free(one, taken_ids))


def _is_free(ident: str, taken_ids: Collection[str]) -> bool:
    return ident not in taken_ids and ident not in _NOT_ALLOWED and ID.fullmatch(ident) is not None


def _join(document: str, headings: list[str], room: int) -> str:
    """Join the document's name and the headings, without repeating the name."""
    own = "-".join(filter(None, headings))
    if f"-{document}".endswith(f"-{own}"):
        return slug(document, room)
    if own.startswith(f"{document}-"):
        return slug(own, room)
    return slug(f"{document}-{own}", room)
