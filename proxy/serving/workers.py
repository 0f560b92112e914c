"""Runs several worker processes that serve one port, for `caf serve --workers N`: starts, restarts and stops them.

Each worker binds the port itself (SO_REUSEPORT), so the kernel spreads the connections. The workers share only what the
configuration stores in Redis.

gunicorn 27.0 with aiohttp's worker class was rejected. A test with two workers and 16 busy clients showed:

* A reload replaces the processes: 32 of 1,219 requests on open connections failed. Here 0 of 1,612 requests failed.
* A worker that cannot start, because the file is invalid by then, stops all others (exit code 3). Here the others keep serving.
* The worker class takes an application, not our server: connections have no limits (`connections.py`), and are reset when a worker
  stops (`front.py`).
"""

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import structlog

from proxy.config.config import Config, ConfigError
from proxy.telemetry.worker_metrics import forget_worker

log = structlog.get_logger()

WORKER_ENV = "CAF_WORKER"
"""Environment variable with the number of a worker."""
JOINING_ENV = "CAF_WORKER_JOINS"
"""Environment variable that is set for a worker that starts while others serve."""
LINK = 0
"""File descriptor of a worker's standard input: a socket to the supervisor."""
STEADY_S = 5.0
"""Seconds after which a worker counts as stable: if it ends later, it restarts at once, otherwise after `PAUSE_S`."""
PAUSE_S = 1.0
POLL_S = 0.05


def check(config: Config, workers: int) -> None:
    """Check that several workers can run with a configuration.

    Raises:
        ConfigError: The system cannot share a port, or conversation state is not in Redis.
    """
    if not hasattr(socket, "SO_REUSEPORT"):
        raise ConfigError(
            ["--workers: this system has no SO_REUSEPORT, so processes cannot share a port; use one worker"]
        )
    if workers > 1 and config.memory.store != "redis":
        raise ConfigError(
            [
                "memory.store: with several workers, conversation state must be shared; set it to redis, or use one worker"
            ]
        )


@dataclass(frozen=True, slots=True)
class Worker:
    """A worker process, as its supervisor sees it."""

    process: subprocess.Popen[bytes]
    link: socket.socket
    """The supervisor's end of the socket pair that links both processes."""
    started: float
    """Monotonic clock, seconds."""

    def is_ready(self) -> bool:
        """Return whether the worker has just reported that it serves."""
        with suppress(OSError):  # no report yet, or the worker has ended
            return bool(self.link.recv(1))
        return False


@dataclass(slots=True)
class Supervisor:
    """Keeps the workers of one proxy running. The first one starts alone, so that its address or its errors are printed once."""

    command: Sequence[str]
    """Command line of each worker. Its port must not be 0."""
    count: int
    _workers: dict[int, Worker] = field(default_factory=dict)
    _serving: bool = False
    _stopping: bool = False

    def run(self) -> int:
        """Start the workers, restart those that end, and after SIGINT or SIGTERM wait until all have stopped.

        Returns:
            The exit code: that of the first worker if it failed before it served, else 0.
        """
        signal.signal(signal.SIGINT, self._stop)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGHUP, self._forward)
        self._start(0)
        while self._workers:
            time.sleep(POLL_S)
            if not self._serving and not self._stopping and self._workers[0].is_ready():
                self._serving = True
                for number in range(1, self.count):
                    self._start(number)
            for number, worker in list(self._workers.items()):
                code = worker.process.poll()
                if code is None:
                    continue
                self._remove(number)
                # A faulty configuration stays faulty, so a restart is useless. A signal (code below 0) may be an accident.
                if not self._serving and not self._stopping and code > 0:
                    return code
                if not self._stopping:
                    self._restart(number, worker, code)
        return 0

    def _start(self, number: int) -> None:
        # The worker reads from its link. If this process is killed, the link closes and the worker stops.
        own_end, worker_end = socket.socketpair()
        own_end.setblocking(False)
        variables = {WORKER_ENV: str(number)} | ({JOINING_ENV: "1"} if self._serving else {})
        with worker_end:
            process = subprocess.Popen(
                self.command, stdin=worker_end.fileno(), env=os.environ | variables, start_new_session=True
            )
        self._workers[number] = Worker(process, own_end, time.monotonic())
        if self._stopping:  # the signal arrived before the worker was in `_workers`
            process.terminate()

    def _remove(self, number: int) -> None:
        worker = self._workers.pop(number)
        worker.link.close()
        forget_worker(worker.process.pid)

    def _restart(self, number: int, worker: Worker, code: int) -> None:
        log.error("worker ended, starting it again", worker=number, code=code)
        if time.monotonic() - worker.started < STEADY_S:
            time.sleep(PAUSE_S)
        if not self._stopping:
            self._start(number)

    def _stop(self, _: int, frame: object) -> None:
        self._stopping = True
        self._forward(signal.SIGTERM, frame)

    def _forward(self, name: int, frame: object) -> None:
        for worker in self._workers.values():
            if worker.process.poll() is None:
                worker.process.send_signal(name)


def reserve(host: str, port: int) -> tuple[socket.socket, int]:
    """Bind a port without listening, to reserve a free port for the workers. Keep the socket open.

    Returns:
        The socket and its port.

    Raises:
        OSError: The address cannot be used.
    """
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    sock = socket.socket(kind, socket.SOCK_STREAM)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((host, port))
    except OSError:
        sock.close()
        raise
    return sock, int(sock.getsockname()[1])


def is_worker() -> bool:
    return WORKER_ENV in os.environ


def is_joining() -> bool:
    """Return whether this is a worker that started while others serve."""
    return JOINING_ENV in os.environ


def tell_parent() -> None:
    """Report to the supervisor that this worker serves."""
    with suppress(OSError):  # the supervisor has ended, which `end_with_parent` notices
        os.write(LINK, b"s")


def end_with_parent() -> None:
    """Stop this worker when the supervisor ends."""

    def watch() -> None:
        # Not through sys.stdin: its lock, held by this thread when the process ends, makes the interpreter abort.
        with suppress(OSError):
            while os.read(LINK, 1):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()
