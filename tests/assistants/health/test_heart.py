"""Heart rate and its variability over recordings, against the simulated beats."""

import statistics
from datetime import date
from itertools import pairwise

import pytest

from assistants.health.task import Period, TaskError
from assistants.health.tasks.heart import HeartRate, HeartRateVariability
from tests.assistants.health.pulses import context, noise, simulate

AUGUST = Period(start=date(2020, 8, 1), end=date(2020, 8, 31))
RATES = {1: 52, 2: 71, 31: 96}


@pytest.mark.parametrize("uneven", [0.02, 0.05, 0.1, 0.15])
@pytest.mark.parametrize("bpm", [50, 75, 110])
def test_rmssd_is_within_5_ms_of_the_simulated_beats(bpm: int, uneven: float) -> None:
    """Samples are 50 ms apart; peaks between them are interpolated. From 50 ms on it is within 5 %."""
    truth = simulate(bpm, 300, uneven=uneven)
    found = HeartRateVariability().run(AUGUST, context((1, truth.values)))
    assert found.rmssd == pytest.approx(truth.rmssd, abs=5)
    assert truth.rmssd < 50 or found.rmssd == pytest.approx(truth.rmssd, rel=0.05)


def test_values_of_variability_are_those_of_the_simulated_beats() -> None:
    """Each by its definition, over the beats of the simulator."""
    truth = simulate(60, 300, uneven=0.1)
    found = HeartRateVariability().run(AUGUST, context((1, truth.values)))
    steps = [later - earlier for earlier, later in pairwise(truth.intervals)]
    quarters = statistics.quantiles(truth.intervals, n=4, method="inclusive")
    assert found.mean_nn == pytest.approx(statistics.fmean(truth.intervals), abs=2)
    assert found.median_nn == pytest.approx(statistics.median(truth.intervals), abs=5)
    assert found.sdnn == pytest.approx(statistics.stdev(truth.intervals), abs=2)
    assert found.sdsd == pytest.approx(statistics.stdev(steps), abs=5)
    assert found.pnn50 == pytest.approx(100 * sum(abs(step) > 50 for step in steps) / len(steps), abs=4)
    assert found.pnn20 == pytest.approx(100 * sum(abs(step) > 20 for step in steps) / len(steps), abs=4)
    assert found.iqr_nn == pytest.approx(quarters[2] - quarters[0], abs=8)
    assert found.shortest_nn == pytest.approx(min(truth.intervals), abs=15)
    assert found.longest_nn == pytest.approx(max(truth.intervals), abs=15)


def test_rates_are_those_of_the_usable_recordings() -> None:
    """Mean, lowest and highest of means of recordings; what is left out and which days have none is said."""
    rates = HeartRate().run(AUGUST, context(*((day, simulate(bpm).values) for day, bpm in RATES.items()), (9, noise())))
    assert rates.figures()[:2] == [("recordings usable", "3 of 4", ""), ("usable minutes", 6.0, "min")]
    assert rates.mean_bpm == pytest.approx(sum(RATES.values()) / 3, abs=0.5)
    assert rates.lowest_bpm == pytest.approx(52, abs=0.5)
    assert rates.highest_bpm == pytest.approx(96, abs=0.5)
    assert [figure.value for figure in rates.figures()[2:]] == [rates.mean_bpm, rates.lowest_bpm, rates.highest_bpm]
    unusable = "1 of 4 recordings are not usable (no regular pulse: 1)."
    assert rates.notes == (unusable, "28 of 31 days have no usable recording.")


def test_a_day_outside_the_period_does_not_count() -> None:
    """Both ends are included, and no more."""
    period = Period(start=date(2020, 8, 2), end=date(2020, 8, 2))
    rates = HeartRate().run(period, context(*((day, simulate(bpm).values) for day, bpm in RATES.items())))
    assert (rates.recordings, rates.usable, rates.notes) == (1, 1, ())
    assert rates.mean_bpm == pytest.approx(71, abs=0.5)


@pytest.mark.parametrize("task", [HeartRate(), HeartRateVariability()])
def test_a_period_without_a_usable_recording_has_no_result(task: HeartRate | HeartRateVariability) -> None:
    """It says why, and gives no figure."""
    with pytest.raises(TaskError, match=r"no pulse recording from 2020-08-01 to 2020-08-31"):
        task.run(AUGUST, context())
    reasons = r"0 of 3 recordings .* usable \(no regular pulse: 2; shorter than 20 s: 1\)"
    with pytest.raises(TaskError, match=reasons):
        task.run(AUGUST, context((1, noise()), (2, noise(seed=7)), (3, noise(5))))


def test_variability_needs_a_minute_of_clear_signal() -> None:
    """45 s give a rate and no variability; values are means over the recordings that are long enough."""
    short, calm, lively = simulate(60, 45), simulate(60, uneven=0.02), simulate(60, uneven=0.15)
    every = ((1, short.values), (2, calm.values), (3, lively.values))
    assert HeartRate().run(AUGUST, context(*every)).usable == 3
    found = HeartRateVariability().run(AUGUST, context(*every))
    assert found.figures()[0].value == "2 of 3"
    assert found.usable_minutes == 4
    assert found.rmssd == pytest.approx((calm.rmssd + lively.rmssd) / 2, abs=5)
    assert "under 60 s of clear signal: 1" in found.notes[0]
    assert "norms of 24 hours" in " ".join(found.notes)


def test_every_value_of_variability_has_a_name_and_a_unit() -> None:
    """Ten values after the coverage, none of them twice."""
    found = HeartRateVariability().run(AUGUST, context((1, simulate().values)))
    names = [figure.name for figure in found.figures()]
    assert names[:4] == ["recordings usable", "usable minutes", "RMSSD", "SDNN"]
    assert len(set(names)) == len(names) == 12
    assert {figure.unit for figure in found.figures()[2:]} == {"ms", "%"}
