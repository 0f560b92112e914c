"""Two texts compared word by word: what stayed, what went, what came. Pure."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

MOST_WORDS = 2_000
"""Words of both texts together: comparing many repeated words takes difflib seconds."""
ISLAND_WORDS = 2
"""So few words that stayed between two changes are shown as changed too: nobody can follow single words that happen to recur."""
_WORD = re.compile(r"\S+\s*|^\s+")

Kind = Literal["same", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a comparison."""

    kind: Kind
    text: str


def diff_words(before: str, after: str) -> list[Piece] | None:
    """Compare two texts word by word; white space does not count.

    Returns:
        Pieces in reading order: those that are not `added` make the text before but for white space, those that are not
        `removed` the text after. None where the texts are too long to compare.
    """
    old, new = _WORD.findall(before), _WORD.findall(after)
    if len(old) + len(new) > MOST_WORDS:
        return None
    matcher = SequenceMatcher(None, [word.rstrip() for word in old], [word.rstrip() for word in new], autojunk=False)
    pieces: list[Piece] = []
    removed = added = ""
    opcodes = matcher.get_opcodes()
    for number, (tag, old_start, old_end, new_start, new_end) in enumerate(opcodes):
        inside = 0 < number < len(opcodes) - 1
        if tag == "equal" and not (inside and old_end - old_start <= ISLAND_WORDS):
            pieces += _change(removed, added)
            removed = added = ""
            pieces.append(Piece("same", "".join(new[new_start:new_end])))
        else:
            removed += "".join(old[old_start:old_end])
            added += "".join(new[new_start:new_end])
    return pieces + _change(removed, added)


def _change(removed: str, added: str) -> list[Piece]:
    pieces = [Piece("removed", removed), Piece("added", added)]
    return [piece for piece in pieces if piece.text]
