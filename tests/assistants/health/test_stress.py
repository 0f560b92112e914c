"""The level of a day against the 30 days before it."""

import math
import statistics
from datetime import date
from typing import get_args

import pytest

from assistants.health.task import Period, TaskError
from assistants.health.tasks.heart import HeartRateVariability
from assistants.health.tasks.stress import DayInputs, Level, Stress, StressLevel, place
from tests.assistants.health.pulses import Floats, Simulated, context, noise, simulate

UNEVEN = [0.06, 0.09, 0.07, 0.1, 0.08, 0.075, 0.085, 0.095]
"""How uneven the beats of some days are: RMSSD grows with it."""


def usual(days: int) -> list[Simulated]:
    return [simulate(65, 90, seed, UNEVEN[seed % len(UNEVEN)]) for seed in range(days)]


def level_of(day: Floats, before: dict[int, Floats]) -> StressLevel:
    return Stress().run(DayInputs(day=date(2020, 8, 29)), context(*before.items(), (29, day)))


def baseline(days: int) -> dict[int, Floats]:
    return {28 - at: one.values for at, one in enumerate(usual(days))}


FIVE = [(0.01, "very high"), (0.075, "high"), (0.09, "usual"), (0.1, "low"), (0.18, "very low")]


@pytest.mark.parametrize(("uneven", "level"), FIVE)
def test_less_variability_is_a_higher_level(uneven: float, level: str) -> None:
    """The level is that of ln(RMSSD) of the simulated beats, in standard deviations of the days before."""
    today = simulate(65, 120, 50, uneven)
    found = level_of(today.values, baseline(12))
    logarithms = [math.log(one.rmssd) for one in usual(12)]
    mean, spread = statistics.fmean(logarithms), statistics.stdev(logarithms)
    assert found.level == level
    assert found.deviation == pytest.approx((math.log(today.rmssd) - mean) / spread, abs=0.3, rel=0.15)
    assert found.rmssd == pytest.approx(today.rmssd, abs=5)
    assert found.baseline_rmssd == pytest.approx(math.exp(mean), abs=3)


def test_figures_begin_with_the_coverage() -> None:
    """Days of baseline, minutes of the day, and only then the level and what it is computed from."""
    found = level_of(simulate(65, 120, 50, 0.09).values, baseline(12))
    assert found.figures() == [
        ("days of baseline", "12 of 30", ""),
        ("usable minutes", 2.0, "min"),
        ("stress level (HRV index)", "usual", ""),
        ("RMSSD", found.rmssd, "ms"),
        ("baseline mean RMSSD", found.baseline_rmssd, "ms"),
        ("deviation from baseline", found.deviation, "SD"),
    ]


def test_every_result_says_that_it_is_no_validated_measure() -> None:
    """First of the notes, and told to the writer."""
    found = level_of(simulate(65, 120, 50, 0.01).values, baseline(7))
    assert found.notes[0].startswith("This is not a validated measure of stress")
    assert "not a validated measure" in Stress().notes_for_writer


LEVELS = {
    "very high": (-9, -1.01), "high": (-0.99, -0.51), "usual": (-0.49, 0, 0.49), "low": (0.51, 0.99), "very low": (1.01, 9),
}  # fmt: skip


def test_limits_are_half_and_one_standard_deviation() -> None:
    """There are five levels."""
    assert {level: [place(one) for one in deviations] for level, deviations in LEVELS.items()} == {
        level: [level] * len(deviations) for level, deviations in LEVELS.items()
    }
    assert get_args(Level) == tuple(LEVELS)


def test_under_seven_days_there_is_no_level() -> None:
    """Seven are enough; with six, the refusal says how many there are."""
    today = simulate(65, 120, 50, 0.09).values
    assert level_of(today, baseline(7)).baseline_days == 7
    with pytest.raises(TaskError, match=r"6 of the 30 days before 2020-08-29 .* a baseline needs 7"):
        level_of(today, baseline(6))
    with pytest.raises(TaskError, match=r"0 of the 30 days before 2020-08-29"):
        level_of(today, {})


def test_only_usable_days_of_the_last_thirty_are_a_baseline() -> None:
    """30 July is the first of them: neither the day before it, nor noise, nor 45 s, nor a second recording is a day more."""
    some = baseline(6)
    others = {-2: usual(1)[0].values, 10: noise(), 11: simulate(65, 45).values, 30: usual(2)[1].values}
    today = simulate(65, 120, 50, 0.09).values
    with pytest.raises(TaskError, match=r"6 of the 30 days"):
        level_of(today, some | others)
    assert level_of(today, some | others | {-1: usual(7)[6].values}).baseline_days == 7


def test_the_rmssd_of_a_day_is_the_mean_of_its_recordings() -> None:
    """On the day and in the baseline; a day with two recordings is one day."""
    calm, lively = simulate(65, 120, 50, 0.02), simulate(65, 120, 51, 0.25)
    days = [*baseline(7).items(), (28, lively.values), (29, calm.values), (29, lively.values)]
    found = Stress().run(DayInputs(day=date(2020, 8, 29)), context(*days))
    assert found.rmssd == pytest.approx((calm.rmssd + lively.rmssd) / 2, abs=5)
    assert (found.baseline_days, found.usable_minutes) == (7, 4.0)
    august = [date(2020, 8, day) for day in range(22, 29)]
    means = [HeartRateVariability().run(Period(start=day, end=day), context(*days)).rmssd for day in august]
    assert found.baseline_rmssd == pytest.approx(math.exp(statistics.fmean(map(math.log, means))), abs=0.2)


def test_noise_and_a_baseline_without_any_change_have_no_level() -> None:
    """Noise on the day is reported as noise; a standard deviation of 0 is no measure of anything."""
    with pytest.raises(TaskError, match=r"0 of 1 recordings on 2020-08-29 are usable \(no regular pulse: 1\)"):
        level_of(noise(), baseline(8))
    same = {day: usual(1)[0].values for day in range(10, 20)}
    with pytest.raises(TaskError, match="never changes"):
        level_of(simulate(65, 120, 50, 0.09).values, same)
