"""Reads and checks the health data of subjects. Files are read on demand, and their size is limited.

A subject is a folder with the tables `sleep`, `activity` and `meals` (`.csv` or `.parquet`), `profile.yaml` and `ppg/*.csv`.
Tables without a file come from the FHIR bundle `bundle.json`, if there is one.
"""

import hashlib
import os
import re
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from assistants.health.fhir import Bundle, read_bundle
from assistants.health.tables import LAYOUTS, MOST_BYTES, MOST_ROWS, DataError, Table, check_rows, read_frame
from models.unique_keys import load_yaml

__all__ = ["DataError", "Profile", "Recording", "Strict", "Subject", "Subjects", "Table"]

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


class Recording(NamedTuple):
    """A PPG (pulse) recording."""

    start: datetime
    hz: float
    """Samples per second."""
    values: NDArray[np.float64]
    """The signal, of shape (samples,), in any unit. NaN means a missing value."""


class Strict(BaseModel):
    """Data without unknown fields, which do not change."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Profile(Strict):
    """A person's profile. All fields are optional, but unknown fields are errors: a misspelt `allergies` must be noticed."""

    age: int | None = Field(None, ge=0, le=130)
    sex: str | None = None
    height_cm: float | None = Field(None, ge=30, le=260)
    weight_kg: float | None = Field(None, ge=1, le=500)
    conditions: tuple[str, ...] = ()
    medicines: tuple[str, ...] = ()
    allergies: tuple[str, ...] = ()
    preferences: tuple[str, ...] = ()
    ppg_hz: float | None = Field(None, gt=0, le=4_000)
    """Sampling rate of the PPG recordings, in Hz."""


class Subject:
    """Reads the data of one person. Periods include both days. All methods raise DataError if a file cannot be used."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def id(self) -> str:
        """The subject's id, which is the name of its folder."""
        return self._folder.name

    def sleep(self, start: date, end: date) -> Table:
        """Return a table with one row per night. A night has the date of its evening.

        Columns: date, asleep, rem, deep, light, awake (in minutes), bedtime, risetime. Missing values are NaN, but `asleep` is
        never NaN. Without a file, the table has no rows, and a note says so.
        """
        return self._table("sleep", start, end)

    def activity(self, start: date, end: date) -> Table:
        """Return one row per day: date, steps (int), active_minutes, distance_km, kcal. The last three are NaN if missing."""
        table = self._table("activity", start, end)
        return Table(table.frame.astype({"steps": "int64"}), table.notes)

    def meals(self, start: date, end: date) -> Table:
        """Return a table with one row per item eaten: time, food (a name in USDA FoodData Central), grams."""
        return self._table("meals", start, end)

    def recordings(self, start: date, end: date) -> list[Recording]:
        """Return the PPG recordings that start in the period, oldest first.

        Raises:
            DataError: A file cannot be read, the profile has no `ppg_hz`, or the recordings have more than `MOST_ROWS` samples.
        """
        found, samples, hz = list[Recording](), 0, None
        for path in sorted(self._folder.glob("ppg/[!.]*.csv")):
            try:
                begin = datetime.strptime(path.stem, "%Y-%m-%dT%H%M")
            except ValueError:
                raise DataError(f"ppg/{path.name}: name the file by its start time: 2020-08-29T0800.csv") from None
            if not start <= begin.date() <= end:
                continue
            hz = hz or self.profile().ppg_hz
            if hz is None:
                raise DataError("profile.yaml: ppg_hz is missing: add the sampling rate of the PPG recordings, in Hz")
            frame = read_frame(self._inside(path), ["value"])
            values = pd.to_numeric(frame["value"], errors="coerce").to_numpy(np.float64)
            if (samples := samples + len(values)) > MOST_ROWS:
                raise DataError(f"ppg: more than {MOST_ROWS} samples in the period: choose a shorter period")
            found.append(Recording(begin, hz, values))
        return found

    def profile(self) -> Profile:
        """Return the person's profile. It is empty if there is no `profile.yaml`."""
        path = self._inside(self._folder / "profile.yaml")
        try:
            return Profile.model_validate(load_yaml(path.read_text("utf-8")) or {}) if path.exists() else Profile()
        except ValidationError as error:
            fields = ", ".join(sorted({str(one["loc"][0]) if one["loc"] else "content" for one in error.errors()}))
            known = ", ".join(Profile.model_fields)
            raise DataError(f"profile.yaml: invalid {fields}: check names and values (known fields: {known})") from None
        except (OSError, ValueError, yaml.YAMLError):
            raise DataError("profile.yaml: the file is not readable: write it as YAML, in UTF-8") from None

    def _table(self, kind: str, start: date, end: date) -> Table:
        for ending in (".csv", ".parquet"):
            if (path := self._inside(self._folder / (kind + ending))).exists():
                return check_rows(read_frame(path, list(LAYOUTS[kind].columns)), kind, path.name, start, end)
        frame = self._bundle.frames.get(kind) if self._bundle else None
        if self._bundle is None or frame is None:
            none = pd.DataFrame(columns=list(LAYOUTS[kind].columns))
            return Table(check_rows(none, kind, kind, start, end).frame, (f"This person has no data on {kind}.",))
        table = check_rows(frame, kind, "bundle.json", start, end)
        return Table(table.frame, (*self._bundle.notes, *table.notes))

    @cached_property
    def _bundle(self) -> Bundle | None:
        path = self._inside(self._folder / "bundle.json")
        return read_bundle(path) if path.exists() else None

    def _inside(self, path: Path) -> Path:
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise DataError(f"{path.name}: the link leads out of the subject's folder: copy the file into the folder")
        if path.exists() and not path.is_file() and not path.is_dir():
            raise DataError(f"{path.name}: expected a regular file: copy the file into the subject's folder")
        if path.is_file() and path.stat().st_size > MOST_BYTES:
            raise DataError(f"{path.name}: the file is larger than {MOST_BYTES // 1_000_000} MB: remove older data")
        return path


class Subjects:
    """Finds the subjects in a data folder. Each subject is a folder in it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def ids(self) -> list[str]:
        """Return the sorted ids of all subjects: names of folders, with 1 to 64 letters, digits, _ and -. Links do not count.

        Raises:
            DataError: The folder cannot be read.
        """
        try:
            with os.scandir(self._folder) as entries:
                folders = [one.name for one in entries if one.is_dir(follow_symlinks=False)]
            return sorted(filter(ID.fullmatch, folders))
        except OSError:
            raise DataError(f"cannot read the data folder {self._folder.name!r}: check that it exists") from None

    def open(self, id: str) -> Subject:
        """Return the subject with an id.

        Raises:
            DataError: No subject has this id.
        """
        if not ID.fullmatch(id) or id not in self.ids():  # only names of existing folders pass, so never `..`
            raise DataError(f"unknown subject {id[:64]!r}: the data folder contains no folder of that name")
        return Subject(self._folder / id)

    def version(self, id: str) -> str:
        """Return a version of a subject's data: a hash that changes whenever one of the subject's files changes.

        Raises:
            DataError: No subject has this id.
        """
        self.open(id)
        digest = hashlib.sha256()
        for path in sorted((self._folder / id).rglob("*")):
            stat = path.lstat()
            digest.update(repr((path.name, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)).encode())
        return digest.hexdigest()[:16]
