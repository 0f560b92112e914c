"""Finds the stored question of a message by a conditional logit over candidates: few features, weights fitted on rephrasings.

P(cluster c | question) = exp(w · f(c)) / (exp(w_none) + sum over candidates exp(w · f)). McFadden, "Conditional logit analysis of
qualitative choice behavior", 1974. The margin to the next candidate is in the denominator, and "none of them" is an outcome.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz

from assistants.gesundheit.language import Language, are_opposite
from assistants.gesundheit.similarity import Encode, EncoderIndex, Floats, TermIndex, letter_grams
from knowledge_base.bm25 import stems
from knowledge_base.pairs.pair import Pair, Taxonomy, fold_wording

CANDIDATES = 20
"""Number of clusters that compete for a question."""
SIMILAR_NAME = 85
"""Minimum similarity of letters (0 to 100) for a misspelt name of a focus."""
SHORTEST_FUZZY = 6
"""Minimum length, in letters, of a name that may be misspelt or begin a compound."""
INFLECTION = 2
"""Maximum number of letters by which a word may be longer than a name."""
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
FEATURES = (
    "letters", "letters_mean", "letters_rest", "letters_rest_mean", "stems", "stems_mean", "stems_rest", "stems_rest_mean",
    "answer", "context", "focus_same", "focus_other", "focus_missing", "encoder", "encoder_mean",
)  # fmt: skip
"""Similarity to a pair's best wording, and the mean over its best `AVERAGED` wordings (`_mean`). Each is computed for the whole
question and without names of foci (`_rest`). Then the similarity to the answer and to the paragraph (`context`), and whether the
question names the pair's focus, another focus, or no focus."""
AVERAGED = 3
MOST_SEGMENTS = 3
"""Maximum number of texts that are compared for a message: the whole message, and its last questions."""


class Weights(NamedTuple):
    """Fitted weights and thresholds (bench/gesundheit/fit.py)."""

    of: Mapping[str, float]
    none: float
    direct: float
    """Minimum probability of a direct answer."""
    offer: float
    """Minimum probability of an offer ("Did you mean ...?")."""
    offer_unnamed: float = 0.3
    """Minimum probability of an offer for a question that names no focus."""
    health: float = 0.6
    """Minimum share of known words in a question about health."""


@dataclass(frozen=True, slots=True)
class Match:
    """A stored question that a message may ask."""

    pair: Pair
    probability: float
    is_stored: bool = False
    """Whether the question equals a stored wording, apart from case and punctuation."""


class _Name:
    """A name of a focus, prepared for search.

    It is compared word by word, so that "Niereninfarkt" is not an "Infarkt". It matches a whole word, also inflected, misspelt
    or written apart, and the beginning of a compound.
    """

    def __init__(self, name: str) -> None:
        self._squashed, self._words = "".join(_WORD.findall(name.casefold())), len(_WORD.findall(name))
        self.length = len(name)
        self.in_text = re.compile(rf"\b{re.escape(name)}\w*", re.IGNORECASE)
        self._begins_compounds = not name.islower() and len(self._squashed) >= SHORTEST_FUZZY

    def is_in(self, words: Sequence[str]) -> bool:
        """Return whether a text contains the name.

        Args:
            words: The words of the text, in lower case.
        """
        for count in range(max(self._words - 1, 1), self._words + 2):
            for start in range(len(words) - count + 1):
                if self._is("".join(words[start : start + count])):
                    return True
        return False

    def is_part_of(self, other: "_Name") -> bool:
        """Return whether another name contains this one: "Blutdruck" in "niedriger Blutdruck"."""
        return self._squashed != other._squashed and self._squashed in other._squashed

    def _is(self, written: str) -> bool:
        longer = len(written) - len(self._squashed)
        if written.startswith(self._squashed) and (longer <= INFLECTION or self._begins_compounds):
            return True
        is_near = len(self._squashed) >= SHORTEST_FUZZY and abs(longer) <= INFLECTION
        return is_near and fuzz.ratio(self._squashed, written, score_cutoff=SIMILAR_NAME) > 0


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
        self._names = {focus.id: [_Name(name) for name in (focus.name, *focus.other_names)] for focus in taxonomy.foci}
        self._foci_of = np.array([pair.focus for pair in self.pairs])
        wordings = [(n, text) for n, pair in enumerate(self.pairs) for text in (pair.question, *pair.variants)]
        self._wordings = [text for _, text in wordings]
        self._places = _pad([n for n, _ in wordings], len(self.pairs))
        rests = [self.without_names(text, self.pairs[n].focus) for n, text in wordings]
        self._letters, self._letters_rest = TermIndex(self._wordings, letter_grams), TermIndex(rests, letter_grams)
        self._stems, self._stems_rest = TermIndex(self._wordings, self._stem), TermIndex(rests, self._stem)
        self._answers, self._contexts = (
            TermIndex(
                [self.without_names(text, pair.focus) for text, pair in zip(texts, self.pairs, strict=True)],
                letter_grams,
            )
            for texts in (
                [f"{pair.answer} {pair.question}" for pair in self.pairs],
                [pair.context for pair in self.pairs],
            )
        )
        self._encoder = EncoderIndex(self._wordings, encode) if encode else None
        self._by_wording = {fold_wording(text): self.pairs[n] for n, text in reversed(wordings)}
        self._weights = np.array([weights.of.get(name, 0.0) for name in FEATURES])

    def match(self, question: str, focus: str = "", *, exact: bool = True) -> list[Match]:
        """Return the candidates, one of each cluster, most probable first.

        Args:
            question: The user's text.
            focus: The conversation's focus, used for a question that names no focus.
            exact: Whether to return only the pair of a stored wording that equals the question.
        """
        if exact and (pair := self._by_wording.get(fold_wording(question))) is not None:
            return [Match(pair, 1.0, is_stored=True)]
        places, features = self.features(question, focus)
        scores = np.append(features @ self._weights, self.weights.none)
        odds = np.exp(scores - scores.max())
        probabilities = odds[:-1] / odds.sum()
        order = np.argsort(-probabilities, kind="stable")
        return [Match(self.pairs[places[n]], float(probabilities[n])) for n in order]

    def is_stored(self, question: str) -> bool:
        """Return whether a question equals a stored wording, apart from case and punctuation."""
        return fold_wording(question) in self._by_wording

    def is_opposite(self, question: str, pair: Pair) -> bool:
        """Return whether a question contradicts the most similar wording of a pair.

        It does if the two are on different sides of an opposite, or contain different numbers.
        """
        if self._by_wording.get(fold_wording(question)) is pair:
            return False
        wording = max((pair.question, *pair.variants), key=lambda text: fuzz.token_set_ratio(text, question))
        numbers = frozenset(_NUMBER.findall(wording))
        opposite = are_opposite(self._language.sides(question), self._language.sides(wording))
        return opposite or bool(numbers and numbers != frozenset(_NUMBER.findall(question)))

    def features(self, question: str, focus: str = "") -> tuple[list[int], NDArray[np.float64]]:
        """Return the candidates as indexes into `pairs`, and their features, of shape (candidates, len(FEATURES))."""
        named = self.foci_in(question) or ({focus} if focus else set())
        compared = [self._compare(segment) for segment in self._segments(question)]
        *similarities, encoder, encoder_mean = (np.max(parts, axis=0) for parts in zip(*compared, strict=True))
        same = np.isin(self._foci_of, [*named])
        flags = (same, ~same if named else np.zeros(len(same), bool), np.full(len(same), not named))
        table = np.stack([*similarities, *flags, encoder, encoder_mean], axis=1)
        best: dict[str, int] = {}
        for place in np.argsort(-(table @ self._weights), kind="stable"):
            best.setdefault(self.pairs[place].cluster, int(place))
            if len(best) == CANDIDATES:
                break
        places = [*best.values()]
        return places, table[places].astype(np.float64)

    def foci_in(self, text: str) -> set[str]:
        """Return the ids of the foci that a text names, also misspelt or inflected. Of nested names, the longest counts."""
        words = _WORD.findall(text.casefold())
        named = [(name, focus) for focus, names in self._names.items() for name in names if name.is_in(words)]
        return {
            focus for name, focus in named if not any(name.is_part_of(other) and focus != of for other, of in named)
        }

    def without_names(self, text: str, focus: str) -> str:
        """Return a text without the names of a focus."""
        for name in sorted(self._names.get(focus, []), key=lambda name: name.length, reverse=True):
            text = name.in_text.sub(" ", text)
        return text

    def _stem(self, text: str) -> list[str]:
        return stems(text, self._stemmer)

    def _segments(self, question: str) -> list[str]:
        sentences = [one.strip() for one in _SENTENCE.findall(question)]
        asking = [one for one in sentences if one.endswith("?")] or sentences[-1:]
        return list(dict.fromkeys([question, *asking[1 - MOST_SEGMENTS :]]))

    def _compare(self, text: str) -> list[Floats]:
        """Return the similarities of a text to each pair, in the order of `FEATURES` without the flags."""
        rest = text
        for focus in self.foci_in(text):
            rest = self.without_names(rest, focus)
        indexes = ((self._letters, text), (self._letters_rest, rest), (self._stems, text), (self._stems_rest, rest))
        columns = [column for index, asked in indexes for column in self._of_pairs(index.compare(asked))]
        columns += [index.compare(rest) for index in (self._answers, self._contexts)]
        none: Floats = np.zeros(len(self.pairs), np.float32)
        return [*columns, *(self._of_pairs(self._encoder.compare(text)) if self._encoder else (none, none))]

    def _of_pairs(self, similarities: Floats) -> tuple[Floats, Floats]:
        """Return each pair's best similarity, and the mean of its best `AVERAGED`."""
        rows = np.append(similarities, np.float32(0))[self._places]
        best = -np.partition(-rows, AVERAGED - 1, axis=1)[:, :AVERAGED]
        return best.max(axis=1), best.mean(axis=1)


def _pad(pair_of: Sequence[int], pairs: int) -> NDArray[np.intp]:
    """Return the indexes of each pair's wordings, of shape (pairs, most wordings of a pair), padded with -1."""
    counts = np.bincount(pair_of, minlength=pairs)
    places = np.full((pairs, max(int(counts.max(initial=0)), AVERAGED)), -1, np.intp)
    for pair in range(pairs):
        start = int(counts[:pair].sum())
        places[pair, : counts[pair]] = np.arange(start, start + counts[pair])
    return places
