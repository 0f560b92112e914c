"""Read tables of a folder of CSV files, or of a DuckDB file, opened read-only and checked at the door.

Exports differ in letter case, separators and types (Achilles writes concept ids as `8507.0`, Eunomia measured values as text),
so every column is read as text and cast here; what cannot be cast is named with its file, column and row.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import numpy as np
from numpy.typing import NDArray


def _as_text(column: str) -> str:
    # Without the empty text DuckDB 2.0 moves TRY_CAST into its CSV reader, where it fails instead of giving NULL.
    return f"(CAST(\"{column}\" AS VARCHAR) || '')"


def _as_id(column: str) -> str:
    number = f"TRY_CAST({_as_text(column)} AS DOUBLE)"
    # TRY_CAST to BIGINT alone would round 8507.5 to an id.
    return f"CASE WHEN {number} = trunc({number}) THEN TRY_CAST({number} AS BIGINT) END"


class DataError(ValueError):
    """A file cannot be used; the message names the file, the column where there is one, and the remedy."""


class Tables:
    """The tables of a folder (`NAME.csv`, in any letter case) or of a DuckDB file."""

    def __init__(self, path: Path, *, nulls: Sequence[str] = ("",), remedy: str = "") -> None:
        """Open the folder or the file.

        Args:
            path: a folder of CSV files (tab or comma separated), or a DuckDB file with the tables in its schema `main`.
            nulls: what stands in a CSV field that has no value.
            remedy: where such tables come from, for messages about what is missing.

        Raises:
            DataError: there is no such path, or it is no database.
        """
        self.path = path
        self._nulls = tuple(nulls)
        self._remedy = f"; {remedy}" if remedy else ""
        self._connection = duckdb.connect()
        self._tables: dict[str, str] = {}
        self._columns: dict[str, dict[str, str]] = {}
        if path.is_dir():
            self._files = {file.stem.lower(): file for file in sorted(path.iterdir()) if file.suffix.lower() == ".csv"}
            self._tables = {name: self._scan(file) for name, file in self._files.items()}
        elif path.is_file():
            self._files = {}
            self._attach()
        else:
            raise DataError(f"{path}: there is no such file or folder{self._remedy}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def __contains__(self, table: str) -> bool:
        return table in self._tables

    def place(self, table: str) -> str:
        """Name a table as a message does: its file, and for a database the table."""
        return str(self._files[table]) if table in self._files else f"{self.path}, table {table}"

    def require(self, table: str, columns: Collection[str]) -> None:
        """Raise `DataError` unless the table is there and has the columns."""
        if table not in self._tables:
            where = self.path / f"{table}.csv" if self.path.is_dir() else f"{self.path}, table {table}"
            raise DataError(f"{where}: it is missing{self._remedy}")
        if missing := [column for column in columns if column not in self.columns(table)]:
            has = ", ".join(self.columns(table)) or "none"
            raise DataError(f"{self.place(table)}: column {missing[0]!r} is missing (it has {has}){self._remedy}")

    def columns(self, table: str) -> Mapping[str, str]:
        """Return how a table spells its columns, by their names in small letters."""
        if table not in self._columns:
            described = self._query(f"DESCRIBE SELECT * FROM {self._tables[table]}", table)
            self._columns[table] = {name.lower(): name for name, *_ in described}
        return self._columns[table]

    def rows(
        self,
        table: str,
        columns: Sequence[str],
        *,
        ids: Collection[str] = (),
        filled: Collection[str] = (),
        where: str = "",
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a table.

        Args:
            table: its name, in small letters.
            columns: in the order of the result; texts, if they are none of `ids`.
            ids: the columns that hold whole numbers, also written as `8507.0`.
            filled: the columns that must have a value in every row.
            where: a condition on the columns, in SQL.

        Raises:
            DataError: table or column is missing, an id is no whole number, or one of `filled` is missing.
        """
        return self._query(self._select(table, columns, ids, filled, where), table)

    def ids(self, table: str, columns: Sequence[str], *, where: str = "", order: str = "") -> list[NDArray[np.int64]]:
        """Return columns of whole numbers as arrays, for tables of many millions of rows.

        Args:
            table: its name, in small letters.
            columns: each is filled in every row.
            where: as in `rows`.
            order: the column to sort by.

        Raises:
            DataError: as `rows`.
        """
        select = self._select(table, columns, columns, columns, where)
        arrays = self._connection.execute(f"{select} {f'ORDER BY {order}' if order else ''}").fetchnumpy()
        return [arrays[column] for column in columns]

    def is_one_of(self, table: str, column: str, numbers: Iterable[int]) -> str:
        """Write the condition that a column is one of some numbers, which it may write as `400.0`."""
        self.require(table, (column,))
        listed = ", ".join(str(number) for number in numbers)
        return f"TRY_CAST({_as_text(self.columns(table)[column])} AS DOUBLE) IN ({listed})"

    def _select(
        self, table: str, columns: Sequence[str], ids: Collection[str], filled: Collection[str], where: str
    ) -> str:
        """Return the query for columns whose values were checked."""
        self.require(table, columns)
        for column in columns:
            if column in ids or column in filled:
                self._check(table, column, column in ids, column in filled, where or "true")
        spellings = self.columns(table)
        cast = (f"{(_as_id if one in ids else _as_text)(spellings[one])} AS {one}" for one in columns)
        return f"SELECT {', '.join(cast)} FROM {self._tables[table]} {f'WHERE {where}' if where else ''}"

    def _check(self, table: str, column: str, is_id: bool, is_filled: bool, where: str) -> None:
        """Raise `DataError` for the first value of a column that is no id, or is missing."""
        spelling = self.columns(table)[column]
        text = _as_text(spelling)
        faults = [f"({text} IS NOT NULL AND {_as_id(spelling)} IS NULL)"] * is_id + [f"{text} IS NULL"] * is_filled
        bad = f"({' OR '.join(faults)}) AND ({where})"
        numbered = f"SELECT row_number() OVER () AS row, {text} AS value, {bad} AS bad FROM {self._tables[table]}"
        first = self._query(f"SELECT row, value FROM ({numbered}) WHERE bad ORDER BY row LIMIT 1", table)
        if first:
            row, value = first[0]
            wrong = "has no value" if value is None else f"is {value!r}, which is no whole number"
            raise DataError(f"{self.place(table)}: column {column!r} of row {row} {wrong}; mend or remove that row")

    def _query(self, sql: str, table: str) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql).fetchall()
        except duckdb.Error as error:
            message = str(error).partition("\n")[0]
            raise DataError(f"{self.place(table)}: it cannot be read ({message}){self._remedy}") from error

    def _scan(self, file: Path) -> str:
        with file.open(encoding="utf-8", errors="replace") as lines:
            header = lines.readline()
        # Athena's files are separated by tabs and hold bare quotation marks in names.
        form = "delim='\t', quote=''" if "\t" in header else "delim=',', quote='\"'"
        nulls = ", ".join(_literal(null) for null in self._nulls)
        return (
            f"read_csv({_literal(str(file))}, {form}, header=true, all_varchar=true, nullstr=[{nulls}], "
            "strict_mode=false, null_padding=true)"
        )

    def _attach(self) -> None:
        try:
            self._connection.execute(f"ATTACH {_literal(str(self.path))} AS store (READ_ONLY)")
        except duckdb.Error as error:
            message = str(error).partition("\n")[0]
            raise DataError(f"{self.path}: it cannot be opened as a DuckDB file ({message}){self._remedy}") from error
        names: Iterable[tuple[str]] = self._connection.execute(
            "SELECT table_name FROM duckdb_tables() WHERE database_name = 'store' AND schema_name = 'main' "
            "UNION SELECT view_name FROM duckdb_views() WHERE database_name = 'store' AND schema_name = 'main' AND NOT internal"
        ).fetchall()
        self._tables = {name.lower(): f'store.main."{name}"' for (name,) in names}


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
