"""Two texts compared word by word. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

_WORDS = re.compile(r"\s*(?:\w+|[^\w\s])|\s+")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_MOST = 4_000
"""How many words, else lines, of each text are compared: difflib takes up to the square of it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage of the two texts."""

    kind: Literal["same", "removed", "added"]
    text: str


def diff_words(before: str, after: str) -> list[Piece]:
    """Return what became of a text, in reading order; what was removed comes before what stands in its place.

    White space makes no difference. Without what was removed the pieces are the later text, to the character. Very long texts are
    compared line by line, and what has too many lines even for that counts as replaced.

    Args:
        before: The earlier text.
        after: The later one.
    """
    for unit in (_WORDS, _LINES):
        old, new = unit.findall(before), unit.findall(after)
        start, end = _count_common(old, new), 0
        if start < min(len(old), len(new)):
            end = _count_common(old[start:][::-1], new[start:][::-1])
        old_middle, new_middle = old[start : len(old) - end], new[start : len(new) - end]
        if max(len(old_middle), len(new_middle)) <= _MOST:
            return _join([*_same(new[:start]), *_compare(old_middle, new_middle), *_same(new[len(new) - end :])])
    return _join([Piece("removed", before), Piece("added", after)])


def is_changed(pieces: Sequence[Piece]) -> bool:
    """Tell whether two texts differ in more than white space."""
    return any(piece.kind != "same" for piece in pieces)


def join_islands(pieces: Sequence[Piece], words: int = 3) -> list[Piece]:
    """Return a comparison in which so few words that stayed between two changes count as changed too.

    Where a text was written anew, single words that happen to recur in it leave a patchwork that nobody can read.
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


def _compare(old: Sequence[str], new: Sequence[str]) -> Iterator[Piece]:
    matcher = SequenceMatcher(None, [one.strip() for one in old], [one.strip() for one in new])
    for tag, old_start, old_end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal":
            yield from _same(new[new_start:new_end])
        else:
            yield Piece("removed", "".join(old[old_start:old_end]))
            yield Piece("added", "".join(new[new_start:new_end]))


def _same(units: Sequence[str]) -> Iterator[Piece]:
    yield Piece("same", "".join(units))


def _count_common(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many units at the beginning are the same."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a.strip() != b.strip()),
        min(len(one), len(other)),
    )


def _join(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces without empty ones, neighbours of a kind as one."""
    joined: list[Piece] = []
    for piece in pieces:
        if not piece.text:
            continue
        if joined and joined[-1].kind == piece.kind:
            joined[-1] = Piece(piece.kind, joined[-1].text + piece.text)
        else:
            joined.append(piece)
    return joined
