"""A task that compares a day's heart rate variability (HRV) with the person's baseline. It is no validated measure of stress.

As in HRV-guided training, ln(RMSSD) of a day is compared with its mean and standard deviation over earlier days. Half a
standard deviation is the smallest worthwhile change (Plews et al. 2013, doi 10.1007/s40279-013-0071-8; Vesterinen et al. 2016, doi
10.1249/MSS.0000000000000910), a whole one the limit of Kiviniemi et al. 2007 (doi 10.1007/s00421-007-0552-2). Acute stress
lowers RMSSD in most studies (Kim et al. 2018, doi 10.30773/pi.2017.08.17); so do exercise, alcohol, illness and lack of sleep.
"""

import math
import statistics
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from datetime import date, timedelta
from typing import Literal, get_args

from pydantic import Field

from assistants.health.task import Figure, OneSubject, Result, Task, TaskContext, TaskError
from assistants.health.tasks.heart import LEAST_HRV_S, Usable, mean_variability, read_recordings

BASELINE_DAYS, LEAST_DAYS = 30, 7
Level = Literal["very high", "high", "usual", "low", "very low"]
LIMITS = (-1.0, -0.5, 0.5, 1.0)
"""Limits between levels, in standard deviations of ln(RMSSD) from the baseline. A value on a limit is in the lower range."""
NOT_VALIDATED = (
    "This is not a validated measure of stress: it compares heart rate variability with the person's baseline."
)
OTHER_CAUSES = "Exercise, alcohol, illness, lack of sleep and the time of day change heart rate variability too."


class DayInputs(OneSubject):
    """Inputs of the task: a subject and a day."""

    day: date = Field(description="YYYY-MM-DD")


class StressLevel(Result):
    """The stress level of a day, with the measurements behind it."""

    level: Level
    deviation: float
    """Deviation of ln(RMSSD) from the baseline's mean, in standard deviations of the baseline, with one decimal."""
    rmssd: float
    """Mean RMSSD over the day's recordings, in ms."""
    baseline_rmssd: float
    """Geometric mean of RMSSD over the baseline days, in ms."""
    baseline_days: int
    usable_minutes: float

    def figures(self) -> Sequence[Figure]:
        return [
            Figure("days of baseline", f"{self.baseline_days} of {BASELINE_DAYS}"),
            Figure("usable minutes", self.usable_minutes, "min"),
            Figure("stress level (HRV index)", self.level),
            Figure("RMSSD", self.rmssd, "ms"),
            Figure("baseline mean RMSSD", self.baseline_rmssd, "ms"),
            Figure("deviation from baseline", self.deviation, "SD"),
        ]


class Stress(Task[DayInputs, StressLevel]):
    name, title = "stress_level", "Stress level (HRV index)"
    description = (
        "Finds a stress level of a day, from very low to very high: heart rate variability from pulse (PPG) recordings against "
        "the person's 30 days before. It needs 7 days of baseline."
    )
    inputs, result = DayInputs, StressLevel
    examples = ({"subject": "par_5", "day": "2020-08-29"},)
    packages, sources = ("neurokit2",), ("heart",)
    timeout_s, in_process = 40.0, True
    notes_for_writer = "Say that it is not a validated measure of stress, and how many days of baseline there are."

    def run(self, inputs: DayInputs, context: TaskContext) -> StressLevel:
        today = read_recordings(context, inputs.day, inputs.day, LEAST_HRV_S)
        rmssd = mean_variability(today.usable)["rmssd"]
        baseline = read_baseline(context, inputs.day)
        mean, spread = statistics.mean(baseline), statistics.stdev(baseline)
        if not spread:
            raise TaskError("No stress level can be found: heart rate variability never changes in the baseline.")
        deviation = (math.log(rmssd) - mean) / spread
        return StressLevel(
            level=place(deviation),
            deviation=round(deviation, 1),
            rmssd=round(rmssd, 1),
            baseline_rmssd=round(math.exp(mean), 1),
            baseline_days=len(baseline),
            usable_minutes=today.coverage["usable_minutes"],
            notes=(NOT_VALIDATED, OTHER_CAUSES, *today.notes),
        )


def place(deviation: float) -> Level:
    """Return the stress level for a deviation of ln(RMSSD), in standard deviations. Less variability means a higher level."""
    levels: tuple[Level, ...] = get_args(Level)
    return levels[bisect_left(LIMITS, deviation)]


def read_baseline(context: TaskContext, day: date) -> list[float]:
    """Return ln(RMSSD) of each day that has a usable recording, among the `BASELINE_DAYS` before a day.

    Raises:
        TaskError: Fewer than `LEAST_DAYS` of them have a usable recording.
    """
    recordings = defaultdict[date, list[Usable]](list)
    with suppress(TaskError):  # without any usable recording
        for one in read_recordings(context, day - timedelta(BASELINE_DAYS), day - timedelta(1), LEAST_HRV_S).usable:
            recordings[one.day].append(one)
    if len(recordings) < LEAST_DAYS:
        raise TaskError(
            f"No stress level can be found: {len(recordings)} of the {BASELINE_DAYS} days before {day} have a usable pulse "
            f"recording, and a baseline needs {LEAST_DAYS}."
        )
    return [math.log(mean_variability(one)["rmssd"]) for one in recordings.values()]


TASKS = (Stress(),)
