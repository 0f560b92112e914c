"""Sleep tasks, against computations in plain Python."""

import cmath
import math
import random
import statistics
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from assistants.health.sources import Subject
from assistants.health.task import TaskContext, TaskError
from assistants.health.tasks.sleep import SleepSummary, SleepSummaryResult, SleepTrend, SleepTrendResult, mean_bedtime
from tests.assistants.health.doubles import demo, demo_rows, subject


def summary(subject: Subject, start: str, end: str) -> SleepSummaryResult:
    return SleepSummary().run(SleepSummary.inputs(start=start, end=end), TaskContext(subject))


def trend(subject: Subject, start: str, end: str, **more: Any) -> SleepTrendResult:
    return SleepTrend().run(SleepTrend.inputs(start=start, end=end, **more), TaskContext(subject))


def test_rem_of_par_5_in_august_2020_is_110_63_minutes_in_26_of_31_nights() -> None:
    figures = summary(demo("par_5"), "2020-08-01", "2020-08-31").figures()
    assert figures[0] == ("nights with data", "26 of 31", "")
    assert ("mean REM sleep", 110.63, "min") in figures


@pytest.mark.parametrize("id", ["par_1", "par_2", "par_3", "par_4", "par_5"])
@pytest.mark.parametrize(
    ("start", "end"), [("2020-01-01", "2020-12-31"), ("2020-02-01", "2020-02-29"), ("2020-07-30", "2020-09-02")]
)
def test_summary_equals_a_plain_computation(id: str, start: str, end: str) -> None:
    rows = demo_rows("sleep", id, start, end)
    found = summary(demo(id), start, end)
    assert (found.nights, found.days) == (len(rows), (date.fromisoformat(end) - date.fromisoformat(start)).days + 1)
    for column in ("asleep", "rem", "deep", "light", "awake"):
        mean = statistics.fmean(float(row[column]) for row in rows)
        assert getattr(found, f"mean_{column}") == pytest.approx(mean, abs=0.005)
    share = 100 * sum(float(row["rem"]) for row in rows) / sum(float(row["asleep"]) for row in rows)
    assert found.rem_share == pytest.approx(share, abs=0.05)
    lengths = [float(row["asleep"]) for row in rows]
    assert (found.shortest.asleep, found.longest.asleep) == (min(lengths), max(lengths))
    assert found.shortest.date.isoformat() == rows[lengths.index(min(lengths))]["date"]
    assert found.longest.date.isoformat() == rows[lengths.index(max(lengths))]["date"]


def test_first_of_september_is_not_in_august(tmp_path: Path) -> None:
    lines = [
        "2020-07-31,1,1,0,0,0,,",
        "2020-08-01,300,60,60,180,10,,",
        "2020-08-31,500,100,100,300,10,,",
        "2020-09-01,9,1,1,1,1,,",
    ]
    found = summary(subject(tmp_path, "sleep", *lines), "2020-08-01", "2020-08-31")
    assert (found.nights, found.mean_asleep, found.mean_rem) == (2, 400, 80)


def test_nights_without_data_are_told(tmp_path: Path) -> None:
    one = subject(tmp_path, "sleep", "2020-08-01,300,60,60,180,10,,")
    note = "30 of 31 nights have no data; nothing is estimated for them."
    assert note in summary(one, "2020-08-01", "2020-08-31").notes
    assert not any("no data" in note for note in summary(one, "2020-08-01", "2020-08-01").notes)


def test_stages_that_are_missing_are_no_zeros(tmp_path: Path) -> None:
    """A share is of the nights with both."""
    found = summary(
        subject(tmp_path, "sleep", "2020-08-01,400,100,,,,,", "2020-08-02,600,,,,,,"), "2020-08-01", "2020-08-02"
    )
    assert (found.mean_asleep, found.mean_rem, found.rem_share) == (500, 100, 25)
    assert found.mean_deep is found.mean_bedtime is None
    assert not any("deep" in one.name or "bedtime" in one.name for one in found.figures())
    assert "sleep.csv: 1 night without rem." in found.notes
    (tmp_path / "awake").mkdir()
    awake = subject(tmp_path / "awake", "sleep", "2020-08-01,0,0,0,0,480,,")
    assert summary(awake, "2020-08-01", "2020-08-01").rem_share is None


def test_bedtimes_around_midnight_have_their_mean_at_midnight() -> None:
    day = datetime(2020, 8, 1)
    assert mean_bedtime([day.replace(hour=23, minute=30), day.replace(hour=0, minute=30)]) == "00:00"
    assert mean_bedtime([day.replace(hour=23, minute=59)]) == "23:59"
    assert mean_bedtime([day.replace(hour=6), day.replace(hour=18)]) is None, "opposite times have no mean"
    assert mean_bedtime([]) is None


def test_mean_bedtime_equals_that_of_complex_numbers() -> None:
    rows = demo_rows("sleep", "par_5", "2020-08-01", "2020-08-31")
    times = [datetime.fromisoformat(row["bedtime"]) for row in rows]
    angle = cmath.phase(sum(cmath.exp(2j * cmath.pi * (one.hour + one.minute / 60) / 24) for one in times))
    hours, minutes = summary(demo("par_5"), "2020-08-01", "2020-08-31").mean_bedtime.split(":")
    assert int(hours) * 60 + int(minutes) == pytest.approx(angle / (2 * math.pi) * 1440 % 1440, abs=0.51)


@pytest.mark.parametrize("every", ["week", "month"])
def test_means_of_groups_equal_a_plain_computation(every: str) -> None:
    start, end = date(2020, 7, 30), date(2020, 9, 2)
    groups: dict[str, list[float]] = {}
    days: dict[str, int] = {}
    values = {row["date"]: float(row["rem"]) for row in demo_rows("sleep", "par_3", str(start), str(end))}
    for n in range((end - start).days + 1):
        day = start + timedelta(n)
        label = str(day - timedelta(day.weekday())) if every == "week" else str(day)[:7]
        days[label] = days.get(label, 0) + 1
        groups.setdefault(label, []).extend([values[str(day)]] if str(day) in values else [])
    found = trend(demo("par_3"), str(start), str(end), measure="rem", every=every)
    counts = [(label, len(groups[label]), days[label]) for label in days]
    assert [(one.label, one.nights, one.days) for one in found.means] == counts
    for one in found.means:
        expected = statistics.fmean(groups[one.label]) if groups[one.label] else None
        assert one.mean == (None if expected is None else pytest.approx(expected, abs=0.005))
    empty = [one.label for one in found.means if one.mean is None]
    assert empty, "August is empty"
    means = [str(figure.value) for figure in found.figures() if figure.name.startswith("mean")]
    assert not any(one.startswith(empty[0]) for one in means)


def test_slope_is_the_median_of_the_slopes_of_all_pairs() -> None:
    found = demo_rows("sleep", "par_1", "2020-01-01", "2020-06-30")
    rows = [(date.fromisoformat(row["date"]), float(row["asleep"])) for row in found]
    pairs = [(b[1] - a[1]) / ((b[0] - a[0]).days / 7) for n, a in enumerate(rows) for b in rows[n + 1 :]]
    found = trend(demo("par_1"), "2020-01-01", "2020-06-30")
    assert found.nights == len(rows)
    assert found.slope == pytest.approx(statistics.median(pairs), abs=0.00501)


def test_interval_of_the_slope_holds_the_slope_of_the_demo_data() -> None:
    """par_1 sleeps a minute longer each week; par_2 has no trend."""
    found = {id: trend(demo(id), "2020-01-01", "2020-12-31") for id in ("par_1", "par_2")}
    assert found["par_1"].interval is not None
    assert found["par_2"].interval is not None
    assert 0 < found["par_1"].interval[0] < 1 < found["par_1"].interval[1]
    assert found["par_2"].interval[0] < 0 < found["par_2"].interval[1]


def test_slope_keeps_steady_when_a_tenth_of_the_nights_is_absurd(tmp_path: Path) -> None:
    rng, lines = random.Random(1), []
    for n in range(70):
        asleep = 1440 if n % 10 == 9 else round(400 + 2 * n / 7 + rng.uniform(-1, 1), 2)
        lines.append(f"{date(2020, 1, 1) + timedelta(n)},{asleep},,,,,,")
    found = trend(subject(tmp_path, "sleep", *lines), "2020-01-01", "2020-12-31")
    assert found.slope == pytest.approx(2, abs=0.25)


def test_few_nights_have_no_slope(tmp_path: Path) -> None:
    one = subject(tmp_path, "sleep", *(f"2020-08-0{day},{400 + day},,,,,," for day in range(1, 8)))
    assert trend(one, "2020-08-01", "2020-08-07").slope == 7
    found = trend(one, "2020-08-01", "2020-08-06")
    assert (found.slope, found.interval) == (None, None)
    assert "Fewer than 7 nights have a value: no change is computed." in found.notes
    assert not any("change" in figure.name for figure in found.figures())


def test_measure_without_values_is_told(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="No night from 2020-08-01 to 2020-08-02 has a value of rem"):
        trend(subject(tmp_path, "sleep", "2020-08-01,400,,,,,,"), "2020-08-01", "2020-08-02", measure="rem")


def test_too_long_a_trend_is_refused_before_it_runs() -> None:
    with pytest.raises(ValidationError, match="1461 days at most"):
        SleepTrend.inputs(start="2016-01-01", end="2020-01-01", measure="rem")
