"""Intervals of shares near their ends: never a point, never narrower than the bootstrap, and without a leap."""

import numpy as np
import pytest
from scipy import stats

from scoring.statistics.estimate import Estimate, ratio
from scoring.statistics.exact import clopper_pearson, difference, effective, share


def replies(*acceptable, of=12):
    """Return the table of clusters with so many acceptable replies each."""
    return np.array([[of, float(some)] for some in acceptable])


def changes(*told, of=12):
    """Return the table of clusters with so many gained and lost replies each."""
    return np.array([[of, gained - lost, gained + lost] for gained, lost in told], dtype=float)


def test_share_of_all_counts_clusters_as_trials():
    """Nine of nine: Clopper and Pearson go down to .025 ** (1 / 9) = .664; nothing is the mirror of it."""
    low = pytest.approx(0.025 ** (1 / 9))
    one = share(replies(*[12] * 9), 1)
    assert (one.value, one.low, one.high) == (1, low, 1)
    none = share(replies(*[0] * 9), 1)
    assert (none.low, 1 - none.high) == (0, low)


@pytest.mark.parametrize(("hits", "trials"), [(0, 5), (1, 5), (4, 9), (9, 9)])
def test_whole_successes_have_the_interval_of_scipy(hits, trials):
    """The beta quantiles are those of the binomial test."""
    theirs = stats.binomtest(hits, trials).proportion_ci(method="exact")
    assert clopper_pearson(hits / trials, trials) == pytest.approx((theirs.low, theirs.high))


def test_interval_does_not_leap_when_one_reply_disagrees():
    """107 of 108 is nearly as unsure as 108 of 108; the bootstrap alone would say .97 to 1."""
    every, but_one = share(replies(*[12] * 9), 1), share(replies(11, *[12] * 8), 1)
    assert ratio(replies(11, *[12] * 8), 1).low > 0.96
    assert every.low - 0.03 < but_one.low < every.low
    assert but_one.high <= 1


def test_large_cluster_counts_for_few():
    """One of a thousand replies among single ones is worth hardly more than itself."""
    assert effective(np.array([5.0] * 7)) == 7
    assert 1 < effective(np.array([1000.0, 1, 1, 1])) < 1.01


def test_difference_of_all_counts_clusters_as_trials():
    """All gained and all lost mirror each other, and one reply less makes no leap."""
    gained, lost = (difference(changes(*[pair] * 5), 1) for pair in ((12, 0), (0, 12)))
    assert (gained.value, gained.low, gained.high) == (1, pytest.approx(0.025**0.2), 1)
    assert (lost.value, lost.low, lost.high) == (-1, -1, -gained.low)
    nearly = difference(changes((11, 0), *[(12, 0)] * 4), 1)
    assert gained.low - 0.04 < nearly.low < gained.low


def test_no_difference_tells_what_may_have_been_missed():
    """None of nine clusters changed: up to .336 may have, either way; one reply more makes no leap."""
    none, one = difference(changes(*[(0, 0)] * 9), 1), difference(changes((1, 0), *[(0, 0)] * 8), 1)
    rare = 1 - 0.025 ** (1 / 9)
    assert (none.value, none.low, none.high) == (0, pytest.approx(-rare), pytest.approx(rare))
    assert one.low == none.low
    assert none.high < one.high < none.high + 0.03


def test_change_in_many_clusters_is_left_to_the_bootstrap():
    """Every cluster gained a little: that is no chance, and the interval must not say so."""
    table = changes(*[(1, 0), (1, 0), (2, 0)] * 3, of=24)
    assert difference(table, 1) == ratio(table[:, :2], 1)
    assert difference(table, 1).low > 0
    both = changes(*[(6, 6)] * 9)  # as many gained as lost in each: no certainty of no effect, but the bootstrap's
    assert difference(both, 1).value == 0


def test_nothing_has_no_interval():
    """No clusters, no share."""
    assert share(np.zeros((0, 2)), 1) == difference(np.zeros((0, 3)), 1) == Estimate()
