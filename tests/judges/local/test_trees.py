"""Trees answer for all rows at once what each answers for one."""

import numpy as np

from judges.local import trees


def test_margins_are_those_of_the_leaves_that_the_answers_name() -> None:
    """Question by question, tree by tree; what is exactly at the border is not beyond it."""
    learned = trees.load("support")
    chance = np.random.default_rng(1)
    rows = chance.normal(0.5, 1.0, (7, learned.features.max() + 1)).astype(np.float32)
    rows[0, learned.features] = learned.borders.clip(max=1e9)
    expected = [
        learned.bias
        + sum(learned.leaves[first + _leaf(learned, tree, row)] for tree, first in enumerate(learned.first_leaves))
        for row in rows
    ]
    assert np.allclose(learned.margins(rows), expected, atol=1e-4)


def _leaf(learned: trees.Trees, tree: int, row: trees.Matrix) -> int:
    asked = range(8 * tree, 8 * tree + 8)
    return sum(bool(row[learned.features[n]] > learned.borders[n]) << (n - 8 * tree) for n in asked)
