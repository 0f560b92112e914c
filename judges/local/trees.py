"""Boosted trees that were learned: each asks the same few questions of everybody, so that all can be asked at once."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import orjson
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Trees:
    """Oblivious trees of one depth (Prokhorenkova and others 2018): the answers to a tree's questions name its leaf."""

    features: NDArray[np.intp]
    """For each tree, and each of its questions, the number of the feature that is asked about; flat."""
    borders: Matrix
    """What the feature is compared with; flat."""
    leaves: Matrix
    """Log odds by tree and leaf; flat."""
    depth: int
    bias: float

    def margins(self, rows: Matrix) -> Matrix:
        """Return log odds, one for each row of features."""
        trees = len(self.features) // self.depth
        answers = (rows[:, self.features] > self.borders).reshape(len(rows), trees, self.depth)
        leaf = np.packbits(answers, axis=2, bitorder="little")[:, :, 0]
        margins: Matrix = self.leaves[leaf + (np.arange(trees) << self.depth)].sum(axis=1) + np.float32(self.bias)
        return margins

    def probabilities(self, rows: Matrix) -> Matrix:
        """Return probabilities, one for each row of features."""
        odds: Matrix = np.float32(1) / (np.float32(1) + np.exp(-self.margins(rows)))
        return odds


@cache
def load(name: str) -> Trees:
    """Load learned trees; they are read once, when they are first needed."""
    data = orjson.loads(files("judges.local").joinpath(f"weights/{name}.json").read_bytes())
    return Trees(
        np.array(data["features"], dtype=np.intp),
        np.array(data["borders"], dtype=np.float32),
        np.array(data["leaves"], dtype=np.float32),
        data["depth"],
        data["bias"],
    )
