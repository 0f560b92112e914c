"""Finds the stored question that a message asks, with a conditional logit model over the candidates.

P(cluster c | question) = exp(w · f(c)) / (exp(w_none) + sum over candidates exp(w · f)), where f are the features of a candidate,
and w their weights, fitted on rephrased questions. The term w_none is the weight of the outcome "no candidate".
Source: McFadden, "Conditional logit analysis of qualitative choice behavior", 1974.
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
"""Maximum number of candidates for a question, one per cluster."""
SIMILAR_NAME = 85
"""Minimum similarity, from 0 to 100 (`rapidfuzz.fuzz.ratio`), at which a word counts as a misspelt name of a focus."""
SHORTEST_FUZZY = 6
"""Minimum length, in letters, of names that are also recognised when misspelt, or at the beginning of a compound word."""
INFLECTION = 2
"""Maximum number of letters by which an inflected word may be longer than a name."""
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d+")
FEATURES = (
    "letters", "letters_mean", "letters_rest", "letters_rest_mean", "stems", "stems_mean", "stems_rest", "stems_rest_mean",
    "answer", "context", "focus_same", "focus_other", "focus_missing", "encoder", "encoder_mean",
)  # fmt: skip
"""Names of the features of a candidate pair, in the order of the feature columns.

`letters`, `stems` and `encoder` are the question's similarity to the pair's most similar wording. `_mean` is the mean over the
`AVERAGED` most similar wordings; `_rest` compares texts without names of foci. `answer` and `context` are the similarity to the
pair's answer and source paragraph. The `focus_` features tell whether the question names the pair's focus, another, or none.
"""
AVERAGED = 3
"""Number of a pair's wordings in the features with `_mean`."""
MOST_SEGMENTS = 3
"""Maximum number of texts to compare for a message: the whole message, and its last questions."""


class Weights(NamedTuple):
    """The matcher's weights and thresholds, which bench/gesundheit/fit.py fits. Probabilities and shares are from 0 to 1."""

    of: Mapping[str, float]
    """By name, the weight of each feature."""
    none: float
    """The weight (w_none) of the outcome "no candidate"."""
    direct: float
    """Minimum probability at which a pair answers a question directly."""
    offer: float
    """Minimum probability at which a pair is offered ("Did you mean ...?")."""
    offer_unnamed: float = 0.3
    """Minimum probability at which a pair is offered for a question that names no focus."""
    health: float = 0.6
    """Minimum share of words that the knowledge base knows, at which an unanswered question counts as one about health."""


@dataclass(frozen=True, slots=True)
class Match:
    """A stored question that a message may ask."""

    pair: Pair
    probability: float
    """Probability that the message asks the question of this pair, from 0 to 1."""
    is_stored: bool = False
    """Whether the question equals a stored wording, apart from case and punctuation."""


class _Name:
    """A name of a focus, prepared for searching it in texts.

    The name matches whole words, also if they are inflected, misspelt or written apart. It also matches the beginning of a
    compound word, but not its end: "Infarkt" does not match "Niereninfarkt".
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
        """Return whether another name contains this name, as "niedriger Blutdruck" contains "Blutdruck"."""
        return self._squashed != other._squashed and self._squashed in other._squashed

    def _is(self, written: str) -> bool:
        longer = len(written) - len(self._squashed)
        if written.startswith(self._squashed) and (longer <= INFLECTION or self._begins_compounds):
            return True
        is_near = len(self._squashed) >= SHORTEST_FUZZY and abs(longer) <= INFLECTION
        return is_near and fuzz.ratio(self._squashed, written, score_cutoff=SIMILAR_NAME) > 0


class Matcher:
    """Finds the stored questions that a message may ask, among the pairs that experts have not rejected."""

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
        """Return the pairs whose question a message may ask, one per cluster, most probable first.

        Args:
            question: The user's text.
            focus: The conversation's focus, used for a question that names no focus.
            exact: Whether a stored wording that equals the question is returned as the only match. False if the user rejected it.
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
        """Return whether a question contradicts a pair's most similar wording: by opposite words, or by different numbers."""
        if self._by_wording.get(fold_wording(question)) is pair:
            return False
        wording = max((pair.question, *pair.variants), key=lambda text: fuzz.token_set_ratio(text, question))
        numbers = frozenset(_NUMBER.findall(wording))
        opposite = are_opposite(self._language.sides(question), self._language.sides(wording))
        return opposite or bool(numbers and numbers != frozenset(_NUMBER.findall(question)))

    def features(self, question: str, focus: str = "") -> tuple[list[int], NDArray[np.float64]]:
        """Return the candidates for a question, as indexes into `pairs`, and their features.

        The features have the shape (candidates, len(FEATURES)).
        """
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
        """Return the ids of the foci that a text names. Of nested names, only the longest counts.

        Names may be misspelt or inflected.
        """
        words = _WORD.findall(text.casefold())
        named = [(name, focus) for focus, names in self._names.items() for name in names if name.is_in(words)]
        return {
            focus for name, focus in named if not any(name.is_part_of(other) and focus != of for other, of in named)
        }

    def without_names(self, text: str, focus: str) -> str:
        """Return a text without the names of a focus, given by its id."""
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
        """Return the similarities of a text to all pairs, one array per feature, in the order of `FEATURES` without `focus_`."""
        rest = text
        for focus in self.foci_in(text):
            rest = self.without_names(rest, focus)
        indexes = ((self._letters, text), (self._letters_rest, rest), (self._stems, text), (self._stems_rest, rest))
        columns = [column for index, asked in indexes for column in self._of_pairs(index.compare(asked))]
        columns += [index.compare(rest) for index in (self._answers, self._contexts)]
        none: Floats = np.zeros(len(self.pairs), np.float32)
        return [*columns, *(self._of_pairs(self._encoder.compare(text)) if self._encoder else (none, none))]

    def _of_pairs(self, similarities: Floats) -> tuple[Floats, Floats]:
        """Return two arrays with one value per pair: the highest similarity, and the mean of the `AVERAGED` highest.

        Args:
            similarities: The similarity to each wording.
        """
        rows = np.append(similarities, np.float32(0))[self._places]
        best = -np.partition(-rows, AVERAGED - 1, axis=1)[:, :AVERAGED]
        return best.max(axis=1), best.mean(axis=1)


def _pad(pair_of: Sequence[int], pairs: int) -> NDArray[np.intp]:
    """Return the indexes of each pair's wordings, as rows padded with -1.

    Args:
        pair_of: The index of the pair to which each wording belongs, in ascending order.
        pairs: Number of pairs.
    """
    counts = np.bincount(pair_of, minlength=pairs)
    places = np.full((pairs, max(int(counts.max(initial=0)), AVERAGED)), -1, np.intp)
    for pair in range(pairs):
        start = int(counts[:pair].sum())
        places[pair, : counts[pair]] = np.arange(start, start + counts[pair])
    return places
