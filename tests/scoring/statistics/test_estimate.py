"""The cluster bootstrap, against what can be worked out and against scipy."""

import numpy as np
import pytest
from scipy import stats

from scoring.statistics.estimate import Estimate, ratio, sum_by_cluster, with_interval

SEED = 7


def table(*lines):
    return np.array(lines, dtype=float)


def test_clusters_are_added_up_in_their_own_order():
    """What comes first in a file makes no difference."""
    entries = [(("b",), (1, 2)), (("a",), (1, 0)), (("b",), (1, 3))]
    assert sum_by_cluster(entries, 2).tolist() == [[1, 0], [2, 5]]
    assert sum_by_cluster(reversed(entries), 2).tolist() == [[1, 0], [2, 5]]
    assert sum_by_cluster([], 3).shape == (0, 3)


def test_ratio_weighs_clusters_by_their_size():
    """Nine of nine and none of one: either may be drawn twice, and both together are nine of ten."""
    assert ratio(table((9, 9), (1, 0)), SEED) == Estimate(0.9, 0, 1)


def test_interval_agrees_with_scipy():
    """For clusters of one size the ratio is their mean, which scipy resamples too."""
    amounts = np.random.default_rng(1).normal(2, 1, size=40)
    ours = ratio(np.column_stack([np.ones(40), amounts]), SEED)
    theirs = stats.bootstrap((amounts,), np.mean, n_resamples=5000, method="percentile", rng=2).confidence_interval
    assert ours.low == pytest.approx(theirs.low, abs=0.04)
    assert ours.high == pytest.approx(theirs.high, abs=0.04)


def test_one_cluster_has_a_value_without_interval():
    """There is nothing to resample, also where the other cluster holds nothing that counts."""
    assert ratio(table((4, 3)), SEED) == Estimate(0.75)
    assert ratio(table((4, 3), (0, 0)), SEED) == Estimate(0.75)


def test_no_weight_is_no_figure():
    """Nothing seen is None, not zero."""
    assert ratio(np.zeros((0, 2)), SEED) == Estimate()
    assert ratio(table((0, 0), (0, 0)), SEED) == Estimate()


def test_undefined_resamples_are_left_out():
    """A resample without the figure says nothing about it."""
    assert with_interval(1.0, np.array([np.nan, 1.0, 1.0])) == Estimate(1, 1, 1)
    assert with_interval(1.0, np.array([np.nan])) == Estimate(1)
