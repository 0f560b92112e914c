"""The load generator: a closed loop with one request in flight on each keep-alive connection.

The generator uses raw asyncio protocols, so that it does not limit the measured throughput.
"""

import asyncio
import gc
import re
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import urlsplit

import orjson

USER = b"user-0000000"
"""Placeholder in request bodies, for `user` and for unique questions. Each conversation replaces it with another value."""
KEEP_EVERY = 50
"""One of this many responses is kept as a sample."""
_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding: *chunked", re.IGNORECASE)
_CLOSE = re.compile(rb"\r\nconnection: *close", re.IGNORECASE)
LAST_CHUNK = b"\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Request:
    """A request: the bytes before and after the first placeholder, and the bytes that the response must contain."""

    before: bytes
    after: bytes
    expect: bytes


def request(address: str, body: dict[str, object], expect: bytes, key: str = "sk-bench") -> Request:
    """Return an encoded chat completion request to a server.

    Args:
        address: The address of the server.
        body: The body of the request.
        expect: Bytes that the response must contain.
        key: The API key.
    """
    raw = orjson.dumps({**body, "user": USER.decode()})
    head = f"Content-Type: application/json\r\nAuthorization: Bearer {key}\r\n"
    start = f"POST /v1/chat/completions HTTP/1.1\r\nHost: {urlsplit(address).netloc}\r\n{head}"
    before, after = (f"{start}Content-Length: {len(raw)}\r\n\r\n".encode() + raw).split(USER, 1)
    return Request(before, after, expect)


Talk = list[Request]
"""The requests of one conversation, in order."""


@dataclass(slots=True)
class Result:
    """The outcome of a run of the load generator."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    """Latencies of the requests that succeeded, in seconds."""
    failures: Counter[str] = field(default_factory=Counter)
    responses: list[bytes] = field(default_factory=list)
    """A sample of the responses, in full."""

    @property
    def rate(self) -> float:
        return len(self.latencies) / self.seconds if self.seconds else 0.0

    def percentile(self, q: float) -> float:
        """Return the q-quantile of the latencies in milliseconds, with q from 0 to 1."""
        ordered = sorted(self.latencies)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))] * 1000 if ordered else float("nan")


_users = iter(range(10**7))


class Player:
    """The state that all connections share: the next conversation, and the result."""

    def __init__(self, talks: list[Talk]) -> None:
        self.talks = talks
        self.result = Result()
        self.over = False
        self._next = 0

    def requests(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the requests of one connection, conversation by conversation, as (request, expected part of the response)."""
        while not self.over:
            talk = self.talks[self._next % len(self.talks)]
            self._next += 1
            user = b"user-%07d" % next(_users)
            for one in talk:
                yield one.before + user + one.after.replace(USER, user), one.expect
                if self.over:
                    return


class Connection(asyncio.Protocol):
    """A keep-alive connection, which sends requests until the run ends or the server closes the connection."""

    def __init__(self, player: Player, requests: Iterator[tuple[bytes, bytes]]) -> None:
        self._player, self._requests = player, requests
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting = False

    def connection_made(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._send()

    def _send(self) -> None:
        following = next(self._requests, None)
        if following is None:
            self._transport.close()
            return
        data, self._expect = following
        self._parts: list[bytes] = []
        self._size, self._needed, self._chunked = 0, -1, False
        self._waiting = True
        self._started = time.perf_counter()
        self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        self._size += len(data)
        if self._needed < 0 and not self._chunked:
            self._read_head()
        if self._chunked:
            tail = data if len(data) >= len(LAST_CHUNK) else b"".join(self._parts[-8:])
            complete = tail.endswith(LAST_CHUNK)
        else:
            complete = 0 <= self._needed <= self._size
        if complete:
            self._finish(time.perf_counter(), b"".join(self._parts))

    def _read_head(self) -> None:
        head, mark, _ = b"".join(self._parts).partition(b"\r\n\r\n")
        if not mark:
            return
        if length := _LENGTH.search(head):
            self._needed = len(head) + 4 + int(length[1])
        self._chunked = _CHUNKED.search(head) is not None

    def _finish(self, now: float, response: bytes) -> None:
        self._waiting = False
        result = self._player.result
        if fault := fault_of(response, self._expect):
            result.failures[fault] += 1
        else:
            result.latencies.append(now - self._started)
            if len(result.latencies) % KEEP_EVERY == 1:
                result.responses.append(response)
        if _CLOSE.search(response, 0, response.find(b"\r\n\r\n") + 2):
            self._transport.close()
        else:
            self._send()

    def connection_lost(self, error: Exception | None) -> None:
        if self._waiting:
            self._player.result.failures["connection lost"] += 1
        if not self.done.done():
            self.done.set_result(None)


def fault_of(response: bytes, expect: bytes) -> str:
    """Describe the fault of a response; an empty string if the response is as expected."""
    status = response[9:12].decode("latin-1")
    if status != "200":
        return f"status {status}"
    if expect not in response:
        return f"no {expect.decode('utf-8', 'replace')!r} in the body"
    return ""


async def play(address: str, talks: list[Talk], connections: int, seconds: float) -> Result:
    """Send requests to a server for `seconds`. Requests in flight at the end are awaited and counted."""
    loop = asyncio.get_running_loop()
    player = Player(talks)
    host, _, port = urlsplit(address).netloc.partition(":")

    async def one() -> None:
        requests = player.requests()
        while not player.over:
            try:
                _, protocol = await loop.create_connection(partial(Connection, player, requests), host, int(port))
            except OSError as error:
                player.result.failures[f"no connection: {type(error).__name__}"] += 1
                await asyncio.sleep(0.05)
                continue
            await protocol.done

    gc.collect()
    gc.disable()
    try:
        started = time.perf_counter()
        loop.call_later(seconds, setattr, player, "over", True)
        async with asyncio.timeout(seconds + 20):
            await asyncio.gather(*(one() for _ in range(connections)))
        player.result.seconds = time.perf_counter() - started
    finally:
        gc.enable()
    return player.result


def body_of(response: bytes) -> dict[str, object]:
    """Decode the JSON body of a response with Content-Length."""
    data: dict[str, object] = orjson.loads(response.partition(b"\r\n\r\n")[2])
    return data
