"""Keeps traces while the proxy runs: a bounded queue, and one thread that writes it to a file or a database in batches.

Traces hold people's crises: `privacy.store` decides whether any text gets in at all, and after `privacy.days` they go.
"""

import sqlite3
import threading
import time
from collections import deque
from typing import Any, Literal

from proxy.traces import file as trace_file
from proxy.traces.place import Database, Place, Row, TraceError, Unreachable, Writer
from proxy.traces.redaction import redact
from proxy.traces.trace import Trace

MOST_WAITING = 1_000
"""Traces that wait for the writer at most; a disk that hangs must not fill the memory."""
MOST_CHARACTERS = 32_000_000
"""Characters of the texts that wait for the writer at most, for the same reason."""
BATCH_S = 0.2
"""How long a trace waits for others to share its commit with."""
ENOUGH = 8
"""Traces that share a commit without waiting any longer: each takes some 30 KB, and of a commit's 25 us little is left for each."""
PURGE_EVERY_S = 3_600.0
RETRY_S = 1.0
"""How long to wait before a database that did not answer is tried again."""


class TraceStore:
    """Keeps the traces of a running proxy. `record` costs the request path a few microseconds and never fails it."""

    def __init__(self, place: Place, store: Literal["full", "redacted", "none"], days: float) -> None:
        self._place, self._store, self._days = place, store, days
        self._waiting: deque[tuple[Trace, int]] = deque()
        self._characters = 0
        self._under_way = 0
        """How many of those are being written."""
        self._lock = threading.Lock()
        self._arrived, self._enough, self._closing = threading.Event(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._writer = _writer(place)
        self._away = False
        """Whether the database did not answer the last time."""
        self._in_burst = False
        self._lost_before = 0
        self.dropped = 0
        """Traces lost to a full queue, a failing disk or a lasting outage of the database since the start."""

    def start(self) -> None:
        """Open the place and start the writer. With `none` nothing is written, but what is there still ages out.

        A database that does not answer keeps no proxy from starting: the writer tries again. Blocks for seconds then.

        Raises:
            TraceError: The file or its folder cannot be created or opened, or the place holds something else.
        """
        if self._store == "none" and not self._writer.exists():
            return
        try:
            self._writer.open()
        except Unreachable as error:
            self._wait(str(error))
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
        elif len(self._waiting) - self._under_way >= ENOUGH and not self._enough.is_set():
            self._enough.set()

    def waits_for(self, conversation_id: str) -> bool:
        """Tell whether a turn of this conversation is still to be written."""
        with self._lock:
            return any(trace.conversation_id == conversation_id for trace, _ in self._waiting)

    def _refusal(self, size: int) -> str | None:
        if self._thread is None or self._closing.is_set():
            return "the store is not open"
        if len(self._waiting) >= MOST_WAITING or self._characters + size > MOST_CHARACTERS:
            return "the writer does not keep up"
        return None

    def close(self, timeout_s: float = 5.0) -> None:
        """Write what waits and close the place. Blocks, `timeout_s` at most."""
        for event in (self._closing, self._arrived, self._enough):
            event.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                self._drop(self._take(), "the writer did not finish in time")
            self._thread = None

    def _run(self) -> None:
        next_purge = 0.0
        while True:
            self._arrived.wait(max(0.0, next_purge - time.monotonic()))
            if self._arrived.is_set():
                if self._away:
                    self._closing.wait(RETRY_S)
                else:
                    self._enough.wait(BATCH_S)
            self._arrived.clear()
            self._enough.clear()
            done = self._closing.is_set()
            self._write()
            if time.monotonic() >= next_purge and not done:
                next_purge = time.monotonic() + (PURGE_EVERY_S if self._expire() else min(60.0, PURGE_EVERY_S))
            if done:
                break
            if self._waiting:  # they came meanwhile, or could not be written
                self._arrived.set()
        self._drop(self._take(), "the proxy stopped before they could be written")
        self._writer.close()

    def _write(self) -> None:
        """Write what waits. Only what is written or lost leaves the queue, so that its bounds hold in an outage too."""
        with self._lock:
            batch = [trace for trace, _ in self._waiting]
            self._under_way = len(batch)
        if not batch:
            return
        lost = self.dropped
        try:
            self._writer.open()  # before the work of encoding, which an outage would make vain
            rows = [row for trace in batch if (row := self._row(trace)) is not None]
            refused = self._writer.write(rows)
        except Unreachable as error:
            self._under_way = 0
            self._wait(str(error))
            return
        except (OSError, sqlite3.Error, TraceError) as error:
            self._drop(self._take(len(batch)), str(error))
        except Exception as error:  # the thread must live on; its text may quote the trace
            self._drop(self._take(len(batch)), f"{type(error).__name__} while writing")
        else:
            self._take(len(batch))
            self._drop(len(batch) - len(rows), "a trace could not be encoded")
            self._drop(refused, "a trace holds what the database cannot")
            if self._away or (self._in_burst and lost == self._lost_before == self.dropped):
                self._away = self._in_burst = False
                _log().info("traces_stored_again", dropped=self.dropped)
        self._lost_before = self.dropped

    def _take(self, count: int | None = None) -> int:
        """Take so many of the oldest, or all, out of the queue and return how many there were."""
        with self._lock:
            count = len(self._waiting) if count is None else min(count, len(self._waiting))
            for _ in range(count):
                self._characters -= self._waiting.popleft()[1]
            self._under_way = 0
        return count

    def _row(self, trace: Trace) -> Row | None:
        try:
            kept = redact(trace) if self._store == "redacted" else trace
            body = trace_file.encode(kept)
        except Exception:  # a trace of some odd shape must not cost the others of its batch
            return None
        return Row(kept.turn_id, kept.conversation_id, kept.started, kept.chatbot, kept.outcome, body)

    def _expire(self) -> bool:
        try:
            self._writer.expire(time.time() - self._days * 86_400)
        except Unreachable as error:
            self._wait(str(error))
            return False
        except Exception as error:
            known = isinstance(error, OSError | sqlite3.Error | TraceError)
            said = str(error) if known else type(error).__name__
            _log().warning("traces_not_purged", place=str(self._place), error=said, days=self._days)
        return True

    def _wait(self, why: str) -> None:
        first, self._away = not self._away, True
        if first:
            _log().warning("traces_wait", place=str(self._place), reason=why)

    def _drop(self, count: int, why: str) -> None:
        if not count:
            return
        with self._lock:
            self.dropped += count
            first, self._in_burst = not self._in_burst, True
        if first:  # a line for each would bury the log
            _log().warning("traces_dropped", place=str(self._place), reason=why, dropped=self.dropped)


def _writer(place: Place) -> Writer:
    if isinstance(place, Database):
        from proxy.traces.database import DatabaseWriter  # a library that most proxies do without

        return DatabaseWriter(place)
    return trace_file.FileWriter(place)


def _log() -> Any:
    import structlog  # here, because it takes 0.1 s to import and `caf trace` has no use for it

    return structlog.get_logger("caf.traces")
