"""Tasks on physical activity: a summary of a period, and totals and means by week or month."""

from collections.abc import Sequence
from datetime import date
from typing import Literal, NamedTuple

import pandas as pd
from pydantic import Field

from assistants.health.tables import Table, period_labels
from assistants.health.task import Figure, Period, Result, Task, TaskContext, count_days, require_rows


class ActivitySummaryResult(Result):
    """Totals and daily means of a period, over the days with data. A value is None if no day has the column."""

    days_with_data: int
    days: int
    total_steps: int
    mean_steps: int
    total_active_minutes: float | None
    mean_active_minutes: float | None
    total_km: float | None
    mean_km: float | None
    total_kcal: float | None
    mean_kcal: float | None
    best_day: date
    """The day with the most steps; of several such days, the first."""
    best_day_steps: int

    def figures(self) -> Sequence[Figure]:
        measures = {
            ("steps", ""): (self.total_steps, self.mean_steps),
            ("active minutes", "min"): (self.total_active_minutes, self.mean_active_minutes),
            ("distance", "km"): (self.total_km, self.mean_km),
            ("energy used", "kcal"): (self.total_kcal, self.mean_kcal),
        }
        found = [Figure("days with data", f"{self.days_with_data} of {self.days}")]
        for (name, unit), (total, mean) in measures.items():
            if total is not None and mean is not None:
                found += [Figure(f"total {name}", total, unit), Figure(f"mean {name} a day", mean, unit)]
        best_day = Figure("day with most steps", self.best_day.isoformat())
        return [*found, best_day, Figure("steps on that day", self.best_day_steps)]


class ActivitySummary(Task[Period, ActivitySummaryResult]):
    name, title = "activity_summary", "Activity summary"
    description = (
        "Total and mean steps, active minutes, kilometres and kcal of a period, and the day with the most steps."
    )
    inputs, result = Period, ActivitySummaryResult
    examples = (
        {"subject": "par_5", "start": "2020-08-01", "end": "2020-08-31"},
        {"subject": "par_2", "start": "2020-01-01", "end": "2020-12-31"},
    )
    packages, sources = ("pandas",), ("activity",)

    def run(self, inputs: Period, context: TaskContext) -> ActivitySummaryResult:
        frame, notes = _days(inputs, context)
        best = frame.loc[frame["steps"].idxmax()]
        return ActivitySummaryResult(
            notes=notes,
            days_with_data=len(frame),
            days=inputs.days,
            total_steps=int(frame["steps"].sum()),
            mean_steps=round(frame["steps"].mean()),
            **_total_and_mean(frame["active_minutes"], "active_minutes", 0, 1),
            **_total_and_mean(frame["distance_km"], "km", 1, 2),
            **_total_and_mean(frame["kcal"], "kcal", 0, 0),
            best_day=best["date"].date(),
            best_day_steps=int(best["steps"]),
        )


class ActivityTrendInputs(Period):
    """Inputs of the task: a period, and whether to group its days by week or month."""

    every: Literal["week", "month"] = Field("month", description="by calendar week (from Monday) or month")


class Group(NamedTuple):
    """The steps of a week or month. `days` are the days of the week or month that are in the period."""

    label: str
    """The month ("2020-08"), or the Monday of the week ("2020-08-03")."""
    days_with_data: int
    days: int
    total_steps: int | None
    """None if no day has data."""
    mean_steps: int | None
    """Mean over the days with data; None if no day has data."""


class ActivityTrendResult(Result):
    """Total and mean steps of each week or month of a period."""

    every: str
    days_with_data: int
    days: int
    groups: tuple[Group, ...]

    def figures(self) -> Sequence[Figure]:
        found = [Figure("days with data", f"{self.days_with_data} of {self.days}")]
        for one in self.groups:
            found.append(Figure(f"days with data by {self.every}", f"{one.label}: {one.days_with_data} of {one.days}"))
            if one.total_steps is not None:
                found.append(Figure(f"total steps by {self.every}", f"{one.label}: {one.total_steps}"))
                found.append(Figure(f"mean steps a day by {self.every}", f"{one.label}: {one.mean_steps}"))
        return found


class ActivityTrend(Task[ActivityTrendInputs, ActivityTrendResult]):
    name, title = "activity_trend", "Activity trend"
    description = "Total steps and mean steps a day for each month or week of a period. Use it to compare."
    inputs, result = ActivityTrendInputs, ActivityTrendResult
    examples = ({"subject": "par_3", "start": "2020-01-01", "end": "2020-12-31", "every": "month"},)
    packages, sources = ("pandas",), ("activity",)
    notes_for_writer = "Compare means, not totals, where months have different numbers of days with data."

    def run(self, inputs: ActivityTrendInputs, context: TaskContext) -> ActivityTrendResult:
        calendar = count_days(inputs, inputs.every)
        frame, notes = _days(inputs, context)
        steps = frame.groupby(period_labels(frame["date"], inputs.every))["steps"]
        counts, totals, means = steps.size(), steps.sum(), steps.mean()
        return ActivityTrendResult(
            notes=notes,
            every=inputs.every,
            days_with_data=len(frame),
            days=inputs.days,
            groups=tuple(
                Group(label, int(counts[label]), days, int(totals[label]), round(means[label]))
                if label in counts
                else Group(label, 0, days, None, None)
                for label, days in calendar.items()
            ),
        )


def _days(inputs: Period, context: TaskContext) -> Table:
    assert context.subject is not None
    return require_rows(context.subject.activity(inputs.start, inputs.end), inputs, "day", "totals are without them")


def _total_and_mean(column: "pd.Series[float]", name: str, total: int, mean: int) -> dict[str, float | None]:
    """Return the total and mean of a column, rounded to `total` and `mean` decimals; None if the column has no values."""
    found = {f"total_{name}": (column.sum(), total), f"mean_{name}": (column.mean(), mean)}
    has_value = column.notna().any()
    return {key: round(float(value), digits) if has_value else None for key, (value, digits) in found.items()}


TASKS = (ActivitySummary(), ActivityTrend())
