"""Clients without a valid key that send bodies, hold connections, or guess keys.

Costs: what the server's CPU does for a body that it refuses, against a plain one of the same length that it refuses.
Waits: how long others wait for `/healthz` and for the text of an emergency, over connections of their own, while an attack goes on,
against before and after. Attacks are bounded in number and rate, come from a process of their own, and never leave loopback.
"""

import multiprocessing
import os
import resource
import socket
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.synchronize import Event
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import yaml

from bench.figures import Figures, percentile
from bench.processes import ROOT, Server, cores, run_server
from bench.setting import SHIPPED
from proxy.tenants import keys

FILES = 1024
"""`ulimit -n` of the server, as many systems have it."""


def _gzip_bomb() -> bytes:
    """Return a GiB of blanks in one MB of gzip: the same block again and again, since compressing them all would take seconds."""
    stream = zlib.compressobj(9, wbits=31)
    first, again = (stream.compress(b" " * 2**20) + stream.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * 1023


BOMB = _gzip_bomb()
CHUNKS = b"1\r\n \r\n" * (len(BOMB) // 6)
HOST = b"Host: x\r\n"
HALF_HEAD = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST
TIMEOUT_S = 10.0
"""How long an answer is waited for; whoever gets none has waited so long."""
HELD = 1_100
"""Connections that an attack holds."""

Address = tuple[str, int]


def run(folder: Path, quick: bool) -> Figures:
    """Start `caf serve` and measure.

    Args:
        folder: For its files.
        quick: A third of the requests, one round.
    """
    made = keys.create("bench")
    keys.save([made.record], folder / "keys.json")
    (folder / "config.yaml").write_text(yaml.safe_dump(_configuration()))
    with _raise_file_limit(FILES), _run_server(folder) as server:
        parts = urlsplit(server.address)
        address = (str(parts.hostname), int(parts.port or 0))
        figures = _measure_refusal_cpu(server, address, made.text, 100 if quick else 300)
        return figures | _measure_waits(address, made.text, 1 if quick else 3, 60 if quick else 150)


def _configuration() -> dict[str, object]:
    config: dict[str, object] = yaml.safe_load((ROOT / "config.yaml").read_text())
    bot = config["chatbots"][SHIPPED]  # type: ignore[index]
    bot |= {name: str(ROOT / bot[name]) for name in ("role", "knowledge_base")}
    return config | {"chatbots": {SHIPPED: bot}, "keys": {"file": "keys.json"}, "privacy": {"store": "none"}}


@contextmanager
def _run_server(folder: Path) -> Iterator[Server]:
    arguments = ["-m", "cli", "serve", "--config", str(folder / "config.yaml"), "--port", "0"]
    with run_server(arguments, cores()[1], folder / "caf.log", "CAF serves") as server:
        yield server


@contextmanager
def _raise_file_limit(most: int) -> Iterator[None]:
    """Raise the limit of open files for processes started within the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def post(*lines: bytes, path: bytes = b"/v1/chat/completions", body: bytes = b"") -> bytes:
    return b"".join([b"POST %b HTTP/1.1\r\n" % path, HOST, *(line + b"\r\n" for line in lines), b"\r\n", body])


def _measure_refusal_cpu(server: Server, address: Address, key: str, times: int) -> Figures:
    """Return the server's CPU for refused bodies, against plain refused bodies of the same length."""
    bearer = f"Authorization: Bearer {key}".encode()
    packed, length = b"Content-Encoding: gzip", b"Content-Length: %d" % len(BOMB)
    bodies = {
        "none": post(b"Content-Length: 0"),
        "plain": post(length, body=b" " * len(BOMB)),
        "bomb_no_route": post(packed, length, path=b"/nope", body=BOMB),
        "bomb_no_key": post(packed, length, body=BOMB),
        "oversize": post(bearer, packed, b"Content-Length: 99999999999", body=BOMB),
        "chunks": post(b"Transfer-Encoding: chunked", body=CHUNKS),
    }
    figures: Figures = {}
    for name, sent in bodies.items():
        _print_step(f"{name}: {times} refused requests")
        ask(address, sent)
        before = server.settled_cpu_s()
        for _ in range(times):
            ask(address, sent)
        used = (server.settled_cpu_s() - before) / times
        figures |= {f"refused_{name}_cpu_ms": 1e3 * used, f"refused_{name}_ns_per_byte": 1e9 * used / len(sent)}
    for name in ("bomb_no_route", "bomb_no_key", "oversize"):
        figures[f"refused_{name}_ratio"] = figures[f"refused_{name}_cpu_ms"] / figures["refused_plain_cpu_ms"]
    return figures


def _measure_waits(address: Address, key: str, rounds: int, times: int) -> Figures:
    """Return other clients' latency under each attack, against that without attack."""
    body = orjson.dumps(
        {"model": SHIPPED, "messages": [{"role": "user", "content": "I am going to kill myself tonight."}]}
    )
    bearer = f"Authorization: Bearer {key}".encode()
    probes = {
        "healthz": (b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n", b'"ok"'),
        "emergency": (post(bearer, b"Content-Length: %d" % len(body), body=body), b'"outcome":"emergency"'),
    }
    figures: Figures = {}
    for attack in ATTACKS:
        calm: dict[str, list[float]] = {name: [] for name in probes}
        under: dict[str, list[float]] = {name: [] for name in probes}
        failures = 0
        for _ in range(rounds):
            _print_step(f"{attack}: a round")
            failures += _probe(address, probes, times, calm)
            with _attack_from_another_process(attack, address):
                failures += _probe(address, probes, times, under)
        for name in probes:
            figures[f"{attack}_{name}_ms"] = 1000 * statistics.median(under[name])
            figures[f"{attack}_{name}_ratio"] = statistics.median(under[name]) / statistics.median(calm[name])
            figures[f"{attack}_{name}_p95_ms"] = 1000 * percentile(under[name], 0.95)
        figures[f"{attack}_failures"] = failures
    return figures


def _probe(address: Address, probes: dict[str, tuple[bytes, bytes]], times: int, took: dict[str, list[float]]) -> int:
    """Send each probe so many times, append latencies in seconds to `took`, and return the number of wrong answers."""
    failures = 0
    for _ in range(times):
        for name, (sent, expect) in probes.items():
            began = time.perf_counter()
            answered = expect in ask(address, sent)
            took[name].append(time.perf_counter() - began if answered else TIMEOUT_S)
            failures += not answered
        time.sleep(0.005)
    return failures


def ask(address: Address, sent: bytes) -> bytes:
    """Send a request over a new connection and return its answer, empty if there is none."""
    answer = b""
    with suppress(OSError), socket.create_connection(address, timeout=TIMEOUT_S) as link:
        with suppress(OSError):  # it may be refused before it is sent to its end
            link.sendall(sent)
        while part := link.recv(65536):
            answer += part
            head, mark, body = answer.partition(b"\r\n\r\n")
            length = next(
                (int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")), 0
            )
            if mark and len(body) >= length:
                break
    return answer


def _send_bombs(address: Address) -> None:
    """Send a bomb forty times a second, to no route and without a key."""
    ask(address, post(b"Content-Encoding: gzip", b"Content-Length: %d" % len(BOMB), path=b"/nope", body=BOMB))
    time.sleep(0.025)


def _guess_keys(address: Address) -> None:
    """Guess a key a hundred times a second."""
    ask(
        address, post(b"Authorization: Bearer caf-00000000-" + os.urandom(22).hex()[:43].encode(), b"Content-Length: 0")
    )
    time.sleep(0.01)


_held: list[socket.socket] = []


def _hold_connections(sent: bytes) -> Callable[[Address], None]:
    def hold(address: Address) -> None:
        """Hold many connections with the beginning of a request, and open new ones for those that are closed."""
        while len(_held) < HELD:
            with suppress(OSError):
                _held.append(socket.create_connection(address, timeout=5))
                _held[-1].sendall(sent)
        for link in list(_held[:100]):  # the oldest hundred
            with suppress(BlockingIOError):
                try:
                    over = link.recv(4096, socket.MSG_DONTWAIT) is not None
                except ConnectionError:
                    over = True
                if over:
                    _held.remove(link)
                    link.close()
        _held.append(_held.pop(0))
        time.sleep(0.5)

    return hold


ATTACKS = {
    "bombs": _send_bombs,
    "guesses": _guess_keys,
    "half_heads": _hold_connections(HALF_HEAD),
    "half_bodies": _hold_connections(post(b"Content-Length: 1000", body=b"{")),
}


@contextmanager
def _attack_from_another_process(name: str, address: Address) -> Iterator[None]:
    """Attack from another process until the block is left, 60 s at most."""
    context = multiprocessing.get_context("spawn")
    started_event = context.Event()
    process = context.Process(target=_attack, args=(name, address, started_event), daemon=True)
    process.start()
    if not started_event.wait(30):
        raise TimeoutError(f"{name} did not begin")
    time.sleep(1.2)  # that a server may take to see what is idle
    try:
        yield
    finally:
        process.kill()
        process.join()
        time.sleep(0.5)


def _attack(name: str, address: Address, started_event: Event) -> None:
    with suppress(ValueError):  # more than this process may have: then it holds fewer
        resource.setrlimit(resource.RLIMIT_NOFILE, (HELD + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    until = time.monotonic() + 60
    while time.monotonic() < until:
        with suppress(OSError):
            ATTACKS[name](address)
        started_event.set()


def _print_step(what: str) -> None:
    print(f"attacks: {what}", file=sys.stderr, flush=True)
