"""Where a run takes place: keys, configuration, Redis, the upstream and `caf serve --workers`, all in one temporary folder."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from bench.crowd.guest import MODEL
from bench.processes import LONGEST_START_S, PROC, Server, ServerFailed, started
from bench.setting import configuration
from proxy.tenants import keys

KEYS = 6
LIMITS = {"requests_per_minute": 1_000_000, "tokens_per_minute": 10**10, "daily_budget": 10**6, "max_concurrent": 1_000}
"""Each is counted for every request, and none is reached."""
PRICE = {"input": 2.0, "output": 8.0}

_LISTENING = "0A"
"""Of a socket, in /proc/net/tcp."""


@dataclass(slots=True)
class Scene:
    """What is running."""

    folder: Path
    keys: list[str]
    key_ids: list[str]
    admin: str
    """The key that the metrics are asked for with."""
    redis: str
    redis_pid: int
    caf: Server

    @property
    def url(self) -> str:
        return f"{self.caf.address}/v1/chat/completions"

    @property
    def traces(self) -> Path:
        return self.folder / "traces.db"


@contextmanager
def scene(folder: Path, workers: int) -> Iterator[Scene]:
    """Run everything until the block is left.

    Raises:
        ServerFailed: Something did not start.
    """
    os.environ.setdefault("CAF_BENCH_KEY", "sk-bench-upstream")
    made = [keys.create(f"crowd {n}", **LIMITS) for n in range(KEYS)]
    admin = keys.create("metrics", ("admin",))
    keys.save([one.record for one in (*made, admin)], folder / "keys.json")
    with ExitStack() as stack:
        address, pid = stack.enter_context(_redis(folder))
        upstream = stack.enter_context(started(["-m", "bench.crowd.upstream"], set(), folder / "upstream.log"))
        (folder / "config.yaml").write_bytes(orjson.dumps(_configuration(upstream.address, folder, address)))
        serve = [
            "-m",
            "cli",
            "serve",
            "--config",
            str(folder / "config.yaml"),
            "--port",
            "0",
            "--workers",
            str(workers),
        ]
        caf = stack.enter_context(started(serve, set(), folder / "caf.log", "CAF serves"))
        _all_listen(caf, workers)
        yield Scene(folder, [one.text for one in made], [one.record.id for one in made], admin.text, address, pid, caf)


def _all_listen(caf: Server, workers: int) -> None:
    """Wait for the workers, which begin to listen after the proxy has said where."""
    port, deadline = int(caf.address.rpartition(":")[2]), time.monotonic() + LONGEST_START_S
    while True:
        rows = [line.split() for line in (PROC / "net" / "tcp").read_text().splitlines()[1:]]
        if sum(row[1].endswith(f":{port:04X}") and row[3] == _LISTENING for row in rows) >= workers:
            return
        if caf.process.poll() is not None or time.monotonic() > deadline:
            raise ServerFailed(f"not all of {workers} workers came to listen on {caf.address}")
        time.sleep(0.05)


def _configuration(upstream: str, folder: Path, redis: str) -> dict[str, object]:
    """Return the shipped configuration as it would be put in production."""
    config = configuration(upstream, folder)
    config["models"]["mock"]["price"] = PRICE
    config["chatbots"] = {MODEL: config["chatbots"]["on"]}
    return config | {
        "keys": {"file": str(folder / "keys.json")},
        "memory": {"store": "redis", "url": redis},
        "audit": {"folder": str(folder / "audit")},
    }


@contextmanager
def _redis(folder: Path) -> Iterator[tuple[str, int]]:
    """Run a Redis server on a socket in the folder, and return its address and process id."""
    program = shutil.which("redis-server")
    if program is None:
        raise ServerFailed("there is no redis-server; install it: apt-get install redis-server")
    socket = folder / "redis.sock"
    options = ["--port", "0", "--unixsocket", str(socket), "--dir", str(folder), "--save", ""]
    process = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while not socket.exists():
            if process.poll() is not None or time.monotonic() > deadline:
                raise ServerFailed(f"redis-server did not start; try {program} {' '.join(options)}")
            time.sleep(0.02)
        yield f"unix://{socket}", process.pid
    finally:
        process.terminate()
        process.wait()
