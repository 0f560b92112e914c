"""Word vectors: where a word lies in meaning, and how rare it is. `judges/training/vectors.py` makes them."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from math import log
from typing import Any

import numpy as np
from numpy.typing import NDArray

_COMMON, _RARE = 50, 30_000
"""Ranks by frequency: below the first a word is as common as can be, from the second on as rare."""
_MIN_RARITY = 0.15


class Vocabulary:
    """The most frequent English words."""

    def __init__(self, words: Sequence[str]) -> None:
        self._rows = {word: place for place, word in enumerate(words)}

    def row_of(self, word: str) -> int | None:
        """Return the row of a word, which is its rank by frequency; None: it is not among them."""
        return self._rows.get(word)

    def rarity(self, word: str) -> float:
        """Return how rare a lower-case word is, 0.15 to 1."""
        row = self.row_of(word)
        rank = _RARE if row is None else row
        return min(1.0, max(_MIN_RARITY, (log(rank + _COMMON) - log(_COMMON)) / (log(_RARE) - log(_COMMON))))


@cache
def load_words() -> Vocabulary:
    """Load the words; they are read once, when they are first needed."""
    words = _folder().joinpath("weights/words.txt").read_text(encoding="utf-8").split()
    return Vocabulary(words)


def load_matrix() -> NDArray[np.float32]:
    """Read the vectors, of unit length, in the order of the words. Not cached: judging needs only products with them."""
    with _folder().joinpath("weights/vectors.npy").open("rb") as file:
        matrix: NDArray[np.float32] = np.load(file).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-6)
    return matrix


def _folder() -> Any:
    return files("judges.local")
