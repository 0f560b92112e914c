"""Converts the Observations of a FHIR bundle (R4 or R5) to tables of sleep and activity, by their LOINC codes."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from assistants.health.tables import LAYOUTS, DataError
from models.unique_keys import load_json

if TYPE_CHECKING:
    from fhir.resources.observation import Observation

_MINUTES = {"min": 1.0, "h": 60.0, "s": 1 / 60, "minutes": 1.0, "hours": 60.0, "seconds": 1 / 60}
_KM = {"km": 1.0, "m": 0.001, "[mi_i]": 1.609344}
_KCAL = {"kcal": 1.0, "[Cal]": 1.0, "kJ": 1 / 4.184, "cal": 0.001}
_STEPS = dict.fromkeys(("", "1", "/d", "/(24.h)", "steps", "count"), 1.0)


class _Code(NamedTuple):
    kind: str
    column: str
    units: Mapping[str, float]
    whole_day: bool = False
    """Whether a value is the total of a day. A total replaces the sum of the day's partial values."""


CODES = {  # LOINC, https://loinc.org/CODE
    "93832-4": _Code("sleep", "asleep", _MINUTES),
    "93829-0": _Code("sleep", "rem", _MINUTES),
    "93831-6": _Code("sleep", "deep", _MINUTES),
    "93830-8": _Code("sleep", "light", _MINUTES),
    "103215-0": _Code("sleep", "awake", _MINUTES),
    "55423-8": _Code("activity", "steps", _STEPS),
    "41950-7": _Code("activity", "steps", _STEPS, whole_day=True),
    "55411-3": _Code("activity", "active_minutes", _MINUTES),
    "55430-3": _Code("activity", "distance_km", _KM),
    "41953-1": _Code("activity", "distance_km", _KM, whole_day=True),
    "41981-2": _Code("activity", "kcal", _KCAL),
    "41979-6": _Code("activity", "kcal", _KCAL, whole_day=True),
}


class _Span(NamedTuple):
    start: datetime
    end: datetime
    """Both are local times without a time zone."""
    offset: timedelta | None
    """Offset from UTC. It distinguishes the two hours with the same local time when clocks go back."""


_Values = dict[tuple[str, date, str, bool], dict[str, dict[_Span, float]]]
"""Values by (kind, day, column, `whole_day`), then by device, then by the time span of each value."""


class Bundle(NamedTuple):
    """The tables that a FHIR bundle contains, with notes on resources that were left out."""

    frames: dict[str, pd.DataFrame]
    """By kind, such as `sleep`, a table with the columns of `tables.LAYOUTS`. A kind without Observations has no table."""
    notes: tuple[str, ...] = ()


def read_bundle(path: Path) -> Bundle:
    """Read a FHIR bundle from a JSON file. Times are read as local times, and their UTC offset is dropped.

    A night lasts from noon to noon, and has the date of its evening. Of several sleeps in a night, the longest counts, with the
    sleep stages from the same device. The activity of a day is the total if the bundle has one, or else the sum of the device with
    most values. An Observation replaces an earlier one of the same code, device and time.

    Raises:
        DataError: The bundle cannot be read, or contains data of several persons.
    """
    try:
        from fhir.resources.observation import Observation
    except ImportError:
        raise DataError(f"{path.name}: reading FHIR needs fhir.resources: install it, or send CSV files") from None
    values: _Values = defaultdict(lambda: defaultdict(dict))
    persons, left_out = set(), Counter[str]()
    for resource in _resources(path):
        if not CODES.keys() & set(re.findall(r'"code": "([\d-]+)"', json.dumps(resource))):  # validation takes long
            left_out["of a kind that is not read"] += bool(resource) and resource.get("resourceType") != "Patient"
            left_out["without content"] += not resource
            continue
        try:
            observation = Observation.model_validate(resource)
        except ValueError:
            left_out["not valid"] += 1
            continue
        persons.add(observation.subject.reference if observation.subject else None)
        span = _span(observation)
        if span is None or observation.status in ("entered-in-error", "cancelled"):
            left_out["without a day, or withdrawn"] += 1
            continue
        device = observation.device.model_dump_json() if observation.device else ""
        for code, quantity in _quantities(observation):
            unit = re.sub(r"\{[^{}]{0,40}\}", "", (quantity.code or quantity.unit or "") if quantity else "")
            if quantity is None or quantity.value is None or unit not in code.units:
                left_out["without a value in a known unit"] += 1
                continue
            day = (span[0] - timedelta(hours=12) if code.kind == "sleep" else span[0]).date()
            values[code.kind, day, code.column, code.whole_day][device][span] = float(quantity.value) * code.units[unit]
    if len(persons) > 1:
        raise DataError(f"{path.name}: the bundle has data of {len(persons)} persons: write one bundle per person")
    frames, counts = _frames(values)
    notes = {f"{n} resource{'s' * (n != 1)} {why}, left out": n for why, n in left_out.items()}
    notes |= {f"{n} {what.replace('(s)', 's' * (n != 1))}": n for what, n in counts.items()}
    return Bundle(frames, tuple(f"{path.name}: {note}." for note, n in notes.items() if n))


def _resources(path: Path) -> list[dict[str, Any]]:
    """Return the resource of each entry of a bundle; {} for an entry without a resource, as in a transaction response."""
    try:
        content = load_json(path.read_text(encoding="utf-8"))
        resources = [dict(entry).get("resource", {}) for entry in content["entry"]]
        if content["resourceType"] == "Bundle" and all(isinstance(one, dict) for one in resources):
            return resources
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        pass
    raise DataError(f"{path.name}: the file is not a readable FHIR bundle: write it as a FHIR bundle in JSON")


def _span(observation: "Observation") -> _Span | None:
    """Return the local time span of an Observation: noon if it has no time of day, None if it has no day."""
    period = observation.effectivePeriod
    start = period.start if period else observation.effectiveDateTime or observation.effectiveInstant
    end = period.end if period and period.end else start
    times = [
        one.replace(tzinfo=None) if isinstance(one, datetime) else datetime.combine(one, time(12))
        for one in (start, end)
        if isinstance(one, date)  # a year or a month is a string
    ]
    return _Span(times[0], times[1], start.utcoffset() if isinstance(start, datetime) else None) if times[1:] else None


def _quantities(observation: "Observation") -> Iterator[tuple[_Code, Any]]:
    for part in (observation, *(observation.component or ())):
        codings = [one.code for one in part.code.coding or () if one.system == "http://loinc.org"]
        if known := [CODES[code] for code in codings if code in CODES]:
            yield known[0], part.valueQuantity


def _frames(values: _Values) -> tuple[dict[str, pd.DataFrame], Counter[str]]:
    """Return a table per kind, and counts of values that were left out or may have been added twice, by their description."""
    rows: dict[str, dict[date, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    nights: dict[date, tuple[str, _Span]] = {}
    counts = Counter[str]()
    for (kind, day, column, whole_day), devices in sorted(values.items()):  # `asleep` before stages, totals last
        row = rows[kind][day]
        row["date"] = day
        if kind == "activity" and not whole_day:
            device = max(devices, key=lambda one: (len(devices[one]), sum(devices[one].values())))
            row[column] = sum(devices[device].values())
            counts["daily value(s) of several devices: the device with most values counts"] += len(devices) > 1
            is_unknown = not device and len(devices[device]) > 1
            counts["daily value(s) of no named device: if there were two, they are added"] += is_unknown
            continue
        spans = [(value, device, span) for device, parts in devices.items() for span, value in parts.items()]
        if column == "asleep":
            row[column], device, span = max(spans, key=lambda one: one[0])
            nights[day] = device, span
            row |= {"bedtime": span.start, "risetime": span.end} if span.end > span.start else {}
            counts["shorter sleep(s) of an evening, such as naps, not counted"] += len(spans) - 1
        elif kind == "sleep" and day in nights:
            device, night = nights[day]
            spans = [one for one in spans if one[1] == device and _is_of(one[2], night)]
        if spans:
            row[column] = max(spans, key=lambda one: one[0])[0]
    columns = {kind: list(LAYOUTS[kind].columns) for kind in rows}
    return {kind: pd.DataFrame(list(rows[kind].values()), columns=columns[kind]) for kind in rows}, counts


def _is_of(stage: _Span, night: _Span) -> bool:
    """Return whether a sleep stage belongs to a night: their spans overlap, or one of them has no duration."""
    are_spans = stage.start < stage.end and night.start < night.end
    return not are_spans or (stage.start < night.end and night.start < stage.end)
