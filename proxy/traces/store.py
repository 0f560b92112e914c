"""Stores traces while the proxy runs. A thread writes them in batches from a bounded queue to a file or a database.

Traces may describe people's crises. `privacy.store` decides whether they hold texts, and after `privacy.days` they are deleted.
"""

import asyncio
import math
import sqlite3
import threading
import time
from collections import deque
from contextlib import suppress
from typing import Any, Literal

from proxy.traces import sqlite as trace_file
from proxy.traces.backend import Database, Row, TraceBackend, TraceError, Unreachable, Writer
from proxy.traces.facts import derive_facts, emergency_kind
from proxy.traces.redaction import redact
from proxy.traces.trace import Trace

MOST_WAITING = 1_000
"""Maximum traces in the queue: a hanging disk must not fill the memory."""
MOST_CHARACTERS = 32_000_000
"""Maximum characters of queued texts, or bytes of the rows made from them, for the same reason."""
BATCH_S = 0.2
"""Delay before a commit, to collect more traces."""
ENOUGH = 8
"""This many queued traces are encoded at once, because a trace takes about 30 KB and its row 1.5 KB. The commit still waits: with
many rows it writes a third of the pages per row."""
PURGE_EVERY_S = 3_600.0
INDEXED_AT_ONCE = 20
INDEX_EVERY_S = 0.05
"""Batch size and interval for deriving the facts of turns of an older caf: about 300 turns/s, for a seventh of a core."""
FLUSH_S = 5.0
"""Maximum seconds that a reply waits for its trace, with `privacy.sync: turn`."""
RETRY_S = 1.0
"""Seconds before a database that did not answer is tried again."""


class TraceStore:
    """Stores the traces of a running proxy. `record` takes a few microseconds and never fails a request."""

    def __init__(
        self, backend: TraceBackend, store: Literal["full", "redacted", "none"], days: float, *, sync: bool = False
    ) -> None:
        self._backend, self._store, self._days = backend, store, days
        self.sync = sync and store != "none"
        """Whether `flush` waits for the disk, and commits do not wait for more traces."""
        self._flushing: list[asyncio.Future[None]] = []
        self._waiting: deque[tuple[Trace, int]] = deque()
        self._characters = 0
        self._rows: list[Row] = []
        """Encoded traces that are not written yet. Only the writer thread adds to it."""
        self._lock = threading.Lock()
        self._arrived, self._enough, self._closing = threading.Event(), threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._writer = _writer(backend, sync=sync)
        self._away = False
        """Whether the database did not answer the last request."""
        self._in_burst = False
        self._lost_before = 0
        self.dropped = 0
        """Traces lost to a full queue, a failing disk or a lasting outage of the database since the start."""

    def start(self) -> None:
        """Open the backend and start the writer thread. With `none`, nothing is written, but existing traces still expire.

        A database that does not answer does not prevent the start: this call blocks for seconds, then the writer tries again.

        Raises:
            TraceError: The file or its folder cannot be created or opened, or the backend holds other data.
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
        """Queue the trace of a finished turn. The trace must not change any more."""
        if self._store == "none":
            return
        size = len(trace.user_message) + sum(len(attempt.text) for attempt in trace.attempts)
        with self._lock:
            reason = self._refusal(size)
            if reason is None:
                self._waiting.append((trace, size))
                self._characters += size
        if reason is not None:
            self._drop(1, reason)
        elif not self._arrived.is_set():
            self._arrived.set()
        elif len(self._waiting) >= ENOUGH and not self._enough.is_set():
            self._enough.set()

    async def flush(self) -> None:
        """With `sync`, wait until all recorded traces are on disk, unless the backend does not answer."""
        if not self.sync or self._away or self._thread is None or self._closing.is_set():
            return
        flushed = asyncio.get_running_loop().create_future()
        with self._lock:
            self._flushing.append(flushed)
        self._arrived.set()
        try:
            async with asyncio.timeout(FLUSH_S):
                await flushed
        except TimeoutError:
            _log().error("reply_before_its_trace", place=str(self._backend), waited_s=FLUSH_S)

    def waits_for(self, conversation_id: str) -> bool:
        """Return whether a turn of this conversation is not written yet."""
        with self._lock:
            rows = [row.conversation_id for row in self._rows]
            return conversation_id in [*rows, *(trace.conversation_id for trace, _ in self._waiting)]

    def _refusal(self, size: int) -> str | None:
        if self._thread is None or self._closing.is_set():
            return "the store is not open"
        if len(self._waiting) + len(self._rows) >= MOST_WAITING or self._characters + size > MOST_CHARACTERS:
            return "the writer does not keep up"
        return None

    def close(self, timeout_s: float = 5.0) -> None:
        """Write the queued traces and close the backend. Blocks for at most `timeout_s` seconds."""
        for event in (self._closing, self._arrived, self._enough):
            event.set()
        if self._thread is not None:
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                self._drop(self._take(), "the writer did not finish in time")
            self._thread = None

    def _run(self) -> None:
        next_purge = 0.0
        index_at: float | None = None
        while True:
            pause = max(0.0, next_purge - time.monotonic())
            is_indexing = index_at is not None and not self._away
            self._arrived.wait(min(pause, INDEX_EVERY_S) if is_indexing else pause)
            if self._arrived.is_set():
                self._gather(RETRY_S if self._away else 0 if self.sync else BATCH_S)
            self._arrived.clear()
            done = self._closing.is_set()
            self._write()
            if time.monotonic() >= next_purge and not done:
                next_purge = time.monotonic() + (PURGE_EVERY_S if self._expire() else min(60.0, PURGE_EVERY_S))
                index_at = math.inf
            if done:
                break
            if index_at is not None and not self._away and not self._arrived.is_set():
                index_at = self._index(index_at)
            if self._waiting or self._rows:  # new traces, or ones that could not be written
                self._arrived.set()
        self._drop(self._take(), "the proxy stopped before they could be written")
        self._writer.close()

    def _gather(self, seconds: float) -> None:
        """Collect more traces for some seconds, and encode them as they come."""
        end = time.monotonic() + seconds
        while not self._closing.is_set() and self._enough.wait(max(0.0, end - time.monotonic())):
            self._enough.clear()
            self._encode()

    def _encode(self) -> None:
        """Convert the queued traces to rows. Until then they stay in the queue, and count against its limits."""
        with self._lock:
            fresh = list(self._waiting)
        rows = [row for trace, _ in fresh if (row := self._row(trace)) is not None]
        with self._lock:
            if len(fresh) > len(self._waiting):  # `close` has dropped them
                return
            for _ in fresh:
                self._characters -= self._waiting.popleft()[1]
            self._rows += rows
            self._characters += sum(row.size for row in rows)
        self._drop(len(fresh) - len(rows), "a trace could not be encoded")

    def _write(self) -> None:
        """Write the queue, and wake the `flush` calls that began before."""
        with self._lock:
            flushing, self._flushing = self._flushing, []
        try:
            self._write_queue()
        finally:
            for flushed in flushing:
                with suppress(RuntimeError):  # the event loop was closed
                    flushed.get_loop().call_soon_threadsafe(_settle, flushed)

    def _write_queue(self) -> None:
        """Write the queue. Rows leave it only when written or lost, so that its limits hold during an outage."""
        lost = self.dropped
        self._encode()
        if not self._rows:
            return
        try:
            self._writer.open()
            refused = self._writer.write(self._rows)
        except Unreachable as error:
            self._wait(str(error))
            return
        except Exception as error:  # the thread must keep running
            self._drop(self._take(rows=True), _describe(error))
        else:
            self._take(rows=True)
            self._drop(refused, "the database cannot store a value of a trace")
            if self._away or (self._in_burst and lost == self._lost_before == self.dropped):
                self._away = self._in_burst = False
                _log().info("traces_stored_again", dropped=self.dropped)
        self._lost_before = self.dropped

    def _take(self, *, rows: bool = False) -> int:
        """Remove everything from the queue, or only the rows, and return the number removed."""
        with self._lock:
            count = len(self._rows)
            self._characters -= sum(row.size for row in self._rows)
            self._rows = []
            while self._waiting and not rows:
                self._characters -= self._waiting.popleft()[1]
                count += 1
        return count

    def _row(self, trace: Trace) -> Row | None:
        try:
            entry = redact(trace) if self._store == "redacted" else trace
            body = trace_file.encode(entry)
        except Exception:  # a malformed trace must not lose the others of its batch
            return None
        row = Row(entry.turn_id, entry.conversation_id, entry.started, entry.chatbot, entry.outcome, body)
        try:
            return row._replace(facts=derive_facts(entry, emergency_kind(trace)))
        except Exception:  # a failure in its facts must not lose the trace
            return row

    def _expire(self) -> bool:
        try:
            self._writer.expire(time.time() - self._days * 86_400)
        except Unreachable as error:
            self._wait(str(error))
            return False
        except Exception as error:
            _log().warning("traces_not_purged", place=str(self._backend), error=_describe(error), days=self._days)
        return True

    def _index(self, at: float) -> float | None:
        """Derive facts of turns without facts, and return where to continue; None: no turn is left, or it failed."""
        try:
            return self._writer.index(at, INDEXED_AT_ONCE)
        except Unreachable as error:
            self._wait(str(error))
            return at
        except Exception as error:
            _log().warning("traces_not_indexed", place=str(self._backend), error=_describe(error))
        return None

    def _wait(self, reason: str) -> None:
        first, self._away = not self._away, True
        if first:
            _log().warning("traces_wait", place=str(self._backend), reason=reason)

    def _drop(self, count: int, reason: str) -> None:
        if not count:
            return
        with self._lock:
            self.dropped += count
            first, self._in_burst = not self._in_burst, True
        if first:  # log only the first of a series: one line each would flood the log
            _log().warning("traces_dropped", place=str(self._backend), reason=reason, dropped=self.dropped)


def _describe(error: Exception) -> str:
    """Return an error's message, or only its type if the message may quote a trace."""
    return str(error) if isinstance(error, OSError | sqlite3.Error | TraceError) else type(error).__name__


def _settle(flushed: asyncio.Future[None]) -> None:
    if not flushed.done():  # done: the client has disconnected
        flushed.set_result(None)


def _writer(backend: TraceBackend, *, sync: bool) -> Writer:
    if isinstance(backend, Database):
        from proxy.traces.postgresql import DatabaseWriter  # imported late: most proxies do not need its library

        return DatabaseWriter(backend, sync=sync)
    return trace_file.FileWriter(backend, sync=sync)


def _log() -> Any:
    import structlog  # imported late: it takes 0.1 s, and `caf trace` does not need it

    return structlog.get_logger("caf.traces")
