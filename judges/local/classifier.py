"""Implements a linear text classifier for danger, with weights learned from labelled texts.

Features are words, pairs of words, runs of letters and meanings (word vectors). `judges/evaluation/training` learns the weights
and measures them on unseen texts. A long text is read in windows of whole sentences, so that one sentence counts at any position.
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

# Word vectors of the most frequent English words. `judges/evaluation/training/vectors.py` creates the files.


@cache
def load_words() -> dict[str, int]:
    """Return the row of each word in the matrix of word vectors. Words are sorted by frequency. The file is read once."""
    words = _folder().joinpath("weights/words.txt").read_text(encoding="utf-8").split()
    return {word: row for row, word in enumerate(words)}


def load_matrix() -> NDArray[np.float32]:
    """Read the matrix of word vectors: one row of unit length for each word of `load_words`.

    The matrix is not cached, because a classifier needs it only once, to compute the weight of each word.
    """
    with _folder().joinpath("weights/vectors.npy").open("rb") as file:
        matrix: NDArray[np.float32] = np.load(file).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-6)
    return matrix


def _folder() -> Any:
    return files("judges.local")


WINDOW = 48
"""Approximate length of a window, in tokens. A window ends with the sentence that reaches this length. A longer sentence is cut
into pieces of this length, because the weights of a very long sentence would always add up to danger."""
MIN_WORD_SHARE = 0.25
"""Minimum share (0 to 1) of known words in a window of a long text. Without it, one of many windows would show danger by its
letters alone."""
MIN_SENTENCE_TOKENS = 6
"""Minimum length, in tokens, of a sentence of a long text that is also weighed alone."""
RUN_LENGTHS = (3, 4, 5)
"""Lengths of the runs of letters that are features."""
MAX_WORD_CHARS = 24
"""Number of characters of a word from which runs of letters are taken."""
MAX_PENALTY = 2.5
"""Maximum of the penalty for many windows. The maximum prevents that long padding hides a sign of danger."""
MAX_CACHED_WORDS = 4096
"""Maximum number of words whose weights are cached."""
START = "^"
"""The token before the first word of a text, in pairs of words."""
_BEFORE_FIRST = ("", START)
"""The two tokens before the first word of a text."""
ENDS = frozenset((STOP, QUESTION))
"""Tokens that end a sentence."""


class Sums(NamedTuple):
    """The sums of the feature weights of a text, and the number of weights in each sum."""

    words: float = 0.0
    """Sum of the weights of words and pairs of words."""
    letters: float = 0.0
    """Sum of the weights of runs of letters."""
    meanings: float = 0.0
    """Sum of the weights of meanings (word vectors)."""
    word_count: float = 0.0
    letter_count: float = 0.0
    meaning_count: float = 0.0
    """Number of words that have a vector."""


@dataclass(slots=True)
class Window:
    """A range of tokens of a text, with the classifier's margin for the range."""

    margin: float
    """Log odds of the class, shifted so that the threshold chosen in training is 0. A margin above 0 indicates the class."""
    start: int
    """Index of the first token."""
    end: int
    """Index after the last token."""


class TextClassifier:
    """A linear classifier that decides whether a text belongs to one class, such as danger."""

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
            kinds: For each kind within the class, such as a kind of emergency, a classifier that separates the kind from the
                other kinds.
            direction: Weight of each dimension of the word vectors; None: meanings are not a feature.
            penalty: Factor of the penalty `penalty * log(number of windows)`, which is subtracted from the margin of a window.
                With many windows, one window is likely to get a high margin by chance (multiple comparisons).
        """
        self._bias = bias
        self._penalty = penalty
        self._kinds = kinds
        self._weights = weights
        self._meaning_weights: list[float] | None = None
        """Weight of each word's meaning, by row of the word vectors."""
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
        """Return the margin of each part of a text, computed without the text around it.

        Args:
            tokens: The tokens of the whole text.
            spans: The (start, end) indices of each part.
        """
        windows = []
        for start, end in spans:
            sums = self._add_up(tokens[start:end])
            is_weighed = len(tokens) <= WINDOW or self._has_enough_words(sums, end - start)
            windows.append(Window(self._margin(sums) if is_weighed else self._bias, start, end))
        return windows

    def strong_sentences(self, tokens: Sequence[str], window: Window) -> list[Window]:
        """Return the sentences of a window with a margin above 0, or else only the sentence with the highest margin."""
        edges, sums = self._sum_sentences(tokens[window.start : window.end])
        sentences = [
            Window(self._margin(one), window.start + start, window.start + end)
            for one, (start, end) in zip(sums, pairwise(edges), strict=True)
        ]
        return [s for s in sentences if s.margin > 0] or [max(sentences, key=attrgetter("margin"))]

    def kind_of(self, tokens: Sequence[str]) -> str:
        """Return the most likely kind of a text within the class, such as a kind of emergency."""
        return max(self._kinds, key=lambda kind: self._kinds[kind].margin(tokens))

    def margin(self, tokens: Sequence[str]) -> float:
        """Return the margin of a text as a whole."""
        return self._margin(self._add_up(tokens))

    def _sum_sentences(self, tokens: Sequence[str]) -> tuple[list[int], list[Sums]]:
        """Return the edges of the sentences (`sentence_edges`), and the sums of the weights of each sentence."""
        edges = sentence_edges(tokens)
        words = (*_BEFORE_FIRST, *tokens)
        return edges, [self._add_up(tokens[start:end], words[start : start + 2]) for start, end in pairwise(edges)]

    def _add_up(self, tokens: Sequence[str], before: Sequence[str] = _BEFORE_FIRST) -> Sums:
        """Return the sums of the weights of a sequence of tokens, including the pairs that end with one of these tokens.

        Args:
            tokens: The tokens to weigh.
            before: The two tokens before `tokens`.
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
        """Return the sums of the weights of one word, its runs of letters and its meaning."""
        weight = self._weights.get(word)
        letters = [self._weights[run] for run in letter_runs(word) if run in self._weights]
        meaning = self._weigh_meaning(word)
        return Sums(weight or 0.0, sum(letters), meaning or 0.0, weight is not None, len(letters), meaning is not None)

    def _weigh_meaning(self, word: str) -> float | None:
        """Return the weight of a word's meaning; None if the word has no vector or the classifier does not use meanings."""
        if self._meaning_weights is None:
            return None
        row = load_words().get(word)
        return None if row is None else self._meaning_weights[row]

    def _has_enough_words(self, sums: Sums, length: int) -> bool:
        """Return whether a window of `length` tokens is short, or has at least the share `MIN_WORD_SHARE` of known words."""
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
    """Return the indices at which the sentences of a text start, followed by the number of tokens.

    A sentence longer than `WINDOW` is cut into pieces, which count as sentences. Consecutive end marks count as one.
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
    """Return, for each sentence, the end of the window that begins with the sentence.

    Args:
        edges: The start of each sentence and the end of the last sentence, as indices of tokens (`sentence_edges`).

    Returns:
        The ends of the windows, as indices into `edges`.
    """
    ends, end, last = [], 0, len(edges) - 1
    for start in edges[:-1]:
        while end < last and edges[end] < start + WINDOW:
            end += 1
        ends.append(end)
    return ends


def word_features(tokens: Sequence[str]) -> list[str]:
    """Return the word features of a text, with repetitions: each word, each pair `a b`, and each pair `a _ b` around a word."""
    features: list[str] = []
    before, first = START, ""
    for token in tokens:
        features += (token, f"{before} {token}", f"{first} _ {token}")
        before, first = token, before
    return features


def letter_runs(token: str) -> list[str]:
    """Return the distinct runs of letters in a word, as features: `#<ki`, `#kil`. `<` and `>` mark the edges of the word."""
    if not token.isalpha():
        return []
    padded = f"<{token[:MAX_WORD_CHARS]}>"
    return [*{f"#{padded[n : n + size]}" for size in RUN_LENGTHS for n in range(len(padded) - size + 1)}]


def to_score(margin: float) -> float:
    """Return the score (0 to 1) for a margin: the logistic function, so a margin of 0 gives 0.5."""
    return 1 / (1 + exp(-max(-30.0, min(30.0, margin))))


@cache
def load(name: str) -> TextClassifier:
    """Return the classifier with the learned weights of the file weights/NAME.json. The file is read once."""
    # Not orjson, because its cache of keys would keep the whole memory block of the keys allocated.
    data = json.loads(files("judges.local").joinpath(f"weights/{name}.json").read_bytes())
    kinds = {kind: TextClassifier(one["bias"], one["weights"], {}) for kind, one in data["sorts"].items()}
    return TextClassifier(data["bias"], data["weights"], kinds, data.get("direction"), data.get("toll", 0.0))
