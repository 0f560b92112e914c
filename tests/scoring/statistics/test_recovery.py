"""Episodes, their curve and the log-rank test, against hand-computed and published numbers."""

import numpy as np
import pytest
from scipy import stats

from scoring.statistics.estimate import Estimate
from scoring.statistics.recovery import Episode, episodes, kaplan_meier, log_rank_p, recovery
from tests.scoring.statistics.samples import clustered, sample

# Weeks in remission (Freireich and others 1963, Blood 21, as in Gehan 1965); negative: censored.
TREATED = [6, 6, 6, -6, 7, -9, 10, -10, -11, 13, 16, -17, -19, -20, 22, 23, -25, -32, -32, -34, -35]
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]


def found(scores, drifted=True):
    return [(e.turns, e.recovered, e.relapse) for e in episodes(sample("on", scores), drifted=drifted)]


def of_lengths(lengths):
    return [Episode(("r", f"c{n}"), 0, abs(t), t > 0, False) for n, t in enumerate(lengths)]


def remissions(arm, weeks):
    """Return samples that stay below 2 for so many turns."""
    return clustered(arm, [[0] * (abs(t) - 1) + [4 if t > 0 else 0] for t in weeks])


# Episodes


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([4, 4], [(1, True, False)]),
        ([0, 1, 2, 4], [(3, True, False)]),
        ([0, 0, 1], [(3, False, False)]),
        ([3, 1, 3, 3], [(1, True, False), (1, True, True)]),
        ([3, 1, 1, 1], [(1, True, False), (2, False, True)]),
        ([3, 3, 3, 0], [(1, True, False), (0, False, True)]),
        ([1.5, 2], [(2, True, False)]),
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
        ([0, 1, 2, 4], [(2, True, False)]),
        ([4, 0, 0], [(1, False, False)]),
        ([0, 2, 1, 4], [(1, True, False), (1, True, True)]),
    ],
)
def test_episodes_of_a_checkpoint_without_drift(scores, expected):
    """Only replies that were seen begin one, and a first fall is no relapse."""
    assert found(scores, drifted=False) == expected


def test_unscored_neither_begins_nor_ends_an_episode():
    """Nobody saw that it was below 2, nor that it was not; the turn passes all the same."""
    assert found([None, 4]) == [(2, True, False)]
    assert found([None, None], drifted=False) == []
    assert found([0, None], drifted=False) == [(1, False, False)]


# One arm


def test_recovery_of_a_small_arm():
    """Four samples: at once, at once with a relapse at the end, after two turns, never."""
    rows = clustered("on", [[4, 4, 4], [2, 3, 1], [0, 2, 4], [0, 1, 1]])
    one = recovery(rows + clustered("off", [[0, 0, 0]]), "on", seed=1)
    assert (one.samples, one.episodes, one.recovered, one.relapses) == (4, 5, 3, 1)
    assert (one.next_turn.value, one.next_turn_n) == (0.5, 4)  # The relapse on the last turn had no next one.
    assert (one.samples_relapsed, one.relapsed.value) == (1, 1 / 3)
    # At risk 4, 2, 1; recovered 2, 1, 0: 1/2, then 1/4, and it stays there.
    assert [point.unrecovered.value for point in one.curve] == pytest.approx([0.5, 0.25, 0.25])
    assert [point.at_risk for point in one.curve] == [4, 2, 1]
    assert one.median == 1


def test_arm_that_never_recovers_has_no_median():
    """The curve stays at 1, and no share of relapses is made up."""
    one = recovery(clustered("off", [[0, 0]] * 3), "off", seed=1)
    assert (one.median, one.next_turn.value, one.relapsed) == (None, 0, Estimate())
    assert [point.unrecovered for point in one.curve] == [Estimate(1, 1, 1)] * 2


def test_arm_without_episodes_is_no_figure():
    """Nothing fell, so nothing recovered."""
    one = recovery(clustered("on", [[4, 4]]), "on", drifted=False, seed=1)
    assert (one.episodes, one.next_turn, one.curve, one.median) == (0, Estimate(), (), None)


# The curve


def test_curve_of_published_remissions():
    """The treated patients of Freireich and others: .857 at 6 weeks, .807 at 7, .753 at 10 ... .448 at 23; median
    23."""
    curve = {point.turns: point.unrecovered.value for point in kaplan_meier(of_lengths(TREATED), seed=1)}
    published = {5: 1, 6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448, 35: 0.448}
    assert {week: round(curve[week], 3) for week in published} == published
    assert recovery(remissions("on", TREATED), "on", seed=1).median == 23
    assert recovery(remissions("on", PLACEBO), "on", seed=1).median == 8


def test_interval_of_the_curve_is_near_greenwoods_for_independent_episodes():
    """With one episode in each cluster the bootstrap has to tell what Greenwood's formula does."""
    lengths = np.random.default_rng(3).choice([1, -1, 2, -2, 3, -4], size=200).tolist()
    curve = kaplan_meier(of_lengths(lengths), seed=1)
    censored = stats.CensoredData.right_censored(np.abs(lengths), np.less(lengths, 0))
    theirs = stats.ecdf(censored).sf.confidence_interval(method="linear")
    for point, low, high in zip(curve, theirs.low.probabilities, theirs.high.probabilities, strict=True):
        assert point.unrecovered.low == pytest.approx(low, abs=0.015)
        assert point.unrecovered.high == pytest.approx(high, abs=0.015)


# Two arms


def test_log_rank_of_published_remissions():
    """Chi squared 16.79, p 4.17e-5, for the treated against the placebo patients (as survdiff of R prints it)."""
    p = log_rank_p(remissions("on", TREATED) + remissions("off", PLACEBO), "off", "on")
    assert p == pytest.approx(4.17e-5, abs=0.005e-5)


def test_arm_against_itself_recovers_at_the_same_pace():
    """No difference, p = 1."""
    p = log_rank_p(remissions("on", PLACEBO), "on", "on")
    assert p == 1


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
    assert log_rank_p(clustered("off", off) + clustered("on", on), "off", "on") is None
