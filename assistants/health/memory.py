"""What was run in a conversation, kept for its follow-ups: "and in July?", "which tools did you use?", "give me a reference".

A row is found by the API key and the user's messages so far. So two branches of a conversation have two rows, a regenerated reply
runs nothing again, and a restart or a second worker keeps all. Results are stored as their fields, without rows of data.
"""

import hashlib
import sqlite3
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

import orjson

from assistants.health.executor import Run
from assistants.health.task import Task
from models.turn_scope import Principal

MOST_BYTES = 200_000
"""Of a conversation's runs; larger ones are not kept."""


class Memory:
    """A SQLite file of conversations."""

    def __init__(self, path: Path | None, tasks: Mapping[str, Task[Any, Any]], ttl_s: float) -> None:
        """Args:
        path: Where it is kept; None: in memory.
        ttl_s: Seconds after which a conversation is forgotten.
        """
        self._tasks, self._ttl = tasks, ttl_s
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch(0o600)
        self._connection = sqlite3.connect(path or ":memory:", isolation_level=None, check_same_thread=False, timeout=5)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute(
            "CREATE TABLE IF NOT EXISTS runs (conversation BLOB PRIMARY KEY, stored REAL NOT NULL, body BLOB NOT NULL)"
        )

    def get(self, principal: Principal, messages: Sequence[str], *, within_s: float | None = None) -> list[Run]:
        """Return what was run after these messages of the user, [] if nothing is known.

        Args:
            within_s: Seconds since then; None: as long as it is kept.
        """
        query = "SELECT body FROM runs WHERE conversation = ? AND stored > ?"
        after = time.time() - min(self._ttl, within_s or self._ttl)
        with closing(self._connection.execute(query, (_key(principal, messages), after))) as rows:
            row = rows.fetchone()
        return [self._read(one) for one in orjson.loads(row[0]) if one["task"] in self._tasks] if row else []

    def put(self, principal: Principal, messages: Sequence[str], runs: Sequence[Run]) -> None:
        """Store what was run, and forget what is too old."""
        body = orjson.dumps([_as_json(run) for run in runs])
        if len(body) > MOST_BYTES:
            return
        values = (_key(principal, messages), time.time(), body)
        self._connection.execute("INSERT OR REPLACE INTO runs VALUES (?, ?, ?)", values)
        self._connection.execute("DELETE FROM runs WHERE stored <= ?", (time.time() - self._ttl,))

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
