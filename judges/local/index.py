"""A source, prepared for reading sentences against it."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import pairwise
from sys import intern
from typing import NamedTuple

import numpy as np

from judges.kept import EMPTY, Remembered
from judges.local import conflicts, vectors
from judges.local.reading import Reading, lexeme, read
from judges.local.table import Table, hashes
from judges.local.text import normalise, sentences
from knowledge_base.library import Source

_REACH = 3
"""Places between two words that still stand together."""


class Support(NamedTuple):
    """The best evidence for a sentence."""

    degree: float
    """0 to 1: how surely the sources carry it."""
    source_id: str | None = None
    quote: str | None = None


class Word(NamedTuple):
    """What counts of a word here."""

    concept: str
    worth: float
    """How much it counts: rare words more than common ones, drugs and numbers most."""
    number: bool
    drug: bool


def _word(token: str) -> Word | None:
    lex = lexeme(token)
    if not lex.weight:
        return None
    worth = (
        vectors.load().rarity(token) * (1.0 if lex.weight >= 0.5 else 0.5) * (1.4 if lex.number or lex.drug else 1.0)
    )
    return Word(lex.concept, worth, lex.number, lex.drug)


_WORDS = Remembered(_word)


def words_of(reading: Reading) -> list[Word]:
    """Return the words of a sentence that count."""
    return list(filter(None, map(_WORDS.__getitem__, reading.words)))


class Index:
    """One source, prepared for reading sentences against it. Hundreds are kept, so that every part is as small as it can be."""

    def __init__(self, source: Source) -> None:
        self.id = source.id
        self.hash = hash(source)
        """Of all that the source says: another section may have the same id."""
        self.quotes = tuple(s.text for s in sentences(source.text) if not s.text.startswith("#"))
        readings = [read(normalise(quote)) for quote in self.quotes]
        title = read(normalise(source.title))
        self.sentences = [
            conflicts.source_sentence(reading, tuple(word.concept for word in words_of(reading)))
            for reading in readings
        ]
        self.verbatim = {
            bare(reading): Support(1.0, self.id, quote) for reading, quote in zip(readings, self.quotes, strict=True)
        }
        """The support of its own sentences, which need no weighing, by their bare text."""
        self.needed = EMPTY.union(*[needed for one in self.sentences for _, needed, _ in one.conditions]) or EMPTY
        """The concepts of its conditions."""
        self.numbers = conflicts.Numbers(readings)
        self.words = frozenset(intern(word) for reading in [*readings, title] for word in reading.words)
        postings: dict[str, list[int]] = {concept: [] for concept in title.content}
        for place, reading in enumerate(readings):
            for concept in reading.content:
                postings.setdefault(concept, []).append(place)
        self.postings = {concept: tuple(places) for concept, places in postings.items()}
        """The places of the sentences that have a concept: none if only the title has it."""
        together = _together([s.order for s in self.sentences])
        self.together = Table(hashes(together), together.values(), np.uint8)
        """Which concepts stand together: a mark for each two or three."""

    def around(self, place: int) -> list[conflicts.SourceSentence]:
        """Return a sentence with its neighbours."""
        return self.sentences[max(0, place - 1) : place + 2]


def bare(reading: Reading) -> str:
    """Return a sentence without the marks around it; a question stays one."""
    return reading.lowered.strip(" .!:;,\"'*_")


def threes_of(order: Sequence[str]) -> Iterable[tuple[str, str, str]]:
    """Return each three concepts that follow each other."""
    return zip(order, order[1:], order[2:], strict=False)


NEAR, ADJACENT = 1, 3
"""Marks of two concepts that stand near each other, in either order, or follow each other; three that do have the first."""


def _together(orders: Sequence[Sequence[str]]) -> dict[tuple[str, ...], int]:
    marks: dict[tuple[str, ...], int] = {}
    for order in orders:
        for n, one in enumerate(order):
            for other in order[n + 1 : n + 1 + _REACH]:
                marks[one, other] = marks[other, one] = NEAR
    for order in orders:
        marks |= dict.fromkeys(pairwise(order), ADJACENT)
        marks |= dict.fromkeys(threes_of(order), NEAR)
    return marks


@lru_cache(maxsize=512)
def index(source: Source) -> Index:
    """Prepare a source; a few milliseconds, once per source."""
    return Index(source)
