"""Measures the latency of other clients, for `/healthz` and for an emergency text, before and during an attack.

Attacks are bounded in number and rate, come from a separate process, and never leave loopback.
"""

import multiprocessing
import socket
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.synchronize import Event
from typing import Any
from urllib.parse import urlsplit

import orjson

from bench.figures import Figures, median, percentile
from bench.processes import SHIPPED, Server

CRISIS = "I am going to kill myself tonight."
TIMEOUT_S = 10.0
"""Timeout of a request, in seconds. A missing answer counts with this latency."""
LONGEST_S = 60
"""Maximum duration of an attack, in seconds."""

Address = tuple[str, int]
Attack = Callable[[Address], None]
"""One step of an attack. The step is repeated until the attack ends."""


def address_of(server: Server) -> Address:
    parts = urlsplit(server.address)
    return str(parts.hostname), int(parts.port or 0)


def post(*lines: bytes, path: bytes = b"/v1/chat/completions", body: bytes = b"") -> bytes:
    """Return a POST request with the given header lines, which need not be valid."""
    return b"".join([b"POST %b HTTP/1.1\r\nHost: x\r\n" % path, *(line + b"\r\n" for line in lines), b"\r\n", body])


def chat(messages: list[dict[str, Any]], key: str = "") -> bytes:
    """Return a request for a chat completion."""
    body = orjson.dumps({"model": SHIPPED, "messages": messages})
    return post(b"Authorization: Bearer %b" % key.encode(), b"Content-Length: %d" % len(body), body=body)


def ask(address: Address, sent: bytes) -> bytes:
    """Send a request over a new connection, and return the answer; b"" without an answer."""
    answer = b""
    with suppress(OSError), socket.create_connection(address, timeout=TIMEOUT_S) as link:
        with suppress(OSError):  # the server may refuse it before it is sent completely
            link.sendall(sent)
        while part := link.recv(65536):
            answer += part
            head, mark, body = answer.partition(b"\r\n\r\n")
            lengths = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if mark and len(body) >= sum(lengths[:1]):
                break
    return answer


def measure_waits(server: Server, key: str, attacks: Mapping[str, Attack], rounds: int, times: int) -> Figures:
    """Measure the latency of other clients before and during each attack.

    Args:
        server: The attacked server.
        key: API key of the other clients.
        attacks: The attacks by name.
        rounds: Number of rounds of each attack.
        times: Number of probes before each round, and during each round.

    Returns:
        `ATTACK_healthz_ms` and `ATTACK_emergency_ms`: median latency during the attack. `..._p95_ms`, `..._p99_ms`: percentiles
        during the attack. `..._calm_p99_ms`: p99 before the attack. `..._ratio`: median during the attack divided by the median
        before it. `ATTACK_failures`: number of wrong or missing answers.
    """
    address = address_of(server)
    probes = {
        "healthz": (b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", b'"ok"'),
        "emergency": (chat([{"role": "user", "content": CRISIS}], key), b'"outcome":"emergency"'),
    }
    figures: Figures = {}
    for name, attack in attacks.items():
        calm, during = ({probe: list[float]() for probe in probes} for _ in range(2))
        failures = 0
        for number in range(rounds):
            print(f"attacks: {name}, round {number + 1}", file=sys.stderr, flush=True)
            failures += _probe(address, probes, times, calm)
            with _attack_from_another_process(attack, address):
                failures += _probe(address, probes, times, during)
        for probe in probes:
            figures[f"{name}_{probe}_ms"] = 1000 * median(during[probe])
            figures[f"{name}_{probe}_ratio"] = median(during[probe]) / median(calm[probe])
            figures[f"{name}_{probe}_p95_ms"] = 1000 * percentile(during[probe], 0.95)
            figures[f"{name}_{probe}_calm_p99_ms"] = 1000 * percentile(calm[probe], 0.99)
            figures[f"{name}_{probe}_p99_ms"] = 1000 * percentile(during[probe], 0.99)
        figures[f"{name}_failures"] = failures
    return figures


def _probe(address: Address, probes: dict[str, tuple[bytes, bytes]], times: int, took: dict[str, list[float]]) -> int:
    """Send each probe repeatedly, append latencies in seconds to `took`, and return the number of wrong answers."""
    failures = 0
    for _ in range(times):
        for name, (sent, expect) in probes.items():
            began = time.perf_counter()
            answered = expect in ask(address, sent)
            took[name].append(time.perf_counter() - began if answered else TIMEOUT_S)
            failures += not answered
        time.sleep(0.005)
    return failures


@contextmanager
def _attack_from_another_process(attack: Attack, address: Address) -> Iterator[None]:
    context = multiprocessing.get_context("spawn")
    started = context.Event()
    process = context.Process(target=_attack, args=(attack, address, started), daemon=True)
    process.start()
    if not started.wait(30):
        raise TimeoutError("starting an attack: the attacking process did not start within 30 s")
    time.sleep(1.2)  # a server may need this time to detect idle connections
    try:
        yield
    finally:
        process.kill()
        process.join()
        time.sleep(0.5)


def _attack(attack: Attack, address: Address, started: Event) -> None:
    started.set()  # before the first step, which may take longer than the parent waits for the start
    until = time.monotonic() + LONGEST_S
    while time.monotonic() < until:
        with suppress(OSError):
            attack(address)
