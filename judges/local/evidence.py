"""Evidence: how strongly the words of a text speak for danger, or for a part played, by weights learned from labelled texts.

A linear model over words, pairs of words, the letters within them and what they mean (vectors.py): rules of thumb that are
weighed, instead of one that decides. `judges/training` makes the weights and says how well they do on texts they have not seen. A
long text is read window by window of whole sentences, so that one sentence counts wherever it stands.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp, log, sqrt
from typing import NamedTuple

import numpy as np

from judges.local import vectors
from judges.local.spelling import QUESTION, STOP
from judges.local.table import Followers, Table

WINDOW = 48
"""Tokens of a window, about: a window ends with the sentence that reaches this."""
SHORTEST = 6
"""Tokens from which a sentence of a long text is also read by itself."""
LETTERS = (3, 4, 5)
"""Lengths of the runs of letters within a word that are features."""
LONGEST_WORD = 24
MOST_TOLL = 2.5
"""Padding must not buy silence."""
MOST_ENTRIES = 4096
"""Words whose weights are kept at hand."""
START = "^"

Sums = tuple[float, int, float, int, float, int]


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of tokens and how strongly it speaks for the class."""

    margin: float
    """Above 0: enough to flag. Log odds, shifted so that the threshold chosen in training is 0."""
    start: int
    end: int


class _Entry(NamedTuple):
    """What was learned of one word."""

    weight: float
    known: int
    letters: float
    runs: int
    sense: float
    """How far its meaning lies in the direction of the class."""
    sensed: int
    after: dict[str, float] | None
    """Weights of the pairs it begins, by the second word."""
    later: dict[str, float] | None
    """The same with a word between."""


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
        words: dict[str, float] = {}
        following: dict[tuple[str, str], float] = {}
        after_next: dict[tuple[str, str], float] = {}
        for feature, weight in weights.items():
            first, *between, last = feature.split(" ") if " " in feature else (feature, feature)
            if first == feature:
                words[feature] = weight
            else:  # looked up word by word, which saves joining every two words of a text
                (after_next if between else following)[first, last] = weight
        self._weights = Table(words)
        self._next, self._after_next = Followers(following), Followers(after_next)
        self._at_start = self._next.of(START), self._after_next.of(""), self._after_next.of(START)
        self._entries: dict[str, _Entry] = {}
        self._places: Mapping[str, int] = {}
        if direction is not None:
            self._places = vectors.load().places
            self._senses = vectors.rows() @ np.array(direction, np.float32)

    def strongest(self, tokens: Sequence[str]) -> Window:
        """Return the window that speaks most strongly for the class, in time linear in the number of tokens."""
        running = self._running(tokens)
        spans = {(0, len(tokens))} if len(tokens) <= WINDOW else set(_spans(_ends(tokens)))
        toll = min(self._toll * log(len(spans)), MOST_TOLL)
        windows = [Window(self._margin(running[start], running[end]) - toll, start, end) for start, end in spans]
        return max(windows, key=lambda window: (window.margin, -window.start))

    def telling(self, tokens: Sequence[str], window: Window) -> list[Window]:
        """Return the sentences of a window that speak for the class by themselves, or the one that comes nearest to it."""
        part = tokens[window.start : window.end]
        running, ends = self._running(part), _ends(part)
        sentences = [
            Window(self._margin(running[start], running[end]), window.start + start, window.start + end)
            for start, end in zip([0, *ends[:-1]], ends, strict=True)
        ]
        return [s for s in sentences if s.margin > 0] or [max(sentences, key=lambda s: s.margin)]

    def sort(self, tokens: Sequence[str]) -> str:
        """Return the sort of the class that a text most likely is."""
        return max(self._sorts, key=lambda sort: self._sorts[sort].margin(tokens))

    def margin(self, tokens: Sequence[str]) -> float:
        """Return how strongly a text as a whole speaks for the class."""
        running = self._running(tokens)
        return self._margin(running[0], running[-1])

    def _running(self, tokens: Sequence[str]) -> list[Sums]:
        """Return running sums: the weights of words and pairs and how many have one, the same for letters and meanings."""
        entries, enter = self._entries, self._enter
        words, letters, senses, count, runs, sensed = 0.0, 0.0, 0.0, 0, 0, 0
        sums = [(words, count, letters, runs, senses, sensed)]
        add = sums.append
        # What was learned of the next token after the last one, and of the one after next, for the last and the one before.
        after, next_but_one, later = self._at_start
        for token in tokens:
            weight, known, letter, run, sense, has_sense, begins, begins_later = entries.get(token) or enter(token)
            words += weight
            count += known
            letters += letter
            runs += run
            senses += sense
            sensed += has_sense
            if after and token in after:
                words += after[token]
                count += 1
            if next_but_one and token in next_but_one:
                words += next_but_one[token]
                count += 1
            add((words, count, letters, runs, senses, sensed))
            after, next_but_one, later = begins, later, begins_later
        return sums

    def _enter(self, token: str) -> "_Entry":
        """Look up all that was learned of a word, and keep it for the next time."""
        weight = self._weights.find([token])
        learned = self._weights.find(letter_runs(token))
        place = self._places.get(token)
        entry = _Entry(
            sum(weight), len(weight), sum(learned), len(learned),
            0.0 if place is None else float(self._senses[place]), int(place is not None),
            self._next.of(token), self._after_next.of(token),
        )  # fmt: skip
        if len(self._entries) >= MOST_ENTRIES:
            self._entries.clear()
        self._entries[token] = entry
        return entry

    def _margin(self, start: Sums, end: Sums) -> float:
        words, letters, senses = end[0] - start[0], end[2] - start[2], end[4] - start[4]
        return (
            self._bias
            + words / sqrt(end[1] - start[1] or 1)
            + letters / sqrt(end[3] - start[3] or 1)
            + senses / sqrt(end[5] - start[5] or 1)
        )


def _ends(tokens: Sequence[str]) -> list[int]:
    """Return where the sentences end."""
    ends = [n + 1 for n, token in enumerate(tokens) if token in (STOP, QUESTION)]
    return ends if ends and ends[-1] == len(tokens) else [*ends, len(tokens)]


def _spans(ends: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the windows of a long text: from each sentence on as many as make a window, and each that is not tiny by itself."""
    last = 0
    for first, start in enumerate([0, *ends[:-1]]):
        last = max(last, first)
        while last + 1 < len(ends) and ends[last] - start < WINDOW:
            last += 1
        yield start, ends[last]
        if ends[first] - start >= SHORTEST:
            yield start, ends[first]


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
