"""FHIR bundles as tables."""

import json
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from assistants.health import sources
from assistants.health.sources import DataError, Subject, Subjects
from tests.assistants.health.doubles import HEADERS

AUGUST = (date(2020, 8, 1), date(2020, 8, 31))
REM, ASLEEP, STEPS, STEPS_OF_DAY = "93829-0", "93832-4", "55423-8", "41950-7"


def observation(code: str, value: float, unit: str, when: str | tuple[str, str], **more: Any) -> dict[str, Any]:
    period = when if isinstance(when, str) else {"start": when[0], "end": when[1]}
    return {
        "resourceType": "Observation", "status": "final", "subject": {"reference": "Patient/1"},
        "code": {"coding": [{"system": "http://loinc.org", "code": code}]},
        "valueQuantity": {"value": value, "unit": unit, "code": unit, "system": "http://unitsofmeasure.org"},
        "effectiveDateTime" if isinstance(when, str) else "effectivePeriod": period,
    } | more  # fmt: skip


def subject(tmp_path: Path, *resources: Any) -> Subject:
    (tmp_path / "anna").mkdir()
    bundle = {"resourceType": "Bundle", "type": "collection", "entry": [{"resource": one} for one in resources]}
    (tmp_path / "anna" / "bundle.json").write_text(json.dumps(bundle))
    return Subjects(tmp_path).open("anna")


def test_night_is_dated_by_its_evening_and_hours_become_minutes(tmp_path: Path) -> None:
    """Bedtimes of 23:10 and of 0:40 belong to the evening of the same date."""
    first = ("2020-08-29T23:10:00+02:00", "2020-08-30T07:00:00+02:00")
    second = ("2020-08-31T00:40:00Z", "2020-08-31T08:00:00Z")
    frame, notes = subject(
        tmp_path,
        observation(ASLEEP, 7.5, "h", first),
        observation(REM, 110, "min", first),
        observation(ASLEEP, 25_200, "s", second),
        observation(REM, 1.5, "h", "2020-08-30"),
    ).sleep(*AUGUST)
    assert frame[["asleep", "rem"]].values.tolist() == [[450, 110], [420, 90]]
    assert [one.date() for one in frame["date"]] == [date(2020, 8, 29), date(2020, 8, 30)]
    assert frame["bedtime"].tolist() == [datetime(2020, 8, 29, 23, 10), datetime(2020, 8, 31, 0, 40)]
    assert frame["risetime"].tolist() == [datetime(2020, 8, 30, 7), datetime(2020, 8, 31, 8)]
    assert frame["deep"].isna().all()
    assert "bundle.json: 2 nights without deep." in notes


def test_first_of_september_is_not_in_august(tmp_path: Path) -> None:
    after = [observation(ASLEEP, 400, "min", ("2020-09-01T23:00:00+02:00", "2020-09-02T06:00:00+02:00"))]
    after.append(observation(ASLEEP, 401, "min", ("2020-09-01T01:00:00+02:00", "2020-09-01T08:00:00+02:00")))
    after.append(observation(ASLEEP, 402, "min", ("2020-08-01T01:00:00+02:00", "2020-08-01T08:00:00+02:00")))
    frame = subject(tmp_path, *after).sleep(*AUGUST).frame
    assert frame["asleep"].tolist() == [401], "the night of 31 August; 1 August 1:00 is that of 31 July"


def test_longest_sleep_of_a_night_counts(tmp_path: Path) -> None:
    night, nap = ("2020-08-29T23:00:00Z", "2020-08-30T06:00:00Z"), ("2020-08-29T14:00:00Z", "2020-08-29T15:00:00Z")
    sleeps = observation(ASLEEP, 400, "min", night), observation(ASLEEP, 50, "min", nap)
    frame = subject(tmp_path, *sleeps).sleep(*AUGUST).frame
    assert frame[["asleep", "bedtime"]].values.tolist() == [[400, datetime(2020, 8, 29, 23)]]


def test_parts_of_a_day_are_added_unless_there_is_a_total(tmp_path: Path) -> None:
    times = [(n, f"2020-08-0{day}T{n // 1000:02}:00:00Z") for day in (1, 2) for n in (9000, 2000)]
    parts = [observation(STEPS, n, "{steps}", time) for n, time in times]
    repeated = observation(STEPS, 2_500, "1", "2020-08-01T02:00:00Z")
    total = observation(STEPS_OF_DAY, 12_345, "/d", "2020-08-02")
    km = observation("55430-3", 6500, "m", "2020-08-01")
    kcal = observation("41981-2", 4184, "kJ", "2020-08-01")
    frame = subject(tmp_path, total, *parts, repeated, km, kcal).activity(*AUGUST).frame
    assert frame["steps"].tolist() == [9000 + 2500, 12_345]
    assert (frame["distance_km"][0], round(frame["kcal"][0], 6)) == (6.5, 1000)


def test_larger_of_two_totals_of_a_day_counts(tmp_path: Path) -> None:
    """A phone and a watch count the same steps."""
    totals = ((7000, "2020-08-02T22:00:00Z"), (8000, "2020-08-02T23:00:00Z"))
    phone, watch = (observation(STEPS_OF_DAY, n, "/d", time) for n, time in totals)
    assert subject(tmp_path, watch, phone).activity(*AUGUST).frame["steps"].tolist() == [8000]


def test_components_are_read(tmp_path: Path) -> None:
    part = observation(REM, 95, "min", "2020-08-05")
    component = {name: part[name] for name in ("code", "valueQuantity")}
    whole = observation(ASLEEP, 420, "min", "2020-08-05", component=[component])
    assert subject(tmp_path, whole).sleep(*AUGUST).frame[["asleep", "rem"]].values.tolist() == [[420, 95]]


def test_what_is_not_read_is_counted(tmp_path: Path) -> None:
    pulse = observation("8867-4", 62, "/min", "2020-08-01")
    wrong_system = observation(ASLEEP, 300, "min", "2020-08-09")
    wrong_system["code"]["coding"][0]["system"] = "http://example.org"
    frame, notes = subject(
        tmp_path,
        {"resourceType": "Patient"},
        observation(ASLEEP, 420, "min", "2020-08-01"),
        *[pulse] * 3,
        {"resourceType": "Encounter"},
        observation(ASLEEP, 3, "lb", "2020-08-02"),
        observation(ASLEEP, 420, "min", "2020-08"),
        observation(ASLEEP, 420, "min", "2020-08-03", status="entered-in-error"),
        observation(ASLEEP, 420, "min", "2020-08-04T25:00:00Z"),
        wrong_system,
    ).sleep(*AUGUST)
    assert [one.day for one in frame["date"]] == [1]
    assert set(notes[:4]) == {
        "bundle.json: 4 resources of a kind that is not read, left out.",
        "bundle.json: 1 resource without a value in a known unit, left out.",
        "bundle.json: 2 resources without a day, or withdrawn, left out.",
        "bundle.json: 1 resource not valid, left out.",
    }


def test_bundle_of_two_persons_is_refused(tmp_path: Path) -> None:
    other = observation(REM, 90, "min", "2020-08-01", subject={"reference": "Patient/2"})
    with pytest.raises(DataError, match=r"^bundle\.json: the bundle has data of 2 persons"):
        subject(tmp_path, observation(ASLEEP, 420, "min", "2020-08-01"), other).sleep(*AUGUST)


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "null", "[" * 100_000),
        '{"resourceType": "Bundle", "entry": [{"resource": 1}]}',
        '{"resourceType": "Bundle", "entry": [1]}',
        '{"resourceType": "Patient", "entry": []}',
    ],
)
def test_unreadable_bundle_is_refused(tmp_path: Path, text: str) -> None:
    one = subject(tmp_path)
    (tmp_path / "anna" / "bundle.json").write_text(text)
    with pytest.raises(DataError, match=r"^bundle\.json: the file is not a readable FHIR bundle: "):
        one.sleep(*AUGUST)


def test_too_large_a_bundle_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = subject(tmp_path, observation(ASLEEP, 420, "min", "2020-08-01"))
    monkeypatch.setattr(sources, "MOST_BYTES", 10)
    with pytest.raises(DataError, match=r"^bundle\.json: the file is larger than 0 MB"):
        one.sleep(*AUGUST)


def test_csv_counts_before_the_bundle(tmp_path: Path) -> None:
    asleep, steps = observation(ASLEEP, 420, "min", "2020-08-01"), observation(STEPS_OF_DAY, 9, "1", "2020-08-01")
    one = subject(tmp_path, asleep, steps)
    (tmp_path / "anna" / "sleep.csv").write_text(HEADERS["sleep"])
    assert one.sleep(*AUGUST).frame.empty
    assert one.activity(*AUGUST).frame["steps"].tolist() == [9]


def test_fhir_is_loaded_when_needed() -> None:
    code = "import sys, assistants.health.sources; sys.exit('fhir.resources' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
