"""Defines the columns of each kind of file, reads the files, and checks their rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from pandas.api.types import is_datetime64_any_dtype, is_numeric_dtype, is_string_dtype

MOST_BYTES = 100_000_000
"""Maximum size of a file, in bytes. Reading a CSV or FHIR file takes up to six times its size in memory."""
MOST_ROWS = 5_000_000
"""Maximum number of rows in a file, and of samples in the recordings of a period."""
MOST_HOURS = 24
"""If the median of `asleep` is below this value, the file has hours instead of minutes."""
HOURS = (45, 75)
"""If the ratio of two columns is in this range, one has hours instead of minutes. Unclassified minutes shift it from 60."""


class DataError(Exception):
    """Data cannot be read. The message tells the user the file and the remedy. It contains no path and no row of data."""


class Table(NamedTuple):
    """The checked rows of a period, with notes on rows that were left out."""

    frame: pd.DataFrame
    """Rows sorted by the first column, with a new index. Dates (at midnight) and times are datetime64, local, without time zone."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Layout:
    """The columns of a kind of file. The first column is the key, which orders the rows and gives the day of each."""

    noun: str
    """What a row represents, such as "night". Notes use this name."""
    columns: Mapping[str, tuple[float, float] | type[str] | type[datetime]]
    """By column, the lowest and highest possible number, or the type of other values."""
    required: tuple[str, ...]
    """Columns that must have a value. Rows without one are left out."""
    once: bool
    """Whether a key may occur once only. If so, the last row of a key replaces earlier ones."""


_MINUTES, _STAGES = (0.0, 1440.0), ("rem", "deep", "light")
_NIGHT, _BED = dict.fromkeys(("asleep", *_STAGES, "awake"), _MINUTES), dict.fromkeys(("bedtime", "risetime"), datetime)
_DAY = {
    "steps": (0.0, 200_000.0),
    "active_minutes": (0.0, 1500.0),
    "distance_km": (0.0, 300.0),
    "kcal": (0.0, 20_000.0),
}
"""Ranges of the columns of a day. `active_minutes` allows for the day in a year that has 25 hours, or 1500 minutes."""
LAYOUTS = {
    "sleep": Layout("night", {"date": datetime, **_NIGHT, **_BED}, required=("asleep",), once=True),
    "activity": Layout("day", {"date": datetime, **_DAY}, required=("steps",), once=True),
    "meals": Layout(
        "item", {"time": datetime, "food": str, "grams": (0.0, 10_000.0)}, required=("food", "grams"), once=False
    ),
}


def read_frame(path: Path, columns: list[str]) -> pd.DataFrame:
    """Read the named columns of a CSV or Parquet file; other columns are ignored.

    Raises:
        DataError: The file cannot be read, lacks a column, or has more than `MOST_ROWS` rows.
    """
    try:
        frame = _read_parquet(path, columns) if path.suffix == ".parquet" else _read_csv(path, columns)
    except ImportError:
        raise DataError(f"{path.name}: reading Parquet needs pyarrow: install it, or write the file as CSV") from None
    except (OSError, ValueError):  # errors of pandas are subclasses
        raise DataError(f"{path.name}: not readable: write it as CSV with commas, in UTF-8, or as Parquet") from None
    if frame.columns.has_duplicates:
        raise DataError(f"{path.name}: two columns have the same name: remove one")
    if missing := [column for column in columns if column not in frame]:
        raise DataError(f"{path.name}: column {', '.join(missing)} is missing (expected columns: {', '.join(columns)})")
    if len(frame) > MOST_ROWS:
        raise DataError(f"{path.name}: the file has more than {MOST_ROWS} rows: split the file by year")
    return frame


def _read_csv(path: Path, columns: list[str]) -> pd.DataFrame:
    wanted = {"usecols": lambda name: name in columns, "nrows": MOST_ROWS + 1}
    excel = {"encoding": "utf-8-sig", "skipinitialspace": True}  # Excel writes a byte order mark
    return pd.read_csv(path, **wanted, **excel, low_memory=False)


def _read_parquet(path: Path, columns: list[str]) -> pd.DataFrame:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            if file.metadata.num_rows > MOST_ROWS:  # before any row is read
                return pd.DataFrame(index=range(MOST_ROWS + 1), columns=columns)
            present = [column for column in columns if column in file.schema_arrow.names]
            return pd.DataFrame(file.read(columns=present).to_pandas())
    except ArrowException as error:
        raise ValueError("not Parquet") from error


def check_rows(frame: pd.DataFrame, kind: str, name: str, start: date, end: date) -> Table:
    """Return the valid rows of a period, both days included. A note counts the rows that were left out for each reason.

    Args:
        kind: A key of `LAYOUTS`.
        name: Name of the file, for notes and errors.

    Raises:
        DataError: Most rows have an impossible value, for example because of a wrong unit; or a time has a time zone.
    """
    layout = LAYOUTS[kind]
    key = next(iter(layout.columns))
    rows, impossible = pd.DataFrame(index=frame.index), pd.DataFrame(index=frame.index)
    for column, expected in layout.columns.items():
        rows[column], impossible[column] = _convert(frame[column], expected, f"{name}: {column}")
    if kind == "sleep":
        stages = rows[list(_STAGES)].sum(axis=1, min_count=len(_STAGES))
        impossible["rem"] |= (stages > rows["asleep"] + len(_STAGES)) | (rows["asleep"] / stages).between(*HOURS)
        for stage in _STAGES:
            impossible[stage] |= rows[stage] > rows["asleep"] + 1  # a minute for rounding
    wrong = impossible.any(axis=1)
    if wrong.sum() * 2 > len(rows):
        raise DataError(f"{name}: most rows have an impossible value: {_expectations(layout, impossible)}")
    if kind == "sleep":
        _check_hours(rows[~wrong], name)
    if layout.once:
        rows[key] = rows[key].dt.normalize()
    undated = rows[key].isna()
    within = rows[key].dt.normalize().between(pd.Timestamp(start), pd.Timestamp(end))
    lacking = rows[list(layout.required)].isna().any(axis=1) & ~wrong
    counting = rows[within & ~wrong & ~lacking]
    repeated = counting.duplicated(key, keep="last") if layout.once else pd.Series(False, index=counting.index)
    kept = counting[~repeated].sort_values(key, kind="stable", ignore_index=True)
    counts = {
        f"without a readable {key}, left out": undated.sum(),
        "with an impossible value, left out": (within & wrong).sum(),
        f"without {' or '.join(layout.required)}, left out": (within & lacking).sum(),
        "given twice, the last row counts": repeated.sum(),
    }
    optional = [column for column in layout.columns if column != key and column not in layout.required]
    counts |= {f"without {column}": kept[column].isna().sum() for column in optional}
    notes = [f"{name}: {n} {layout.noun}{'' if n == 1 else 's'} {what}." for what, n in counts.items() if n]
    return Table(kept, tuple(notes))


def _check_hours(nights: pd.DataFrame, name: str) -> None:
    """Raise DataError if a column has hours instead of minutes: `asleep` by its median, `awake` compared with the time in bed."""
    in_bed = (nights["risetime"] - nights["bedtime"]).dt.total_seconds() / 60
    hours = {
        "asleep": 0 < nights["asleep"].median() < MOST_HOURS,
        "awake": HOURS[0] < ((in_bed - nights["asleep"]) / nights["awake"]).median() < HOURS[1],
    }
    if wrong := [column for column, looks_so in hours.items() if looks_so]:
        raise DataError(f"{name}: {wrong[0]}: the values look like hours (expected minutes)")


def period_labels(dates: "pd.Series[Any]", every: str) -> "pd.Series[Any]":
    """Return the month of each date ("2020-08"), or if `every` is "week", the Monday of its week ("2020-08-03")."""
    if every == "month":
        return dates.dt.strftime("%Y-%m")
    return (dates - pd.to_timedelta(dates.dt.day_of_week, unit="D")).dt.strftime("%Y-%m-%d")


def _convert(raw: "pd.Series[Any]", expected: object, place: str) -> tuple["pd.Series[Any]", "pd.Series[bool]"]:
    """Convert a column to its type, with NaN for unusable values. Also return, for each value, whether it is impossible."""
    if not (is_numeric_dtype(raw) or is_datetime64_any_dtype(raw) or is_string_dtype(raw)):
        raw = raw.astype(object).map(str, na_action="ignore")  # Parquet has dates, decimals, lists, mixed types
    if isinstance(expected, tuple):
        numbers = pd.to_numeric(raw, errors="coerce").astype("float64")
        possible = numbers.between(*expected)
        return numbers.where(possible), raw.notna() & ~possible
    if expected is str:
        texts = raw.astype("str").str.strip()
        return texts.where(raw.notna() & (texts != "")), pd.Series(False, index=raw.index)
    texts = raw
    if is_numeric_dtype(raw):  # a day such as 20200829, not nanoseconds
        whole = raw.astype("float64").where(lambda number: number % 1 == 0)
        texts = whole.map("{:.0f}".format, na_action="ignore").astype("string")
    if not is_datetime64_any_dtype(texts):
        texts = texts.where(texts.str.len() >= 8)  # 2020-08 is a month
    try:
        times = pd.to_datetime(texts, format="ISO8601", errors="coerce")
    except ValueError:  # several zones
        times = pd.Series(pd.Timestamp(0, tz="UTC"), index=raw.index)
    if times.dt.tz is not None:
        raise DataError(f"{place}: a time has a time zone (expected local times without one, as in 2020-08-29T23:10)")
    return times, raw.notna() & times.isna()


def _expectations(layout: Layout, impossible: pd.DataFrame) -> str:
    column = str(impossible.sum().idxmax())
    expected = layout.columns[column]
    if isinstance(expected, tuple):
        stage = ", and no more than asleep" if column in _STAGES else ""
        return f"give {column} as a number from {expected[0]:g} to {expected[1]:g}{stage}; check the unit"
    return f"give {column} as 2020-08-29" if column == "date" else f"give {column} as 2020-08-29T23:10"
