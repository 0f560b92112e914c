"""A linear text classifier for danger, with weights learned from labelled texts.

Features are words, pairs of words, runs of letters and meanings (word vectors). `judges/evaluation/training` makes the weights and
measures them on unseen texts. A long text is read in windows of whole sentences, so that one sentence counts at any position.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from math import exp, log, sqrt
from operator import add, attrgetter, itemgetter, sub
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judges.local.spelling import QUESTION, STOP
from judges.text import cache_texts

# Word vectors: the meanings of the most frequent English words. `judges/evaluation/training/vectors.py` makes them.


@cache
def load_words() -> dict[str, int]:
    """Return the row of each word, which is its rank by frequency. The file is read once, at the first use."""
    words = _folder().joinpath("weights/words.txt").read_text(encoding="utf-8").split()
    return {word: row for row, word in enumerate(words)}


def load_matrix() -> NDArray[np.float32]:
    """Read the vectors, of unit length, in the order of the words. Not cached, because judging needs only products with them."""
    with _folder().joinpath("weights/vectors.npy").open("rb") as file:
        matrix: NDArray[np.float32] = np.load(file).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-6)
    return matrix


def _folder() -> Any:
    return files("judges.local")


WINDOW = 48
"""Approximate tokens of a window, which ends with the sentence that reaches this length. Longer sentences are cut into pieces of
this length; otherwise the weights of a very long sentence would always add up to a sign."""
MIN_WORD_SHARE = 0.25
"""Minimum share of words in a window, if there are several. Among many windows, letters alone would make one a sign."""
MIN_SENTENCE_TOKENS = 6
"""Minimum tokens of a sentence of a long text that is also weighed alone."""
RUN_LENGTHS = (3, 4, 5)
"""Lengths of the letter runs within a word that are features."""
MAX_WORD_CHARS = 24
MAX_PENALTY = 2.5
"""Upper bound of the penalty, so that long padding cannot hide a sign of danger."""
MAX_CACHED_WORDS = 4096
"""Maximum number of words whose weights are cached."""
START = "^"
_BEFORE_FIRST = ("", START)
"""The two tokens before the first word of a text."""
ENDS = frozenset((STOP, QUESTION))
"""Tokens that end a sentence."""


class Sums(NamedTuple):
    """Sums of weights, and the number of weights in each sum."""

    words: float = 0.0
    """Sum over words and pairs."""
    letters: float = 0.0
    """Sum over runs of letters."""
    meanings: float = 0.0
    """Sum over meanings."""
    word_count: float = 0.0
    letter_count: float = 0.0
    meaning_count: float = 0.0


@dataclass(slots=True)
class Window:
    """A range of tokens and its margin for the class."""

    margin: float
    """Log odds, shifted so that the threshold chosen in training is 0. A margin above 0 is flagged."""
    start: int
    end: int


class TextClassifier:
    """A linear classifier for one class."""

    def __init__(
        self,
        bias: float,
        weights: dict[str, float],
        kinds: "Mapping[str, TextClassifier]",
        direction: Sequence[float] | None = None,
        penalty: float = 0.0,
    ) -> None:
        """Create a classifier from learned weights.

        Args:
            bias: Margin of a text without any known feature.
            weights: Weight of each feature.
            kinds: For each kind within the class (kinds of emergency), a classifier that separates it from the others.
            direction: Weight of each dimension of the word vectors.
            penalty: Times the logarithm of the number of windows, it is subtracted from the margin of a window. With many
                windows, one is likely to score high by chance (multiple comparisons).
        """
        self._bias = bias
        self._penalty = penalty
        self._kinds = kinds
        self._weights = weights
        self._meaning_weights: list[float] | None = None
        """The weight of each meaning, in the order of the word vectors."""
        if direction is not None:
            self._meaning_weights = (load_matrix() @ np.array(direction, np.float32)).tolist()
        self._sums_of_word = cache_texts(MAX_CACHED_WORDS, MAX_WORD_CHARS)(self._add_up_word)

    def strongest_window(self, tokens: Sequence[str]) -> Window:
        """Return the window with the highest margin, in time linear in the number of tokens."""
        if len(tokens) <= WINDOW:
            return Window(self.margin(tokens), 0, len(tokens))
        edges, sums = self._sum_sentences(tokens)
        running = [*accumulate(sums, _add_sums, initial=Sums())]
        ends = _window_ends(edges)
        spans = {(start, end): _subtract_sums(running[end], running[start]) for start, end in enumerate(ends)}
        spans |= {
            (n, n + 1): sums[n]
            for n, end in enumerate(ends)
            if end > n + 1 and edges[n + 1] - edges[n] >= MIN_SENTENCE_TOKENS
        }
        windows = [
            (self._margin(sums), start, end)
            for (start, end), sums in spans.items()
            if self._has_enough_words(sums, edges[end] - edges[start])
        ]
        margin, start, end = max(windows, key=itemgetter(0), default=(self._bias, 0, len(sums)))
        penalty = min(self._penalty * log(len(windows) or 1), MAX_PENALTY)
        return Window(margin - penalty, edges[start], edges[end])

    def weigh_spans(self, tokens: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[Window]:
        """Return parts of a text with their margins, each weighed alone."""
        windows = []
        for start, end in spans:
            sums = self._add_up(tokens[start:end])
            is_weighed = len(tokens) <= WINDOW or self._has_enough_words(sums, end - start)
            windows.append(Window(self._margin(sums) if is_weighed else self._bias, start, end))
        return windows

    def strong_sentences(self, tokens: Sequence[str], window: Window) -> list[Window]:
        """Return the sentences of a window whose own margin is above 0, or else the one with the highest."""
        edges, sums = self._sum_sentences(tokens[window.start : window.end])
        sentences = [
            Window(self._margin(one), window.start + start, window.start + end)
            for one, (start, end) in zip(sums, pairwise(edges), strict=True)
        ]
        return [s for s in sentences if s.margin > 0] or [max(sentences, key=attrgetter("margin"))]

    def kind_of(self, tokens: Sequence[str]) -> str:
        """Return the most likely kind of a text."""
        return max(self._kinds, key=lambda kind: self._kinds[kind].margin(tokens))

    def margin(self, tokens: Sequence[str]) -> float:
        """Return the margin of a text as a whole."""
        return self._margin(self._add_up(tokens))

    def _sum_sentences(self, tokens: Sequence[str]) -> tuple[list[int], list[Sums]]:
        """Return the starts of the sentences and the end of the last one, and the sums of each sentence."""
        edges = sentence_edges(tokens)
        words = (*_BEFORE_FIRST, *tokens)
        return edges, [self._add_up(tokens[start:end], words[start : start + 2]) for start, end in pairwise(edges)]

    def _add_up(self, tokens: Sequence[str], before: Sequence[str] = _BEFORE_FIRST) -> Sums:
        """Add up the weights of words, and of the pairs that end with them.

        Args:
            before: The two preceding words.
        """
        words = letters = meanings = word_count = letter_count = meaning_count = 0.0
        first, second = before
        for token in tokens:
            sums = self._sums_of_word(token)
            words += sums.words
            letters += sums.letters
            meanings += sums.meanings
            word_count += sums.word_count
            letter_count += sums.letter_count
            meaning_count += sums.meaning_count
            for pair in (f"{second} {token}", f"{first} _ {token}"):
                weight = self._weights.get(pair)
                if weight is not None:
                    words += weight
                    word_count += 1
            first, second = second, token
        return Sums(words, letters, meanings, word_count, letter_count, meaning_count)

    def _add_up_word(self, word: str) -> Sums:
        """Add up the weights of a word, of its letters and of its meaning."""
        weight = self._weights.get(word)
        letters = [self._weights[run] for run in letter_runs(word) if run in self._weights]
        meaning = self._weigh_meaning(word)
        return Sums(weight or 0.0, sum(letters), meaning or 0.0, weight is not None, len(letters), meaning is not None)

    def _weigh_meaning(self, word: str) -> float | None:
        """Return the weight of a word's meaning; None if the word has no vector."""
        if self._meaning_weights is None:
            return None
        row = load_words().get(word)
        return None if row is None else self._meaning_weights[row]

    def _has_enough_words(self, sums: Sums, length: int) -> bool:
        """Return whether enough tokens of a window are words."""
        return (
            self._meaning_weights is None
            or length < MIN_SENTENCE_TOKENS
            or sums.meaning_count >= MIN_WORD_SHARE * length
        )

    def _margin(self, sums: Sums) -> float:
        words, letters, meanings, word_count, letter_count, meaning_count = sums
        return (
            self._bias
            + words / sqrt(word_count or 1)
            + letters / sqrt(letter_count or 1)
            + meanings / sqrt(meaning_count or 1)
        )


def sentence_edges(tokens: Sequence[str]) -> list[int]:
    """Return the starts of the sentences, the starts of pieces of sentences longer than a window, and the end of the last one.

    Consecutive end marks count as one.
    """
    edges = [0]
    for position, token in enumerate(tokens, start=1):
        ends = token in ENDS and position < len(tokens) and tokens[position] not in ENDS
        if ends or position - edges[-1] == WINDOW:
            edges.append(position)
    return edges if len(edges) > 1 and edges[-1] == len(tokens) else [*edges, len(tokens)]


def _add_sums(first: Sums, second: Sums) -> Sums:
    return Sums(*map(add, first, second))


def _subtract_sums(first: Sums, second: Sums) -> Sums:
    return Sums(*map(sub, first, second))


def _window_ends(edges: Sequence[int]) -> list[int]:
    """Return, for each sentence, the end of the window that begins with it.

    Args:
        edges: The starts of the sentences, and the end of the last one.

    Returns:
        Indices into `edges`.
    """
    ends, end, last = [], 0, len(edges) - 1
    for start in edges[:-1]:
        while end < last and edges[end] < start + WINDOW:
            end += 1
        ends.append(end)
    return ends


def word_features(tokens: Sequence[str]) -> list[str]:
    """Return the words, the pairs, and the pairs with one word between; repeated ones are listed repeatedly."""
    features: list[str] = []
    before, first = START, ""
    for token in tokens:
        features += (token, f"{before} {token}", f"{first} _ {token}")
        before, first = token, before
    return features


def letter_runs(token: str) -> list[str]:
    """Return the distinct runs of letters in a word, with its edges marked."""
    if not token.isalpha():
        return []
    padded = f"<{token[:MAX_WORD_CHARS]}>"
    return [*{f"#{padded[n : n + size]}" for size in RUN_LENGTHS for n in range(len(padded) - size + 1)}]


def to_score(margin: float) -> float:
    """Map a margin to a score from 0 to 1; the decision threshold maps to 0.5."""
    return 1 / (1 + exp(-max(-30.0, min(30.0, margin))))


@cache
def load(name: str) -> TextClassifier:
    """Load learned weights. The file is read once, at the first use."""
    # Not orjson, because its cache of keys would keep the whole memory block of the keys allocated.
    data = json.loads(files("judges.local").joinpath(f"weights/{name}.json").read_bytes())
    kinds = {kind: TextClassifier(one["bias"], one["weights"], {}) for kind, one in data["sorts"].items()}
    return TextClassifier(data["bias"], data["weights"], kinds, data.get("direction"), data.get("toll", 0.0))
