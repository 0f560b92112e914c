"""What was run in a conversation, kept for its follow-ups: "and in July?", "which tools did you use?", "give me a reference".

The key of a row is the API key and the user's messages so far. So two branches of a conversation have two rows, a regenerated
reply runs nothing again, and a restart or a second worker keeps all. Results are stored as their fields, without rows of data.
"""

import hashlib
import math
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson
import structlog

from assistants.health.executor import Run
from assistants.health.task import Task
from models.turn_scope import Principal

MOST_BYTES = 200_000
"""Of the runs of a message; larger ones are not kept."""
LOCKED_S = 0.2
"""Seconds to wait for another process."""
log = structlog.get_logger()


class Memory:
    """A SQLite file of what was run for each message. A file that fails costs the memory of a turn, not the turn."""

    def __init__(self, path: Path | None, tasks: Mapping[str, Task[Any, Any]], ttl_s: float) -> None:
        """Open the file.

        Args:
            path: Where it is kept; None: in memory.
            ttl_s: Seconds after which a row is forgotten.

        Raises:
            OSError: The file cannot be made.
            sqlite3.Error: It is no SQLite file.
        """
        self._tasks, self._ttl = tasks, ttl_s
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(0o600)
            path.chmod(0o600)
        self._connection = sqlite3.connect(
            path or ":memory:", isolation_level=None, check_same_thread=False, timeout=LOCKED_S
        )
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS runs (conversation BLOB PRIMARY KEY, stored REAL NOT NULL, body BLOB NOT NULL)"
        )

    def get(self, principal: Principal, messages: Sequence[str], *, within_s: float = math.inf) -> list[Run] | None:
        """Return what was run for the last of these messages of the user; None if that is not known.

        Args:
            within_s: Seconds since then.
        """
        query = "SELECT body FROM runs WHERE conversation = ? AND stored > ?"
        try:
            values = (_key(principal, messages), time.time() - min(self._ttl, within_s))
            with closing(self._connection.execute(query, values)) as rows:
                row = rows.fetchone()
            return [self._read(one) for one in orjson.loads(row[0]) if one["task"] in self._tasks] if row else None
        except (sqlite3.Error, ValueError, TypeError) as error:  # also results of another version of a task
            log.warning("health_memory_not_read", error=type(error).__name__)
            return None

    def put(self, principal: Principal, messages: Sequence[str], runs: Sequence[Run]) -> None:
        """Store what was run for the last of these messages, and forget what is too old."""
        body = orjson.dumps([_as_json(run) for run in runs])
        if len(body) > MOST_BYTES:
            return
        try:
            values = (_key(principal, messages), time.time(), body)
            self._connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", values)
            self._connection.execute("DELETE FROM runs WHERE stored <= ?", (time.time() - self._ttl,))
        except sqlite3.Error as error:
            log.warning("health_memory_not_written", error=type(error).__name__)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _read(self, row: Mapping[str, Any]) -> Run:
        found = row["result"]
        result = self._tasks[row["task"]].result.model_validate(found) if found is not None else None
        return Run(**{**row, "result": result})


def _as_json(run: Run) -> dict[str, Any]:
    return {**asdict(run), "result": run.result.model_dump(mode="json") if run.result is not None else None}


def _key(principal: Principal, messages: Sequence[str]) -> bytes:
    return hashlib.blake2b(orjson.dumps([principal.key_id, principal.user, *messages]), digest_size=16).digest()
