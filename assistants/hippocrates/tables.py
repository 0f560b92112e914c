"""Reads tables from a folder of CSV files, or from a DuckDB file (read-only). DuckDB converts and checks the values."""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

# Achilles writes ids as `8507.0`. A plain cast to BIGINT would also accept 8507.5, and round it to another id.
_WHOLE = """
CREATE MACRO whole(value) AS CASE
WHEN CAST(value AS DOUBLE) % 1 <> 0 THEN error(alias(value) || ': ' || value || ' is not a whole number')
ELSE CAST(value AS BIGINT) END
"""
_BAD_ROW = (duckdb.ConstraintException, duckdb.ConversionException, duckdb.InvalidInputException)
_FORMAT = "expected UTF-8 text, comma or tab separated, with a header and the same number of values in every row; "
_BROKEN_RULE = re.compile(r"NOT NULL constraint failed: \w+\.(?P<column>.+)|expression CHECK(?P<check>.+)")


class DataError(ValueError):
    """A data file cannot be used. The message names the file, DuckDB's reason (a column or value), and the remedy."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table to read: its name in lower case, and the columns and rows that are needed."""

    name: str
    columns: str
    """The columns to read, in the syntax of CREATE TABLE. BIGINT accepts only whole numbers, which may be written as `8507.0`."""
    where: str = "true"
    """Condition for the rows to read: an SQL expression on the columns of the file."""
    copy: str = ""
    """Name of the copy in memory. If empty, `name` is used."""
    optional: bool = False
    """Whether the table may be missing. If so, a missing table is read as an empty one."""


def read_tables(
    path: Path, tables: Sequence[Table], *, remedy: str, nulls: Sequence[str] = ("",)
) -> duckdb.DuckDBPyConnection:
    """Copy tables into an in-memory database, and return the connection.

    Args:
        path: A folder of CSV files (`NAME.csv` in any letter case, separated by tabs or commas), or a DuckDB file.
        tables: The tables to read, in an order in which each table refers only to earlier ones.
        remedy: Advice where to get such tables, for error messages.
        nulls: Values of a CSV field that mean NULL.

    Raises:
        DataError: A path, table or column is missing, a file is not a database, or a value does not fit its column.
    """
    memory = duckdb.connect()
    memory.execute(_WHOLE)
    files = {}
    if path.is_dir():
        files = {file.stem.lower(): file for file in path.iterdir() if file.suffix.lower() == ".csv"}
    else:
        quoted = str(path).replace("'", "''")
        try:
            memory.execute(f"ATTACH '{quoted}' AS store (READ_ONLY)")
        except duckdb.Error as error:
            raise DataError(f"cannot open {path}: {_reason(error)}; {remedy}") from error
    for table in tables:
        name, file = table.copy or table.name, files.get(table.name)
        memory.execute(f"CREATE TABLE {name} ({table.columns})")
        copy = memory.table(name)
        types = zip(copy.columns, copy.types, strict=True)
        values = [f"whole({column})" if kind == "BIGINT" else column for column, kind in types]
        place, form = (str(file), _FORMAT) if file else (f"{path}, table {table.name}", "")
        try:
            source = _read_csv(memory, file, nulls) if file else memory.table(f"store.main.{table.name}")
            rows = source.filter(table.where).project(", ".join(values))
            rows.insert_into(name)
        except duckdb.CatalogException as error:
            if not table.optional:
                raise DataError(f"{place}: the table is missing; {remedy}") from error
        except _BAD_ROW as error:
            is_rule = isinstance(error, duckdb.ConstraintException)
            reason = _find_row(rows, copy.columns, error) if is_rule else _reason(error)
            form = form if "CSV Error" in reason else ""
            raise DataError(f"{place}: {reason}; {form}fix or remove the row") from error
        except duckdb.Error as error:
            raise DataError(f"{place}: {_reason(error)}; {form}{remedy}") from error
    return memory


def _read_csv(memory: duckdb.DuckDBPyConnection, file: Path, nulls: Sequence[str]) -> duckdb.DuckDBPyRelation:
    with file.open(encoding="utf-8-sig", errors="replace") as lines:
        header = lines.readline(100_000)
    sep, quote = ("\t", "") if "\t" in header else (",", '"')  # Athena's files have unquoted quotation marks in names
    # DuckDB names the line that it cannot read only if the columns are given, and not detected.
    names = next(csv.reader([header.strip() or "(empty)"], delimiter=sep))
    columns = [name if name and name not in names[:n] else f"column{n}" for n, name in enumerate(names)]
    return memory.read_csv(
        str(file), header=True, auto_detect=False, columns=dict.fromkeys(columns, "VARCHAR"), sep=sep, quotechar=quote,
        escapechar=quote, na_values=[*nulls], strict_mode=False,
    )  # fmt: skip


def _find_row(rows: duckdb.DuckDBPyRelation, columns: Sequence[str], error: duckdb.Error) -> str:
    """Return DuckDB's reason for an error. If a constraint is violated, return the constraint and the first row violating it."""
    if (broken := _BROKEN_RULE.search(str(error))) is None:
        return _reason(error)
    rule = f"{broken['column']} IS NOT NULL" if broken["column"] else broken["check"]
    named = rows.project(", ".join(f"#{n} AS {column}" for n, column in enumerate(columns, start=1)))
    row = named.filter(f"NOT ({rule})").limit(1).fetchall()[0]
    return f"{rule} does not hold in the row {', '.join(map('{}={}'.format, columns, row))}"


def _reason(error: duckdb.Error) -> str:
    """Return DuckDB's error message, without its advice and the SQL statement."""
    return " ".join(str(error).partition("\n\n")[0].splitlines()[:3])
