"""How far the cited sources carry a sentence: weighted containment in their best few sentences, less what conflicts."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log

from judges.local import conflicts
from judges.local.text import Reading, normalise, read, sentences
from knowledge_base.library import Source

STATED, IMPLIED = 0.8, 0.56
"""Degrees of support from which a sentence counts as stated or implied by a source."""

_WINDOW = 3
"""Sentences in a window at most: a reply may gather what its source says in a few."""
_WORTH = 0.06
"""Share of a sentence's weight that another sentence must add to widen the window."""
_COMMON = 8
"""A word in more sentences than this points to none of them."""
_WHOLE_SHARE = 0.25
"""How much a word counts that the source has, but not in that window."""


@dataclass(frozen=True, slots=True)
class Support:
    """The best evidence for a sentence."""

    degree: float
    """0 to 1: the share of its words' weight found in the source, less what conflicts there."""
    source_id: str | None = None
    quote: str | None = None
    conflict: str | None = None
    words: float = 0.0
    """The degree before the conflicts: the source that comes closest in words is the one to be contradicted."""


NOTHING = Support(0.0)
_ENOUGH = 0.95


class Index:
    """One source, prepared for reading sentences against it."""

    def __init__(self, source: Source) -> None:
        self.id = source.id
        self.text = source.text
        found = [s for s in sentences(source.text) if not s.text.startswith("#")]
        self.spans = [(s.start, s.start + len(s.text)) for s in found]
        self.readings = [read(normalise(s.text)) for s in found]
        title = read(normalise(source.title))
        frequency = Counter(concept for reading in self.readings for concept in reading.content)
        top = log(len(found) + 1.5)
        self.factor = {concept: max(0.4, log((len(found) + 1.5) / n) / top) for concept, n in frequency.items()}
        """What a word of the source weighs: its subject, which every sentence names, less than the rest."""
        for concept in title.content:
            self.factor[concept] = min(0.5, self.factor.get(concept, 0.5))
        self.postings: dict[str, tuple[int, ...]] = {
            concept: tuple(n for n, reading in enumerate(self.readings) if concept in reading.content) for concept in self.factor
        }
        """The sentences each concept stands in."""
        self.words = frozenset(word for reading in [*self.readings, title] for word in reading.words)
        self.numbers = conflicts.Numbers(self.readings)

    def support(self, reading: Reading, told: frozenset[str]) -> Support:
        """Return how far this source carries a sentence.

        Args:
            reading: The sentence.
            told: Concepts that the reply names anywhere: a condition given in another sentence is not dropped.
        """
        total = 0.0
        weights: dict[str, float] = {}
        scores: dict[int, float] = {}
        for concept, weight in reading.content.items():
            factor = self.factor.get(concept)
            if factor is None:
                total += weight
                continue
            weights[concept] = weight = weight * factor
            total += weight
            places = self.postings[concept]
            if len(places) <= _COMMON:
                for place in places:
                    scores[place] = scores.get(place, 0.0) + weight
        if not scores:
            return NOTHING
        first, last, covered = self._window(scores, weights, _WORTH * total)
        degree = ((1 - _WHOLE_SHARE) * covered + _WHOLE_SHARE * sum(weights.values())) / total
        penalty, conflict = 0.0, None
        if degree > 0.3:
            window = self.readings[first : last + 1]
            penalty, conflict = conflicts.find(reading, window, self.numbers, self.words, told)
        quote = self.text[self.spans[first][0] : self.spans[last][1]]
        return Support(degree * (1 - penalty), self.id, quote, conflict, degree)

    def _window(self, scores: dict[int, float], weights: dict[str, float], worth: float) -> tuple[int, int, float]:
        """Grow a window around the best sentence while a neighbour adds enough; return its ends and what it covers."""
        first = last = max(scores, key=scores.__getitem__)
        content = self.readings[first].content
        missing = {concept: weight for concept, weight in weights.items() if concept not in content}
        while missing and last - first < _WINDOW - 1:
            gains = [
                (sum([w for c, w in missing.items() if c in self.readings[n].content]), n)
                for n in (first - 1, last + 1)
                if 0 <= n < len(self.readings)
            ]
            gain, n = max(gains, default=(0.0, 0))
            if gain <= worth:
                break
            first, last = min(first, n), max(last, n)
            content = self.readings[n].content
            missing = {concept: weight for concept, weight in missing.items() if concept not in content}
        return first, last, sum(weights.values()) - sum(missing.values())


@lru_cache(maxsize=512)
def index(source: Source) -> Index:
    """Prepare a source; about a millisecond, once per source."""
    return Index(source)


def best(reading: Reading, cited: Sequence[Source], told: frozenset[str] = frozenset()) -> Support:
    """Return the strongest support that any cited source gives a sentence."""
    found = NOTHING
    for source in cited:
        support = index(source).support(reading, told)
        if 2 * support.words + support.degree > 2 * found.words + found.degree:
            found = support
            if found.degree > _ENOUGH:
                break
    return found
