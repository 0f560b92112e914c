"""Activity: a summary of the days of a period, and totals and means by week or month."""

from collections.abc import Sequence
from datetime import date
from typing import Literal, NamedTuple

import pandas as pd
from pydantic import Field

from assistants.health.tables import period_labels
from assistants.health.task import Figure, Period, Result, Task, TaskContext, TaskError, check_groups


class ActivitySummaryResult(Result):
    """Totals, and means a day, over the days with data; None where no day has a value."""

    days_with_data: int
    days: int
    """Of the period."""
    total_steps: int
    mean_steps: int
    total_active_minutes: float | None
    mean_active_minutes: float | None
    total_km: float | None
    mean_km: float | None
    total_kcal: float | None
    mean_kcal: float | None
    best_day: date
    """With the most steps; the first of them."""
    best_day_steps: int

    def figures(self) -> Sequence[Figure]:
        """Return coverage, totals, means and the day with the most steps."""
        values = [
            ("total steps", self.total_steps, ""),
            ("mean steps a day", self.mean_steps, ""),
            ("total active minutes", self.total_active_minutes, "min"),
            ("mean active minutes a day", self.mean_active_minutes, "min"),
            ("total distance", self.total_km, "km"),
            ("mean distance a day", self.mean_km, "km"),
            ("total energy used", self.total_kcal, "kcal"),
            ("mean energy used a day", self.mean_kcal, "kcal"),
            ("day with most steps", self.best_day.isoformat(), ""),
            ("steps on that day", self.best_day_steps, ""),
        ]
        coverage = Figure("days with data", f"{self.days_with_data} of {self.days}")
        return [coverage, *(Figure(name, value, unit) for name, value, unit in values if value is not None)]


class ActivitySummary(Task[Period, ActivitySummaryResult]):
    """Summarises days."""

    name = "activity_summary"
    title = "Activity summary"
    description = (
        "Total and mean steps, active minutes, kilometres and kcal of a period, and the day with the most steps."
    )
    inputs = Period
    result = ActivitySummaryResult
    examples = (
        {"subject": "par_5", "start": "2020-08-01", "end": "2020-08-31"},
        {"subject": "par_2", "start": "2020-01-01", "end": "2020-12-31"},
    )
    packages = ("pandas",)
    sources = ("activity",)

    def run(self, inputs: Period, context: TaskContext) -> ActivitySummaryResult:
        """Summarise the days.

        Raises:
            TaskError: No day has data.
            DataError: The data cannot be read.
        """
        frame, notes = _days(inputs, context)
        best = frame.loc[frame["steps"].idxmax()]
        return ActivitySummaryResult(
            notes=notes,
            days_with_data=len(frame),
            days=inputs.days,
            total_steps=int(frame["steps"].sum()),
            mean_steps=round(frame["steps"].mean()),
            total_active_minutes=_rounded(frame["active_minutes"].sum(min_count=1), 0),
            mean_active_minutes=_rounded(frame["active_minutes"].mean(), 1),
            total_km=_rounded(frame["distance_km"].sum(min_count=1), 1),
            mean_km=_rounded(frame["distance_km"].mean(), 2),
            total_kcal=_rounded(frame["kcal"].sum(min_count=1), 0),
            mean_kcal=_rounded(frame["kcal"].mean(), 0),
            best_day=best["date"].date(),
            best_day_steps=int(best["steps"]),
        )


class ActivityTrendInputs(Period):
    """A period, and by what to group it."""

    every: Literal["week", "month"] = Field("month", description="by calendar week (from Monday) or month")


class Group(NamedTuple):
    """A week or month."""

    label: str
    """2020-08, or the Monday of a week, 2020-08-03."""
    days_with_data: int
    days: int
    """Of the week or month that lie in the period."""
    total_steps: int | None
    """None without data."""
    mean_steps: int | None
    """A day with data."""


class ActivityTrendResult(Result):
    """Steps by week or month."""

    every: str
    days_with_data: int
    days: int
    groups: tuple[Group, ...]

    def figures(self) -> Sequence[Figure]:
        """Return coverage, and each group with its coverage."""
        found = [Figure("days with data", f"{self.days_with_data} of {self.days}")]
        for one in self.groups:
            found.append(Figure(f"days with data by {self.every}", f"{one.label}: {one.days_with_data} of {one.days}"))
            if one.total_steps is not None:
                found.append(Figure(f"total steps by {self.every}", f"{one.label}: {one.total_steps}"))
                found.append(Figure(f"mean steps a day by {self.every}", f"{one.label}: {one.mean_steps}"))
        return found


class ActivityTrend(Task[ActivityTrendInputs, ActivityTrendResult]):
    """Groups days."""

    name = "activity_trend"
    title = "Activity trend"
    description = "Total steps and mean steps a day for each month or week of a period. Use it to compare."
    inputs = ActivityTrendInputs
    result = ActivityTrendResult
    examples = ({"subject": "par_3", "start": "2020-01-01", "end": "2020-12-31", "every": "month"},)
    packages = ("pandas",)
    sources = ("activity",)
    notes_for_writer = "Compare means, not totals, where months have different numbers of days with data."

    def run(self, inputs: ActivityTrendInputs, context: TaskContext) -> ActivityTrendResult:
        """Group the days.

        Raises:
            TaskError: No day has data.
            DataError: The data cannot be read.
        """
        check_groups(inputs, inputs.every)
        frame, notes = _days(inputs, context)
        steps = frame.groupby(period_labels(frame["date"], inputs.every))["steps"]
        counts, totals, means = steps.size(), steps.sum(), steps.mean()
        calendar = period_labels(pd.Series(pd.date_range(inputs.start, inputs.end)), inputs.every)
        return ActivityTrendResult(
            notes=notes,
            every=inputs.every,
            days_with_data=len(frame),
            days=inputs.days,
            groups=tuple(
                Group(label, int(counts[label]), days, int(totals[label]), round(means[label]))
                if label in counts
                else Group(label, 0, days, None, None)
                for label, days in calendar.value_counts(sort=False).items()
            ),
        )


def _days(inputs: Period, context: TaskContext) -> tuple[pd.DataFrame, tuple[str, ...]]:
    if context.subject is None:
        raise TaskError("Whose activity is meant is not known.")
    frame, notes = context.subject.activity(inputs.start, inputs.end)
    if frame.empty:
        absent = f"There is no day with data from {inputs.start} to {inputs.end}: 0 of {inputs.days}."
        raise TaskError(" ".join((absent, *notes)))
    if missing := inputs.days - len(frame):
        notes = (*notes, f"{missing} of {inputs.days} days have no data; totals are without them.")
    return frame, notes


def _rounded(value: float, digits: int) -> float | int | None:
    if pd.isna(value):
        return None
    return round(float(value), digits) if digits else round(float(value))


TASKS = (ActivitySummary(), ActivityTrend())
