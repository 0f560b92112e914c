"""Boosted trees that were learned: each asks the same few questions of everybody, so that all can be asked at once."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import numpy as np
import orjson
from numpy.typing import NDArray

Matrix = NDArray[np.float32]


_QUESTIONS = 8
"""Questions that each tree is made to ask, so that its answers are the bits of a byte; those it lacks nobody answers with yes."""


@dataclass(frozen=True)
class Trees:
    """Oblivious trees of one depth (Prokhorenkova and others 2018): the answers to a tree's questions name its leaf."""

    features: NDArray[np.intp]
    """For each tree, and each of its questions, the number of the feature that is asked about; flat."""
    borders: Matrix
    """What the feature is compared with; flat."""
    leaves: Matrix
    """Log odds by tree and leaf; flat."""
    first_leaves: NDArray[np.intp]
    """Where the leaves of each tree begin."""
    bias: float

    def margins(self, rows: Matrix) -> Matrix:
        """Return log odds, one for each row of features."""
        answers = rows.take(self.features, axis=1) > self.borders
        leaf = np.packbits(answers, axis=1, bitorder="little") + self.first_leaves
        margins: Matrix = np.add.reduce(self.leaves.take(leaf), axis=1) + np.float32(self.bias)
        return margins

    def probabilities(self, rows: Matrix) -> Matrix:
        """Return probabilities, one for each row of features."""
        odds: Matrix = np.float32(1) / (np.float32(1) + np.exp(-self.margins(rows)))
        return odds


@cache
def load(name: str) -> Trees:
    """Load learned trees; they are read once, when they are first needed."""
    data = orjson.loads(files("judges.local").joinpath(f"weights/{name}.json").read_bytes())
    depth = data["depth"]
    features = np.array(data["features"], dtype=np.intp).reshape(-1, depth)
    borders = np.array(data["borders"], dtype=np.float32).reshape(-1, depth)
    lacking = ((0, 0), (0, _QUESTIONS - depth))
    return Trees(
        np.pad(features, lacking).ravel(),
        np.pad(borders, lacking, constant_values=np.inf).ravel(),
        np.array(data["leaves"], dtype=np.float32),
        np.arange(len(features)) << depth,
        data["bias"],
    )
