"""Several processes that serve one port: `caf serve --workers N` starts them, keeps them running and stops them.

Each binds the port itself (SO_REUSEPORT), so the kernel spreads connections and nothing is handed over. They share what the
configuration puts into Redis, and nothing else.
"""

import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from cli.terminal import USAGE
from models.errors import ModelSettingsError
from proxy.config.config import Config, ConfigError
from proxy.telemetry.logs import configure_logs
from proxy.telemetry.worker_metrics import worker_gone

log = structlog.get_logger()

WORKER_ENV = "CAF_WORKER"
"""Set in a worker to its number."""
JOINING_ENV = "CAF_WORKER_JOINS"
"""Set in a worker that is started while others serve."""
LINK = 0
"""A worker's standard input is a socket to whoever started it."""
STEADY_S = 5.0
"""A worker that ran so long and then died is started again at once; one that died sooner waits `PAUSE_S`."""
PAUSE_S = 1.0


def check(config: Config, workers: int) -> None:
    """Raises: ConfigError: several processes could not keep what this configuration keeps in one."""
    if not hasattr(socket, "SO_REUSEPORT"):
        raise ConfigError(["--workers: this system cannot share a port between processes (no SO_REUSEPORT)"])
    if workers > 1 and config.memory.store == "process":
        raise ConfigError(
            [
                "memory.store: with several workers the states of conversations must be shared; set it to redis, or use one worker"
            ]
        )


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that was started, and this end of its link."""

    process: subprocess.Popen[bytes]
    link: socket.socket
    started: float

    def serves(self) -> bool:
        """Tell whether it has just said that it serves."""
        with suppress(OSError):  # nothing said yet, or gone
            return bool(self.link.recv(1))
        return False


@dataclass(slots=True)
class Crew:
    """The workers of one proxy. The first one starts alone: what is served, or why it cannot be, is told once."""

    command: Sequence[str]
    """What each is started with; its port is not 0."""
    number: int
    _running: dict[int, Worker] = field(default_factory=dict)
    _serving: bool = False
    _stopping: bool = False

    def run(self) -> int:
        """Start the workers, and keep as many running until a signal says stop; then wait for them.

        Returns:
            An exit code: that of the first worker, if it failed before it served.
        """
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, self._stop)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, self._pass_on)
        self._start(0)
        while self._running:
            time.sleep(0.05)
            for one, worker in list(self._running.items()):
                if not self._serving and not self._stopping and worker.serves():
                    self._serving = True
                    for other in range(1, self.number):
                        self._start(other)
                code = worker.process.poll()
                if code is None:
                    continue
                del self._running[one]
                worker.link.close()
                worker_gone(worker.process.pid)
                if self._stopping:
                    continue
                if not self._serving and code > 0:  # it does not mend itself; a signal, which is below 0, may be chance
                    return code
                log.error("worker ended, starting it again", worker=one, code=code)
                if time.monotonic() - worker.started < STEADY_S:
                    time.sleep(PAUSE_S)
                if not self._stopping:
                    self._start(one)
        return 0

    def _start(self, one: int) -> None:
        # It reads from its link: if this process is killed, that is closed, and the worker stops.
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        variables = {WORKER_ENV: str(one)} | ({JOINING_ENV: "1"} if self._serving else {})
        with theirs:
            process = subprocess.Popen(
                self.command, stdin=theirs.fileno(), env=os.environ | variables, start_new_session=True
            )
        self._running[one] = Worker(process, ours, time.monotonic())
        if self._stopping:  # the signal came while it was not among those who are told
            process.terminate()

    def _stop(self, number: int, frame: object) -> None:
        self._stopping = True
        self._pass_on(signal.SIGTERM, frame)

    def _pass_on(self, number: int, frame: object) -> None:
        for worker in self._running.values():
            if worker.process.poll() is None:
                worker.process.send_signal(number)


def reserve(host: str, port: int) -> tuple[socket.socket, int]:
    """Bind a port without listening, so that workers can share one that was free; keep the socket open.

    Raises:
        OSError: The address cannot be used.
    """
    kind = socket.AF_INET6 if ":" in host else socket.AF_INET
    held = socket.socket(kind, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind((host, port))
    except OSError:
        held.close()
        raise
    return held, int(held.getsockname()[1])


def is_worker() -> bool:
    return WORKER_ENV in os.environ


def is_joining() -> bool:
    """Tell whether this is a worker that was started while others serve."""
    return JOINING_ENV in os.environ


@contextmanager
def logged_errors(config: Path, log_level: str) -> Iterator[None]:
    """Like `plain_errors`, for a worker that joins others: in the log that is being kept already."""
    try:
        yield
    except (ConfigError, ModelSettingsError) as error:
        configure_logs(log_level)
        problems = error.problems if isinstance(error, ConfigError) else [str(error)]
        log.error("worker cannot serve", path=str(config), problems=problems)
        raise SystemExit(USAGE) from None


def tell_parent() -> None:
    """Tell whoever started this worker that it serves."""
    with suppress(OSError):  # it is gone, which `end_with_parent` notices
        os.write(LINK, b"s")


def end_with_parent() -> None:
    """Stop this worker when whoever started it is gone."""

    def watch() -> None:
        # Not through sys.stdin: its lock, held by this thread when the process ends, makes the interpreter abort.
        with suppress(OSError):
            while os.read(LINK, 1):
                pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()
