"""Episodes, their curve and the log-rank test, against hand-computed and published numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scoring.statistics.estimate import Estimate
from scoring.statistics.recovery import Episode, compare, episodes, kaplan_meier, recovery
from tests.scoring.statistics.samples import clustered, sample

# Weeks in remission (Freireich and others 1963, Blood 21, as in Gehan 1965); negative: censored.
TREATED = [6, 6, 6, -6, 7, -9, 10, -10, -11, 13, 16, -17, -19, -20, 22, 23, -25, -32, -32, -34, -35]
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]


def found(scores, drifted=True):
    return [(e.began, e.turns, e.recovered, e.relapse) for e in episodes(sample("on", scores), drifted=drifted)]


def of_lengths(lengths):
    return [Episode(("r", f"c{n}"), 0, 0, abs(t), t > 0, False) for n, t in enumerate(lengths)]


def remissions(arm, weeks):
    """Return samples that stay below 2 for so many turns."""
    return clustered(arm, [[0] * (abs(t) - 1) + [4 if t > 0 else 0] for t in weeks])


# Episodes


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([4, 4], [(0, 1, True, False)]),
        ([0, 1, 2, 4], [(0, 3, True, False)]),
        ([0, 0, 1], [(0, 3, False, False)]),
        ([3, 1, 3, 3], [(0, 1, True, False), (2, 1, True, True)]),
        ([3, 1, 1, 1], [(0, 1, True, False), (2, 2, False, True)]),
        ([3, 3, 3, 0], [(0, 1, True, False), (4, 0, False, True)]),
        ([1.5, 2], [(0, 2, True, False)]),
    ],
)
def test_episodes_of_a_drifted_checkpoint(scores, expected):
    """The first began at turn 0; each ends at the first 2 or more, or is censored at the last turn."""
    assert found(scores) == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([4, 4], []),
        ([2, 2], []),
        ([0, 1, 2, 4], [(1, 2, True, False)]),
        ([4, 0, 0], [(2, 1, False, False)]),
        ([0, 2, 1, 4], [(1, 1, True, False), (3, 1, True, True)]),
    ],
)
def test_episodes_of_a_checkpoint_without_drift(scores, expected):
    """Only replies that were seen begin one, and a first fall is no relapse."""
    assert found(scores, drifted=False) == expected


def test_unscored_neither_begins_nor_ends_an_episode():
    """Nobody saw that it was below 2, nor that it was not; the turn passes all the same."""
    assert found([None, 4]) == [(0, 2, True, False)]
    assert found([None, None], drifted=False) == []
    assert found([0, None], drifted=False) == [(1, 1, False, False)]


# One arm


def test_recovery_of_a_small_arm():
    """Four samples: at once, at once with a relapse at the end, after two turns, never."""
    rows = clustered("on", [[4, 4, 4], [2, 3, 1], [0, 2, 4], [0, 1, 1]])
    one = recovery(rows + clustered("off", [[0, 0, 0]]), "on")
    assert (one.samples, one.episodes, one.recovered, one.relapses) == (4, 5, 3, 1)
    assert (one.next_turn.value, one.next_turn_n) == (0.5, 4)  # The relapse on the last turn had no next one.
    assert (one.samples_recovered, one.samples_relapsed, one.relapsed.value) == (3, 1, 1 / 3)
    # At risk 4, 2, 1; recovered 2, 1, 0: 1/2, then 1/4, and it stays there.
    assert [point.unrecovered.value for point in one.curve] == pytest.approx([0.5, 0.25, 0.25])
    assert [point.at_risk for point in one.curve] == [4, 2, 1]
    assert one.median == 1


def test_every_sample_of_a_checkpoint_has_its_own_episodes():
    """Samples branch from one checkpoint; their turns are never strung together."""
    rows = sample("on", [0, 4], number=0) + sample("on", [0, 0], number=1)
    assert (recovery(rows, "on").samples, recovery(rows, "on").episodes) == (2, 2)
    assert recovery(rows[::-1], "on") == recovery(rows, "on")


def test_arm_that_never_recovers_has_no_median():
    """The curve stays at 1, and no share of relapses is made up."""
    one = recovery(clustered("off", [[0, 0]] * 3), "off")
    assert (one.median, one.next_turn.value, one.relapsed) == (None, 0, Estimate())
    assert [point.unrecovered for point in one.curve] == [Estimate(1, 1, 1)] * 2


def test_arm_without_episodes_is_no_figure():
    """Nothing fell, so nothing recovered."""
    one = recovery(clustered("on", [[4, 4]]), "on", drifted=False)
    assert (one.episodes, one.next_turn, one.curve, one.median) == (0, Estimate(), (), None)


# The curve


def test_curve_of_published_remissions():
    """The treated patients of Freireich and others: .857 at 6 weeks, .807 at 7, .753 at 10 ... .448 at 23; median
    23."""
    curve = {point.turns: point.unrecovered.value for point in kaplan_meier(of_lengths(TREATED))}
    published = {5: 1, 6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448, 35: 0.448}
    assert {week: round(curve[week], 3) for week in published} == published
    assert recovery(remissions("on", TREATED), "on").median == 23
    assert recovery(remissions("on", PLACEBO), "on").median == 8


def test_interval_of_the_curve_is_near_greenwoods_for_independent_episodes():
    """With one episode in each cluster the bootstrap has to tell what Greenwood's formula does."""
    lengths = np.random.default_rng(3).choice([1, -1, 2, -2, 3, -4], size=200).tolist()
    curve = kaplan_meier(of_lengths(lengths))
    censored = stats.CensoredData.right_censored(np.abs(lengths), np.less(lengths, 0))
    theirs = stats.ecdf(censored).sf.confidence_interval(method="linear")
    for point, low, high in zip(curve, theirs.low.probabilities, theirs.high.probabilities, strict=True):
        assert point.unrecovered.low == pytest.approx(low, abs=0.015)
        assert point.unrecovered.high == pytest.approx(high, abs=0.015)


@given(st.lists(st.integers(-6, 6).filter(bool), min_size=2, max_size=12))
def test_curve_never_rises(lengths):
    """Whatever is censored, its share, and both its ends, stay in 0..1 and fall."""
    curve = [point.unrecovered for point in kaplan_meier(of_lengths(lengths))]
    for ends in ([e.value for e in curve], [e.low for e in curve], [e.high for e in curve]):
        assert ends == sorted(ends, reverse=True)
        assert 0 <= ends[-1] <= ends[0] <= 1


# Two arms


def test_log_rank_of_published_remissions():
    """Chi squared 16.79 for the treated against the placebo patients (as survdiff of R prints it)."""
    one = compare(remissions("on", TREATED) + remissions("off", PLACEBO), "off", "on")
    assert one.chi_squared == pytest.approx(16.79, abs=0.005)
    assert one.p == pytest.approx(4.17e-5, abs=0.005e-5)


def test_arm_against_itself_recovers_at_the_same_pace():
    """No difference, p = 1."""
    one = compare(remissions("on", PLACEBO), "on", "on")
    assert (one.chi_squared, one.p) == (0, 1)


@pytest.mark.parametrize(
    ("off", "on"),
    [
        ([], [[4]]),
        ([[0, 0]], [[0, 0]]),
        ([[4]], [[4]]),
        ([[0]], [[0, 0, 4, 0]]),
    ],
)
def test_log_rank_without_anything_to_tell_is_none(off, on):
    """An empty arm, nobody recovered, all on the same turn, or never at risk together."""
    assert compare(clustered("off", off) + clustered("on", on), "off", "on") is None


def test_episode_without_a_later_turn_is_nothing_to_compare():
    """An arm that fell on its last turn only was never at risk of recovering."""
    rows = clustered("off", [[0, 4], [0, 0]]) + clustered("on", [[4, 0]])
    assert compare(rows, "off", "on", drifted=False) is None


def test_arms_that_fell_are_needed_where_the_checkpoint_had_not():
    """Without drift at turn 0 an arm that never falls has no episode to compare."""
    rows = clustered("off", [[0, 4], [0, 0]]) + clustered("on", [[4, 4], [4, 4]])
    assert compare(rows, "off", "on", drifted=False) is None
    assert compare(rows, "off", "on") is not None
