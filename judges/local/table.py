"""What was learned of many features, laid out flat: as dicts of Python objects it would be a tenth of a serving process' memory."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.int64]
"""64 bits each, with a salt that nobody knows: two features have the same once in some 10^14 times."""
Found = tuple[NDArray[np.intp], NDArray[np.float64]]
_LAST = np.iinfo(np.int64).max
_SPARSE = 4
"""How many times as many endings of hashes there are, at least, as pairs."""


class Table:
    """Weights by feature: hashes in order, and the weights beside them."""

    def __init__(self, features: Hashes, weights: Collection[float]) -> None:
        order = features.argsort()
        # With the highest number at the end, each hash that is looked for has a place in the row.
        self._hashes = np.append(features[order], _LAST)
        self._weights = np.append(np.fromiter(weights, np.float64, len(weights))[order], 0.0)

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
        firsts, seconds = hashes([first for first, *_ in weights]), hashes([second for _, second, *_ in weights])
        apart = np.fromiter((between for *_, between, _ in weights), np.bool_, len(weights))
        pairs = np.where(apart, _apart(firsts, seconds), _adjacent(firsts, seconds))
        self._table = Table(pairs, [weight for *_, weight in weights])
        self._mask = (1 << (_SPARSE * len(weights)).bit_length()) - 1
        self._endings = np.zeros(self._mask + 1, np.bool_)
        self._endings[pairs & self._mask] = True

    def find(self, words: Hashes) -> Found:
        """Return where in a text pairs end that have a weight, from its third word on, and the weights."""
        lasts = words[2:]
        pairs = np.concatenate((_adjacent(words[1:-1], lasts), _apart(words[:-2], lasts)))
        likely = self._endings.take(pairs & self._mask).nonzero()[0]  # spares most pairs the search
        found, weights = self._table.find(pairs.take(likely))
        return likely.take(found) % len(lasts) + 2, weights


def _adjacent(firsts: Hashes, seconds: Hashes) -> Hashes:
    return firsts * 3 + seconds


def _apart(firsts: Hashes, seconds: Hashes) -> Hashes:
    return firsts * 5 + seconds + 1  # the empty text has the hash 0: without the 1 both kinds were the same for it


def hashes(texts: Collection[str]) -> Hashes:
    """Return the hash of each text."""
    return np.fromiter(map(hash, texts), np.int64, len(texts))
