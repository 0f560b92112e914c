"""Which stored question was asked? A conditional logit over candidates: few features, weights fitted on rephrasings.

P(cluster c | question) = exp(w · f(c)) / (exp(w_none) + sum over candidates exp(w · f)). McFadden, "Conditional logit analysis of
qualitative choice behavior", 1974. The margin to the next candidate is in the denominator, and "none of them" is an outcome.
"""

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from assistants.gesundheit.language import Language, are_opposite
from assistants.gesundheit.similarity import Encode, EncoderIndex, Floats, TermIndex, letter_grams
from knowledge_base.bm25 import stems
from knowledge_base.pairs.pair import Focus, Pair, Taxonomy

T = TypeVar("T", bound=Hashable)
CANDIDATES = 8
"""Clusters that compete for a question."""
SIMILAR_NAME = 88
"""Least similarity (of 100) of letters for a misspelt name of a focus."""
SHORTEST_FUZZY = 6
"""Letters; shorter names must stand in the question as they are."""
_SENTENCE = re.compile(r"[^.!?\n]+")
_NUMBER = re.compile(r"\d+")
FEATURES = (
    "stems", "stems_contained", "letters", "letters_contained", "rest_stems", "rest_letters", "focus_same", "focus_other",
    "focus_missing", "opposite", "number", "encoder",
)  # fmt: skip


class Weights(NamedTuple):
    """What was fitted (bench/gesundheit/fit.py)."""

    of: Mapping[str, float]
    none: float
    direct: float
    """Least probability to answer at once."""
    offer: float
    """Least probability to ask "Did you mean ...?"."""
    follow_up: float = 0.2
    """The same for a question that names no focus, where the conversation is about one."""
    passage: float = 0.4
    """Least cosine of a sentence of a document to the question."""
    health: float = 0.6
    """Least share of known words in a question about health."""


@dataclass(frozen=True, slots=True)
class Match:
    """A stored question that may be meant."""

    pair: Pair
    probability: float
    is_opposite: bool
    """Whether the question and the wording that is most like it are on different sides of an opposite, or name other numbers."""


class Matcher:
    """Compares questions with the served pairs of a knowledge base."""

    def __init__(
        self,
        pairs: Sequence[Pair],
        taxonomy: Taxonomy,
        weights: Weights,
        language: Language,
        encode: Encode | None = None,
    ) -> None:
        self.pairs = [pair for pair in pairs if pair.served]
        self.weights, self._language, self._stemmer = weights, language, taxonomy.language
        self._foci = taxonomy.foci
        wordings = [(n, text) for n, pair in enumerate(self.pairs) for text in (pair.question, *pair.variants)]
        self._pair_of = np.array([n for n, _ in wordings])
        texts = [text for _, text in wordings]
        rests = [self.without_names(text, self.pairs[n].focus) for n, text in wordings]
        self._stems, self._letters = TermIndex(texts, self._stem), TermIndex(texts, letter_grams)
        self._rest_stems, self._rest_letters = TermIndex(rests, self._stem), TermIndex(rests, letter_grams)
        self._encoder = EncoderIndex(texts, encode) if encode else None
        self._foci_of = np.array([self.pairs[n].focus for n, _ in wordings])
        self._sides = _Grouped([language.sides(text) for text in texts])
        self._numbers = _Grouped([frozenset(_NUMBER.findall(text)) for text in texts])
        self._weights = np.array([weights.of.get(name, 0.0) for name in FEATURES])

    def match(self, question: str, focus: str = "") -> list[Match]:
        """Return the candidates, one of each cluster, most probable first.

        Args:
            question: As the user writes it.
            focus: The focus that the conversation is about, for a question that names none.
        """
        places, features = self.features(question, focus)
        if not places:
            return []
        scores = np.append(features @ self._weights, self.weights.none)
        odds = np.exp(scores - scores.max())
        probabilities = odds[:-1] / odds.sum()
        order = np.argsort(-probabilities, kind="stable")
        opposite = features[:, [FEATURES.index("opposite"), FEATURES.index("number")]].any(axis=1)
        return [Match(self.pairs[places[n]], float(probabilities[n]), bool(opposite[n])) for n in order]

    def features(self, question: str, focus: str = "") -> tuple[list[int], NDArray[np.float64]]:
        """Return the candidates, by their places in `pairs`, and their features, of shape (candidates, FEATURES)."""
        sentences = [one.strip() for one in _SENTENCE.findall(question) if one.strip()]
        segments = list(dict.fromkeys([question, *sentences]))
        named = self.foci_in(question) or ({focus} if focus else set())
        columns = [np.max(parts, axis=0) for parts in zip(*map(self._compare, segments), strict=True)]
        sides, numbers = self._language.sides(question), frozenset(_NUMBER.findall(question))
        same = np.isin(self._foci_of, [*named])
        other = ~same if named else np.zeros(len(same), bool)
        missing = np.full(len(same), not named)
        opposite = self._sides.map(lambda one: are_opposite(sides, one))
        number = self._numbers.map(lambda one: bool(one) and one != numbers)
        table = np.stack([*columns[:6], same, other, missing, opposite, number, columns[6]], axis=1)
        order = np.argsort(-(table @ self._weights), kind="stable")
        best: dict[str, int] = {}
        for place in order:
            cluster = self.pairs[self._pair_of[place]].cluster
            if cluster not in best:
                best[cluster] = int(place)
                if len(best) == CANDIDATES:
                    break
        chosen = [*best.values()]
        return [int(self._pair_of[place]) for place in chosen], table[chosen].astype(np.float64)

    def foci_in(self, text: str) -> set[str]:
        """Return the ids of the foci that a text names, misspelt or inflected; of names within names the longest counts."""
        named = [(name, focus.id) for focus in self._foci for name in _names_of(focus) if _is_named(name, text)]
        return {
            focus
            for name, focus in named
            if not any(name.casefold() in other.casefold() and name != other and focus != of for other, of in named)
        }

    def without_names(self, text: str, focus: str) -> str:
        """Return a text without the names of a focus: what is asked of it."""
        names = next((_names_of(one) for one in self._foci if one.id == focus), [])
        for name in sorted(names, key=len, reverse=True):
            text = re.sub(rf"{re.escape(name)}\w*", " ", text, flags=re.IGNORECASE)
        return text

    def _stem(self, text: str) -> list[str]:
        return stems(text, self._stemmer)

    def _compare(self, text: str) -> list[Floats]:
        indexes = (self._stems, self._letters)
        cosines = [column for index in indexes for column in index.compare(text)]
        rest = text
        for focus in self.foci_in(text):
            rest = self.without_names(rest, focus)
        cosines += [index.compare(rest)[0] for index in (self._rest_stems, self._rest_letters)]
        encoded = self._encoder.compare(text) if self._encoder else np.zeros(len(self._pair_of), np.float32)
        return [*cosines, encoded]


class _Grouped(Generic[T]):
    """Values of many places, of which few differ."""

    def __init__(self, values: Sequence[T]) -> None:
        self._distinct = [*dict.fromkeys(values)]
        number = {value: n for n, value in enumerate(self._distinct)}
        self._of = np.array([number[value] for value in values], np.intp)

    def map(self, function: Callable[[T], bool]) -> NDArray[np.bool_]:
        return np.array([function(value) for value in self._distinct], bool)[self._of]


def _names_of(focus: Focus) -> list[str]:
    return [focus.name, *focus.other_names]


def _is_named(name: str, text: str) -> bool:
    if re.search(rf"\b{re.escape(name)}", text, re.IGNORECASE):
        return True
    return len(name) >= SHORTEST_FUZZY and fuzz.partial_ratio(name.casefold(), text.casefold()) >= SIMILAR_NAME
