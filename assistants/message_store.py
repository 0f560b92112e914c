"""Stores an assistant's data for each state of a conversation, in a SQLite file, and erases them by conversation id.

The key of a row is a hash of the API key, the user, and the user's messages so far. Two branches of a conversation have different
rows, and a regenerated reply finds the row of its branch. Rows survive a restart, and worker processes share them.
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
"""Maximum size of a row, in bytes. Larger rows are not stored."""
LOCKED_S = 0.2
"""Seconds to wait while another process locks the file."""
log = structlog.get_logger()


class MessageStore:
    """Stores one row of bytes per state of a conversation.

    A row that cannot be read or written is logged and treated as missing, so the turn continues.
    """

    def __init__(self, path: Path | None, ttl_s: float) -> None:
        """Open or create the file.

        Args:
            path: The SQLite file; None to keep rows in memory.
            ttl_s: Seconds after which a row expires.

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
            raise ModelSettingsError(f"memory: cannot open {str(path)!r} as a SQLite file: {error}") from error

    def get(self, principal: Principal, messages: Sequence[str], *, within_s: float = math.inf) -> bytes | None:
        """Return the row that was stored with exactly these messages; None if there is no such row.

        Args:
            messages: All messages of the user so far, oldest first.
            within_s: Maximum age of the row, in seconds.
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
        """Store or replace the row of these messages, and delete expired rows.

        Args:
            messages: All messages of the user so far, oldest first.
            body: The data to store. Larger than `MOST_BYTES`, they are not stored.
            conversation_id: The id by which `erase` deletes the row.
        """
        if len(body) > MOST_BYTES:
            return
        try:
            values = (_key(principal, messages), conversation_id, time.time(), body)
            self._connection.execute("INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?)", values)
            self._connection.execute("DELETE FROM messages WHERE stored <= ?", (time.time() - self._ttl,))
        except sqlite3.Error as error:
            log.warning("assistant_memory_not_written", error=type(error).__name__)

    def erase(self, conversation_ids: Collection[str] | None) -> int:
        """Delete the rows of conversations and overwrite their bytes. Return the number of deleted rows.

        Args:
            conversation_ids: The conversations to delete; None for all.

        Raises:
            AssistantError: Rows, or their bytes in the write-ahead log, may not have been deleted.
        """
        where = "TRUE" if conversation_ids is None else "conversation_id IN (SELECT value FROM json_each(?))"
        values = [] if conversation_ids is None else [orjson.dumps([*conversation_ids]).decode()]
        try:
            erased = self._connection.execute(f"DELETE FROM messages WHERE {where}", values).rowcount
            is_busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            raise AssistantError(f"cannot erase the data of conversations: {error}; try again") from error
        if is_busy:
            raise AssistantError("erased data may remain in SQLite's write-ahead log (in use); erase them again")
        return erased

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _key(principal: Principal, messages: Sequence[str]) -> bytes:
    return hashlib.blake2b(orjson.dumps([principal.key_id, principal.user, *messages]), digest_size=16).digest()
