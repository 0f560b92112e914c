"""Evidence: how strongly the words of a text speak for danger, or for a part played, by weights learned from labelled texts.

A linear model over words, pairs of words, the letters within them and what they mean (vectors.py): rules of thumb that are
weighed, instead of one that decides. `judges/training` makes the weights and says how well they do on texts they have not seen. A
long text is read window by window of whole sentences, so that one sentence counts wherever it stands. What a sentence comes to
is kept: replies restate their sources.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import accumulate, chain, compress, count, pairwise
from math import exp, log, sqrt
from operator import add, gt, itemgetter, sub
from struct import Struct

import numpy as np

from judges.kept import Answers
from judges.local import vectors
from judges.local.spelling import QUESTION, STOP
from judges.local.table import Pairs, Table, code, hashes

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
MOST_ENTRIES, FEW_ENTRIES = 16_384, 1024
"""Words whose weights are kept at hand: fewer for what tells sorts apart, which only flagged texts are asked for."""
MOST_SENTENCES = 1024
"""Sentences whose sums are kept at hand."""
AT_ONCE = 256
"""Words that are looked up together."""
START = "^"

_WEIGHTS = 6
_PACK = Struct(f"qq{_WEIGHTS}d").pack
_ROW = np.dtype([("first", np.int64), ("second", np.int64), ("sums", np.float64, _WEIGHTS)])
"""What was learned of one word, as it lies packed: its code, as the first and as the second of a pair; the weights of the word,
of its letters and of its meaning, and how many of each there are."""
ENDS = frozenset((STOP, QUESTION))
"""Tokens that end a sentence."""

Stretch = tuple[str, ...]
"""Words, after the two that stand before them: these weigh nothing here, but pairs begin with them."""
_FIRST = ("", START)
"""What stands before the first word of a text."""
_LEADING = len(_FIRST)
_LEAD = b"".join(_PACK(code(word), 0, *[0.0] * _WEIGHTS) for word in _FIRST)

Told = tuple[float, ...]
"""What a stretch comes to: its margin, three sums of weights, and of how many weights each is the sum."""


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
        self._learned = Answers[str, bytes](entries)
        """What was learned of words."""
        self._known = Answers[Stretch, Told](MOST_SENTENCES)
        """What stretches come to."""
        self._senses = None if direction is None else vectors.rows() @ np.array(direction, np.float32)

    def strongest(self, tokens: Sequence[str]) -> Window:
        """Return the window that speaks most strongly for the class, in time linear in the number of tokens."""
        if len(tokens) <= WINDOW:
            return Window(self.margin(tokens), 0, len(tokens))
        edges, told = self._by_sentence(tokens)
        running = [*accumulate([sums for _, *sums in told], _plus, initial=[0.0] * _WEIGHTS)]
        ends = _windows(edges)
        windows = [(list(map(sub, running[end], running[start])), start, end) for start, end in enumerate(ends)]
        found = [
            (self._margin(*sums), start, end)
            for sums, start, end in windows
            if self._is_spoken(sums, edges[end] - edges[start])
        ]
        found += [
            (margin, n, n + 1)
            for n, (margin, *_) in enumerate(told)
            if ends[n] > n + 1 and (length := edges[n + 1] - edges[n]) >= SHORTEST and self._is_spoken(told[n], length)
        ]
        margin, start, end = max(found, key=itemgetter(0), default=(self._bias, 0, len(told)))
        toll = min(self._toll * log(len(found) or 1), MOST_TOLL)
        return Window(margin - toll, edges[start], edges[end])

    def apart(self, tokens: Sequence[str], spans: Sequence[tuple[int, int]]) -> list[Window]:
        """Weigh stretches of a text, each as if nothing stood beside it."""
        short = len(tokens) <= WINDOW
        told = self._told([(*_FIRST, *tokens[start:end]) for start, end in spans])
        return [
            Window(one[0] if short or self._is_spoken(one, end - start) else self._bias, start, end)
            for one, (start, end) in zip(told, spans, strict=True)
        ]

    def telling(self, tokens: Sequence[str], window: Window) -> list[Window]:
        """Return the sentences of a window that speak for the class by themselves, or the one that comes nearest to it."""
        edges, told = self._by_sentence(tokens[window.start : window.end])
        places = [window.start + edge for edge in edges]
        sentences = [
            Window(margin, start, end) for (margin, *_), start, end in zip(told, places, places[1:], strict=False)
        ]
        return [s for s in sentences if s.margin > 0] or [max(sentences, key=lambda s: s.margin)]

    def sort(self, tokens: Sequence[str]) -> str:
        """Return the sort of the class that a text most likely is."""
        return max(self._sorts, key=lambda sort: self._sorts[sort].margin(tokens))

    def margin(self, tokens: Sequence[str]) -> float:
        """Return how strongly a text as a whole speaks for the class."""
        rows = np.frombuffer(_LEAD + b"".join(self._learned_of(tokens)), _ROW)
        _, weights = self._pairs.find(rows["first"], rows["second"])
        words, letters, senses, known, runs, sensed = np.add.reduce(rows["sums"]).tolist()
        return self._margin(words + sum(weights.tolist()), letters, senses, known + len(weights), runs, sensed)

    def margins(self, texts: Sequence[Sequence[str]]) -> list[float]:
        """Return how strongly each of some texts speaks for the class; those of texts that were asked for lately are known."""
        return [margin for margin, *_ in self._told([(*_FIRST, *text) for text in texts])]

    def _by_sentence(self, tokens: Sequence[str]) -> tuple[list[int], list[Told]]:
        """Return where the sentences of a text begin and where the last one ends, and what each comes to."""
        edges = sentence_edges(tokens)
        words = (*_FIRST, *tokens)
        return edges, self._told([words[start : end + _LEADING] for start, end in pairwise(edges)])

    def _told(self, stretches: Sequence[Stretch]) -> list[Told]:
        """Return what each stretch comes to; those that were asked for lately are known."""
        return self._known.of(list(map(hash, stretches)), stretches, self._weighed)

    def _weighed(self, stretches: Sequence[Stretch]) -> list[Told]:
        """Add up what was learned of the words of each stretch, and of their pairs."""
        words = [*chain.from_iterable(stretches)]
        rows = np.frombuffer(bytearray().join(self._learned_of(words)), _ROW)
        starts = np.array([*accumulate(map(len, stretches[:-1]), initial=0)])
        # What stands before a stretch is the first of pairs, but neither weighs anything here nor is it the second of any.
        rows.view(np.float64).reshape(len(rows), -1)[np.add.outer(starts, range(_LEADING)), 1:] = 0
        places, weights = self._pairs.find(rows["first"], rows["second"])
        within = starts.searchsorted(places % (len(rows) - _LEADING) + _LEADING, side="right") - 1
        told = np.empty((len(starts), 1 + _WEIGHTS))
        sums = np.add.reduceat(rows["sums"], starts, out=told[:, 1:])
        sums[:, 0] += np.bincount(within, weights, len(starts))
        sums[:, 3] += np.bincount(within, minlength=len(starts))
        shares = sums[:, :3] / np.sqrt(np.maximum(sums[:, 3:], 1))
        told[:, 0] = self._bias + shares[:, 0] + shares[:, 1] + shares[:, 2]  # as `_margin` of each
        return list(map(tuple, told.tolist()))

    def _is_spoken(self, sums: Sequence[float], length: int) -> bool:
        """Tell whether enough tokens of a stretch are words."""
        return self._senses is None or length < SHORTEST or sums[-1] >= LEAST_KNOWN * length

    def _learned_of(self, words: Sequence[str]) -> list[bytes]:
        """Return what was learned of each word; what was asked for lately is known."""
        return self._learned.of(list(map(hash, words)), words, self._learn_all)

    def _learn_all(self, words: Sequence[str]) -> Iterator[bytes]:
        """Look up all that was learned of some words, of not too many at once: other threads wait meanwhile."""
        for start in range(0, len(words), AT_ONCE):
            yield from self._learn(words[start : start + AT_ONCE])

    def _learn(self, words: Sequence[str]) -> list[bytes]:
        """Look up all that was learned of some words."""
        rows = np.zeros(len(words), _ROW)
        rows["first"] = rows["second"] = np.fromiter(map(code, words), np.int64, len(words))
        sums = rows["sums"]
        places, weights = self._features.find(hashes(words))
        sums[places, 0], sums[places, 3] = weights, 1
        runs = [letter_runs(word) for word in words]
        places, weights = self._features.find(hashes([*chain.from_iterable(runs)]))
        within = np.repeat(range(len(words)), [*map(len, runs)])[places]
        sums[:, 1], sums[:, 4] = np.bincount(within, weights, len(words)), np.bincount(within, minlength=len(words))
        if self._senses is not None:
            places, senses = vectors.load().places(words)
            sums[places, 2], sums[places, 5] = self._senses[senses], 1
        data, size = rows.tobytes(), _ROW.itemsize
        return [data[start : start + size] for start in range(0, len(data), size)]

    def _margin(self, words: float, letters: float, senses: float, known: float, runs: float, sensed: float) -> float:
        return self._bias + words / sqrt(known or 1) + letters / sqrt(runs or 1) + senses / sqrt(sensed or 1)


def sentence_edges(tokens: Sequence[str]) -> list[int]:
    """Return where the sentences of a text begin, and the pieces of those longer than a window; and where the last one ends.

    Marks without a word between them end one sentence.
    """
    marks = [*map(ENDS.__contains__, tokens), True]
    ends = compress(count(1), map(gt, marks, marks[1:]))  # a mark, and no mark behind it
    starts = chain.from_iterable(range(start, end, WINDOW) for start, end in pairwise([0, *ends, len(tokens)]))
    return [*starts, len(tokens)] if tokens else [0, 0]


def _plus(one: list[float], other: list[float]) -> list[float]:
    return list(map(add, one, other))


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
    sorts = {
        sort: Evidence(one["bias"], one["weights"], {}, entries=FEW_ENTRIES) for sort, one in data["sorts"].items()
    }
    return Evidence(data["bias"], data["weights"], sorts, data.get("direction"), data.get("toll", 0.0))
