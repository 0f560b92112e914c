"""Compares two texts word by word. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_WORDS = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")
_MOST = 4_000
"""Maximum words of each compared text. difflib takes quadratic time."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage that two texts share, or that only one of them has."""

    kind: Literal["same", "removed", "added"]
    text: str


def diff_words(before: str, after: str) -> list[Piece]:
    """Return the changes from one text to another, in reading order. Removed text comes before its replacement.

    White space is ignored. The pieces that are not `removed` add up to the later text. Very long texts are not compared:
    the result is one removed and one added piece.

    Args:
        before: The earlier text.
        after: The later text.
    """
    old, new = _WORDS.findall(before), _WORDS.findall(after)
    if max(len(old), len(new)) > _MOST:
        return _join([Piece("removed", before), Piece("added", after)])
    pieces: list[Piece] = []
    matcher = SequenceMatcher(None, [one.strip() for one in old], [one.strip() for one in new])
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            pieces.append(Piece("same", "".join(new[new_start:new_end])))
        else:
            pieces.append(Piece("removed", "".join(old[old_start:old_end])))
            pieces.append(Piece("added", "".join(new[new_start:new_end])))
    return _join(pieces)


def is_changed(pieces: Sequence[Piece]) -> bool:
    """Return whether two texts differ in more than white space."""
    return any(piece.kind != "same" for piece in pieces)


def join_islands(pieces: Sequence[Piece], words: int = 3) -> list[Piece]:
    """Return a comparison in which up to `words` unchanged words between two changes count as changed.

    Otherwise the few words that a rewritten text shares with its draft would make the comparison hard to read.
    """
    joined: list[Piece] = []
    removed = added = ""
    for number, piece in enumerate(pieces):
        inside = 0 < number < len(pieces) - 1 or not any(map(str.isalnum, piece.text))
        if piece.kind == "same" and not (len(pieces) > 1 and inside and len(piece.text.split()) <= words):
            joined += [Piece("removed", removed), Piece("added", added), piece]
            removed = added = ""
        else:
            removed += piece.text if piece.kind != "added" else ""
            added += piece.text if piece.kind != "removed" else ""
    return _join([*joined, Piece("removed", removed), Piece("added", added)])


def _join(pieces: Sequence[Piece]) -> list[Piece]:
    """Remove empty pieces and merge adjacent pieces of the same kind."""
    joined: list[Piece] = []
    for piece in pieces:
        if not piece.text:
            continue
        if joined and joined[-1].kind == piece.kind:
            joined[-1] = Piece(piece.kind, joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined
