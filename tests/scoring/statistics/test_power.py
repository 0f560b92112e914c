"""The smallest visible effect, against tables and statsmodels."""

from math import sqrt

import pytest

from scoring.statistics.power import minimal_difference, smallest_effect
from tests.scoring.statistics.samples import clustered

NINE = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]


def test_against_tables_of_t():
    """Nine clusters: t(.975, 8) = 2.306 and t(.8, 8) = 0.889; s = sqrt(.6 / 8)."""
    assert minimal_difference(NINE) == pytest.approx((2.306 + 0.889) * sqrt(0.075) / 3, rel=1e-3)


@pytest.mark.parametrize(("n", "solved"), [(5, 0.8410), (6, 0.7857), (9, 0.5335), (20, 0.3388)])
def test_near_the_effect_that_statsmodels_solves_for(n, solved):
    """TTestPower().solve_power by the noncentral t distribution (statsmodels 0.15.0): within 1.5 % from five clusters
    on."""
    assert minimal_difference([0, 1] * (n // 2) + [0.5] * (n % 2)) == pytest.approx(solved, rel=0.015)


def test_rows_are_paired_by_place_and_averaged_by_cluster():
    """Three checkpoints whose share rises by 1, .5 and 0; what has no partner is left out."""
    rows = clustered("off", [[0, 0], [0, 4], [0, 4]]) + clustered("on", [[4, 4], [4, 4, 0], [0, 4, 0, 0]])
    rows += clustered("off", [[], [], [], [0, 4]]) + clustered("on", [[], [], [], [4, 0]])
    assert smallest_effect(rows, "off", "on")[0] == pytest.approx(minimal_difference([1, 0.5, 0, 0]))


def test_arm_at_an_end_tells_no_smallest_effect():
    """Two of three checkpoints of the baseline have no acceptable reply: their differences can hardly vary."""
    rows = clustered("off", [[0, 0], [0, 0], [0, 4]]) + clustered("on", [[4, 0], [4, 4], [0, 4]])
    value, reason = smallest_effect(rows, "off", "on")
    assert value is None
    assert reason.startswith("in 2 of 3 checkpoints arm off is within 5 points of none or all")
    assert smallest_effect(rows, "on", "off") == (None, reason)


def test_reason_is_given_where_nothing_can_be_told():
    """Too few checkpoints; no variation between them."""
    rows = clustered("off", [[0, 4]] * 2) + clustered("on", [[4, 0]] * 2)
    assert smallest_effect(rows, "off", "on") == (None, "it takes 3 checkpoints")
    rows = clustered("off", [[0, 4]] * 4) + clustered("on", [[4, 0]] * 4)
    assert smallest_effect(rows, "off", "on") == (None, "all checkpoints changed alike, so no variation was seen")
