"""Keeps traces while the proxy runs: a bounded queue, and one thread that writes it to the trace file in batches.

Traces hold people's crises: `privacy.store` decides whether any text gets in at all, and after `privacy.days` they go.
"""

import sqlite3
import threading
import time
from collections import deque
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from proxy import trace_file
from proxy.redaction import redact
from proxy.trace import Trace
from proxy.trace_file import TraceError

MOST_WAITING = 1_000
"""Traces that wait for the writer at most; a disk that hangs must not fill the memory."""
MOST_CHARACTERS = 32_000_000
"""Characters of the texts that wait for the writer at most, for the same reason."""
BATCH_S = 0.2
"""How long a trace waits for others to share its commit with."""
PURGE_EVERY_S = 3_600.0


class TraceStore:
    """Keeps the traces of a running proxy. `record` costs the request path a few microseconds and never fails it."""

    def __init__(self, path: Path, store: Literal["full", "redacted", "none"], days: float) -> None:
        self._path, self._store, self._days = path, store, days
        self._waiting: deque[tuple[Trace, int]] = deque()
        self._characters = 0
        self._lock = threading.Lock()
        self._arrived, self._closing = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._connection: sqlite3.Connection | None = None
        self._inode = 0
        self._in_burst = False
        self._lost_before = 0
        self.dropped = 0
        """Traces lost to a full queue or a failing disk since the start."""

    def start(self) -> None:
        """Open the file and start the writer. With `none` nothing is written, but an older file still ages out.

        Raises:
            TraceError: The file or its folder cannot be created or opened, or holds something else.
        """
        if self._store == "none" and not self._path.exists():
            return
        try:
            self._open()
        except (OSError, sqlite3.Error) as error:
            raise TraceError(
                f"{self._path}: privacy.path cannot be used ({error}); name a file in a folder the proxy may write to"
            ) from error
        self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
        self._thread.start()

    def record(self, trace: Trace) -> None:
        """Hand a finished turn to the writer; it must not change any more."""
        if self._store == "none":
            return
        size = len(trace.user_message) + sum(len(attempt.text) for attempt in trace.attempts)
        with self._lock:
            why = self._refusal(size)
            if why is None:
                self._waiting.append((trace, size))
                self._characters += size
        if why is not None:
            self._drop(1, why)
        elif not self._arrived.is_set():
            self._arrived.set()

    def _refusal(self, size: int) -> str | None:
        if self._thread is None or self._closing.is_set():
            return "the store is not open"
        if len(self._waiting) >= MOST_WAITING or self._characters + size > MOST_CHARACTERS:
            return "the writer does not keep up"
        return None

    def close(self, timeout_s: float = 5.0) -> None:
        """Write what waits and close the file. Blocks, `timeout_s` at most."""
        self._closing.set()
        self._arrived.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                self._drop(len(self._take()), "the writer did not finish in time")
            self._thread = None

    def _run(self) -> None:
        next_purge = 0.0
        while True:
            self._arrived.wait(max(0.0, next_purge - time.monotonic()))
            if self._arrived.is_set():
                self._closing.wait(BATCH_S)
            self._arrived.clear()
            done = self._closing.is_set()
            self._write(self._take())
            if time.monotonic() >= next_purge and not done:
                next_purge = time.monotonic() + PURGE_EVERY_S
                self._expire()
            if done:
                break
        if self._connection is not None:
            with suppress(sqlite3.Error):
                self._connection.close()

    def _take(self) -> list[Trace]:
        with self._lock:
            batch = [trace for trace, _ in self._waiting]
            self._waiting.clear()
            self._characters = 0
        return batch

    def _write(self, batch: list[Trace]) -> None:
        rows = [row for trace in batch if (row := self._row(trace)) is not None]
        if not rows:
            return
        lost = self.dropped
        try:
            connection = self._usable()
            connection.execute("BEGIN IMMEDIATE")
            for row in rows:  # not executemany: each step lets the event loop's thread run
                connection.execute("INSERT OR REPLACE INTO turns VALUES (?, ?, ?, ?, ?, ?)", row)
            connection.execute("COMMIT")
        except (OSError, sqlite3.Error, TraceError) as error:
            if self._connection is not None and self._connection.in_transaction:
                with suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
            self._drop(len(rows), str(error))
        else:
            if self._in_burst and lost == self._lost_before:
                self._in_burst = False
                _log().info("traces_stored_again", dropped=self.dropped)
        self._lost_before = self.dropped

    def _row(self, trace: Trace) -> tuple[str, str, float, str, str, bytes] | None:
        try:
            kept = redact(trace) if self._store == "redacted" else trace
            return kept.turn_id, kept.conversation_id, kept.started, kept.chatbot, kept.outcome, trace_file.encode(kept)
        except Exception as error:  # a trace of some odd shape must not cost the others of its batch
            self._drop(1, f"{type(error).__name__} while encoding")
            return None

    def _expire(self) -> None:
        try:
            connection = self._usable()
            if trace_file.delete(connection, "started < ?", time.time() - self._days * 86_400):
                trace_file.scrub(connection)
        except (OSError, sqlite3.Error, TraceError) as error:
            _log().warning("traces_not_purged", path=str(self._path), error=str(error), days=self._days)

    def _usable(self) -> sqlite3.Connection:
        """Return the connection, to a new file if somebody deleted the old one: writes to that would just vanish."""
        if self._connection is None or not self._path.exists() or self._path.stat().st_ino != self._inode:
            self._open()
        assert self._connection is not None
        return self._connection

    def _open(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
        self._connection = trace_file.create(self._path)
        self._inode = self._path.stat().st_ino

    def _drop(self, count: int, why: str) -> None:
        with self._lock:
            self.dropped += count
            first, self._in_burst = not self._in_burst, True
        if first:  # a line for each would bury the log
            _log().warning("traces_dropped", path=str(self._path), reason=why, dropped=self.dropped)


def _log() -> Any:
    import structlog  # here, because it takes 0.1 s to import and `caf trace` has no use for it

    return structlog.get_logger("caf.traces")
