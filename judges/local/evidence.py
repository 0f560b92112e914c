"""Evidence: how strongly the words of a text speak for danger, or for a part played, by weights learned from labelled texts.

A linear model over words, pairs of words, the letters within them and what they mean (vectors.py): rules of thumb that are
weighed, instead of one that decides. `judges/training` makes the weights and says how well they do on texts they have not seen. A
long text is read window by window of whole sentences, so that one sentence counts wherever it stands.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, pairwise
from math import exp, log, sqrt
from operator import add, attrgetter, itemgetter, sub
from typing import NamedTuple

import numpy as np

from judges.local import vectors
from judges.local.spelling import QUESTION, STOP
from judges.text_cache import cache_texts

WINDOW = 48
"""Tokens of a window, about: a window ends with the sentence that reaches this. A sentence that is longer is read in pieces of
so many: what each word adds would add up to a sign in any text without an end."""
LEAST_KNOWN = 0.25
"""Share of a stretch that must be words, in a text of several windows: among many stretches letters alone make a sign of one."""
SHORTEST = 6
"""Tokens from which a sentence of a long text is also read by itself."""
LETTERS = (3, 4, 5)
"""Lengths of the runs of letters within a word that are features."""
LONGEST_WORD = 24
MOST_TOLL = 2.5
"""Padding must not buy silence."""
MOST_WORDS = 4096
"""Words whose weights are cached."""
START = "^"
_FIRST = ("", START)
"""What stands before the first word of a text."""
ENDS = frozenset((STOP, QUESTION))
"""Tokens that end a sentence."""


class Sums(NamedTuple):
    """Sums of the weights that some words have, and how many weights each is the sum of."""

    words: float = 0.0
    """Of words and of pairs."""
    letters: float = 0.0
    """Of runs of letters."""
    senses: float = 0.0
    """Of meanings."""
    known: float = 0.0
    runs: float = 0.0
    sensed: float = 0.0


@dataclass(slots=True)
class Window:
    """A stretch of tokens and how strongly it speaks for the class."""

    margin: float
    """Above 0: enough to flag. Log odds, shifted so that the threshold chosen in training is 0."""
    start: int
    end: int


class Evidence:
    """The weights of one class."""

    def __init__(
        self,
        bias: float,
        weights: dict[str, float],
        sorts: "Mapping[str, Evidence]",
        direction: Sequence[float] | None = None,
        toll: float = 0.0,
    ) -> None:
        """Prepare to weigh.

        Args:
            bias: Margin of a text without any known feature.
            weights: Weight of each feature.
            sorts: For each sort of the class (kinds of emergency, parts played), what tells it from the others.
            direction: Weight of each dimension of the word vectors.
            toll: What each window of a text pays for the logarithm of their number: the more there are, the likelier one
                of them speaks for the class by chance.
        """
        self._bias = bias
        self._toll = toll
        self._sorts = sorts
        self._weights = weights
        self._senses: list[float] | None = None
        """The weight of each meaning, in the order of the word vectors."""
        if direction is not None:
            self._senses = (vectors.rows() @ np.array(direction, np.float32)).tolist()
        self._of_word = cache_texts(MOST_WORDS, LONGEST_WORD)(self._add_up_word)

    def strongest(self, tokens: Sequence[str]) -> Window:
        """Return the window that speaks most strongly for the class, in time linear in the number of tokens."""
        if len(tokens) <= WINDOW:
            return Window(self.margin(tokens), 0, len(tokens))
        edges, sums = self._by_sentence(tokens)
        running = [*accumulate(sums, _plus, initial=Sums())]
        ends = _windows(edges)
        spans = {(start, end): _minus(running[end], running[start]) for start, end in enumerate(ends)}
        spans |= {
            (n, n + 1): sums[n] for n, end in enumerate(ends) if end > n + 1 and edges[n + 1] - edges[n] >= SHORTEST
        }
        found = [
            (self._margin(sums), start, end)
            for (start, end), sums in spans.items()
            if self._is_spoken(sums, edges[end] - edges[start])
        ]
        margin, start, end = max(found, key=itemgetter(0), default=(self._bias, 0, len(sums)))
        toll = min(self._toll * log(len(found) or 1), MOST_TOLL)
        return Window(margin - toll, edges[start], edges[end])

    def apart(self, tokens: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[Window]:
        """Weigh stretches of a text, each as if nothing stood beside it."""
        found = []
        for start, end in spans:
            sums = self._add_up(tokens[start:end])
            spoken = len(tokens) <= WINDOW or self._is_spoken(sums, end - start)
            found.append(Window(self._margin(sums) if spoken else self._bias, start, end))
        return found

    def telling(self, tokens: Sequence[str], window: Window) -> list[Window]:
        """Return the sentences of a window that speak for the class by themselves, or the one that comes nearest to it."""
        edges, sums = self._by_sentence(tokens[window.start : window.end])
        sentences = [
            Window(self._margin(one), window.start + start, window.start + end)
            for one, (start, end) in zip(sums, pairwise(edges), strict=True)
        ]
        return [s for s in sentences if s.margin > 0] or [max(sentences, key=attrgetter("margin"))]

    def sort(self, tokens: Sequence[str]) -> str:
        """Return the sort of the class that a text most likely is."""
        return max(self._sorts, key=lambda sort: self._sorts[sort].margin(tokens))

    def margin(self, tokens: Sequence[str]) -> float:
        """Return how strongly a text as a whole speaks for the class."""
        return self._margin(self._add_up(tokens))

    def _by_sentence(self, tokens: Sequence[str]) -> tuple[list[int], list[Sums]]:
        """Return where the sentences of a text begin and where the last one ends, and what each comes to."""
        edges = sentence_edges(tokens)
        words = (*_FIRST, *tokens)
        return edges, [self._add_up(tokens[start:end], words[start : start + 2]) for start, end in pairwise(edges)]

    def _add_up(self, tokens: Sequence[str], before: Sequence[str] = _FIRST) -> Sums:
        """Add up the weights of some words, and of the pairs that end with them.

        Args:
            before: The two words that stand before them.
        """
        words = letters = senses = known = runs = sensed = 0.0
        first, second = before
        for token in tokens:
            one = self._of_word(token)
            words += one.words
            letters += one.letters
            senses += one.senses
            known += one.known
            runs += one.runs
            sensed += one.sensed
            for pair in (f"{second} {token}", f"{first} _ {token}"):
                weight = self._weights.get(pair)
                if weight is not None:
                    words += weight
                    known += 1
            first, second = second, token
        return Sums(words, letters, senses, known, runs, sensed)

    def _add_up_word(self, word: str) -> Sums:
        """Add up the weights of a word, of its letters and of its meaning."""
        weight = self._weights.get(word)
        letters = [self._weights[run] for run in letter_runs(word) if run in self._weights]
        sense = self._sense(word)
        return Sums(weight or 0.0, sum(letters), sense or 0.0, weight is not None, len(letters), sense is not None)

    def _sense(self, word: str) -> float | None:
        """Return the weight of a word's meaning; None: none is known."""
        if self._senses is None:
            return None
        place = vectors.load().place(word)
        return None if place is None else self._senses[place]

    def _is_spoken(self, sums: Sums, length: int) -> bool:
        """Tell whether enough tokens of a stretch are words."""
        return self._senses is None or length < SHORTEST or sums.sensed >= LEAST_KNOWN * length

    def _margin(self, sums: Sums) -> float:
        words, letters, senses, known, runs, sensed = sums
        return self._bias + words / sqrt(known or 1) + letters / sqrt(runs or 1) + senses / sqrt(sensed or 1)


def sentence_edges(tokens: Sequence[str]) -> list[int]:
    """Return where the sentences of a text begin, and the pieces of those longer than a window; and where the last one ends.

    Marks without a word between them end one sentence.
    """
    edges = [0]
    for place, token in enumerate(tokens, start=1):
        ends = token in ENDS and place < len(tokens) and tokens[place] not in ENDS
        if ends or place - edges[-1] == WINDOW:
            edges.append(place)
    return edges if len(edges) > 1 and edges[-1] == len(tokens) else [*edges, len(tokens)]


def _plus(one: Sums, other: Sums) -> Sums:
    return Sums(*map(add, one, other))


def _minus(one: Sums, other: Sums) -> Sums:
    return Sums(*map(sub, one, other))


def _windows(edges: Sequence[int]) -> list[int]:
    """Return where the windows of a text end that begin with each of its sentences, and hold as many as make a window.

    Args:
        edges: Where the sentences begin, and where the last one ends.

    Returns:
        The numbers of edges.
    """
    ends, end, last = [], 0, len(edges) - 1
    for begins in edges[:-1]:
        while end < last and edges[end] < begins + WINDOW:
            end += 1
        ends.append(end)
    return ends


def word_features(tokens: Sequence[str]) -> list[str]:
    """Return words, pairs, and pairs with one word between, of a text; those that occur twice twice."""
    found: list[str] = []
    before, first = START, ""
    for token in tokens:
        found += (token, f"{before} {token}", f"{first} _ {token}")
        before, first = token, before
    return found


def letter_runs(token: str) -> list[str]:
    """Return the runs of letters in a word, its edges marked, each once."""
    if not token.isalpha():
        return []
    padded = f"<{token[:LONGEST_WORD]}>"
    return [*{f"#{padded[n : n + size]}" for size in LETTERS for n in range(len(padded) - size + 1)}]


def share(margin: float) -> float:
    """Return a margin as a score in 0 to 1; the threshold is at 0.5."""
    return 1 / (1 + exp(-max(-30.0, min(30.0, margin))))


@cache
def load(name: str) -> Evidence:
    """Load learned weights; they are read once, when they are first needed."""
    # Not orjson: the keys that it keeps for the next time would hold all the memory that they lie in.
    data = json.loads(files("judges.local").joinpath(f"weights/{name}.json").read_bytes())
    sorts = {sort: Evidence(one["bias"], one["weights"], {}) for sort, one in data["sorts"].items()}
    return Evidence(data["bias"], data["weights"], sorts, data.get("direction"), data.get("toll", 0.0))
