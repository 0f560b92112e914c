"""What was learned of many features, laid out flat: as dicts of Python objects it would be a tenth of a serving process' memory."""

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.int64]
"""64 bits each, with a salt that nobody knows: two features have the same once in some 10^14 times."""
Found = tuple[NDArray[np.intp], NDArray[Any]]
_LAST = np.iinfo(np.int64).max
_SPARSE = 4
"""How many times as many endings of hashes there are, at least, as pairs."""


class Table:
    """Weights by feature: hashes in order, and the weights beside them."""

    def __init__(self, features: Hashes, weights: Collection[float], kind: type[np.generic] = np.float64) -> None:
        order = features.argsort()
        # With the highest number at the end, each hash that is looked for has a place in the row.
        self._hashes = np.append(features[order], _LAST)
        self._weights = np.append(np.fromiter(weights, kind, len(weights))[order], kind(0))

    def find(self, wanted: Hashes) -> Found:
        """Return which of the wanted features have a weight, by their place among the wanted, and these weights."""
        places = self._hashes.searchsorted(wanted)
        found = (self._hashes.take(places) == wanted).nonzero()[0]
        return found, self._weights.take(places.take(found))


class Pairs:
    """Weights of pairs of words: of two that follow each other, and of two with another between them."""

    def __init__(self, weights: Sequence[tuple[str, str, bool, float]]) -> None:
        """Lay them out.

        Args:
            weights: First and second word, whether another stands between them, and the weight.
        """
        firsts = np.fromiter((code(first) for first, *_ in weights), np.int64, len(weights))
        seconds = np.fromiter((code(second) for _, second, *_ in weights), np.int64, len(weights))
        apart = np.fromiter((between for *_, between, _ in weights), np.bool_, len(weights))
        pairs = firsts * 3 + np.where(apart, -seconds, seconds)
        self._table = Table(pairs, [weight for *_, weight in weights])
        self._mask = (1 << (_SPARSE * len(weights)).bit_length()) - 1
        self._endings = np.zeros(self._mask + 1, np.bool_)
        self._endings[pairs & self._mask] = True

    def find(self, firsts: Hashes, seconds: Hashes) -> Found:
        """Return which pairs of a text have a weight, and the weights.

        Args:
            firsts: The code of each word.
            seconds: The same, or 0 for a word that is to be the second of no pair.

        Returns:
            Numbers of pairs, from those that end with the third word on: first all of two that follow each other, then all with
            another between them.
        """
        firsts, seconds = firsts * 3, seconds[2:]
        pairs = np.concatenate((firsts[1:-1] + seconds, firsts[:-2] - seconds))
        likely = self._endings.take(pairs & self._mask).nonzero()[0]  # spares most pairs the search
        found, weights = self._table.find(pairs.take(likely))
        return likely.take(found), weights


def code(word: str) -> int:
    """Return what stands for a word in pairs: not its own hash, which is 0 for the empty word."""
    return hash((word,))


def hashes(features: Collection[Hashable]) -> Hashes:
    """Return the hash of each feature."""
    return np.fromiter(map(hash, features), np.int64, len(features))
