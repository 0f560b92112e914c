"""What was learned of many features, laid out flat: as dicts of Python objects it would be a tenth of a serving process' memory."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np


class Table:
    """Weights by feature: hashes in order, and the weights beside them."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        hashes = np.fromiter(map(hash, weights), np.int64, len(weights))
        order = hashes.argsort()
        self._hashes = hashes[order]
        self._weights = np.fromiter(weights.values(), np.float64, len(weights))[order]

    def find(self, features: Sequence[str]) -> list[float]:
        """Return the weights of those features that have one.

        That another text has the hash of a feature happens once in some 10^14 times: hashes have 64 bits, and a salt that nobody
        knows.
        """
        if not len(self._hashes):
            return []
        wanted = np.fromiter(map(hash, features), np.int64, len(features))
        places = np.minimum(self._hashes.searchsorted(wanted), len(self._hashes) - 1)
        found: list[float] = self._weights[places[self._hashes[places] == wanted]].tolist()
        return found


class Followers:
    """Weights of pairs of words: for each first word a text with the second words and their weights."""

    def __init__(self, weights: Mapping[tuple[str, str], float]) -> None:
        grouped: dict[str, list[str]] = defaultdict(list)
        for (first, second), weight in weights.items():
            grouped[first].append(f"{second} {weight!r}")
        texts = [" ".join(found).encode() for found in grouped.values()]
        # One text for all: thousands of small ones would lie scattered among what is let go of after loading, and hold its memory.
        self._text = b"".join(texts)
        self._bounds = np.cumsum([0, *map(len, texts)])
        self._places = Table({first: float(n) for n, first in enumerate(grouped)})

    def of(self, first: str) -> dict[str, float] | None:
        """Return what may follow a word, with the weights; None: nothing was learned of that."""
        found = self._places.find([first])
        if not found:
            return None
        start, end = self._bounds[int(found[0])], self._bounds[int(found[0]) + 1]
        parts = self._text[start:end].decode().split(" ")
        return dict(zip(parts[::2], map(float, parts[1::2]), strict=True))
