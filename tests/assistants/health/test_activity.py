"""Activity tasks, against computations in plain Python."""

import statistics
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from assistants.health.sources import Subject
from assistants.health.task import Task, TaskContext, TaskError
from assistants.health.tasks.activity import ActivitySummary, ActivitySummaryResult, ActivityTrend, ActivityTrendResult
from assistants.health.tasks.sleep import SleepSummary, SleepTrend
from tests.assistants.health.doubles import demo, demo_rows, subject


def summary(subject: Subject, start: str, end: str) -> ActivitySummaryResult:
    return ActivitySummary().run(ActivitySummary.inputs(start=start, end=end), TaskContext(subject))


def trend(subject: Subject, start: str, end: str, every: str = "month") -> ActivityTrendResult:
    return ActivityTrend().run(ActivityTrend.inputs(start=start, end=end, every=every), TaskContext(subject))


@pytest.mark.parametrize("id", ["par_1", "par_2", "par_3", "par_4", "par_5"])
@pytest.mark.parametrize(
    ("start", "end"), [("2020-01-01", "2020-12-31"), ("2020-02-01", "2020-02-29"), ("2020-07-30", "2020-09-02")]
)
def test_summary_equals_a_plain_computation(id: str, start: str, end: str) -> None:
    rows = demo_rows("activity", id, start, end)
    found = summary(demo(id), start, end)
    steps = [int(row["steps"]) for row in rows]
    assert found.days_with_data == len(rows)
    assert found.days == (date.fromisoformat(end) - date.fromisoformat(start)).days + 1
    assert (found.total_steps, found.best_day_steps) == (sum(steps), max(steps))
    assert found.best_day.isoformat() == rows[steps.index(max(steps))]["date"]
    assert found.mean_steps == pytest.approx(sum(steps) / len(steps), abs=0.5)
    for column, field, total, mean in (
        ("active_minutes", "active_minutes", 0.5, 0.05),
        ("distance_km", "km", 0.05, 0.005),
        ("kcal", "kcal", 0.5, 0.5),
    ):
        values = [float(row[column]) for row in rows]
        assert getattr(found, f"total_{field}") == pytest.approx(sum(values), abs=total + 1e-6)
        assert getattr(found, f"mean_{field}") == pytest.approx(statistics.fmean(values), abs=mean + 1e-6)


def test_coverage_comes_first_and_missing_days_are_told() -> None:
    rows = demo_rows("activity", "par_5", "2020-08-01", "2020-08-31")
    found = summary(demo("par_5"), "2020-08-01", "2020-08-31")
    assert len(rows) < 31
    assert found.figures()[0] == ("days with data", f"{len(rows)} of 31", "")
    assert ("total steps", sum(int(row["steps"]) for row in rows), "") in found.figures()
    assert found.notes == (f"{31 - len(rows)} of 31 days have no data; totals are without them.",)


def test_first_of_september_is_not_in_august(tmp_path: Path) -> None:
    steps = {"2020-07-31": 1, "2020-08-01": 10, "2020-08-31": 100, "2020-09-01": 1000}
    lines = [f"{day},{count},1,1,1" for day, count in steps.items()]
    one = subject(tmp_path, "activity", *lines)
    assert summary(one, "2020-08-01", "2020-08-31").total_steps == 110
    groups = trend(one, "2020-08-01", "2020-09-30").groups
    assert {group.label: group.total_steps for group in groups} == {"2020-08": 110, "2020-09": 1000}


@pytest.mark.parametrize("task", [SleepSummary(), SleepTrend(), ActivitySummary(), ActivityTrend()])
def test_empty_period_has_no_figures(task: Task[Any, Any]) -> None:
    """par_3 has neither nights nor days in August."""
    august = task.inputs(start="2020-08-01", end="2020-08-31")
    with pytest.raises(TaskError, match=r"There is no (night|day) with data from 2020-08-01 to 2020-08-31: 0 of 31\."):
        task.run(august, TaskContext(demo("par_3")))


def test_column_without_values_is_no_zero(tmp_path: Path) -> None:
    found = summary(
        subject(tmp_path, "activity", "2020-08-01,5000,30,,", "2020-08-02,7000,,,"), "2020-08-01", "2020-08-02"
    )
    assert (found.total_km, found.mean_km, found.total_kcal) == (None, None, None)
    assert (found.total_active_minutes, found.mean_active_minutes) == (30, 30)
    assert not any("distance" in one.name or "energy" in one.name for one in found.figures())
    assert "activity.csv: 1 day without active_minutes." in found.notes


def test_day_without_a_step_is_a_day_with_data(tmp_path: Path) -> None:
    found = summary(subject(tmp_path, "activity", "2020-08-01,0,0,0,1500"), "2020-08-01", "2020-08-01")
    assert (found.days_with_data, found.mean_steps, found.best_day_steps, found.total_km) == (1, 0, 0, 0)


@pytest.mark.parametrize("every", ["week", "month"])
@pytest.mark.parametrize("id", ["par_3", "par_5"])
def test_groups_equal_a_plain_computation(id: str, every: str) -> None:
    start, end = date(2020, 1, 1), date(2020, 12, 31)
    values = {row["date"]: int(row["steps"]) for row in demo_rows("activity", id, str(start), str(end))}
    groups: dict[str, list[int | None]] = {}
    for n in range(366):
        day = start + timedelta(n)
        label = str(day - timedelta(day.weekday())) if every == "week" else str(day)[:7]
        groups.setdefault(label, []).append(values.get(str(day)))
    found = trend(demo(id), str(start), str(end), every)
    assert [one.label for one in found.groups] == list(groups)
    for one in found.groups:
        steps = [step for step in groups[one.label] if step is not None]
        assert (one.days, one.days_with_data) == (len(groups[one.label]), len(steps))
        assert one.total_steps == (sum(steps) if steps else None)
        assert one.mean_steps == (pytest.approx(sum(steps) / len(steps), abs=0.5) if steps else None)
    assert sum(one.total_steps or 0 for one in found.groups) == sum(values.values())


def test_month_without_data_has_coverage_alone() -> None:
    figures = trend(demo("par_3"), "2020-07-01", "2020-09-30").figures()
    assert [figure.name for figure in figures if str(figure.value).startswith("2020-08")] == ["days with data by month"]
    assert ("days with data by month", "2020-08: 0 of 31", "") in figures
