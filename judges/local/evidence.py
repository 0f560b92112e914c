"""Evidence: how strongly the words of a text speak for danger, or for a part played, by weights learned from labelled texts.

A linear model over words, pairs of words, the letters within them and what they mean (vectors.py): rules of thumb that are
weighed, instead of one that decides. `judges/training` makes the weights and says how well they do on texts they have not seen. A
long text is read window by window of whole sentences, so that one sentence counts wherever it stands.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate
from math import exp, log, sqrt
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from judges.kept import Remembered
from judges.local import vectors
from judges.local.spelling import QUESTION, STOP
from judges.local.table import Pairs, Table, code, hashes

WINDOW = 48
"""Tokens of a window, about: a window ends with the sentence that reaches this."""
SHORTEST = 6
"""Tokens from which a sentence of a long text is also read by itself."""
LETTERS = (3, 4, 5)
"""Lengths of the runs of letters within a word that are features."""
LONGEST_WORD = 24
MOST_TOLL = 2.5
"""Padding must not buy silence."""
MOST_ENTRIES, FEW_ENTRIES = 8192, 1024
"""Words whose weights are kept at hand: fewer for what tells sorts apart, which only flagged texts are asked for."""
START = "^"

_PACK = Struct("qq6d").pack
_ROW = np.dtype([("code", np.int64), ("ends", np.int64), ("sums", np.float64, 6)])
"""What was learned of one word, as it lies packed: its code; whether it ends a sentence; the weights of the word, of its letters
and of its meaning, and how many of each there are."""

_LEAD = b"".join(_PACK(code(word), *[0] * 7) for word in ("", START))
"""What stands before the first word of a text: it weighs nothing by itself, but pairs begin with it."""
_LEADING = 2

Rows = NDArray[np.void]
Places = NDArray[np.intp]
Sums = NDArray[np.float64]
"""Rows of three sums of weights, and of how many weights each is the sum of."""


@dataclass(frozen=True, slots=True)
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
        entries: int = MOST_ENTRIES,
    ) -> None:
        """Prepare to weigh.

        Args:
            bias: Margin of a text without any known feature.
            weights: Weight of each feature.
            sorts: For each sort of the class (kinds of emergency, parts played), what tells it from the others.
            direction: Weight of each dimension of the word vectors.
            toll: What each window of a text pays for the logarithm of their number: the more there are, the likelier one
                of them speaks for the class by chance.
            entries: Words whose weights are kept at hand.
        """
        self._bias = bias
        self._toll = toll
        self._sorts = sorts
        single = {feature: weight for feature, weight in weights.items() if " " not in feature}
        self._features = Table(hashes(single), single.values())
        self._pairs = Pairs(
            [
                (feature.partition(" ")[0], feature.rpartition(" ")[2], feature.count(" ") > 1, weight)
                for feature, weight in weights.items()
                if " " in feature
            ]
        )
        self._learned = Remembered(self._learn, entries)
        self._senses = None if direction is None else vectors.rows() @ np.array(direction, np.float32)

    def strongest(self, tokens: Sequence[str]) -> Window:
        """Return the window that speaks most strongly for the class, in time linear in the number of tokens."""
        if len(tokens) <= WINDOW:
            return Window(self.margin(tokens), 0, len(tokens))
        edges, sums = self._by_sentence(tokens)
        running = np.zeros((len(edges), sums.shape[1]))
        sums.cumsum(axis=0, out=running[1:])
        starts, ends = _spans(edges)
        margins = [self._margin(*one) for one in (running.take(ends, axis=0) - running.take(starts, axis=0)).tolist()]
        best = margins.index(max(margins))
        toll = min(self._toll * log(len(margins)), MOST_TOLL)
        return Window(margins[best] - toll, int(edges[starts[best]]), int(edges[ends[best]]))

    def telling(self, tokens: Sequence[str], window: Window) -> list[Window]:
        """Return the sentences of a window that speak for the class by themselves, or the one that comes nearest to it."""
        edges, sums = self._by_sentence(tokens[window.start : window.end])
        places = (edges + window.start).tolist()
        margins = [self._margin(*one) for one in sums.tolist()]
        sentences = list(map(Window, margins, places, places[1:]))
        return [s for s in sentences if s.margin > 0] or [max(sentences, key=lambda s: s.margin)]

    def sort(self, tokens: Sequence[str]) -> str:
        """Return the sort of the class that a text most likely is."""
        return max(self._sorts, key=lambda sort: self._sorts[sort].margin(tokens))

    def margin(self, tokens: Sequence[str]) -> float:
        """Return how strongly a text as a whole speaks for the class."""
        rows = self._rows([tokens])
        _, weights = self._pairs.find(rows["code"])
        words, letters, senses, known, runs, sensed = np.add.reduce(rows["sums"]).tolist()
        return self._margin(words + sum(weights.tolist()), letters, senses, known + len(weights), runs, sensed)

    def margins(self, texts: Sequence[Sequence[str]]) -> list[float]:
        """Return how strongly each of some texts speaks for the class: at once, where `margin` would be asked again and again."""
        if not texts:
            return []
        starts = np.array([*accumulate([len(text) + _LEADING for text in texts[:-1]], initial=0)])
        return [self._margin(*one) for one in self._sums(self._rows(texts), starts).tolist()]

    def _by_sentence(self, tokens: Sequence[str]) -> tuple[Places, Sums]:
        """Return where the sentences of a text begin and where the last one ends, and the sums of each."""
        rows = self._rows([tokens])
        edges = np.concatenate(([0], rows["ends"].nonzero()[0] + 1))
        if edges[-1] < len(rows):
            edges = np.append(edges, len(rows))
        sums = self._sums(rows, edges[:-1])
        edges[1:] -= _LEADING
        return edges, sums

    def _rows(self, texts: Iterable[Iterable[str]]) -> Rows:
        """Return what was learned of each word, and before those of each text the two that lead them."""
        learned = self._learned.__getitem__
        return np.frombuffer(b"".join([_LEAD + b"".join(map(learned, text)) for text in texts]), _ROW)

    def _learn(self, word: str) -> bytes:
        """Look up all that was learned of a word."""
        places, weights = self._features.find(hashes([word, *letter_runs(word)]))
        found = dict(zip(places.tolist(), weights.tolist(), strict=True))
        known = 0 in found
        weight = found.pop(0, 0.0)
        place = None if self._senses is None else vectors.load().place(word)
        sense = 0.0 if self._senses is None or place is None else float(self._senses[place])
        ends = word in (STOP, QUESTION)
        return _PACK(code(word), ends, weight, sum(found.values()), sense, known, len(found), place is not None)

    def _sums(self, rows: Rows, starts: Places) -> Sums:
        """Return the sums of each stretch of a text, pairs included."""
        places, weights = self._pairs.find(rows["code"])
        stretches = starts.searchsorted(places % (len(rows) - _LEADING) + _LEADING, side="right") - 1
        sums: Sums = np.add.reduceat(rows["sums"], starts)
        sums[:, 0] += np.bincount(stretches, weights, len(starts))
        sums[:, 3] += np.bincount(stretches, minlength=len(starts))
        return sums

    def _margin(self, words: float, letters: float, senses: float, known: float, runs: float, sensed: float) -> float:
        return self._bias + words / sqrt(known or 1) + letters / sqrt(runs or 1) + senses / sqrt(sensed or 1)


def _spans(edges: Places) -> tuple[Places, Places]:
    """Return the windows of a long text: from each sentence on as many as make a window, and each that is not tiny by itself.

    Args:
        edges: Where the sentences begin, and where the last one ends.

    Returns:
        The numbers of the edges where windows start, and where they end.
    """
    starts, last = edges[:-1], len(edges) - 1
    each = np.arange(last)
    full = np.minimum(edges.searchsorted(starts + WINDOW), last)
    alone = ((edges[1:] - starts >= SHORTEST) & (full > each + 1)).nonzero()[0]
    return np.concatenate((each, alone)), np.concatenate((full, alone + 1))


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
    sorts = {
        sort: Evidence(one["bias"], one["weights"], {}, entries=FEW_ENTRIES) for sort, one in data["sorts"].items()
    }
    return Evidence(data["bias"], data["weights"], sorts, data.get("direction"), data.get("toll", 0.0))
