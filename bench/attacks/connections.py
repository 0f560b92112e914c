"""Attacks by clients without a valid key, which send bodies, hold connections, or guess keys.

The cost of a body is the server's CPU for its refusal, divided by the CPU for refusing a plain body of the same length.
"""

import os
import resource
import socket
import sys
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from bench.attacks.waits import Address, address_of, ask, measure_waits, post
from bench.figures import Figures
from bench.processes import Server, run_caf, shipped_config
from proxy.auth import keys

FILES = 1024
"""Maximum number of open files of the server (`ulimit -n`), a common default."""
HELD = 1_100
"""Number of connections that an attack holds open."""


def _gzip_bomb() -> bytes:
    """Return 1 GiB of spaces as 1 MB of gzip. One compressed block is repeated, because compressing 1 GiB takes seconds."""
    stream = zlib.compressobj(9, wbits=31)
    first, again = (stream.compress(b" " * 2**20) + stream.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    return first + again * 1023


BOMB = _gzip_bomb()


def run(folder: Path, quick: bool) -> Figures:
    """Measure refused bodies and the attacks of ATTACKS on a real server.

    Args:
        folder: Folder for the server's files.
        quick: Whether to send only a third of the requests, in one round.
    """
    made = keys.create("bench")
    keys.save([made.record], folder / "keys.json")
    config = shipped_config(keys={"file": "keys.json"}, privacy={"store": "none"})
    with _limit_files(FILES), run_caf(config, folder) as server:
        figures = _measure_refusal_cpu(server, made.text, 100 if quick else 300)
        return figures | measure_waits(server, made.text, ATTACKS, 1 if quick else 3, 60 if quick else 150)


@contextmanager
def _limit_files(most: int) -> Iterator[None]:
    """Limit the open files of processes that are started within the block."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _measure_refusal_cpu(server: Server, key: str, times: int) -> Figures:
    """Return the server's CPU per refused body, in ms and in ns per byte, and the ratio to a plain body of the same length."""
    bearer = f"Authorization: Bearer {key}".encode()
    packed, length = b"Content-Encoding: gzip", b"Content-Length: %d" % len(BOMB)
    bodies = {
        "none": post(b"Content-Length: 0"),
        "plain": post(length, body=b" " * len(BOMB)),
        "bomb_no_route": post(packed, length, path=b"/nope", body=BOMB),
        "bomb_no_key": post(packed, length, body=BOMB),
        "oversize": post(bearer, packed, b"Content-Length: 99999999999", body=BOMB),
        "chunks": post(b"Transfer-Encoding: chunked", body=b"1\r\n \r\n" * (len(BOMB) // 6)),
    }
    figures: Figures = {}
    for name, sent in bodies.items():
        print(f"attacks: {name}, {times} refused requests", file=sys.stderr, flush=True)
        ask(address_of(server), sent)
        before = server.settled_cpu_s()
        for _ in range(times):
            ask(address_of(server), sent)
        used = (server.settled_cpu_s() - before) / times
        figures |= {f"refused_{name}_cpu_ms": 1e3 * used, f"refused_{name}_ns_per_byte": 1e9 * used / len(sent)}
    for name in ("bomb_no_route", "bomb_no_key", "oversize"):
        figures[f"refused_{name}_ratio"] = figures[f"refused_{name}_cpu_ms"] / figures["refused_plain_cpu_ms"]
    return figures


def _send_bombs(address: Address) -> None:
    """Send a gzip bomb to an unknown route without a key; called forty times a second."""
    ask(address, post(b"Content-Encoding: gzip", b"Content-Length: %d" % len(BOMB), path=b"/nope", body=BOMB))
    time.sleep(0.025)


def _guess_keys(address: Address) -> None:
    """Guess a key; called a hundred times a second."""
    guess = os.urandom(22).hex()[:43].encode()
    ask(address, post(b"Authorization: Bearer caf-00000000-" + guess, b"Content-Length: 0"))
    time.sleep(0.01)


_held: list[socket.socket] = []


def _hold_connections(sent: bytes, address: Address) -> None:
    """Hold HELD connections with incomplete requests, and replace closed connections."""
    with suppress(ValueError):  # the hard limit may be lower: then the attack holds fewer connections
        resource.setrlimit(resource.RLIMIT_NOFILE, (HELD + 100, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
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


ATTACKS = {
    "bombs": _send_bombs,
    "guesses": _guess_keys,
    "half_heads": partial(_hold_connections, b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\n"),
    "half_bodies": partial(_hold_connections, post(b"Content-Length: 1000", body=b"{")),
}
