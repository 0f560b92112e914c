"""Word vectors: where a word lies in meaning, and how rare it is. `judges/training/vectors.py` makes them."""

from functools import cache
from importlib.resources import files
from math import log
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

_COMMON, _RARE = 50, 30_000
"""Ranks by frequency: below the first a word is as common as can be, from the second on as rare."""
_LEAST = 0.15


class Vectors(NamedTuple):
    """Vectors of the most frequent English words."""

    places: dict[str, int]
    """Row of each word, which is its rank by frequency."""
    rows: NDArray[np.float32]
    """Of unit length."""

    def rarity(self, word: str) -> float:
        """Return how rare a lower-case word is, 0.15 to 1."""
        rank = self.places.get(word, _RARE)
        return min(1.0, max(_LEAST, (log(rank + _COMMON) - log(_COMMON)) / (log(_RARE) - log(_COMMON))))


@cache
def load() -> Vectors:
    """Load the vectors; they are read once, when they are first needed."""
    folder: Any = files("judges.local")
    words = folder.joinpath("weights/words.txt").read_text(encoding="utf-8").split()
    with folder.joinpath("weights/vectors.npy").open("rb") as file:
        rows = np.load(file).astype(np.float32)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-6)
    return Vectors({word: n for n, word in enumerate(words)}, rows)
