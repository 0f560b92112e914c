"""Reads and writes tables: CSV, TSV and Parquet with Hugging Face `datasets`; JSON and JSONL without it.

Rows may contain conversations of people in a crisis. So the library runs offline, with a private cache folder that is deleted
afterwards.
"""

import csv
import io
import os
import re
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from models.unique_keys import describe_json_error, load_json
from scenarios import files
from scenarios.files import ScenarioError

Format = Literal["jsonl", "json", "csv", "tsv", "parquet"]
FORMATS: tuple[Format, ...] = get_args(Format)
WRITABLE_FORMATS: tuple[Format, ...] = ("jsonl", "csv", "parquet")


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a table and the names of its columns."""

    columns: tuple[str, ...]
    rows: Any
    """A list of objects, or a `datasets.Dataset`."""
    names: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """For each column whose values are class numbers: the names of the classes, in order."""

    def select(self, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the rows with only these columns. Other columns, such as pictures, are not decoded."""
        yield from (self.rows if isinstance(self.rows, list) else self.rows.select_columns(list(columns)))


def format_of(path: Path, formats: Sequence[Format]) -> Format:
    """Return the format for the file's extension.

    Raises:
        ScenarioError: The extension is unknown.
    """
    ending = path.suffix.lower().removeprefix(".")
    for format in formats:
        if ending == format:
            return format
    raise ScenarioError(
        [f"{path}: unknown extension {path.suffix!r}: expected .{', .'.join(formats[:-1])} or .{formats[-1]}"]
    )


def read(path: Path, format: Format | None = None) -> Table:
    """Read a table.

    Args:
        format: The format of the file; None: from the file name extension.

    Raises:
        ScenarioError: The file cannot be read in this format.
    """
    format = format or format_of(path, FORMATS)
    try:
        if format == "parquet":
            return _read_parquet(path)
        if format in ("csv", "tsv"):
            return _read_separated(path, format)
        # Not with `datasets`: it converts texts to dates, and rejects columns of mixed types in files with empty lines.
        return _to_table(path, _read_lines(path) if format == "jsonl" else _read_document(path))
    except UnicodeDecodeError as error:
        raise ScenarioError([f"{path}: is not UTF-8 text (byte {error.start})"]) from error
    except OSError as error:
        raise ScenarioError([f"{path}: cannot be read: {error.strerror or error}"]) from error


def write(rows: Sequence[Mapping[str, str | None]], columns: Sequence[str], path: Path, *, overwrite: bool) -> None:
    """Write a table of texts in the format of the file's extension. Only its owner can read the file.

    Raises:
        ScenarioError: The extension is unknown, or the file cannot be written.
    """
    format = format_of(path, WRITABLE_FORMATS)
    data = io.BytesIO()
    with _datasets_library() as (datasets, _):
        texts = datasets.Features({column: datasets.Value("string") for column in columns})
        try:
            table = datasets.Dataset.from_list([{c: row.get(c) for c in columns} for row in rows], features=texts)
        except UnicodeEncodeError as error:
            raise ScenarioError([f"{path}: a text contains a lone surrogate (half of a character)"]) from error
        if format == "jsonl":
            table.to_json(data, force_ascii=False)
        elif format == "csv":
            table.to_csv(data, quoting=csv.QUOTE_ALL)  # by default pandas does not quote a lone carriage return
        else:
            table.to_parquet(data)
    files.write(data.getvalue(), path, overwrite=overwrite)


def _read_lines(path: Path) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").split("\n"), 1):
        if line.strip():
            yield f":{number}", _parse_json(line, f"{path}:{number}")


def _read_document(path: Path) -> Iterator[tuple[str, Any]]:
    whole = _parse_json(path.read_text(encoding="utf-8-sig"), str(path))
    if isinstance(whole, dict):  # {"version": ..., "data": [{...}, ...]}
        lists = [value for value in whole.values() if isinstance(value, list)]
        whole = lists[0] if len(lists) == 1 else [whole]
    for number, row in enumerate(whole if isinstance(whole, list) else [whole], 1):
        yield f": row {number}", row


def _parse_json(text: str, where: str) -> Any:
    try:
        return load_json(text)
    except (ValueError, RecursionError) as error:
        raise ScenarioError([f"{where}: {describe_json_error(error)}"]) from error


def _to_table(path: Path, rows_by_place: Iterator[tuple[str, Any]]) -> Table:
    rows: list[dict[str, Any]] = []
    for where, row in rows_by_place:
        if not isinstance(row, dict):
            raise ScenarioError([f"{path}{where}: expected an object with columns as keys"])
        rows.append(row)
    return Table(tuple(dict.fromkeys(column for row in rows for column in row)), rows)


def _read_parquet(path: Path) -> Table:
    with _datasets_library() as (datasets, cache):
        # Under a fixed name, because the library treats brackets and asterisks in names as patterns.
        shutil.copyfile(path, cache / "rows.parquet")
        with _report_errors(path):
            rows = datasets.Dataset.from_parquet(str(cache / "rows.parquet"), cache_dir=str(cache), keep_in_memory=True)
        classes = {c: f.names for c, f in rows.features.items() if isinstance(f, datasets.ClassLabel)}
        return Table(tuple(rows.column_names), rows, classes)


def _read_separated(path: Path, format: Format) -> Table:
    text = path.read_text(encoding="utf-8-sig")
    separator = "\t" if format == "tsv" else ","
    quoting: Literal[0, 3] = csv.QUOTE_NONE if format == "tsv" and _has_literal_quotes(text) else csv.QUOTE_MINIMAL
    header = _header(text, separator, quoting)
    if not header:
        raise ScenarioError([f"{path}: the file has no rows"])
    if format == "csv" and len(header) == 1:  # spreadsheets write semicolons where the comma is the decimal separator
        for other in ";\t":
            if len(_header(text, other, quoting)) > 1:
                separator, header = other, _header(text, other, quoting)
    if doubles := [name for name, count in Counter(header).items() if count > 1]:
        raise ScenarioError([f"{path}: duplicate column {doubles[0]!r}: rename one"])
    with _datasets_library() as (datasets, cache):
        file = cache / "rows.csv"
        shutil.copyfile(path, file)
        # Everything as text. Otherwise 007 becomes 7, and a reply of "NA" or "null" is lost.
        texts = datasets.Features({column: datasets.Value("string") for column in header})
        with _report_errors(path):
            rows = datasets.Dataset.from_csv(
                str(file),
                features=texts,
                cache_dir=str(cache),
                keep_in_memory=True,
                sep=separator,
                quoting=quoting,
                encoding="utf-8-sig",
                na_filter=False,
                index_col=False,
                header=0,
                names=header,
            )
    return Table(tuple(header), rows)


def _header(text: str, separator: str, quoting: Literal[0, 3]) -> list[str]:
    first = next(csv.reader(io.StringIO(text.lstrip("\r\n")), delimiter=separator, quoting=quoting), [])
    return [name or f"column-{number}" for number, name in enumerate(first, 1)]


def _has_literal_quotes(text: str) -> bool:
    """Return whether quotation marks in a TSV file are part of the text, because its writer did not quote fields.

    True if every line has all fields when split at tabs, and a field has a mark that a quoting writer would have quoted.
    """
    lines = [line.split("\t") for line in re.split(r"\r?\n", text) if line]
    if len({len(line) for line in lines}) != 1:
        return False
    return any('"' in part and not re.fullmatch(r'"(?:[^"]|"")*"', part) for line in lines for part in line)


@contextmanager
def _datasets_library() -> Iterator[tuple[Any, Path]]:
    """Load `datasets` without log output and network, and give it a temporary cache folder."""
    offline = {"HF_HUB_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "HF_DATASETS_OFFLINE": "1"}
    before = {name: os.environ.get(name) for name in offline}
    os.environ.update(offline)  # read once, when the library is imported
    try:
        import datasets
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    datasets.disable_progress_bars()
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)  # it logs errors that we report
    with tempfile.TemporaryDirectory(prefix="caf-") as cache:
        yield datasets, Path(cache)


@contextmanager
def _report_errors(path: Path) -> Iterator[None]:
    """Convert errors and warnings of the library to a ScenarioError with one line."""
    try:
        with warnings.catch_warnings():
            # pandas drops fields that have no column, and only warns.
            warnings.filterwarnings("error", message="Length of header or names")
            yield
    except UnicodeDecodeError:
        raise
    except Exception as error:  # the errors of datasets, pandas and pyarrow have no common base class
        cause = error.__cause__ or error
        if "corresponds to no data" in str(cause):
            raise ScenarioError([f"{path}: the file has no rows"]) from error
        lines = str(cause).strip().splitlines() or [type(cause).__name__]
        raise ScenarioError([f"{path}: cannot be read: {lines[0]}"]) from error
