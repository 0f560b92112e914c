"""The SQLite file that holds traces, in write-ahead mode: any number may read it while proxies write.

The file is readable by its owner alone, and what is deleted is overwritten: neither the file nor its log keeps a purged
word. (Copies that the file system or a backup makes are out of reach.)
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
"""How long to wait for another program that is writing."""
CACHE_KB = 256
"""What a connection keeps of the file in memory, in place of SQLite's 2,000: turns are written once, and seldom read."""
COMPRESS_FROM = 2_000
"""Bytes from which a body is compressed. Shorter ones would save less than one page of the file."""
_MAKE_TABLES = ";".join(("BEGIN IMMEDIATE", *FILE_TABLES, f"PRAGMA user_version = {SCHEMA_VERSION}", "COMMIT"))


class FileWriter:
    """Writes traces into the file; a file that somebody deletes is made anew."""

    def __init__(self, path: Path, *, sync: bool = False) -> None:
        self._path, self._sync = path, sync
        self._connection: sqlite3.Connection | None = None
        self._inode = 0

    def exists(self) -> bool:
        """Return whether there is a file."""
        return self._path.exists()

    def open(self) -> None:
        """Open the file; make it if it is not there.

        Raises:
            TraceError: The file or its folder cannot be created or opened, or holds something else.
        """
        try:
            self._usable()
        except (OSError, sqlite3.Error) as error:
            raise TraceError(
                f"{self._path}: privacy.path cannot be used ({error}); name a file in a folder the proxy may write to"
            ) from error

    def write(self, rows: list[Row]) -> int:
        """Write rows in one commit.

        Raises:
            TraceError, OSError, sqlite3.Error: They are lost.
        """
        self._commit([(KEEP, [row._asdict() for row in rows]), *add_statements(turns_of(rows))])
        return 0

    def index(self, at: float, limit: int) -> float | None:
        """Derive the facts of turns that have none."""
        connection = self._usable()
        if at == math.inf and not connection.execute(COUNT_NOT_INDEXED).fetchone()[0]:  # much the faster question
            return None
        rows = connection.execute(NOT_INDEXED, {"at": at, "limit": limit}).fetchall()
        self._commit(add_statements(derive_missing(rows)))
        return rows[-1][1] if len(rows) == limit else None

    def _commit(self, statements: Sequence[tuple[str, Sequence[dict[str, Any]]]]) -> None:
        connection = self._usable()
        try:
            connection.execute("BEGIN IMMEDIATE")
            for statement, rows in statements:
                for row in rows:  # not executemany: each step lets the event loop's thread run
                    connection.execute(statement, row)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
            raise

    def expire(self, before: float) -> None:
        """Delete for good what started before that Unix time."""
        connection = self._usable()
        if connection.execute("DELETE FROM turns WHERE started < ?", (before,)).rowcount:
            scrub(connection)

    def close(self) -> None:
        """Close the file; the log beside it goes."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _usable(self) -> sqlite3.Connection:
        """Return the connection, to a new file if somebody deleted the old one: writes to that would just vanish."""
        if self._connection is None or not self._path.exists() or self._path.stat().st_ino != self._inode:
            self.close()
            self._connection = create(self._path, sync=self._sync)
            self._inode = self._path.stat().st_ino
        return self._connection


def create(path: Path, *, sync: bool = False) -> sqlite3.Connection:
    """Open the file for writing; it and its folder are made when they are not there.

    Args:
        sync: Whether the disk confirms each commit. Else a power cut may cost the last turns, never the file.

    Raises:
        TraceError: The file holds something else.
        OSError, sqlite3.Error: It cannot be created or opened.
    """
    if not path.parent.exists():
        path.parent.mkdir(parents=True, mode=0o700)
    if not path.exists():
        # Before SQLite does it with laxer rights. Never when it is there: closing any handle of a file drops all locks that this
        # process has on it, also those of another connection of ours (SIGHUP opens a second one). Whoever reads the file then, and
        # closes it, takes away the log beside it, and what we write from then on (https://sqlite.org/howtocorrupt.html, 2.2).
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    connection = _connect(path, "rw")
    try:
        if _version(connection, path) == 0:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only an empty file takes it
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {'FULL' if sync else 'NORMAL'}")
        _add_missing_tables(connection, "rw")
    except BaseException:
        connection.close()
        raise
    return connection


def _add_missing_tables(connection: sqlite3.Connection, mode: Literal["ro", "rw"]) -> None:
    """Give a file the tables that a new or an older one lacks; whoever only reads it sees empty ones in their place."""
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if not tables.issuperset(("labels", "fact_values")):
        connection.executescript(_MAKE_TABLES if mode == "rw" else ";".join(stand_in_statements(tables)))


def scrub(connection: sqlite3.Connection) -> bool:
    """Give the space of deleted turns back and empty the log, which still has their text.

    Returns:
        Whether that was possible; not while another program reads.
    """
    connection.executescript("PRAGMA incremental_vacuum")  # execute would free a single page
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
    except TypeError:  # a lone surrogate that some model wrote, of which UTF-8 has none, or an enormous number
        body = json.dumps(asdict(trace), default=_plain, ensure_ascii=False).encode("utf-8", "replace")
    if len(body) < COMPRESS_FROM:
        return body
    return zlib.compress(body, level=1)


def decode(body: bytes) -> dict[str, Any]:
    """Return the JSON object that `encode` made."""
    text = body if body.startswith(b"{") else zlib.decompress(body)
    data: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)  # takes what the slow way of `encode` makes
    return data


def turns_of(rows: Iterable[Row]) -> list[Turn]:
    """Return the facts of those rows that have some."""
    return [Turn(row.turn_id, row.started, row.facts) for row in rows if row.facts is not None]


def derive_missing(turns: Iterable[Sequence[Any]]) -> Iterator[Turn]:
    """Derive the facts of turns (id, start, chatbot, outcome, body), also of those that cannot be read."""
    for turn_id, started, chatbot, outcome, body in turns:
        try:
            facts = derive_stored_facts(decode(body))
        except Exception:  # of another shape than ours: it must not stop those behind it
            facts = bare_facts(chatbot, outcome)
        yield Turn(turn_id, started, facts)


def _plain(value: Any) -> Any:
    return vars(value) if isinstance(value, BaseModel) else str(value)  # not model_dump, which takes longer


@contextmanager
def open_file(path: Path, mode: Literal["ro", "rw"]) -> Iterator[sqlite3.Connection]:
    """Open the file within the block.

    Raises:
        TraceError: It is not there, holds something else, or cannot be used.
    """
    if not path.is_file():
        raise TraceError(f"{path}: no traces there; has the proxy answered anything, and is privacy.store not none?")
    try:
        connection = _connect(path, mode)
        try:
            if _version(connection, path) == 0:
                raise TraceError(f"{path}: the file is empty; has the proxy answered anything yet?")
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
        connection.execute("PRAGMA temp_store = MEMORY")  # no text in anybody's /tmp
        connection.execute(f"PRAGMA cache_size = -{CACHE_KB}")
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection, path: Path) -> int:
    """Return the schema version, 0 for an empty file; refuse files that are not ours or of a later version."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    if version > SCHEMA_VERSION:
        raise TraceError(f"{path}: was written by a later version of caf (schema {version}, not {SCHEMA_VERSION})")
    if version == 0 and tables:
        raise TraceError(f"{path}: is the SQLite file of another program; give another one as privacy.path")
    return version
