"""The SQLite file of traces, in write-ahead mode: any number of programs may read it while proxies write.

Only its owner can read the file. Deleted data are overwritten, so neither the file nor its log keeps purged text. Copies made by
the file system or a backup are not affected.
"""

import json
import math
import os
import sqlite3
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel

from proxy.traces.backend import KEEP, Row, TraceError
from proxy.traces.facts import bare_facts, derive_stored_facts
from proxy.traces.schema import (
    COUNT_NOT_INDEXED,
    FILE_TABLES,
    NOT_INDEXED,
    Turn,
    add_statements,
    stand_in_statements,
)
from proxy.traces.trace import Trace

SCHEMA_VERSION = 1
BUSY_S = 5.0
"""Seconds to wait for another program that is writing."""
CACHE_KB = 256
"""Page cache of a connection, instead of SQLite's 2,000 KB: turns are written once and seldom read."""
COMPRESS_FROM = 2_000
"""Bodies from this size (bytes) are compressed. For shorter ones, compression saves less than one page of the file."""
_MAKE_TABLES = ";".join(("BEGIN IMMEDIATE", *FILE_TABLES, f"PRAGMA user_version = {SCHEMA_VERSION}", "COMMIT"))


class FileWriter:
    """Writes traces to the file. If the file is deleted, a new one is created."""

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self._path, self._sync = path, sync
        self._connection: sqlite3.Connection | None = None
        self._inode = 0

    def exists(self) -> bool:
        """Return whether the file exists."""
        return self._path.exists()

    def open(self) -> None:
        """Open the file, or create it.

        Raises:
            TraceError: The file or its folder cannot be created or opened, or the file holds other data.
        """
        try:
            self._usable()
        except (OSError, sqlite3.Error) as error:
            raise TraceError(
                f"{self._path}: privacy.path cannot be used ({error}); name a file in a folder that the proxy can write to"
            ) from error

    def write(self, rows: list[Row]) -> int:
        """Write rows in one commit. Returns 0: no row is refused.

        Raises:
            TraceError, OSError, sqlite3.Error: The rows are lost.
        """
        self._commit([(KEEP, [row._asdict() for row in rows]), *add_statements(turns_of(rows))])
        return 0

    def index(self, at: float, limit: int) -> float | None:
        """Derive the facts of turns without facts. See `Writer.index`."""
        connection = self._usable()
        if at == math.inf and not connection.execute(COUNT_NOT_INDEXED).fetchone()[0]:  # faster than the query below
            return None
        rows = connection.execute(NOT_INDEXED, {"at": at, "limit": limit}).fetchall()
        self._commit(add_statements(derive_missing(rows)))
        return rows[-1][1] if len(rows) == limit else None

    def _commit(self, statements: Sequence[tuple[str, Sequence[dict[str, Any]]]]) -> None:
        connection = self._usable()
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statement, rows in statements:
                for row in rows:  # not executemany: between single statements, the event loop's thread can run
                    connection.execute(statement, row)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            raise

    def expire(self, before: float) -> None:
        """Delete permanently all turns that began before a Unix time."""
        connection = self._usable()
        if connection.execute("DELETE FROM turns WHERE started < ?", (before,)).rowcount:
            scrub(connection)

    def close(self) -> None:
        """Close the file. SQLite then removes its log file."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _usable(self) -> sqlite3.Connection:
        """Return the connection. If the file was deleted, open a new one: writes to a deleted file are lost."""
        if self._connection is None or not self._path.exists() or self._path.stat().st_ino != self._inode:
            self.close()
            self._connection = create(self._path, sync=self._sync)
            self._inode = self._path.stat().st_ino
        return self._connection


def create(path: Path, *, sync: bool = False) -> sqlite3.Connection:
    """Open the file for writing. Create it and its folder if needed.

    Args:
        sync: Whether each commit waits for the disk. Otherwise a power cut may lose the last turns, but never damages the file.

    Raises:
        TraceError: The file holds other data.
        OSError, sqlite3.Error: The file cannot be created or opened.
    """
    if not path.parent.exists():
        path.parent.mkdir(parents=True, mode=0o700)
    if not path.exists():
        # SQLite would create the file with wider permissions. Do this only for a new file: closing any handle of a file drops all
        # locks of this process on it, including those of our other connections (SIGHUP opens a second one). A program that then
        # opens and closes the file removes its log, and with it all our later writes (https://sqlite.org/howtocorrupt.html, 2.2).
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    connection = _connect(path, "rw")
    try:
        if _version(connection, path) == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only possible in an empty file
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
        _add_missing_tables(connection, "rw")
    except BaseException:
        connection.close()
        raise
    return connection


def _add_missing_tables(connection: sqlite3.Connection, mode: Literal["ro", "rw"]) -> None:
    """Add the tables that a new or older file lacks. In mode `ro`, add empty temporary tables instead."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables.issuperset(("labels", "fact_values")):
        connection.executescript(_MAKE_TABLES if mode == "rw" else ";".join(stand_in_statements(tables)))


def scrub(connection: sqlite3.Connection) -> bool:
    """Free the space of deleted turns and empty the log, which still has their text.

    Returns:
        Whether the log was emptied. That is impossible while another program reads.
    """
    connection.executescript("PRAGMA incremental_vacuum")  # execute() would free only one page
    deadline = time.monotonic() + BUSY_S
    while True:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if not busy or time.monotonic() > deadline:
            return not busy
        time.sleep(0.05)


def encode(trace: Trace) -> bytes:
    """Encode a trace as JSON, compressed when it is long."""
    try:
        body = orjson.dumps(trace, default=_plain)
    except TypeError:  # a lone surrogate from a model, which has no UTF-8 form, or an integer above 64 bits
        body = json.dumps(asdict(trace), default=_plain, ensure_ascii=False).encode("utf-8", "replace")
    if len(body) < COMPRESS_FROM:
        return body
    return zlib.compress(body, level=1)


def decode(body: bytes) -> dict[str, Any]:
    """Return the JSON object of an encoded trace."""
    text = body if body.startswith(b"{") else zlib.decompress(body)
    data: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)  # reads NaN from the slow path of `encode`
    return data


def turns_of(rows: Iterable[Row]) -> list[Turn]:
    """Return the turns among the rows that have facts."""
    return [Turn(row.turn_id, row.started, row.facts) for row in rows if row.facts is not None]


def derive_missing(turns: Iterable[Sequence[Any]]) -> Iterator[Turn]:
    """Derive the facts of turns, given as (id, start, chatbot, outcome, body). Unreadable turns get bare facts."""
    for turn_id, started, chatbot, outcome, body in turns:
        try:
            facts = derive_stored_facts(decode(body))
        except Exception:  # a malformed trace must not stop the others
            facts = bare_facts(chatbot, outcome)
        yield Turn(turn_id, started, facts)


def _plain(value: Any) -> Any:
    return vars(value) if isinstance(value, BaseModel) else str(value)  # faster than model_dump


@contextmanager
def open_file(path: Path, mode: Literal["ro", "rw"]) -> Iterator[sqlite3.Connection]:
    """Open the file for the duration of the block.

    Raises:
        TraceError: The file does not exist, holds other data, or cannot be used.
    """
    if not path.is_file():
        raise TraceError(
            f"{path}: no traces found; check that the proxy has answered a request and privacy.store is not none"
        )
    try:
        connection = _connect(path, mode)
        try:
            if _version(connection, path) == 0:
                raise TraceError(f"{path}: the file is empty; check that the proxy has answered a request")
            _add_missing_tables(connection, mode)
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise TraceError(f"{path}: the trace file cannot be used: {error}") from error


def _connect(path: Path, mode: Literal["ro", "rw"]) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    try:
        connection.execute("PRAGMA secure_delete = ON")
        connection.execute("PRAGMA temp_store = MEMORY")  # no text in /tmp
        connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version; 0 for an empty file.

    Raises:
        TraceError: The file is of a later version, or belongs to another program.
    """
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version > SCHEMA_VERSION:
        raise TraceError(
            f"{path}: the trace file was written by a later version of caf: schema {version} (expected {SCHEMA_VERSION}); "
            "run the later version"
        )
    if version == 0 and tables:
        raise TraceError(f"{path}: the file is an SQLite database of another program; set privacy.path to another file")
    return version
