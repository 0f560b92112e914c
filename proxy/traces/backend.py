"""The interface to the storage of traces, a SQLite file or a PostgreSQL database. Both use the same SQL."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from proxy.auth.loopback import is_loopback
from proxy.config.config import Config, ConfigError
from proxy.config.settings import PrivacySettings
from proxy.traces.facts import TurnFacts


class TraceError(ConfigError):
    """An operation on stored traces failed. The message names the reason and what to do."""

    def __init__(self, message: str) -> None:
        super().__init__([message])


class Unreachable(Exception):
    """The storage does not answer; the same operation may succeed later. The message contains no conversation text."""


@dataclass(frozen=True, slots=True)
class Database:
    """The address of a PostgreSQL database for traces."""

    url: str
    """The connection URL, without a password."""
    password_env: str | None = None
    """The environment variable that holds the password."""

    def __str__(self) -> str:
        return self.url


TraceBackend = Path | Database


class Row(NamedTuple):
    """An encoded trace, ready to be written."""

    turn_id: str
    conversation_id: str
    started: float
    """Unix time, seconds."""
    chatbot: str
    outcome: str
    body: bytes
    facts: TurnFacts | None = None
    """The facts of the turn; None: the writer derives them later."""

    @property
    def size(self) -> int:
        """Approximate size in memory, in bytes."""
        return len(self.body) + (len(self.facts.text) if self.facts is not None else 0)


KEEP = """
INSERT INTO turns (turn_id, conversation_id, started, chatbot, outcome, body)
VALUES (:turn_id, :conversation_id, :started, :chatbot, :outcome, :body)
ON CONFLICT (turn_id) DO UPDATE SET conversation_id = excluded.conversation_id, started = excluded.started,
    chatbot = excluded.chatbot, outcome = excluded.outcome, body = excluded.body
"""
"""Inserts or updates a turn. It can be repeated safely after a lost connection, when the result of the first write is unknown."""


def trace_detail(config: Config) -> Literal["full", "redacted", "none"]:
    """Return how much traces store. The setting `auto` means `full` on a loopback address without keys, else `redacted`."""
    if config.privacy.store != "auto":
        return config.privacy.store
    return "full" if config.keys is None and is_loopback(config.server.host) else "redacted"


def trace_backend(privacy: PrivacySettings) -> TraceBackend:
    """Return the configured storage of traces."""
    return privacy.path if privacy.url is None else Database(privacy.url, privacy.password_env)


class Rows(Protocol):
    """The result of an SQL statement."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection to the storage.

    SQL must be valid in both dialects, with named parameters such as `:turn_id`. The `rowid` of each table increases.
    """

    def execute(self, statement: str, values: Mapping[str, Any] = ..., /) -> Rows: ...


class Writer(Protocol):
    """Writes traces to the storage. All methods are called from one thread."""

    def exists(self) -> bool:
        """Return whether the file or the tables exist; True if unknown."""
        ...

    def open(self) -> None:
        """Open the backend for writing, unless it is open.

        Raises:
            TraceError: The backend holds other data, or its settings are wrong.
            Unreachable: The backend does not answer.
        """
        ...

    def write(self, rows: list[Row]) -> int:
        """Write all rows that the backend accepts, or none. Returns the number of rows that it can never accept.

        Raises:
            Unreachable: The backend does not answer; write the rows again later.
            Exception: The rows are lost.
        """
        ...

    def index(self, at: float, limit: int) -> float | None:
        """Derive the facts of turns without facts, newest first, among turns that began at or before `at`.

        Args:
            at: Unix time, seconds.
            limit: Maximum number of turns.

        Returns:
            The `at` of the next call; None when no turn is left.

        Raises:
            Unreachable, TraceError, OSError, sqlite3.Error: The operation failed.
        """
        ...

    def expire(self, before: float) -> None:
        """Delete permanently all turns that began before a Unix time.

        Raises:
            Unreachable, TraceError, OSError, sqlite3.Error: The operation failed.
        """
        ...

    def close(self) -> None: ...
