"""Several processes that serve one port: `caf serve --workers N` starts them, keeps them running and stops them.

Each binds the port itself (SO_REUSEPORT), so the kernel spreads connections and nothing is handed over. They share what the
configuration puts into Redis, and nothing else.
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import typer

from proxy.config import Config, ConfigError
from proxy.telemetry.worker_metrics import worker_gone

WORKER_ENV = "CAF_WORKER"
"""Set in a worker to its number."""
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


@dataclass(slots=True)
class Crew:
    """The workers of one proxy."""

    command: Sequence[str]
    """What each is started with; its port is not 0."""
    number: int
    _running: dict[int, tuple[subprocess.Popen[bytes], float]] = field(default_factory=dict)
    _stopping: bool = False

    def run(self) -> None:
        """Start the workers, and keep as many running until a signal says stop; then wait for them."""
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, self._stop)
        if hasattr(signal, "SIGHUP"):
            signal.signal(signal.SIGHUP, self._pass_on)
        for one in range(self.number):
            self._start(one)
        while self._running:
            time.sleep(0.05)
            for one, (process, started) in list(self._running.items()):
                if process.poll() is None:
                    continue
                del self._running[one]
                worker_gone(process.pid)
                if self._stopping:
                    continue
                typer.echo(f"worker {one} ended with {process.returncode}; starting it again", err=True)
                if time.monotonic() - started < STEADY_S:
                    time.sleep(PAUSE_S)
                if not self._stopping:
                    self._start(one)

    def _start(self, one: int) -> None:
        # It reads its standard input, whose other end is here: if this process is killed, the pipe closes, and it stops.
        process = subprocess.Popen(
            self.command, stdin=subprocess.PIPE, env=os.environ | {WORKER_ENV: str(one)}, start_new_session=True
        )
        self._running[one] = (process, time.monotonic())

    def _stop(self, number: int, frame: object) -> None:
        self._stopping = True
        self._pass_on(signal.SIGTERM, frame)

    def _pass_on(self, number: int, frame: object) -> None:
        for process, _ in self._running.values():
            if process.poll() is None:
                process.send_signal(number)


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


def end_with_parent() -> None:
    """Stop this worker when whoever started it is gone."""

    def watch() -> None:
        while sys.stdin.buffer.read(1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, name="parent", daemon=True).start()
