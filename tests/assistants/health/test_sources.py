"""Data folders: what is read, what is left out with a note, what is refused."""

import os
from datetime import date, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assistants.health import tables
from assistants.health.sources import DataError, Subject, Subjects
from tests.assistants.health.doubles import HEADERS

SLEEP = HEADERS["sleep"]
AUGUST = (date(2020, 8, 1), date(2020, 8, 31))


def night(day: str, asleep: object = 420, rem: object = 100) -> str:
    light = asleep - rem - 70 if isinstance(asleep, int) and isinstance(rem, int) else 250
    return f"{day},{asleep},{rem},70,{max(light, 0)},30,{day}T23:10,{day}T07:00\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "data" / "anna").mkdir(parents=True)
    return tmp_path / "data"


def anna(folder: Path, **files: str) -> Subject:
    for name, text in files.items():
        (folder / "anna" / name.replace("__", ".")).write_text(text, "utf-8")
    return Subjects(folder).open("anna")


def test_both_ends_of_a_period_are_in_it_and_the_next_day_is_not(folder: Path) -> None:
    """31 July and 1 September are no nights of August."""
    days = ["2020-09-01", "2020-08-31", "2020-08-01", "2020-07-31"]
    frame, notes = anna(folder, sleep__csv=SLEEP + "".join(map(night, days))).sleep(*AUGUST)
    assert [one.date() for one in frame["date"]] == [date(2020, 8, 1), date(2020, 8, 31)]
    assert notes == ()


def test_last_row_of_a_night_counts(folder: Path) -> None:
    text = SLEEP + night("2020-08-02", 400) + night("2020-08-01", 300) + night("2020-08-02", 410)
    frame, notes = anna(folder, sleep__csv=text).sleep(*AUGUST)
    assert list(frame["asleep"]) == [300, 410]
    assert notes == ("sleep.csv: 1 night given twice, the last row counts.",)


def test_impossible_and_missing_values_are_left_out_with_a_note(folder: Path) -> None:
    rows = [night(f"2020-08-{day:02}") for day in range(1, 8)]
    wrong = {10: (1441,), 11: ("",), 12: ("inf",), 13: (60, 100)}
    rows += [night(f"2020-08-{day}", *values) for day, values in wrong.items()]
    frame, notes = anna(folder, sleep__csv=SLEEP + "".join(rows)).sleep(*AUGUST)
    assert [one.day for one in frame["date"]] == [1, 2, 3, 4, 5, 6, 7]
    assert notes == (
        "sleep.csv: 3 nights with an impossible value, left out.",
        "sleep.csv: 1 night without asleep, left out.",
    )


def test_rows_without_a_readable_date_are_noted(folder: Path) -> None:
    text = SLEEP + night("2020-08-01") + night("2020-08-02") + ",400,100,70,230,30,,\n"
    note = "sleep.csv: 1 night without a readable date, left out."
    assert anna(folder, sleep__csv=text).sleep(*AUGUST).notes == (note,)


@pytest.mark.parametrize(
    ("rows", "remedy"),
    [
        ([night("2020-08-01", 25_200)], "give asleep as a number from 0 to 1440; check the unit"),
        ([night("2020-08-01", 7, 100)], "give rem as a number from 0 to 1440, and no more than asleep; check the unit"),
        ([night("01/08/2020")], "give date as 2020-08-29"),
    ],
)
def test_wrong_units_of_most_rows_are_refused(folder: Path, rows: list[str], remedy: str) -> None:
    with pytest.raises(DataError, match=r"^sleep\.csv: most rows have an impossible value: ") as error:
        anna(folder, sleep__csv=SLEEP + "".join(rows)).sleep(*AUGUST)
    assert remedy in str(error.value)


def test_steps_are_whole_and_never_negative(folder: Path) -> None:
    text = "date,steps,active_minutes,distance_km,kcal\n2020-08-01,9000,60,6.5,2000\n2020-08-02,8000,,,\n2020-08-03,-1,1,1,1\n"
    frame, notes = anna(folder, activity__csv=text).activity(*AUGUST)
    assert frame["steps"].tolist() == [9000, 8000]
    assert frame["steps"].dtype == np.int64
    assert notes[0] == "activity.csv: 1 day with an impossible value, left out."
    assert "activity.csv: 1 day without kcal." in notes


def test_times_with_a_zone_are_refused(folder: Path) -> None:
    text = SLEEP + night("2020-08-01").replace("T23:10", "T23:10Z")
    with pytest.raises(DataError, match=r"sleep\.csv: bedtime: a time has a time zone"):
        anna(folder, sleep__csv=text).sleep(*AUGUST)


def test_day_of_a_clock_change_is_a_day(folder: Path) -> None:
    """Local times have no zone: 2:30 exists on each day, also on that on which the clock jumps over it."""
    text = SLEEP + "2020-03-29,420,100,70,250,30,2020-03-29T02:30,2020-03-29T10:00\n"
    frame, notes = anna(folder, sleep__csv=text).sleep(date(2020, 3, 29), date(2020, 3, 29))
    assert frame["bedtime"].tolist() == [datetime(2020, 3, 29, 2, 30)]
    assert notes == ()


def test_unknown_columns_are_ignored_and_missing_ones_named(folder: Path) -> None:
    subject = anna(folder, meals__csv='mood,time,food,grams\nx,2020-08-01T08:00,"Banana, raw",120\n')
    assert subject.meals(*AUGUST).frame.values.tolist() == [[datetime(2020, 8, 1, 8), "Banana, raw", 120.0]]
    with pytest.raises(DataError, match=r"^sleep\.csv: column rem, risetime is missing \(expected columns: date,"):
        anna(folder, sleep__csv="date,asleep,deep,light,awake,bedtime\n").sleep(*AUGUST)


def test_parquet_is_read_like_csv(folder: Path) -> None:
    text = SLEEP + night("2020-08-01") + night("2020-08-02", 431.5)
    from_csv = anna(folder, sleep__csv=text).sleep(*AUGUST)
    path = folder / "anna" / "sleep.csv"
    pd.read_csv(path, parse_dates=["date", "bedtime", "risetime"]).to_parquet(path.with_suffix(".parquet"))
    path.unlink()
    from_parquet = Subjects(folder).open("anna").sleep(*AUGUST)
    assert from_parquet.frame.values.tolist() == from_csv.frame.values.tolist()


@pytest.mark.parametrize("name", ["sleep.csv", "sleep.parquet"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00\x00garbage", b'date,asleep\n"2020', b"PAR1garbagePAR1"])
def test_unreadable_file_is_named_without_its_path(folder: Path, name: str, content: bytes) -> None:
    (folder / "anna" / name).write_bytes(content)
    with pytest.raises(DataError) as error:
        Subjects(folder).open("anna").sleep(*AUGUST)
    assert str(error.value).startswith(name)
    assert str(folder) not in str(error.value)


@pytest.mark.parametrize("name", ["sleep.csv", "sleep.parquet"])
def test_too_many_rows_are_refused(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    anna(folder, sleep__csv=SLEEP + "".join(night(f"2020-08-{day:02}") for day in range(1, 5)))
    if name == "sleep.parquet":
        pd.read_csv(folder / "anna" / "sleep.csv").to_parquet(folder / "anna" / name)
        (folder / "anna" / "sleep.csv").unlink()
    monkeypatch.setattr(tables, "MOST_ROWS", 4)
    assert len(Subjects(folder).open("anna").sleep(*AUGUST).frame) == 4
    monkeypatch.setattr(tables, "MOST_ROWS", 3)
    with pytest.raises(DataError, match="more than 3 rows: split the file by year"):
        Subjects(folder).open("anna").sleep(*AUGUST)


def test_subject_without_files_has_no_data(folder: Path) -> None:
    subject = anna(folder)
    assert subject.sleep(*AUGUST).notes == ("This person has no data on sleep.",)
    assert subject.activity(*AUGUST).frame.empty
    assert subject.meals(*AUGUST).frame.columns.tolist() == ["time", "food", "grams"]
    assert subject.recordings(*AUGUST) == []
    assert subject.profile().allergies == ()


def test_recordings_of_the_period_are_read_in_order(folder: Path) -> None:
    (folder / "anna" / "ppg").mkdir()
    for name in ("2020-08-31T2359", "2020-08-01T0800", "2020-09-01T0000", "2020-07-31T2300"):
        (folder / "anna" / "ppg" / f"{name}.csv").write_text(f"value\n{name[8:10]}\n\n0.5\nx\n")
    found = anna(folder, profile__yaml="ppg_hz: 20").recordings(*AUGUST)
    assert [one.start for one in found] == [datetime(2020, 8, 1, 8), datetime(2020, 8, 31, 23, 59)]
    assert {one.hz for one in found} == {20}
    np.testing.assert_array_equal(found[0].values, [1, 0.5, np.nan])


def test_recordings_without_a_rate_or_a_time_are_refused(folder: Path) -> None:
    (folder / "anna" / "ppg").mkdir()
    (folder / "anna" / "ppg" / "2020-08-01T0800.csv").write_text("value\n1\n")
    with pytest.raises(DataError, match=r"profile\.yaml: ppg_hz is missing"):
        anna(folder).recordings(*AUGUST)
    (folder / "anna" / "ppg" / "morning.csv").write_text("value\n1\n")
    with pytest.raises(DataError, match=r"ppg/morning\.csv: name the file by its start"):
        anna(folder, profile__yaml="ppg_hz: 20").recordings(*AUGUST)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("allergys: [peanuts]", "invalid allergys"),
        ("height_cm: 1.78", "invalid height_cm"),
        ("allergies: peanuts", "invalid allergies"),
        ("- a list", "invalid content"),
        ("age: [", "the file is not readable"),
    ],
)
def test_profile_that_cannot_be_used_is_refused(folder: Path, text: str, message: str) -> None:
    """A misspelt `allergies` is not taken for a person without allergies."""
    with pytest.raises(DataError, match=rf"^profile\.yaml: {message}"):
        anna(folder, profile__yaml=text).profile()


@pytest.mark.parametrize(
    "id", ["anna/../bob", "..", ".", "", "bob\n", "b" * 65, "/etc", "link", "notes", "Anna ", "b.b", "ánna", "carl"]
)
def test_only_folders_of_the_data_folder_are_subjects(folder: Path, id: str) -> None:
    (folder / "bob").mkdir()
    (folder / "b.b").mkdir()
    (folder / "notes").write_text("no folder")
    (folder.parent / "outside").mkdir()
    (folder / "link").symlink_to(folder.parent / "outside")
    assert Subjects(folder).ids() == ["anna", "bob"]
    with pytest.raises(DataError, match="unknown subject"):
        Subjects(folder).open(id)


@pytest.mark.parametrize("name", ["sleep.csv", "bundle.json", "profile.yaml", "ppg"])
def test_link_out_of_a_subjects_folder_is_refused(folder: Path, name: str) -> None:
    """Also a link to another subject of the same data folder."""
    other = folder / "bob" / name
    other.parent.mkdir()
    if name == "ppg":
        other.mkdir()
        (other / "2020-08-01T0800.csv").write_text("value\n1\n")
        anna(folder, profile__yaml="ppg_hz: 20")
    else:
        other.write_text("{}" if name == "bundle.json" else SLEEP)
    (folder / "anna" / name).symlink_to(other)
    subject = Subjects(folder).open("anna")
    read = {"profile.yaml": subject.profile, "ppg": lambda: subject.recordings(*AUGUST)}
    with pytest.raises(DataError, match="the link leads out of the subject's folder"):
        read.get(name, lambda: subject.sleep(*AUGUST))()


def test_version_changes_with_a_file_of_the_subject_alone(folder: Path) -> None:
    subjects, first = Subjects(folder), Subjects(folder).version("anna")
    anna(folder, sleep__csv=SLEEP + night("2020-08-01"))
    second = subjects.version("anna")
    (folder / "bob").mkdir()
    assert subjects.version("anna") == second != first
    path = folder / "anna" / "sleep.csv"
    before = path.stat()
    path.write_text(path.read_text().replace("420", "421"))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert subjects.version("anna") != second, "same size and time of change"
    (folder / "anna" / "ppg").mkdir()
    third = subjects.version("anna")
    (folder / "anna" / "ppg" / "2020-08-01T0800.csv").write_text("value\n")
    assert subjects.version("anna") != third


def test_missing_data_folder_is_named_without_its_path(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"^cannot read the data folder 'nowhere'"):
        Subjects(tmp_path / "nowhere").ids()
