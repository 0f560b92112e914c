"""How far the cited sources carry a sentence: weighted containment in their best few sentences, less what conflicts."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from math import log
from operator import attrgetter
from typing import NamedTuple

from judges.local import conflicts
from judges.local.text import Reading, normalise, read, sentences
from knowledge_base.library import Source

STATED, IMPLIED = 0.75, 0.52
"""Degrees of support from which a sentence counts as stated or implied by a source."""

_WINDOW = 3
"""Sentences in a window at most: a reply may gather what its source says in a few."""
_WORTH = 0.06
"""Share of a sentence's weight that another sentence must add to widen the window."""
_SINGLE_SHARE = 0.4
"""How much of a window's weight must come from its best sentence alone."""
_ALONE = 0.7
"""What is left of the support when a single word of a sentence is found."""
_DOUBT = 0.25
"""Weight added to every sentence: a few words found by chance carry less than many."""
_WHOLE_SHARE = 0.25
"""How much a word counts that the source has, but not in that window."""


class Support(NamedTuple):
    """The best evidence for a sentence."""

    degree: float
    """0 to 1: the share of its words' weight found in the source, less what conflicts there."""
    source_id: str | None = None
    quote: str | None = None
    conflict: str = ""
    words: float = 0.0
    """The degree before the conflicts: the source that comes closest in words is the one to be contradicted."""


NOTHING = Support(0.0)
_NEAR = 0.1
"""Sources closer than this to the best are compared in full."""


def _bare(reading: Reading) -> str:
    """Return a sentence without the marks around it; a question stays one."""
    return reading.lowered.strip(" .!:;,\"'*_")


class Index:
    """One source, prepared for reading sentences against it."""

    def __init__(self, source: Source) -> None:
        self.id = source.id
        self.text = source.text
        found = [s for s in sentences(source.text) if not s.text.startswith("#")]
        self.spans = [(s.start, s.start + len(s.text)) for s in found]
        self.readings = [read(normalise(s.text)) for s in found]
        self._verbatim = {_bare(reading): place for place, reading in enumerate(self.readings)}
        title = read(normalise(source.title))
        frequency = Counter(concept for reading in self.readings for concept in reading.content)
        top = log(len(found) + 1.5)
        factors = {concept: max(0.4, log((len(found) + 1.5) / n) / top) for concept, n in frequency.items()}
        for concept in title.content:  # the subject, which every sentence names, weighs less than the rest
            factors[concept] = min(0.5, factors.get(concept, 0.5))
        places: dict[str, list[int]] = {concept: [] for concept in factors}
        for place, reading in enumerate(self.readings):
            for concept in reading.content:
                places[concept].append(place)
        self.postings = {c: (factor, tuple(places[c])) for c, factor in factors.items()}
        """For each concept its factor, and the sentences that it points to."""
        self.words = frozenset(word for reading in [*self.readings, title] for word in reading.words)
        self.numbers = conflicts.Numbers(self.readings)

    def quoted(self, reading: Reading) -> Support | None:
        """Return the support of a sentence that stands in this source word for word, which needs no weighing."""
        place = self._verbatim.get(_bare(reading))
        return None if place is None else Support(1.0, self.id, self.text[slice(*self.spans[place])], words=1.0)

    def match(self, reading: Reading) -> "Match | None":
        """Find the sentences of this source that share words with a sentence."""
        total = 0.0
        weights: dict[str, float] = {}
        scores: defaultdict[int, float] = defaultdict(float)
        postings = self.postings
        for concept, weight in reading.content.items():
            if concept in postings:
                factor, places = postings[concept]
                weights[concept] = weight = weight * factor
                for place in places:
                    scores[place] += weight
            total += weight
        if not scores:
            return None
        single = max(scores.values())
        whole = _WHOLE_SHARE * sum(weights.values())
        total *= (reading.mass + _DOUBT) / reading.mass
        return Match(((1 - _WHOLE_SHARE) * single + whole) / total, self, total, weights, scores, single, whole)

    def support(self, reading: Reading, match: "Match", told: frozenset[str]) -> Support:
        """Return how far this source carries a sentence.

        Args:
            reading: The sentence.
            match: What `match` found for it here.
            told: Concepts that the reply names anywhere: a condition given in another sentence is not dropped.
        """
        first, last, covered = self._window(match)
        covered = _SINGLE_SHARE * match.single + (1 - _SINGLE_SHARE) * covered
        degree = ((1 - _WHOLE_SHARE) * covered + match.whole) / match.total
        if len(match.weights) == 1 < len(reading.content):
            degree *= _ALONE
        penalty, conflict = conflicts.NONE
        if degree > 0.3:
            window = self.readings[first : last + 1]
            penalty, conflict = conflicts.find(reading, window, self.numbers, self.words, told)
        quote = self.text[self.spans[first][0] : self.spans[last][1]]
        return Support(degree * (1 - penalty), self.id, quote, conflict, degree)

    def _window(self, match: "Match") -> tuple[int, int, float]:
        """Grow a window around the best sentence while a neighbour adds enough; return its ends and what it covers."""
        weights, scores, worth = match.weights, match.scores, _WORTH * match.total
        first = last = next(place for place, score in scores.items() if score == match.single)
        if scores[first - 1] <= worth >= scores[first + 1]:
            return first, last, match.single
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


class Match(NamedTuple):
    """How a sentence and a source share words, before anything is compared closely."""

    closeness: float
    source: Index
    total: float
    weights: dict[str, float]
    """Of each concept that the source has."""
    scores: defaultdict[int, float]
    """The weight that each sentence of the source shares, by its place."""
    single: float
    """The highest of them."""
    whole: float


@lru_cache(maxsize=512)
def index(source: Source) -> Index:
    """Prepare a source; about a millisecond, once per source."""
    return Index(source)


def quoted(reading: Reading, cited: Sequence[Index]) -> Support | None:
    """Return the support of a sentence that stands in a cited source word for word."""
    return next((found for source in cited if (found := source.quoted(reading))), None)


def best(reading: Reading, cited: Sequence[Index], told: frozenset[str] = frozenset()) -> Support:
    """Return the strongest support that any cited source gives a sentence."""
    matches = [match for source in cited if (match := source.match(reading))]
    if not matches:
        return NOTHING
    least = max(matches, key=_closeness).closeness - _NEAR
    near = [match.source.support(reading, match, told) for match in matches if match.closeness >= least]
    return near[0] if len(near) == 1 else max(near, key=_rank)


_closeness = attrgetter("closeness")


def _rank(support: Support) -> float:
    """Rank by closeness in words first: the sentence that is contradicted counts, not a lesser one that merely does not."""
    return 2 * support.words + support.degree
