"""Data of an assistant for the messages of a conversation, in a SQLite file. They are erased by conversation id.

The key of a row is the API key and the user's messages so far. So two branches of a conversation have two rows, and a
regenerated reply finds its own row. Rows outlive a restart, and several workers share them.
"""

import hashlib
import math
import sqlite3
import time
from collections.abc import Collection, Sequence
from contextlib import closing
from pathlib import Path

import orjson
import structlog

from assistants.assistant import AssistantError
from models.errors import ModelSettingsError
from models.turn_scope import Principal

MOST_BYTES = 200_000
"""Most bytes of a row; a larger row is not stored."""
LOCKED_S = 0.2
"""Seconds to wait for another process."""
log = structlog.get_logger()


class MessageStore:
    """Rows of bytes. If reading or writing fails, the row is lost, and the turn continues."""

    def __init__(self, path: Path | None, ttl_s: float) -> None:
        """Open the file.

        Args:
            path: The file; None: in memory.
            ttl_s: Seconds until a row is deleted.

        Raises:
            ModelSettingsError: The file cannot be created, or is not a SQLite file.
        """
        self._ttl = ttl_s
        try:
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.touch(0o600)
                path.chmod(0o600)
            self._connection = sqlite3.connect(
                path or ":memory:", isolation_level=None, check_same_thread=False, timeout=LOCKED_S
            )
            self._connection.executescript(
                "PRAGMA journal_mode=WAL; PRAGMA secure_delete=ON; DROP TABLE IF EXISTS runs;"  # of older versions
                "CREATE TABLE IF NOT EXISTS messages (messages BLOB PRIMARY KEY, conversation_id TEXT NOT NULL, "
                "stored REAL NOT NULL, body BLOB NOT NULL)"
            )
        except (OSError, sqlite3.Error) as error:
            raise ModelSettingsError(f"memory: {path}: {error}") from error

    def get(self, principal: Principal, messages: Sequence[str], *, within_s: float = math.inf) -> bytes | None:
        """Return the row for the last of these messages of the user; None without a row.

        Args:
            within_s: Most seconds since the row was stored.
        """
        query = "SELECT body FROM messages WHERE messages = ? AND stored > ?"
        try:
            values = (_key(principal, messages), time.time() - min(self._ttl, within_s))
            with closing(self._connection.execute(query, values)) as rows:
                row = rows.fetchone()
            return row[0] if row else None
        except sqlite3.Error as error:
            log.warning("assistant_memory_not_read", error=type(error).__name__)
            return None

    def put(self, principal: Principal, messages: Sequence[str], body: bytes, conversation_id: str) -> None:
        """Store or replace the row for the last of these messages; delete old rows."""
        if len(body) > MOST_BYTES:
            return
        try:
            values = (_key(principal, messages), conversation_id, time.time(), body)
            self._connection.execute("INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?)", values)
            self._connection.execute("DELETE FROM messages WHERE stored <= ?", (time.time() - self._ttl,))
        except sqlite3.Error as error:
            log.warning("assistant_memory_not_written", error=type(error).__name__)

    def erase(self, conversation_ids: Collection[str] | None) -> int:
        """Delete the rows of conversations, or of all for None; overwrite their bytes, and return their number.

        Raises:
            AssistantError: A row may still exist.
        """
        where = "TRUE" if conversation_ids is None else "conversation_id IN (SELECT value FROM json_each(?))"
        values = [] if conversation_ids is None else [orjson.dumps([*conversation_ids]).decode()]
        try:
            erased = self._connection.execute(f"DELETE FROM messages WHERE {where}", values).rowcount
            is_busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            raise AssistantError(f"data of conversations were not erased: {error}") from error
        if is_busy:
            raise AssistantError("data of conversations are still in the log of the file: erase them again")
        return erased

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _key(principal: Principal, messages: Sequence[str]) -> bytes:
    return hashlib.blake2b(orjson.dumps([principal.key_id, principal.user, *messages]), digest_size=16).digest()
