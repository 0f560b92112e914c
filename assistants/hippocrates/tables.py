"""Tables of a folder of CSV files, or of a DuckDB file opened read-only: DuckDB reads, converts, constrains and joins them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

# Achilles writes ids as `8507.0`; a cast to BIGINT alone would round 8507.5 to an id.
_WHOLE = """
CREATE MACRO whole(value) AS CASE
WHEN CAST(value AS DOUBLE) % 1 <> 0 THEN error(alias(value) || ': ' || value || ' is no whole number')
ELSE CAST(value AS BIGINT) END
"""
_BAD_ROW = (duckdb.ConstraintException, duckdb.ConversionException, duckdb.InvalidInputException)


class DataError(ValueError):
    """A file cannot be used; the message names the file, what DuckDB says of the column or value, and the remedy."""


@dataclass(frozen=True, slots=True)
class Table:
    """What is read of a table; its name is in small letters."""

    name: str
    columns: str
    """As in CREATE TABLE. A BIGINT takes whole numbers only, also written as `8507.0`."""
    where: str = "true"
    """Which rows, in SQL on what the file has."""
    copy: str = ""
    """What the copy is called, if not by `name`."""
    optional: bool = False
    """Whether a missing table is an empty one."""


def read_tables(
    path: Path, tables: Sequence[Table], *, remedy: str, nulls: Sequence[str] = ("",)
) -> duckdb.DuckDBPyConnection:
    """Copy tables into memory, to be queried there.

    Args:
        path: a folder of CSV files (`NAME.csv` in any letter case, tab or comma separated), or a DuckDB file.
        tables: those that others refer to first.
        remedy: where such tables come from, for messages about what is missing.
        nulls: what stands in a CSV field that has no value.

    Raises:
        DataError: path, table or column is missing, a file is no database, or a value does not fit its column.
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
            raise DataError(f"{path}: {_reason(error)}; {remedy}") from error
    for table in tables:
        name, file = table.copy or table.name, files.get(table.name)
        memory.execute(f"CREATE TABLE {name} ({table.columns})")
        copy = memory.table(name)
        types = zip(copy.columns, copy.types, strict=True)
        values = [f"whole({column})" if kind == "BIGINT" else column for column, kind in types]
        place = str(file) if file else f"{path}, table {table.name}"
        try:
            source = _read_csv(memory, file, nulls) if file else memory.table(f"store.main.{table.name}")
            source.filter(table.where).project(", ".join(values)).insert_into(name)
        except duckdb.CatalogException as error:
            if not table.optional:
                raise DataError(f"{place}: it is missing; {remedy}") from error
        except _BAD_ROW as error:
            raise DataError(f"{place}: {_reason(error)}; mend or remove that row") from error
        except duckdb.Error as error:
            raise DataError(f"{place}: {_reason(error)}; {remedy}") from error
    return memory


def _read_csv(memory: duckdb.DuckDBPyConnection, file: Path, nulls: Sequence[str]) -> duckdb.DuckDBPyRelation:
    with file.open(encoding="utf-8", errors="replace") as lines:
        athena = "\t" in lines.readline()  # whose files hold bare quotation marks in names
    sep, quote = ("\t", "") if athena else (",", '"')
    return memory.read_csv(
        str(file), header=True, all_varchar=True, sep=sep, quotechar=quote, na_values=[*nulls], strict_mode=False
    )


def _reason(error: duckdb.Error) -> str:
    """Return what DuckDB says, without its advice and the SQL."""
    return " ".join(str(error).partition("\n\n")[0].splitlines()[:3])
