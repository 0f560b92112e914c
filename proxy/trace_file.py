"""The SQLite file that holds traces, in write-ahead mode: any number may read it while proxies write.

The file is readable by its owner alone, and what is deleted is overwritten: neither the file nor its log keeps a purged
word. (Copies that the file system or a backup makes are out of reach.)
"""

import json
import os
import sqlite3
import time
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import orjson
from pydantic import BaseModel

from proxy.config import ConfigError
from proxy.trace import Outcome, Trace

SCHEMA_VERSION = 1
BUSY_S = 5.0
"""How long to wait for another program that is writing."""
COMPRESS_FROM = 2_000
"""Bytes from which a body is compressed. Shorter ones would save less than one page of the file."""

_SCHEMA = f"""
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS turns (
    turn_id TEXT PRIMARY KEY, conversation_id TEXT NOT NULL, started REAL NOT NULL, chatbot TEXT NOT NULL,
    outcome TEXT NOT NULL, body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS turns_by_conversation ON turns (conversation_id, started);
CREATE INDEX IF NOT EXISTS turns_by_start ON turns (started);
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""


class TraceError(ConfigError):
    """The trace file cannot be used as asked; the message says why and what to try."""

    def __init__(self, message: str) -> None:
        super().__init__([message])


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one judge said, on one choice or on the user's message."""

    judge: str
    stage: str
    verdict: str


@dataclass(frozen=True, slots=True)
class TurnLine:
    """One turn in a list."""

    turn_id: str
    conversation_id: str
    started: float
    """Unix time, seconds."""
    chatbot: str
    turn: int
    outcome: str
    error: str | None
    ms: float
    verdicts: tuple[Verdict, ...]
    prompt_tokens: int
    completion_tokens: int


def list_turns(
    path: Path,
    *,
    limit: int = 20,
    chatbot: str | None = None,
    outcome: Outcome | None = None,
    conversation: str | None = None,
    since: float | None = None,
    turns: Collection[str] | None = None,
) -> list[TurnLine]:
    """Return the newest turns, the newest first.

    Args:
        limit: at most so many.
        conversation: its id or a unique beginning of it.
        since: Unix time in seconds; only turns that started then or later.
        turns: only turns with these ids.

    Raises:
        TraceError: The file is not there or not readable, or the beginning of the id is not unique.
    """
    with opened(path, "ro") as connection:
        if conversation is not None:
            conversation = resolve(connection, "conversation_id", conversation)
        wanted = {"chatbot =": chatbot, "outcome =": outcome, "conversation_id =": conversation, "started >=": since}
        given = {f"{condition} ?": value for condition, value in wanted.items() if value is not None}
        if turns is not None:
            given["turn_id IN (SELECT value FROM json_each(?))"] = json.dumps(list(turns))
        where = " AND ".join(given) or "1"
        rows = connection.execute(
            f"SELECT body FROM turns WHERE {where} ORDER BY started DESC, rowid DESC LIMIT ?", (*given.values(), limit)
        )
        return [_line(decode(body)) for (body,) in rows]


def show(path: Path, turn_id: str) -> dict[str, Any]:
    """Return one trace as the JSON object it was stored as: the fields of `proxy.trace.Trace`.

    Args:
        turn_id: the id of the turn or a unique beginning of it.

    Raises:
        TraceError: The file is not there or not readable, or no turn or more than one has that id.
    """
    with opened(path, "ro") as connection:
        found = resolve(connection, "turn_id", turn_id)
        (body,) = connection.execute("SELECT body FROM turns WHERE turn_id = ?", (found,)).fetchone()
        return decode(body)


def earlier(path: Path, trace: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the traces of the same conversation that began before this one, oldest first.

    Raises:
        TraceError: The file is not there or not readable.
    """
    with opened(path, "ro") as connection:
        rows = connection.execute(
            "SELECT body FROM turns WHERE conversation_id = ? AND started < ? ORDER BY started, rowid",
            (trace["conversation_id"], trace["started"]),
        )
        return [decode(body) for (body,) in rows]


def purge(
    path: Path,
    *,
    everything: bool = False,
    conversation: str | None = None,
    turn: str | None = None,
    older_than_days: float | None = None,
) -> int:
    """Delete traces for good and return how many; exactly one choice is to be made. Ids may be unique beginnings.

    Raises:
        TraceError: The file is not there, not writable or held by another program, or the id is not unique.
    """
    with opened(path, "rw") as connection:
        if everything:
            gone = delete(connection, "1")
        elif conversation is not None:
            gone = delete(connection, "conversation_id = ?", resolve(connection, "conversation_id", conversation))
        elif turn is not None:
            gone = delete(connection, "turn_id = ?", resolve(connection, "turn_id", turn))
        elif older_than_days is not None:
            gone = delete(connection, "started < ?", time.time() - older_than_days * 86_400)
        else:
            raise TypeError("purge needs to be told what")
        if not scrub(connection):
            raise TraceError(
                f"{path}: {gone} turns are deleted, but their text is still in {path.name}-wal, because another "
                "program is reading the file; end that and run the same command again"
            )
        return gone


def create(path: Path) -> sqlite3.Connection:
    """Open the file for writing; it and its folder are made when they are not there.

    Raises:
        TraceError: The file holds something else.
        OSError, sqlite3.Error: It cannot be created or opened.
    """
    if not path.parent.exists():
        path.parent.mkdir(parents=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # before SQLite does it with laxer rights
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)
    connection = _connect(path, "rw")
    try:
        new = _version(connection, path) == 0
        if new:
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")  # only an empty file takes it
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # a power cut may cost the last turns, never the file
        if new:
            connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def delete(connection: sqlite3.Connection, where: str, *values: object) -> int:
    """Delete turns and return how many; `scrub` is to follow."""
    return connection.execute(f"DELETE FROM turns WHERE {where}", values).rowcount


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
    return zlib.compress(body, 1) if len(body) >= COMPRESS_FROM else body


def decode(body: bytes) -> dict[str, Any]:
    """Return the JSON object that `encode` made."""
    text = body if body.startswith(b"{") else zlib.decompress(body)
    data: dict[str, Any] = json.loads(text, parse_constant=lambda _: None)  # takes what the slow way of `encode` makes
    return data


def _plain(value: object) -> Any:
    return value.model_dump() if isinstance(value, BaseModel) else str(value)


def _line(trace: dict[str, Any]) -> TurnLine:
    judgements = [*trace["emergency"], *(j for attempt in trace["attempts"] for j in attempt["judgements"])]
    usages = [call["usage"] for call in trace["calls"]]
    return TurnLine(
        turn_id=trace["turn_id"],
        conversation_id=trace["conversation_id"],
        started=trace["started"],
        chatbot=trace["chatbot"],
        turn=trace["turn"],
        outcome=trace["outcome"],
        error=trace["error"],
        ms=trace["ms"],
        verdicts=tuple(Verdict(j["judge"], j["stage"], j["verdict"]) for j in judgements),
        prompt_tokens=sum(usage["prompt_tokens"] for usage in usages),
        completion_tokens=sum(usage["completion_tokens"] for usage in usages),
    )


@contextmanager
def opened(path: Path, mode: Literal["ro", "rw"]) -> Iterator[sqlite3.Connection]:
    """Open the file for as long as something is done with it.

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
            yield connection
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise TraceError(f"{path}: the trace file cannot be used: {error}") from error


def _connect(path: Path, mode: Literal["ro", "rw"]) -> sqlite3.Connection:
    address = f"{path.resolve().as_uri()}?mode={mode}"
    connection = sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA secure_delete = ON")
    connection.execute("PRAGMA temp_store = MEMORY")  # no text in anybody's /tmp
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


def resolve(connection: sqlite3.Connection, column: Literal["turn_id", "conversation_id"], begins: str) -> str:
    """Return the one id that is or begins with the given text.

    Raises:
        TraceError: There is none, or more than one.
    """
    what = "turn" if column == "turn_id" else "conversation"
    found = [
        row[0]
        for row in connection.execute(
            f"SELECT DISTINCT {column} FROM turns WHERE {column} >= ? AND {column} < ? ORDER BY {column} LIMIT 3",
            (begins, begins + "\U0010ffff"),
        )
    ]
    if begins in found or len(found) == 1:
        return begins if begins in found else str(found[0])
    if not found:
        raise TraceError(f"no {what} has the id {begins!r}; `caf trace list` shows those that are kept")
    raise TraceError(f"{begins!r} begins more than one {what} id: {', '.join(found)}")
