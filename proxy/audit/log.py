"""Writes the audit log: tamper-evident chains of what the proxy did (`chain.py`).

The log holds random ids, times and outcomes. It holds no text, no user, no secret, and no conversation id, which a client may have
chosen. A turn's id leads to its trace while that exists. So erasing a conversation needs no edit of the log.

`records.py` defines the records. They go into a bounded queue, and one thread writes them. Records lost to a full queue or a
failing disk are counted (`dropped`). When the chain is writable again, it gets a `gap` record.
"""

import errno
import os
import secrets
import threading
import time
from collections import deque
from contextlib import suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from proxy.audit.chain import FORMAT, GENESIS, chain_file_name, write_line
from proxy.audit.folder import chain_files, last_head
from proxy.config.config import ConfigError

MAX_QUEUED = 10_000
"""Maximum records in the queue: some megabytes."""
MAX_BATCH = 1_000
"""Maximum records in one write."""
BATCH_DELAY_S = 0.05
"""Delay before a write, to collect more records."""
SYNC_S = 1.0
"""Interval of fsync with `sync: second`."""
RETRY_S = 1.0
LINKED_CHAINS = 8
"""Number of earlier chains whose last lines a new chain names."""

QueuedRecord = tuple[float, dict[str, Any]]


class AuditLog:
    """The chain of this process. `record` takes a few microseconds and never fails a request."""

    def __init__(self, folder: Path, sync: Literal["turn", "second"]) -> None:
        self._folder, self._sync = folder, sync
        # The event loop appends and the writer thread removes: no lock is needed.
        self._queue: deque[QueuedRecord] = deque()
        self._batch: list[QueuedRecord] = []
        self._wake, self._closing = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._file = -1
        self._size, self._seq, self._prev = 0, 0, GENESIS
        self._unsynced, self._synced_at = False, 0.0
        self._failing = False
        self._lost_in_queue, self._lost_at_disk, self._lost_reported = 0, 0, 0

    @property
    def dropped(self) -> int:
        """Records lost to a full queue or a failing disk since the start."""
        return self._lost_in_queue + self._lost_at_disk

    def start(self) -> None:
        """Begin a chain and start the writer thread.

        Raises:
            ConfigError: The folder is not writable.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._open()
        except OSError as error:
            raise ConfigError(
                [
                    f"audit.folder: {self._folder} cannot be used ({error.strerror}); name a folder that the proxy can write to"
                ]
            ) from error
        self._thread = threading.Thread(target=self._run, name="audit", daemon=True)
        self._thread.start()

    def record(self, event: str, **fields: Any) -> None:
        """Queue a record. Its values must be ids, names from the configuration, numbers and codes."""
        if len(self._queue) >= MAX_QUEUED or self._closing.is_set():
            self._lost_in_queue += 1
            return
        self._queue.append((time.time(), {"event": event, **fields}))
        self._wake.set()

    def close(self, timeout_s: float = 5.0) -> None:
        """Write the queued records and the closing record. Blocks for at most `timeout_s` seconds."""
        self._closing.set()
        self._wake.set()
        if self._thread is None:
            return
        self._thread.join(timeout_s)
        lost = len(self._queue) + len(self._batch)
        if lost or self._thread.is_alive():
            self._lost_at_disk += lost
            _log().error("audit not closed", folder=str(self._folder), dropped=self.dropped)
        self._thread = None

    # The writer

    def _run(self) -> None:
        while True:
            self._wake.wait(self._wait_s())
            if not self._closing.is_set():
                self._closing.wait(RETRY_S if self._failing else BATCH_DELAY_S)
            self._wake.clear()
            done = self._closing.is_set()
            try:
                self._write(last=done)
            except OSError as error:
                self._log_failure(error)
            except Exception as error:  # a malformed record must not stop later ones
                self._lost_at_disk += len(self._batch)
                self._batch.clear()
                self._log_failure(error)
            if done:
                break
        if self._file >= 0:
            with suppress(OSError):
                os.close(self._file)  # releases the lock

    def _wait_s(self) -> float | None:
        """Return the seconds until the next retry or fsync; None: nothing is scheduled."""
        if self._failing or self._batch:
            return RETRY_S
        return max(0.0, self._synced_at + SYNC_S - time.monotonic()) if self._unsynced else None

    def _write(self, *, last: bool) -> None:
        self._reopen_if_deleted()
        more = True
        while more:
            while self._queue and len(self._batch) < MAX_BATCH:
                self._batch.append(self._queue.popleft())
            more, dropped = bool(self._queue), self.dropped
            records = [{"at": utc_timestamp(at), **record} for at, record in self._batch]
            if dropped > self._lost_reported:
                records.append(
                    {"at": utc_timestamp(time.time()), "event": "gap", "lost": dropped - self._lost_reported}
                )
            if last and not more:
                records.append({"at": utc_timestamp(time.time()), "event": "close"})
            self._append(records)
            self._batch.clear()
            self._lost_reported = dropped
        if self._unsynced and (last or self._sync == "turn" or time.monotonic() >= self._synced_at + SYNC_S):
            os.fsync(self._file)
            self._unsynced, self._synced_at = False, time.monotonic()
        if self._failing:
            self._failing = False
            _log().info("audit written again", folder=str(self._folder), dropped=self.dropped)

    def _reopen_if_deleted(self) -> None:
        """Begin a new chain if the file was deleted."""
        if self._file >= 0 and os.fstat(self._file).st_nlink == 0:
            self._lost_at_disk += self._seq
            os.close(self._file)
            self._file = -1
        if self._file < 0:
            self._open()

    def _append(self, records: list[dict[str, Any]]) -> None:
        """Write the records, all or none.

        Raises:
            OSError: The records could not be written.
        """
        seq, prev, lines = self._seq, self._prev, bytearray()
        for record in records:
            line, prev = write_line(record, seq, prev)
            seq += 1
            lines += line
        if not lines:
            return
        if os.fstat(self._file).st_size > self._size:  # a partial line, left by a full disk
            os.ftruncate(self._file, self._size)
        written = os.write(self._file, lines)
        if written < len(lines):
            os.ftruncate(self._file, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += written
        self._seq, self._prev, self._unsynced = seq, prev, True

    def _open(self) -> None:
        """Begin a chain. The file gets its name only after its first line is written."""
        before = [head for path in reversed(chain_files(self._folder)[-LINKED_CHAINS:]) if (head := last_head(path))]
        chain, at = secrets.token_hex(16), utc_timestamp(time.time())
        first = {
            "event": "start", "format": FORMAT, "chain": chain, "at": at, "pid": os.getpid(),
            "before": [asdict(head) for head in before],
        }  # fmt: skip
        target = self._folder / chain_file_name(at, chain)
        new = target.with_name(f".{target.name}.new")
        self._file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        self._size, self._seq, self._prev = 0, 0, GENESIS
        try:
            _lock(self._file)
            self._append([first])
            os.fsync(self._file)
            new.rename(target)
            _sync_folder(self._folder)
        except BaseException:
            os.close(self._file)
            self._file = -1
            new.unlink(missing_ok=True)
            raise
        self._unsynced, self._synced_at = False, time.monotonic()

    def _log_failure(self, error: Exception) -> None:
        if not self._failing:  # log only the first failure: one line each would flood the log
            self._failing = True
            reason = getattr(error, "strerror", None) or type(error).__name__
            _log().error("audit cannot be written", folder=str(self._folder), error=reason)


def utc_timestamp(seconds: float) -> str:
    """Format a Unix time in seconds as ISO 8601 UTC with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _lock(file: int) -> None:
    """Lock the file while this process lives, so that `caf audit verify` can tell a running chain from a crashed one."""
    with suppress(ImportError, OSError):  # Windows, or a file system without locks
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _sync_folder(folder: Path) -> None:
    with suppress(OSError):  # not supported on Windows
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


def _log() -> Any:
    import structlog  # imported late: it takes 0.1 s, and `caf audit` does not need it

    return structlog.get_logger("caf.audit")
