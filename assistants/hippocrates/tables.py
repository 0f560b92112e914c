"""Tables of a folder of CSV files, or of a DuckDB file opened read-only: checked at the door, then DuckDB's to join and count.

Exports differ in letter case, separators and types (Achilles writes concept ids as `8507.0`, Eunomia measured values as text):
every column is read as text and cast here, and what cannot be cast is named with its file, column and row.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import duckdb

# Without the empty text DuckDB 2.0 moves TRY_CAST into its CSV reader, where it fails instead of giving NULL.
_NUMBER = "TRY_CAST(text || '' AS DOUBLE)"
# TRY_CAST to BIGINT alone would round 8507.5 to an id.
_WHOLE = f"CREATE MACRO whole(text) AS CASE WHEN {_NUMBER} = trunc({_NUMBER}) THEN TRY_CAST({_NUMBER} AS BIGINT) END"


class DataError(ValueError):
    """A file cannot be used; the message names the file, the column where there is one, and the remedy."""


class Tables:
    """The tables of a folder (`NAME.csv`, in any letter case) or of a DuckDB file (those of its schema `main`)."""

    def __init__(self, path: Path, *, nulls: Sequence[str] = ("",), remedy: str = "") -> None:
        """Open the folder or the file.

        Args:
            path: a folder of CSV files (tab or comma separated), or a DuckDB file.
            nulls: what stands in a CSV field that has no value.
            remedy: where such tables come from, for messages about what is missing.

        Raises:
            DataError: there is no such path, or it is no database.
        """
        self.path = path
        self._remedy = f"; {remedy}" if remedy else ""
        self._files: dict[str, Path] = {}
        self._connection = duckdb.connect()
        self._connection.execute(_WHOLE)
        if path.is_dir():
            self._files = {file.stem.lower(): file for file in sorted(path.iterdir()) if file.suffix.lower() == ".csv"}
            self._sources = {name: _scan(file, nulls) for name, file in self._files.items()}
        elif path.is_file():
            self._run(f"ATTACH {_quote(str(path))} AS store (READ_ONLY); USE store.main", "")
            listed = self._run("SHOW TABLES", "")
            self._run("USE memory.main", "")
            self._sources = {name.lower(): f'store.main."{name}"' for (name,) in listed}
        else:
            raise DataError(f"{path}: there is no such file or folder{self._remedy}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def __contains__(self, table: str) -> bool:
        return table in self._sources

    def place(self, table: str) -> str:
        """Name a table as a message does: its file, and for a database the table."""
        file = self._files.get(table, self.path / f"{table}.csv")
        return str(file) if self.path.is_dir() else f"{self.path}, table {table}"

    def columns(self, table: str) -> Mapping[str, str]:
        """Return how a table spells its columns, by their names in small letters."""
        if table not in self:
            raise DataError(f"{self.place(table)}: it is missing{self._remedy}")
        return {name.lower(): name for name, *_ in self._run(f"DESCRIBE SELECT * FROM {self._sources[table]}", table)}

    def load(
        self,
        table: str,
        columns: Sequence[str],
        *,
        ids: Collection[str] = (),
        filled: Collection[str] = (),
        where: str = "true",
        name: str = "",
    ) -> duckdb.DuckDBPyRelation:
        """Check columns, make them a table for `query` (with the number of each `row`), and return them.

        Args:
            table: its name, in small letters.
            columns: in the order of the result; texts, if they are none of `ids`.
            ids: the columns that hold whole numbers, also written as `8507.0`.
            filled: the columns that must have a value in every row.
            where: which rows, in SQL; the columns are texts there, of which `whole(...)` makes numbers.
            name: of the table that is made, if not that of the table.

        Raises:
            DataError: table or column is missing, an id is no whole number, or one of `filled` is missing.
        """
        spellings = self.columns(table)
        if missing := [column for column in columns if column not in spellings]:
            has = ", ".join(spellings) or "none"
            raise DataError(f"{self.place(table)}: column {missing[0]!r} is missing (it has {has}){self._remedy}")
        texts = ", ".join(f'CAST("{spellings[one]}" AS VARCHAR) AS {one}' for one in columns)
        source = f"(SELECT row_number() OVER () AS row, {texts} FROM {self._sources[table]}) WHERE {where}"
        faults = [f"WHEN {one} IS NULL THEN ['{one}', NULL]" for one in filled]
        faults += [f"WHEN {one} IS NOT NULL AND whole({one}) IS NULL THEN ['{one}', {one}]" for one in ids]
        fault = f"CASE {' '.join(faults)} END" if faults else "NULL"
        bad = f"SELECT row, {fault} AS fault FROM {source} AND fault IS NOT NULL ORDER BY row LIMIT 1"
        for row, (column, value) in self._run(bad, table):
            wrong = "has no value" if value is None else f"is {value!r}, which is no whole number"
            raise DataError(f"{self.place(table)}: column {column!r} of row {row} {wrong}; mend or remove that row")
        typed = ", ".join(f"whole({one}) AS {one}" if one in ids else one for one in columns)
        self._run(f"CREATE TABLE {name or table} AS SELECT row, {typed} FROM {source}", table)
        return self.query(f"SELECT {', '.join(columns)} FROM {name or table}")

    def query(self, sql: str) -> duckdb.DuckDBPyRelation:
        """Return what SQL gives of the tables that were loaded."""
        return self._connection.sql(sql)

    def refuse(self, table: str, sql: str, message: str, *more: object) -> None:
        """Raise `DataError` if SQL gives a row; its values, and `more`, stand in the message as `{0}`, `{1}`."""
        for row in self.query(f"{sql} LIMIT 1").fetchall():
            raise DataError(f"{self.place(table)}: {message.format(*row, *more)}")

    def _run(self, sql: str, table: str) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(sql).fetchall()
        except duckdb.Error as error:
            what = (
                f"{self.place(table)}: it cannot be read"
                if table
                else f"{self.path}: it cannot be opened as a DuckDB file"
            )
            raise DataError(f"{what} ({str(error).splitlines()[0]}){self._remedy}") from error


def _scan(file: Path, nulls: Sequence[str]) -> str:
    with file.open(encoding="utf-8", errors="replace") as lines:
        header = lines.readline()
    # Athena's files are separated by tabs and hold bare quotation marks in names.
    form = "delim='\t', quote=''" if "\t" in header else "delim=',', quote='\"'"
    values = ", ".join(_quote(null) for null in nulls)
    options = f"header=true, all_varchar=true, nullstr=[{values}], strict_mode=false, null_padding=true"
    return f"read_csv({_quote(str(file))}, {form}, {options})"


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
