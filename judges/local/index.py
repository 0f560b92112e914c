"""A source, prepared for reading sentences against it."""

from collections import defaultdict
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from judges.local import conflicts, lexicon, vectors
from judges.local.text import Reading, Remembered, lexeme, negations, normalise, read, sentences
from knowledge_base.library import Source

_REACH = 3
"""Places between two words that still stand together."""


NO_WORDS: frozenset[str] = frozenset()


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


class SourceSentence(NamedTuple):
    """A sentence of a source."""

    reading: Reading
    concepts: frozenset[str]
    order: tuple[str, ...]
    negated: bool
    hedged: bool


class _Window(NamedTuple):
    """A sentence of a source with its neighbours."""

    readings: list[Reading]
    concepts: frozenset[str]


class Index:
    """One source, prepared for reading sentences against it."""

    def __init__(self, source: Source) -> None:
        self.id = source.id
        self.quotes = [s.text for s in sentences(source.text) if not s.text.startswith("#")]
        self.sentences = [_sentence(read(normalise(quote))) for quote in self.quotes]
        self.verbatim = {
            bare(s.reading): Support(1.0, self.id, quote) for s, quote in zip(self.sentences, self.quotes, strict=True)
        }
        """The support of its own sentences, which need no weighing, by their bare text."""
        self.numbers = conflicts.Numbers([s.reading for s in self.sentences])
        title = _sentence(read(normalise(source.title)))
        self.words = frozenset(word for s in [*self.sentences, title] for word in s.reading.words)
        self.concepts = title.concepts.union(*(s.concepts for s in self.sentences))
        self.postings: defaultdict[str, list[int]] = defaultdict(list)
        for place, s in enumerate(self.sentences):
            for concept in s.concepts:
                self.postings[concept].append(place)
        self.windows = [self._window(place) for place in range(len(self.sentences))]
        self.near: set[tuple[str, str]] = set()
        self.adjacent: set[tuple[str, str]] = set()
        self.threes: set[tuple[str, str, str]] = set()
        for s in self.sentences:
            order = s.order
            self.adjacent.update(pairwise(order))
            self.threes.update(zip(order, order[1:], order[2:], strict=False))
            for n, one in enumerate(order):
                for other in order[n + 1 : n + 1 + _REACH]:
                    self.near |= {(one, other), (other, one)}

    def _window(self, place: int) -> _Window:
        around = self.sentences[max(0, place - 1) : place + 2]
        return _Window([one.reading for one in around], NO_WORDS.union(*(one.concepts for one in around)))


def bare(reading: Reading) -> str:
    """Return a sentence without the marks around it; a question stays one."""
    return reading.lowered.strip(" .!:;,\"'*_")


def _sentence(reading: Reading) -> SourceSentence:
    order = tuple(word.concept for word in words_of(reading))
    return SourceSentence(
        reading,
        frozenset(order),
        order,
        negations(reading) > 0,
        not lexicon.HEDGES.isdisjoint(reading.vocabulary),
    )


@lru_cache(maxsize=512)
def index(source: Source) -> Index:
    """Prepare a source; a few milliseconds, once per source."""
    return Index(source)
