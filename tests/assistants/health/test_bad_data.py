"""Data as devices and spreadsheets write them: two devices, naps, odd times, hours for minutes, files of gigabytes."""

import datetime as dt
import tracemalloc
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from assistants.health.sources import DataError, Subject, Subjects
from tests.assistants.health.test_fhir import ASLEEP, AUGUST, REM, STEPS, observation, subject
from tests.assistants.health.test_sources import SLEEP, anna, folder, night

__all__ = ["folder"]
DEEP = "93831-6"


def of(device: str) -> dict[str, Any]:
    return {"device": {"reference": f"Device/{device}"}}


def hourly(steps: int, device: dict[str, Any], hours: range, day: str = "2020-08-01") -> list[dict[str, Any]]:
    return [observation(STEPS, steps, "1", f"{day}T{hour:02}:00:00Z", **device) for hour in hours]


def test_steps_of_two_devices_are_not_added(tmp_path: Path) -> None:
    """The device with the most values of a day counts, and each day has its own."""
    phone, watch = of("phone"), of("watch")
    resources = hourly(900, phone, range(8, 12)) + hourly(100, watch, range(6, 22))
    resources += hourly(50, phone, range(6, 22), "2020-08-02") + hourly(70, watch, range(8, 11), "2020-08-02")
    frame, notes = subject(tmp_path, *resources, *hourly(10, watch, range(3), "2020-08-03")).activity(*AUGUST)
    assert frame["steps"].tolist() == [16 * 100, 16 * 50, 3 * 10]
    assert "bundle.json: 2 daily values of several devices: the device with most values counts." in notes
    assert not [note for note in notes if "no named device" in note]


def test_unknown_device_is_said(tmp_path: Path) -> None:
    """Parts without a device are added, since nothing tells them apart; one value of a day cannot be counted twice."""
    parts = hourly(300, {}, range(8, 12)) + hourly(5, {}, range(1), "2020-08-02")
    frame, notes = subject(tmp_path, *parts).activity(*AUGUST)
    assert frame["steps"].tolist() == [1200, 5]
    assert "bundle.json: 1 daily value of no named device: if there were two, they are added." in notes


def test_hour_that_occurs_twice_counts_twice(tmp_path: Path) -> None:
    """On 25 October 2020 in Berlin it was 2:30 in summer time, and an hour later in winter time."""
    times = ("2020-10-25T02:30:00+02:00", "2020-10-25T02:30:00+01:00", "2020-10-25T03:30:00+01:00")
    steps = [observation(STEPS, n, "1", time, **of("watch")) for n, time in zip((10, 20, 40), times, strict=True)]
    slept = observation(ASLEEP, 20, "min", (times[0], "2020-10-25T02:10:00+01:00"))
    one = subject(tmp_path, *steps, slept)
    assert one.activity(date(2020, 10, 25), date(2020, 10, 25)).frame["steps"].tolist() == [70]


def test_stages_are_those_of_the_longest_sleep(tmp_path: Path) -> None:
    """A nap with more REM than the night, and another device, lend it nothing."""
    asleep, nap = ("2020-08-29T23:00:00Z", "2020-08-30T06:00:00Z"), ("2020-08-29T14:00:00Z", "2020-08-29T16:00:00Z")
    other = ("2020-08-29T22:50:00Z", "2020-08-30T06:10:00Z")
    frame, notes = subject(
        tmp_path,
        observation(ASLEEP, 110, "min", nap, **of("watch")),
        observation(REM, 90, "min", nap, **of("watch")),
        observation(DEEP, 15, "min", nap, **of("watch")),
        observation(ASLEEP, 400, "min", asleep, **of("watch")),
        observation(REM, 80, "min", asleep, **of("watch")),
        observation(ASLEEP, 390, "min", other, **of("mat")),
        observation(REM, 120, "min", other, **of("mat")),
    ).sleep(*AUGUST)
    assert frame[["asleep", "rem"]].values.tolist() == [[400, 80]]
    assert frame["deep"].isna().all()
    assert "bundle.json: 2 shorter sleeps of an evening, such as naps, not counted." in notes


def test_entry_without_a_resource_is_skipped(tmp_path: Path) -> None:
    """The answer to a transaction has such entries."""
    one = subject(tmp_path, observation(ASLEEP, 420, "min", "2020-08-01"))
    path = tmp_path / "anna" / "bundle.json"
    path.write_text(path.read_text().replace('"entry": [', '"entry": [{"fullUrl": "urn:x"}, {"response": {}}, '))
    frame, notes = one.sleep(*AUGUST)
    assert frame["asleep"].tolist() == [420]
    assert "bundle.json: 2 resources without content, left out." in notes


@pytest.mark.parametrize(
    ("dates", "read"),
    [
        (["20200801", "20200802", "20200803.0"], [1, 2, 3]),
        (["2020-08-01", "20200802", "2020-08-03T00:00"], [1, 2, 3]),
        (["2020-08-01", "2020-08-02", "2020-08", "2020", "12:30", "03/08/2020"], [1, 2]),
        (["20200801", "20200802", "20200803", "44074.5"], [1, 2, 3]),
        (["20200801", "20200802", "20200803", "1e300"], [1, 2, 3]),
        (["20200801", "20200802", "20200803", "-inf"], [1, 2, 3]),
    ],
)
def test_odd_days_are_left_out(folder: Path, dates: list[str], read: list[int]) -> None:
    """Numbers, years, months, times of day, days of Excel: none of them is taken for a day that it is not."""
    rows = [night("2020-08-20").replace("2020-08-20,", f"{one},", 1) for one in dates]
    rows += [night(f"2020-08-{day}") for day in range(21, 28)] if "2020-08-01" in dates else []
    frame, notes = anna(folder, sleep__csv=SLEEP + "".join(rows)).sleep(date(2020, 8, 1), date(2020, 8, 15))
    assert [one.day for one in frame["date"]] == read
    left_out = len(dates) - len(read)
    assert any("without a readable date" in note and f" {left_out} " in note for note in notes) == bool(left_out)


@pytest.mark.parametrize("days", [["44074", "44075"], ["1598659200", "1598745600"], ["01.08.2020", "02.08.2020"]])
def test_days_of_another_calendar_are_refused(folder: Path, days: list[str]) -> None:
    """Days of Excel, seconds since 1970, days of Germany: the remedy is named."""
    rows = [night("2020-08-20").replace("2020-08-20,", f"{one},", 1) for one in days]
    with pytest.raises(DataError, match=r"^sleep\.csv: most rows have an impossible value: give date as 2020-08-29$"):
        anna(folder, sleep__csv=SLEEP + "".join(rows)).sleep(*AUGUST)


ODD: list[list[Any]] = [
    [dt.time(23, 10), dt.time(22, 50), None],
    [dt.timedelta(hours=23), dt.timedelta(hours=22), None],
    [[1, 2], [3], None],
    [b"2020-08-01", b"x", None],
    [True, False, None],
    [1.5, 2.5, np.inf],
    [*pd.date_range("2020-08-01", periods=3, tz="Europe/Berlin")],
]


def write_parquet(folder: Path, **columns: Any) -> Subject:
    csv = folder / "anna" / "sleep.csv"
    csv.write_text(SLEEP + "".join(night(f"2020-08-0{day + 1}") for day in range(len(next(iter(columns.values()))))))
    pd.read_csv(csv).assign(**columns).to_parquet(csv.with_suffix(".parquet"))
    csv.unlink()
    return Subjects(folder).open("anna")


@pytest.mark.parametrize("column", ["date", "bedtime", "asleep", "rem"])
@pytest.mark.parametrize("values", ODD)
def test_columns_of_another_type_are_refused_or_left_out(folder: Path, column: str, values: list[Any]) -> None:
    """Parquet holds anything: a message or a note, and no error of another kind."""
    try:
        said = write_parquet(folder, **{column: pd.Series(values)}).sleep(*AUGUST).notes
    except DataError as error:
        said = (str(error),)
    assert any(f" {column}" in one or "impossible value" in one for one in said)


def test_days_and_categories_of_parquet_are_read(folder: Path) -> None:
    days = [date(2020, 8, 1), date(2020, 8, 2)]
    frame = write_parquet(folder, date=days, bedtime=pd.Categorical(["2020-08-01T23:10", "2020-08-02T23:20"]))
    read = frame.sleep(*AUGUST).frame
    assert [one.date() for one in read["date"]] == days
    assert read["bedtime"].tolist() == [dt.datetime(2020, 8, 1, 23, 10), dt.datetime(2020, 8, 2, 23, 20)]


def hours(**given: float) -> str:
    minutes = {"asleep": 420, "rem": 100, "deep": 70, "light": 250, "awake": 30} | given
    values = ",".join(map(str, minutes.values()))
    rows = (f"2020-08-0{day},{values},2020-08-0{day}T22:00,2020-08-0{day + 1}T05:30\n" for day in (1, 2, 3))
    return SLEEP + "".join(rows)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"asleep": 7, "rem": 1.7, "deep": 1.2, "light": 4.1, "awake": 0.5}, "asleep: the values look like hours"),
        ({"rem": 1.7, "deep": 1.2, "light": 4.1}, "give rem as a number"),
        ({"awake": 0.5}, "awake: the values look like hours"),
        ({"rem": 200, "light": 300}, "give rem as a number from 0 to 1440, and no more than asleep"),
    ],
)
def test_hours_for_minutes_are_refused_in_each_column(folder: Path, given: dict[str, float], message: str) -> None:
    assert len(anna(folder, sleep__csv=hours()).sleep(*AUGUST).frame) == 3
    with pytest.raises(DataError, match=message):
        anna(folder, sleep__csv=hours(**given)).sleep(*AUGUST)


def test_night_whose_stages_are_longer_than_itself_is_left_out(folder: Path) -> None:
    rows = [night(f"2020-08-0{day}") for day in (1, 2, 3)] + ["2020-08-04,420,110,90,260,30,,\n"]
    frame, notes = anna(folder, sleep__csv=SLEEP + "".join(rows)).sleep(*AUGUST)
    assert [one.day for one in frame["date"]] == [1, 2, 3]
    assert "sleep.csv: 1 night with an impossible value, left out." in notes


READS: dict[str, Callable[[Subject], object]] = {
    "sleep.csv": lambda one: one.sleep(*AUGUST),
    "activity.parquet": lambda one: one.activity(*AUGUST),
    "bundle.json": lambda one: one.sleep(*AUGUST),
    "profile.yaml": lambda one: one.profile(),
    "ppg/2020-08-01T0800.csv": lambda one: one.recordings(*AUGUST),
}


@pytest.mark.parametrize("name", READS)
def test_file_of_two_gigabytes_is_refused_before_it_is_read(folder: Path, name: str) -> None:
    one = anna(folder, profile__yaml="ppg_hz: 20")
    path = folder / "anna" / name
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file:
        file.truncate(2_000_000_000)  # sparse
    tracemalloc.start()
    with pytest.raises(DataError, match=r"larger than 100 MB: remove older data$"):
        READS[name](one)
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()
