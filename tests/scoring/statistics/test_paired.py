"""Figures of an arm and paired differences, against numbers worked out by hand."""

from itertools import product

import numpy as np
import pytest

from scoring.statistics.estimate import Estimate
from scoring.statistics.paired import compare_arms, figures, permutation_p
from tests.scoring.statistics.samples import clustered, sample

# One arm


def test_figures_of_a_small_arm():
    """Scores 4 3 2 1 0: three of five acceptable, two good, mean two."""
    one = figures(sample("on", [4, 3, 2, 1, 0]), seed=1)
    assert (one.n, one.unscored, one.clusters) == (5, 0, 1)
    assert (one.acceptable.value, one.good.value, one.mean.value) == (0.6, 0.4, 2)


def test_half_scores_count_by_the_bound():
    """A median of 1.5 is not acceptable, one of 2.5 is and is not good."""
    one = figures(sample("on", [1.5, 2.5]), seed=1)
    assert (one.acceptable.value, one.good.value, one.mean.value) == (0.5, 0, 2)


def test_unscored_is_no_pass_and_no_zero():
    """It counts against the shares; the mean is of the others."""
    one = figures(sample("on", [4, None, 4, None]), seed=1)
    assert (one.n, one.unscored) == (4, 2)
    assert (one.acceptable.value, one.good.value, one.mean.value) == (0.5, 0.5, 4)


def test_nothing_to_sum_up_is_no_figure():
    """An arm without replies has no share, rather than 0."""
    one = figures([], seed=1)
    assert (one.n, one.acceptable, one.mean) == (0, Estimate(), Estimate())


def test_clusters_are_resampled_whole():
    """Forty replies from two checkpoints that go one way each say as much as two: the interval is everything."""
    two = figures(sample("on", [4] * 20, "a") + sample("on", [0] * 20, "b"), seed=1)
    assert (two.acceptable.low, two.acceptable.high) == (0, 1)
    forty = figures(clustered("on", [[4], [0]] * 20), seed=1).acceptable
    assert 0.3 < forty.low < 0.4
    assert 0.6 < forty.high < 0.7


def test_order_of_rows_and_number_of_calls_do_not_matter():
    """The same seed and the same rows make the same interval; another seed makes another."""
    rows = clustered("on", [[4, n % 5, 0] for n in range(9)])
    assert figures(rows, seed=3) == figures(rows[::-1], seed=3)
    assert figures(rows, seed=3).mean != figures(rows, seed=4).mean


# Two arms


def test_difference_is_second_less_first():
    """From 0 and 2 to 4 and 3: one of two newly acceptable, both good, mean up by 2.5."""
    one = compare_arms(sample("off", [0, 2]) + sample("on", [4, 3]), "off", "on", seed=1)
    assert (one.acceptable.estimate.value, one.good.estimate.value, one.mean.estimate.value) == (0.5, 1, 2.5)
    assert (one.acceptable.n, one.clusters) == (2, 1)
    back = compare_arms(sample("off", [0, 2]) + sample("on", [4, 3]), "on", "off", seed=1)
    assert back.mean.estimate.value == -2.5


def test_only_places_of_both_arms_are_compared():
    """A sample that only one arm has tells nothing about the other."""
    rows = sample("off", [0, 0]) + sample("on", [4]) + sample("on", [0] * 4, "b")
    assert (
        compare_arms(rows, "off", "on", seed=1).acceptable.n,
        compare_arms(rows, "off", "on", seed=1).acceptable.estimate.value,
    ) == (1, 1)


def test_unscored_pair_counts_in_shares_and_not_in_the_mean():
    """Unscored with the filter on is not acceptable: the share goes down, and no score is made up."""
    one = compare_arms(sample("off", [2, 0]) + sample("on", [None, 4]), "off", "on", seed=1)
    assert (one.acceptable.n, one.acceptable.estimate.value) == (2, 0)
    assert (one.mean.n, one.mean.estimate.value) == (1, 4)


def test_arm_compared_with_itself_shows_nothing():
    """No difference and p = 1; the interval of shares tells what may have been missed."""
    one = compare_arms(clustered("on", [[n % 5, 2] for n in range(16)]), "on", "on", seed=1)
    rare = pytest.approx(1 - 0.025 ** (1 / 16))
    for figure in (one.acceptable, one.good, one.mean):
        assert (figure.estimate.value, figure.p) == (0, 1)
    assert (one.acceptable.estimate.high, -one.acceptable.estimate.low) == (rare, rare)
    assert one.mean.estimate == Estimate(0, 0, 0)


def test_arms_without_a_place_in_common_have_no_difference():
    """Nothing to compare is None, not 0 and not significant."""
    one = compare_arms(sample("on", [4]), "off", "on", seed=1)
    assert (one.acceptable.estimate, one.acceptable.p) == (Estimate(), None)


def test_two_rows_for_one_place_are_refused():
    """A run joined twice would count twice."""
    rows = sample("off", [1]) + sample("on", [4]) + sample("on", [3])
    with pytest.raises(ValueError, match=r"'on' has two rows for \('dietician', 'a', 0, 1\)"):
        compare_arms(rows, "off", "on", seed=1)


def test_clear_difference_has_the_smallest_p():
    """Ten clusters all gained: of 1024 flips only two are as far from zero; the exact interval starts at 1 - .308."""
    one = compare_arms(clustered("off", [[0]] * 10) + clustered("on", [[4]] * 10), "off", "on", seed=1).acceptable
    assert one.p == 2 / 1024
    assert one.estimate.low == pytest.approx(0.025**0.1)
    assert (one.estimate.value, one.estimate.high) == (1, 1)


# The permutation test


def test_permutation_test_against_hand_enumeration():
    """The sums 3, 2 and -1 make 4; of the eight patterns of signs two make 4 and two make 6, either way."""
    sums = [3.0, 2.0, -1.0]
    flips = [abs(sum(s * x for s, x in zip(signs, sums, strict=True))) for signs in product((1, -1), repeat=3)]
    assert sorted(flips) == [0, 0, 2, 2, 4, 4, 6, 6]
    assert permutation_p(np.array(sums), seed=1) == 4 / 8


def test_fourteen_clusters_are_enumerated_and_fifteen_drawn():
    """All 2 ** 14 flips, two of which are as extreme; of 2 ** 15 a sample, whose p is never 0."""
    assert permutation_p(np.ones(14), seed=1) == 2 / 2**14
    assert permutation_p(np.ones(40), seed=1) == 1 / 20_001
    assert permutation_p(np.arange(-7.0, 9), seed=1) == permutation_p(np.arange(-7.0, 9), seed=1)


def test_one_cluster_cannot_be_significant():
    """Whatever it shows, the opposite is as likely."""
    assert permutation_p(np.array([12.0]), seed=1) == 1


def test_shuffled_labels_show_no_effect():
    """300 experiments whose arms are swapped by a coin: about one in twenty has p <= .05, and the difference averages
    0."""
    rng = np.random.default_rng(20)
    ps, differences = [], []
    for _ in range(300):
        strong = np.clip(rng.normal(3, 1, size=(8, 1)) + rng.normal(0, 1, size=(8, 6)), 0, 4).round(2)
        weak = np.clip(strong - rng.exponential(1, size=(8, 6)), 0, 4).round(2)
        swapped = rng.random((8, 1)) < 0.5
        rows = clustered("on", np.where(swapped, weak, strong).tolist())
        rows += clustered("off", np.where(swapped, strong, weak).tolist())
        found = compare_arms(rows, "off", "on", seed=1).mean
        ps.append(found.p)
        differences.append(found.estimate.value)
    assert 0.025 <= np.mean(np.array(ps) <= 0.05) <= 0.08
    assert abs(np.mean(differences)) < 0.1
