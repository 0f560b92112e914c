"""Where traces are: a SQLite file or a PostgreSQL database, with the same SQL for both."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from proxy.auth.loopback import is_loopback
from proxy.config.config import Config, ConfigError
from proxy.config.settings import PrivacySettings
from proxy.traces.facts import TurnFacts


class TraceError(ConfigError):
    """The traces cannot be used as asked; the message says why and what to try."""

    def __init__(self, message: str) -> None:
        super().__init__([message])


class Unreachable(Exception):
    """The traces cannot be written now, but perhaps soon; the message says why and quotes nobody."""


@dataclass(frozen=True, slots=True)
class Database:
    """A PostgreSQL database."""

    url: str
    """Without a password."""
    password_env: str | None = None
    """The environment variable that holds it."""

    def __str__(self) -> str:
        return self.url


TraceBackend = Path | Database


class Row(NamedTuple):
    """A trace as a row."""

    turn_id: str
    conversation_id: str
    started: float
    """Unix time, seconds."""
    chatbot: str
    outcome: str
    body: bytes
    facts: TurnFacts | None = None
    """None: they are derived later."""

    @property
    def size(self) -> int:
        """About how much memory it takes."""
        return len(self.body) + (len(self.facts.text) if self.facts is not None else 0)


KEEP = """
INSERT INTO turns (turn_id, conversation_id, started, chatbot, outcome, body)
VALUES (:turn_id, :conversation_id, :started, :chatbot, :outcome, :body)
ON CONFLICT (turn_id) DO UPDATE SET conversation_id = excluded.conversation_id, started = excluded.started,
    chatbot = excluded.chatbot, outcome = excluded.outcome, body = excluded.body
"""
"""Writing a row a second time, because nobody knows whether the first try went through, changes nothing."""


def trace_detail(config: Config) -> Literal["full", "redacted", "none"]:
    """Return what traces hold: `auto` is full on a loopback address without keys, else redacted."""
    if config.privacy.store != "auto":
        return config.privacy.store
    return "full" if config.keys is None and is_loopback(config.server.host) else "redacted"


def trace_backend(privacy: PrivacySettings) -> TraceBackend:
    """Return where traces are kept."""
    return privacy.path if privacy.url is None else Database(privacy.url, privacy.password_env)


class Rows(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int: ...
    def fetchone(self) -> Any: ...
    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """An open backend. SQL must suit both dialects, with named values as in `:turn_id`; tables have a growing `rowid`."""

    def execute(self, statement: str, values: Mapping[str, Any] = ..., /) -> Rows: ...


class Writer(Protocol):
    """Writes into a backend from one thread."""

    def exists(self) -> bool:
        """Return whether the backend exists; True if unknown."""
        ...

    def open(self) -> None:
        """Open it for writing, if it is not open.

        Raises:
            TraceError: It holds something else, or what is configured for it is not right.
            Unreachable: It does not answer.
        """
        ...

    def write(self, rows: list[Row]) -> int:
        """Write rows, all that can be written or none, and return how many of them can never be.

        Raises:
            Unreachable: It does not answer; the rows should be written again.
            Exception: They are lost.
        """
        ...

    def index(self, at: float, limit: int) -> float | None:
        """Derive the facts of turns that have none, the newest first, from those on that began at that Unix time.

        Args:
            at: Unix time, seconds.
            limit: How many turns at most.

        Returns:
            Where to go on; None when no turn is left.

        Raises:
            Unreachable, TraceError, OSError, sqlite3.Error: That was not possible.
        """
        ...

    def expire(self, before: float) -> None:
        """Delete for good what started before that Unix time.

        Raises:
            Unreachable, TraceError, OSError, sqlite3.Error: That was not possible.
        """
        ...

    def close(self) -> None: ...
