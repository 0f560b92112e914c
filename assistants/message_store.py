"""What an assistant keeps for the messages of a conversation, in a SQLite file: found again by these, erased by the conversation.

The key of a row is the API key and the user's messages so far. So two branches of a conversation have two rows, a regenerated
reply finds its own, and a restart or a second worker keeps all.
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
"""Of a row; what is larger is not kept."""
LOCKED_S = 0.2
"""Seconds to wait for another process."""
log = structlog.get_logger()


class MessageStore:
    """Rows of bytes. A file that fails when it is read or written costs what it would have kept, not the turn."""

    def __init__(self, path: Path | None, ttl_s: float) -> None:
        """Open the file.

        Args:
            path: Where it is kept; None: in memory.
            ttl_s: Seconds after which a row is forgotten.

        Raises:
            ModelSettingsError: The file cannot be made, or is no SQLite file.
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
        """Return what is kept for the last of these messages of the user; None if that is not known.

        Args:
            within_s: Seconds since it was stored.
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
        """Keep something for the last of these messages, in place of what was kept; forget what is too old."""
        if len(body) > MOST_BYTES:
            return
        try:
            values = (_key(principal, messages), conversation_id, time.time(), body)
            self._connection.execute("INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?)", values)
            self._connection.execute("DELETE FROM messages WHERE stored <= ?", (time.time() - self._ttl,))
        except sqlite3.Error as error:
            log.warning("assistant_memory_not_written", error=type(error).__name__)

    def erase(self, conversation_ids: Collection[str] | None) -> int:
        """Delete the rows of conversations, None: of all; overwrite their bytes, and return their number.

        Raises:
            AssistantError: Something may still be there.
        """
        where = "TRUE" if conversation_ids is None else "conversation_id IN (SELECT value FROM json_each(?))"
        values = [] if conversation_ids is None else [orjson.dumps([*conversation_ids]).decode()]
        try:
            erased = self._connection.execute(f"DELETE FROM messages WHERE {where}", values).rowcount
            is_busy = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        except sqlite3.Error as error:
            raise AssistantError(f"what is kept of conversations was not erased: {error}") from error
        if is_busy:
            raise AssistantError("what is kept of conversations is still in the log of the file: erase it again")
        return erased

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _key(principal: Principal, messages: Sequence[str]) -> bytes:
    return hashlib.blake2b(orjson.dumps([principal.key_id, principal.user, *messages]), digest_size=16).digest()
