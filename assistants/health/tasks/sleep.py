"""Tasks on sleep: a summary of the nights of a period, and the trend over a period."""

import math
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any, Literal, NamedTuple

import pandas as pd
from pydantic import Field, model_validator

from assistants.health.tables import Table, period_labels
from assistants.health.task import Figure, Period, Result, Task, TaskContext, TaskError, count_days, require_rows

MOST_TREND_DAYS = 1_461
"""Maximum period of a trend, four years. The slope compares all pairs of nights, so the time grows with the square."""
FEWEST_SLOPE_NIGHTS = 7
_DAY_MINUTES = 24 * 60


class Night(NamedTuple):
    """The sleep of a night. `date` is the date of the evening."""

    date: date
    asleep: float
    """Sleep, in minutes."""


class SleepSummaryResult(Result):
    """Mean minutes over the nights with data in a period of `days`. A mean is None if no night has the value."""

    nights: int
    days: int
    mean_asleep: float
    mean_rem: float | None
    mean_deep: float | None
    mean_light: float | None
    mean_awake: float | None
    rem_share: float | None
    """Share of REM in sleep, in %, over the nights that have both values."""
    mean_bedtime: str | None
    """Mean time of going to bed, as HH:MM."""
    shortest: Night
    longest: Night

    def figures(self) -> Sequence[Figure]:
        means = {"sleep": self.mean_asleep, "REM sleep": self.mean_rem, "deep sleep": self.mean_deep}
        means |= {"light sleep": self.mean_light, "time awake in the night": self.mean_awake}
        found = [Figure("nights with data", f"{self.nights} of {self.days}")]
        found += [Figure(f"mean {name}", value, "min") for name, value in means.items() if value is not None]
        found += [Figure("REM share of sleep", self.rem_share, "%")] if self.rem_share is not None else []
        found += [Figure("mean bedtime", self.mean_bedtime)] if self.mean_bedtime is not None else []
        for name, night in (("shortest night", self.shortest), ("longest night", self.longest)):
            found += [Figure(name, night.asleep, "min"), Figure(f"date of the {name}", night.date.isoformat())]
        return found


class SleepSummary(Task[Period, SleepSummaryResult]):
    name, title = "sleep_summary", "Sleep summary"
    description = (
        "Mean minutes asleep, of REM, deep and light sleep and awake a night, REM share, mean bedtime, shortest and longest "
        "night of a period. A night belongs to the date of its evening."
    )
    inputs, result = Period, SleepSummaryResult
    examples = ({"subject": "par_5", "start": "2020-08-01", "end": "2020-08-31"},)
    packages, sources = ("pandas",), ("sleep",)

    def run(self, inputs: Period, context: TaskContext) -> SleepSummaryResult:
        frame, notes = _nights(inputs, context)
        both = frame.dropna(subset=["rem"])
        shortest, longest = (frame.loc[index] for index in (frame["asleep"].idxmin(), frame["asleep"].idxmax()))
        return SleepSummaryResult(
            notes=notes,
            nights=len(frame),
            days=inputs.days,
            **{f"mean_{column}": _mean(frame[column]) for column in ("asleep", "rem", "deep", "light", "awake")},
            rem_share=round(100 * both["rem"].sum() / both["asleep"].sum(), 1) if both["asleep"].sum() else None,
            mean_bedtime=mean_bedtime(list(frame["bedtime"].dropna())),
            shortest=Night(shortest["date"].date(), round(shortest["asleep"], 2)),
            longest=Night(longest["date"].date(), round(longest["asleep"], 2)),
        )


class SleepTrendInputs(Period):
    """Inputs of the task: a period of at most four years, a measure, and whether to group nights by week or month."""

    measure: Literal["asleep", "rem", "deep", "light", "awake"] = Field("asleep", description="minutes of what")
    every: Literal["week", "month"] = Field("month", description="means by calendar week (from Monday) or month")

    @model_validator(mode="after")
    def _not_too_long(self) -> "SleepTrendInputs":
        if self.days > MOST_TREND_DAYS:
            raise ValueError(f"the period of a trend has {MOST_TREND_DAYS} days at most")
        return self


class Mean(NamedTuple):
    """The mean of a week or month: over its `nights` with data, of its `days` in the period."""

    label: str
    """The month ("2020-08"), or the Monday of the week ("2020-08-03")."""
    nights: int
    days: int
    mean: float | None
    """Mean in minutes; None if no night has data."""


class SleepTrendResult(Result):
    """The trend of a measure of sleep: means of weeks or months in minutes, and the slope over the period."""

    measure: str
    every: str
    nights: int
    days: int
    means: tuple[Mean, ...]
    slope: float | None
    """Change in minutes per week; None with fewer than `FEWEST_SLOPE_NIGHTS` nights."""
    interval: tuple[float, float] | None
    """95 % confidence interval of the slope; None if there is no slope."""

    def figures(self) -> Sequence[Figure]:
        name = {"asleep": "sleep", "awake": "time awake in the night"}.get(self.measure, f"{self.measure} sleep")
        name = name.replace("rem", "REM")
        found = [Figure("nights with data", f"{self.nights} of {self.days}")]
        if self.slope is not None and self.interval is not None:
            found += [Figure(f"change of {name} a week", self.slope, "min")]
            found += [Figure("95 % interval of the change", f"{self.interval[0]} to {self.interval[1]}", "min")]
        for one in self.means:
            found.append(Figure(f"nights with data by {self.every}", f"{one.label}: {one.nights} of {one.days}"))
            if one.mean is not None:
                found.append(Figure(f"mean {name} by {self.every}", f"{one.label}: {one.mean}", "min"))
        return found


class SleepTrend(Task[SleepTrendInputs, SleepTrendResult]):
    name, title = "sleep_trend", "Sleep trend"
    description = (
        "Weekly or monthly means of sleep, REM, deep or light sleep or time awake, and the change in minutes a week over a "
        "period. Use it for questions about change: better, worse, longer, shorter."
    )
    inputs, result = SleepTrendInputs, SleepTrendResult
    examples = (
        {"subject": "par_1", "start": "2020-01-01", "end": "2020-12-31", "measure": "asleep", "every": "month"},
        {"subject": "par_5", "start": "2020-08-01", "end": "2020-08-31", "measure": "rem", "every": "week"},
    )
    packages, sources = ("pandas", "scipy"), ("sleep",)
    notes_for_writer = "If the interval of the change holds 0, say that no clear change is seen."

    def run(self, inputs: SleepTrendInputs, context: TaskContext) -> SleepTrendResult:
        """Compute the means of weeks or months, and the median slope between all pairs of nights (Theil-Sen estimator).

        The confidence interval is that of Sen 1968 (doi 10.1080/01621459.1968.10480934).
        """
        calendar = count_days(inputs, inputs.every)
        frame, notes = _nights(inputs, context)
        frame = frame.dropna(subset=[inputs.measure])
        if frame.empty:
            raise TaskError(f"No night from {inputs.start} to {inputs.end} has a value of {inputs.measure}.")
        slope, interval = None, None
        if len(frame) >= FEWEST_SLOPE_NIGHTS:
            from scipy.stats import theilslopes

            weeks = (frame["date"] - frame["date"].iloc[0]).dt.days / 7
            fit = theilslopes(frame[inputs.measure], weeks, 0.95)
            slope = round(float(fit.slope), 2)
            interval = (round(float(fit.low_slope), 2), round(float(fit.high_slope), 2))
        else:
            notes = (*notes, f"Fewer than {FEWEST_SLOPE_NIGHTS} nights have a value: no change is computed.")
        groups = frame.groupby(period_labels(frame["date"], inputs.every))[inputs.measure]
        counts, means = groups.size(), groups.mean()
        return SleepTrendResult(
            notes=notes,
            measure=inputs.measure,
            every=inputs.every,
            nights=len(frame),
            days=inputs.days,
            means=tuple(
                Mean(label, int(counts.get(label, 0)), days, round(float(means[label]), 2) if label in means else None)
                for label, days in calendar.items()
            ),
            slope=slope,
            interval=interval,
        )


def mean_bedtime(bedtimes: Sequence[datetime]) -> str | None:
    """Return the circular mean of times of day as HH:MM: 23:30 and 0:30 give 00:00. Return None if there is no mean.

    Source: Mardia and Jupp, Directional Statistics, 2000, section 2.2.
    """
    angles = [2 * math.pi * (one.hour * 60 + one.minute) / _DAY_MINUTES for one in bedtimes]
    sine, cosine = sum(map(math.sin, angles)), sum(map(math.cos, angles))
    if math.hypot(sine, cosine) < 1e-6 * (len(angles) or 1):
        return None  # no bedtimes, or bedtimes all around the clock
    minutes = round(math.atan2(sine, cosine) / (2 * math.pi) * _DAY_MINUTES) % _DAY_MINUTES
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _nights(inputs: Period, context: TaskContext) -> Table:
    assert context.subject is not None
    table = context.subject.sleep(inputs.start, inputs.end)
    return require_rows(table, inputs, "night", "nothing is estimated for them")


def _mean(column: "pd.Series[Any]") -> float | None:
    return round(float(column.mean()), 2) if column.notna().any() else None


TASKS = (SleepSummary(), SleepTrend())
