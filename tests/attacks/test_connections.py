"""Clients without a valid key that keep the server busy or hold connections: refused unread, closed in time, limited in number."""

import asyncio
import gzip
import json
import threading
import tracemalloc
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from concurrent.futures import Future
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import structlog

from proxy.app import create_app
from proxy.auth import keys
from proxy.config.config import Config, ConfigError, parse_config
from proxy.serving.front import Front

uvloop = pytest.importorskip("uvloop", reason="there is none for Windows")

Body = dict[str, Any]
LIMIT = 2_000
"""server.max_body_bytes, where nothing else is said."""
BOMB = gzip.compress(b" " * 20_000_000)
WITHIN_S = 10
"""How long a test waits for what must come about; nothing here asserts a time."""


@dataclass
class Answer:
    """A response, and whether the server then closed the connection."""

    status: int
    headers: dict[str, str]
    body: Body
    closed: bool = False


class Client:
    """A connection on which bytes are written as an attack wants them."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    def send(self, *parts: bytes) -> None:
        self._writer.write(b"".join(parts))

    async def answer(self) -> Answer:
        """Read one response."""
        async with asyncio.timeout(WITHIN_S):
            head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
            first, *lines = head.splitlines()
            headers = {n.lower(): v.strip() for n, _, v in (line.partition(":") for line in lines if line)}
            body = json.loads(await self._reader.readexactly(int(headers["content-length"])))
        return Answer(int(first.split()[1]), headers, body)

    async def last_answer(self) -> Answer:
        """Read a response and close this side; tell whether the server says that it closes the connection, and does."""
        answer = await self.answer()
        self.end()
        answer.closed = answer.headers.get("connection") == "close" and await self.is_closed()
        return answer

    async def is_closed(self) -> bool:
        """Wait until the server closes the connection; False if it sends something instead."""
        async with asyncio.timeout(WITHIN_S):
            try:
                return await self._reader.read(1) == b""
            except ConnectionError:
                return True

    async def line(self) -> str:
        """Read one line."""
        async with asyncio.timeout(WITHIN_S):
            return (await self._reader.readuntil(b"\r\n")).decode().strip()

    async def rest(self) -> str:
        """Read until the server closes the connection."""
        async with asyncio.timeout(WITHIN_S):
            return (await self._reader.read()).decode()

    async def flood(self, chunk: bytes, times: int) -> int:
        """Send the same again and again; return how often that went before the connection was closed."""
        for n in range(times):
            try:
                self._writer.write(chunk)
                await self._writer.drain()
            except ConnectionError:
                return n
            await asyncio.sleep(0.001)
        return times

    def end(self) -> None:
        """Send nothing more, and go on reading."""
        self._writer.write_eof()

    async def close(self) -> None:
        self._writer.close()
        with suppress(ConnectionError):
            await self._writer.wait_closed()


class Served:
    """What `caf serve` serves, in this process, with keys of several kinds."""

    def __init__(self, host: str, port: int, bearers: dict[str, bytes]) -> None:
        self._host, self._port, self.bearers = host, port, bearers
        self._clients: list[Client] = []

    async def connect(self, address: str | None = None) -> Client:
        local = (address, 0) if address else None
        reader, writer = await asyncio.open_connection(self._host, self._port, local_addr=local)
        self._clients.append(Client(reader, writer))
        return self._clients[-1]

    async def sends(self, *parts: bytes, address: str | None = None) -> Answer:
        """Send a request over a connection of its own, and return the answer."""
        client = await self.connect(address)
        client.send(*parts)
        answer = await client.last_answer()
        await client.close()
        return answer

    def chat(self, said: str = "Hi", key: str = "chat") -> bytes:
        return request(self.bearers[key], body=ask(said))

    async def metric(self, name: str) -> float:
        """Return a number of /metrics; with label and value, as it stands there."""
        client = await self.connect()
        client.send(b"GET /metrics HTTP/1.0\r\n%b\r\n\r\n" % self.bearers["admin"])
        text = await client.rest()
        return next(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(f"{name} "))

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


def ask(said: str, **more: Any) -> bytes:
    return json.dumps({"model": "bot", "messages": [{"role": "user", "content": said}], **more}).encode()


def head(*lines: bytes, method: bytes = b"POST", path: bytes = b"/v1/chat/completions") -> bytes:
    start = b"%s %s HTTP/1.1" % (method, path)
    return b"\r\n".join([start, b"Host: x", *(line for line in lines if line), b"", b""])


def request(*lines: bytes, body: bytes = b"", **where: bytes) -> bytes:
    return head(*lines, b"Content-Length: %d" % len(body), **where) + body


Serve = Callable[..., Awaitable[Served]]


@contextmanager
def serving(config: Config) -> Iterator[str]:
    """Serve as `caf serve` does, on its event loop: what becomes of a connection is the transport's doing. Yields the address.

    Raises:
        ConfigError: It cannot be served.
    """
    ready: Future[str] = Future()
    loop, stop = uvloop.new_event_loop(), asyncio.Event()

    async def serve() -> None:
        front = Front()
        try:
            await front.switch_to(create_app(config))
        except ConfigError as error:
            ready.set_exception(error)
            return
        async with front.listening("127.0.0.1", 0) as address:
            ready.set_result(address)
            await stop.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield ready.result(WITHIN_S)
    finally:
        if not loop.is_closed():
            loop.call_soon_threadsafe(stop.set)
        thread.join(WITHIN_S)


@pytest.fixture
async def serve(tmp_path: Path) -> AsyncIterator[Serve]:
    """Serve two chatbots that answer at once and after a while; keyword arguments are settings of `server`."""
    async with AsyncExitStack() as stack:

        async def begin(failures: int = 10_000, keyed: bool = True, **server: Any) -> Served:
            made = {
                "chat": keys.create("chat"),
                "admin": keys.create("admin", ("admin",)),
            }
            key_file = tmp_path / f"{made['chat'].record.id}.json"
            keys.save([key.record for key in made.values()], key_file)
            scripts = {"quick": [{"reply": "Hello."}], "slow": [{"reply": "Hello.", "delay_s": 1.5}]}
            data = {
                "server": {"max_body_bytes": LIMIT, "grace_s": 0} | server,
                "models": {name: {"engine": "scripted", "script": script} for name, script in scripts.items()},
                "chatbots": {
                    "bot": {"kind": "passthrough", "model": "quick"},
                    "slow": {"kind": "passthrough", "model": "slow"},
                },
                "privacy": {"store": "none"},
            }
            if keyed:
                data["keys"] = {"file": str(key_file)}
                if failures != 10_000:
                    data["keys"]["failures_per_minute"] = failures
            address = stack.enter_context(serving(parse_config(data, tmp_path / "config.yaml")))
            host, _, port = address.removeprefix("http://").partition(":")
            bearers = {name: f"Authorization: Bearer {key.text}".encode() for name, key in made.items()}
            bearers |= {"none": b"", "bad": bearers["chat"][:-3] + b"xxx"}
            served = Served(host, int(port), bearers)
            stack.push_async_callback(served.close)
            return served

        yield begin


# Refused without reading the body

REFUSALS: dict[str, tuple[int, str, dict[str, bytes]]] = {
    "unknown route": (404, "chat", {"path": b"/nope"}),
    "unknown route, no key": (404, "none", {"path": b"/v1/../etc/passwd"}),
    "wrong method": (405, "chat", {"path": b"/v1/models"}),
    "wrong method, no key": (405, "none", {"path": b"/healthz"}),
    "another wrong method": (405, "chat", {"method": b"PUT"}),
    "no key": (401, "none", {}),
    "no key for responses": (401, "none", {"path": b"/v1/responses"}),
    "no key to erase": (401, "none", {"method": b"DELETE", "path": b"/admin/conversations/x"}),
    "bad key": (401, "bad", {}),
    "no permission to ask": (403, "admin", {}),
    "no permission to erase": (403, "chat", {"method": b"DELETE", "path": b"/admin/conversations/x"}),
}
"""Status, whose key, method and path."""

BODIES: dict[str, tuple[bytes, bytes]] = {
    "begun": (b"Content-Length: 1000", b"{"),
    "never begun": (b"Content-Length: 1000", b""),
    "whole": (b"Content-Length: 2", b"{}"),
    "too large": (b"Content-Length: 99999999999", b"{"),
    "chunked": (b"Transfer-Encoding: chunked", b"3e8\r\n{"),
    "bomb": (b"Content-Encoding: gzip\r\nContent-Length: %d" % len(BOMB), BOMB),
    "bomb, begun": (b"Content-Encoding: gzip\r\nContent-Length: %d" % len(BOMB), BOMB[:1000]),
    "bomb, chunked": (b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked", b"%x\r\n%s" % (len(BOMB), BOMB)),
    "no gzip": (b"Content-Encoding: gzip\r\nContent-Length: 1000", b"{" * 10),
    "brotli": (b"Content-Encoding: br\r\nContent-Length: 1000", b"{" * 10),
    "zstd": (b"Content-Encoding: zstd\r\nContent-Length: 1000", b"{" * 10),
}
"""Lines of the head, and what comes of the body before the client waits for the answer."""


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_body_that_nobody_may_send_is_not_read(serve: Serve, refusal: str) -> None:
    """Whatever is wrong with it, or missing of it, the answer is the refusal's, and the connection is closed behind it."""
    proxy = await serve()
    status, key, where = REFUSALS[refusal]
    for body, (lines, data) in BODIES.items():
        answer = await proxy.sends(head(proxy.bearers[key], lines, **where), data)
        assert (answer.status, answer.closed) == (status, True), body
        assert set(answer.body["error"]) == {"message", "type", "param", "code"}, body
        assert (await proxy.sends(proxy.chat())).status == 200, body


@pytest.mark.parametrize(
    ("path", "length"), list(product([b"chat/completions", b"responses"], [LIMIT + 1, 10**9, 10**15]))
)
@pytest.mark.parametrize("encoding", [b"", b"Content-Encoding: gzip"])
async def test_a_body_that_says_it_is_too_large_is_not_read(
    serve: Serve, path: bytes, length: int, encoding: bytes
) -> None:
    """Of a valid client, too: 413 without waiting for a byte of it."""
    proxy = await serve()
    answer = await proxy.sends(
        head(proxy.bearers["chat"], encoding, b"Content-Length: %d" % length, path=b"/v1/" + path)
    )
    assert (answer.status, answer.body["error"]["code"], answer.closed) == (413, "request_too_large", True)


@pytest.mark.parametrize("key", ["none", "chat"])
@pytest.mark.parametrize("form", ["length", "chunked"])
async def test_what_is_sent_on_after_a_refusal_is_taken_only_so_far(serve: Serve, key: str, form: str) -> None:
    """The answer arrives, although more was sent than was read; a client that does not stop is cut off."""
    proxy = await serve()
    lines = b"Content-Length: 10000000000" if form == "length" else b"Transfer-Encoding: chunked"
    client = await proxy.connect()
    client.send(head(proxy.bearers[key], lines), b"" if form == "length" else b"10000000\r\n", b" " * LIMIT * 2)
    answer = await client.answer()
    assert answer.status == (401 if key == "none" else 413)
    assert await client.flood(b" " * LIMIT, 1000) < 1000
    assert await client.is_closed()


async def test_a_client_that_keeps_a_refused_connection_open_is_closed(serve: Serve) -> None:
    """It need not send anything for that, nor close its own side."""
    proxy = await serve()
    client = await proxy.connect()
    client.send(head(b"Content-Length: 1000"), b"{")
    assert (await client.answer()).status == 401
    assert await client.is_closed()


async def test_a_refusal_without_a_body_keeps_the_connection(serve: Serve) -> None:
    """There is nothing to drain, and a client that tries again saves a connection."""
    proxy = await serve()
    client = await proxy.connect()
    for _ in range(3):
        client.send(head(method=b"GET", path=b"/v1/models"))
        answer = await client.answer()
        assert (answer.status, answer.headers.get("connection")) == (401, None)
    client.send(proxy.chat())
    assert (await client.answer()).status == 200


# Compressed bodies of valid clients

SIZES = [LIMIT - 1, LIMIT, LIMIT + 1, 10 * LIMIT, 20_000_000]


@pytest.mark.parametrize(("size", "encoding"), list(product(SIZES, ["gzip", "deflate"])))
@pytest.mark.parametrize("form", ["length", "chunked"])
async def test_a_compressed_body_counts_as_what_it_holds(serve: Serve, size: int, encoding: str, form: str) -> None:
    """At the limit it is read, beyond it refused; a bomb is not taken apart to its end."""

    proxy = await serve()
    plain = ask("Hi").ljust(size)
    packed = gzip.compress(plain) if encoding == "gzip" else zlib.compress(plain)
    lines = [b"Content-Encoding: " + encoding.encode()]
    if form == "length":
        sent = request(proxy.bearers["chat"], *lines, body=packed)
    else:
        sent = head(proxy.bearers["chat"], *lines, b"Transfer-Encoding: chunked") + b"%x\r\n%s\r\n0\r\n\r\n" % (
            len(packed), packed,
        )  # fmt: skip
    answer = await proxy.sends(sent)
    assert answer.status == (200 if size <= LIMIT else 413)


async def test_a_bomb_takes_no_more_memory_than_a_body_may(serve: Serve) -> None:
    """A few times the limit, not a thousand times the bytes that were sent."""
    proxy = await serve(max_body_bytes=1_000_000)
    bomb = gzip.compress(b" " * 200_000_000, 9)
    sent = request(proxy.bearers["chat"], b"Content-Encoding: gzip", body=bomb)
    tracemalloc.start()
    try:
        answer = await proxy.sends(sent)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert answer.status == 413
    assert peak < 3_000_000


@pytest.mark.parametrize(
    ("encoding", "packed"),
    [
        (b"gzip", b"{}"),
        (b"gzip", gzip.compress(ask("Hi"), mtime=0)[:-5]),
        (b"gzip", gzip.compress(ask("Hi"), mtime=0) + b"more"),
        (b"deflate", b"{}"),
        (b"gzip", b""),
        (b"br", b"{}"),
        (b"gzip, gzip", gzip.compress(gzip.compress(ask("Hi"), mtime=0), mtime=0)),
    ],
)
async def test_a_body_that_is_not_compressed_as_it_says_gets_400(serve: Serve, encoding: bytes, packed: bytes) -> None:
    """Cut short, something else, or something that nobody here unpacks."""
    proxy = await serve()
    answer = await proxy.sends(request(proxy.bearers["chat"], b"Content-Encoding: " + encoding, body=packed))
    assert (answer.status, answer.body["error"]["type"]) == (400, "invalid_request_error")


# Too slow

HEADS = (
    b"",
    b"\r\n",
    b"POST",
    b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nX-A: ",
    b"GET /healthz HTTP/1.1\r\nHost: x\r\n",
)


@pytest.mark.parametrize("after", ["connecting", "an answer"])
async def test_a_head_that_does_not_come_is_not_waited_for(serve: Serve, after: str) -> None:
    """Whoever has sent only a part of one, or nothing since it connected, is closed, and others are served meanwhile."""
    proxy = await serve(head_timeout_s=0.4)

    async def begin(first: bytes) -> Client:
        client = await proxy.connect()
        if after == "an answer":
            client.send(proxy.chat())
            await client.answer()
        client.send(first or b"G" * (after == "an answer"))
        return client

    clients = [await begin(first) for first in HEADS]
    assert (await proxy.sends(proxy.chat())).status == 200
    assert all(await asyncio.gather(*(client.is_closed() for client in clients)))


async def test_a_head_that_drips_is_not_waited_for(serve: Serve) -> None:
    """Each byte is no new beginning."""
    proxy = await serve(head_timeout_s=0.4)
    client = await proxy.connect()
    client.send(b"GET /healthz HTTP/1.1\r\nHost: x\r\nX-Slow: ")
    closing = asyncio.create_task(client.is_closed())
    while not closing.done():
        client.send(b"a")
        await asyncio.sleep(0.02)
    assert await closing


async def test_many_slow_connections_lock_nobody_out(serve: Serve) -> None:
    """Two hundred half requests are gone after the time for a head, and count among those that were refused."""
    proxy = await serve(head_timeout_s=0.5)
    slow = [await proxy.connect() for _ in range(200)]
    for client in slow:
        client.send(b"POST /v1/chat/completions HTTP/1.1\r\n")
    assert (await proxy.sends(proxy.chat())).status == 200
    assert all(await asyncio.gather(*[client.is_closed() for client in slow]))
    assert await proxy.metric('caf_connections_refused_total{reason="late"}') == 200
    assert await proxy.metric("caf_connections") == 1


async def test_a_connection_between_two_requests_may_wait(serve: Serve) -> None:
    """A proxy before this one keeps its connections for as long as it likes; nor does a slow turn count as a late head."""
    proxy = await serve(head_timeout_s=0.1)
    client = await proxy.connect()
    for chatbot in ("slow", "bot"):
        client.send(request(proxy.bearers["chat"], body=ask("Hi").replace(b"bot", chatbot.encode())))
        assert (await client.answer()).status == 200
        await asyncio.sleep(0.3)
    client.send(proxy.chat())
    assert (await client.answer()).status == 200


SLOW = {
    "length": (b"Content-Length: 1000", b"{"),
    "no byte": (b"Content-Length: 1000", b""),
    "chunked": (b"Transfer-Encoding: chunked", b"5\r\n{    \r\n"),
    "gzip": (b"Content-Encoding: gzip\r\nContent-Length: 1000", gzip.compress(ask("Hi"), mtime=0)[:20]),
}


@pytest.mark.parametrize("drips", [False, True])
async def test_a_body_that_does_not_come_gets_408(serve: Serve, drips: bool) -> None:
    """The whole of it has so much time, however it comes; the client is told, and the connection closed."""
    proxy = await serve(body_timeout_s=0.3)

    async def wait(path: bytes, form: str) -> None:
        lines, data = SLOW[form]
        client = await proxy.connect()
        client.send(head(proxy.bearers["chat"], lines, path=path), data)
        asking = asyncio.create_task(client.answer())
        while not asking.done():
            if drips:
                client.send(b"1\r\n \r\n" if form == "chunked" else b" ")
            await asyncio.sleep(0.02)
        answer = await asking
        assert (answer.status, answer.headers["connection"]) == (408, "close")
        assert (answer.body["error"]["type"], answer.body["error"]["code"]) == ("timeout_error", "request_timeout")
        client.end()
        assert await client.is_closed()

    async with asyncio.TaskGroup() as group:
        for path, form in product([b"/v1/chat/completions", b"/v1/responses"], SLOW):
            group.create_task(wait(path, form))


# Too many


async def busy(proxy: Served, number: int) -> list[Client]:
    """Have so many turns under way that take a while."""
    clients = [await proxy.connect() for _ in range(number)]
    for client in clients:
        client.send(request(proxy.bearers["chat"], body=ask("Hi").replace(b"bot", b"slow")))
    await asyncio.sleep(0.2)
    return clients


@pytest.mark.parametrize("sends", ["nothing", "a request", "a bomb"])
async def test_one_connection_too_many_is_told_so(serve: Serve, sends: str) -> None:
    """503 in OpenAI's form, whatever it was going to ask; those that are there go on, and then there is room again."""
    proxy = await serve(max_connections=4)
    with structlog.testing.capture_logs() as lines:
        clients = await busy(proxy, 4)
        for _ in range(3):
            late = await proxy.connect()
            late.send({"nothing": b"", "a request": proxy.chat(), "a bomb": request(body=BOMB)}[sends])
            answer = await late.last_answer()
            assert (answer.status, answer.closed, answer.headers["retry-after"]) == (503, True, "1")
            assert answer.body["error"]["code"] == "too_many_connections"
        assert [(await client.answer()).status for client in clients] == [200] * 4
        for client in clients:
            await client.close()
        await asyncio.sleep(0.1)
        assert (await proxy.sends(proxy.chat())).status == 200
        assert await proxy.metric('caf_connections_refused_total{reason="full"}') == 3
    assert [line["full"] for line in lines if line["event"] == "connections refused"] in ([1], [2], [3])


async def test_many_connections_too_many_leave_one_line_in_the_log(serve: Serve) -> None:
    """Of two hundred refused ones at once, some are only closed; the busy ones are answered."""
    proxy = await serve(max_connections=2)
    with structlog.testing.capture_logs() as lines:
        clients = await busy(proxy, 2)
        more = [await proxy.connect() for _ in range(200)]
        assert [(await client.answer()).status for client in clients] == [200] * 2
        for client in more:
            await client.close()
    assert sum(line["event"] == "connections refused" for line in lines) == 1


async def test_a_connection_that_does_nothing_makes_room(serve: Serve) -> None:
    """The longest silent one is closed for a new one, which is served; busy ones are left alone."""
    async with asyncio.TaskGroup() as group:
        for waits in ("silent", "half a head", "between requests"):
            group.create_task(make_room(await serve(max_connections=4), waits))


async def make_room(proxy: Served, waits: str) -> None:
    idle = [await proxy.connect() for _ in range(3)]
    for client in idle:
        if waits == "half a head":
            client.send(b"POST /v1/chat/completions HTTP/1.1\r\n")
        elif waits == "between requests":
            client.send(proxy.chat())
            await client.answer()
    await asyncio.sleep(1.2)
    (working,) = await busy(proxy, 1)
    assert (await proxy.sends(proxy.chat())).status == 200
    assert await idle[0].is_closed()
    assert (await working.answer()).status == 200
    idle[2].send(proxy.chat() if waits != "half a head" else b"Host: x\r\n\r\n")
    assert (await idle[2].answer()).status == (200 if waits != "half a head" else 401)


async def test_silent_connections_make_room_before_those_of_clients_that_have_asked(serve: Serve) -> None:
    """However long ago these have."""
    proxy = await serve(max_connections=2)
    known = await proxy.connect()
    known.send(proxy.chat())
    await known.answer()
    silent = await proxy.connect()
    await asyncio.sleep(1.2)
    assert (await proxy.sends(proxy.chat())).status == 200
    assert await silent.is_closed()
    known.send(proxy.chat())
    assert (await known.answer()).status == 200


async def test_more_connections_than_the_process_may_open_are_refused_at_the_start(
    tmp_path: Path, serve: Serve
) -> None:
    """With the number that would be right, before anything is served."""
    with pytest.raises(ConfigError, match=r"server\.max_connections: 1000000000 is too large: .* set at most \d+"):
        await serve(max_connections=10**9)


# Failed authentication

PATHS = [
    (b"POST", b"/v1/chat/completions"),
    (b"POST", b"/v1/responses"),
    (b"GET", b"/v1/models"),
    (b"DELETE", b"/admin/conversations/x"),
]
GUESSES = {
    "none": b"",
    "empty": b"Authorization: Bearer ",
    "another scheme": b"Authorization: Basic Y2FmOmNhZg==",
    "another form": b"Authorization: Bearer sk-0123456789",
    "unknown id": b"Authorization: Bearer caf-00000000-" + b"A" * 43,
}


@pytest.mark.parametrize(("where", "guess"), list(product(PATHS, GUESSES)))
async def test_who_fails_too_often_is_refused_and_a_valid_key_from_there_is_not(
    serve: Serve, where: tuple[bytes, bytes], guess: str
) -> None:
    """401 so often, then 429 and closed; the owner of a key at the same address never notices, and another address begins anew."""
    proxy = await serve(failures=5)
    method, path = where
    guessed = request(GUESSES[guess], method=method, path=path)
    seen = []
    for _ in range(8):
        answer = await proxy.sends(guessed)
        seen.append(answer.status)
        assert (await proxy.sends(proxy.chat())).status == 200
    assert seen == [401] * 5 + [429] * 3
    assert answer.closed
    assert 1 <= int(answer.headers["retry-after"]) <= 60
    assert answer.body["error"]["code"] == "rate_limit_exceeded"
    assert (await proxy.sends(guessed, address="127.0.0.2")).status == 401


async def test_probes_without_a_key_are_no_failures(serve: Serve) -> None:
    """Nor are keys without a permission."""
    proxy = await serve(failures=1)
    for _ in range(4):
        for path in (b"/healthz", b"/readyz", b"/openapi.json"):
            assert (await proxy.sends(head(method=b"GET", path=path))).status == 200
        assert (await proxy.sends(request(proxy.bearers["admin"], body=ask("Hi")))).status == 403
    assert (await proxy.sends(head(method=b"GET", path=b"/v1/models"))).status == 401


async def test_without_keys_nobody_fails(serve: Serve) -> None:
    """On loopback every key is as good as none."""
    proxy = await serve(keyed=False)
    for _ in range(100):
        assert (await proxy.sends(head(b"Authorization: Bearer x", method=b"GET", path=b"/v1/models"))).status == 200


# Heads that two servers may read differently

CHUNKS = b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
AMBIGUOUS = {
    "chunks in HTTP/1.0": b"POST %s HTTP/1.0\r\nHost: x\r\n%s\r\n" + CHUNKS,
    "chunks in HTTP/1.0, kept": b"POST %s HTTP/1.0\r\nHost: x\r\n%s\r\nConnection: keep-alive\r\n" + CHUNKS,
    "another key first": b"POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\n%s\r\nContent-Length: 2\r\n\r\n{}",
    "another key last": b"POST %s HTTP/1.1\r\nHost: x\r\n%s\r\nauthorization: Bearer a\r\nContent-Length: 2\r\n\r\n{}",
    "an empty key": b"POST %s HTTP/1.1\r\nHost: x\r\n%s\r\nAuthorization:\r\nContent-Length: 2\r\n\r\n{}",
}


@pytest.mark.parametrize("kind", AMBIGUOUS)
@pytest.mark.parametrize("keyed", [True, False])
async def test_an_ambiguous_head_gets_400_and_is_closed(serve: Serve, kind: str, keyed: bool) -> None:
    """Before its route or its key is looked at; what comes behind it is no request."""
    proxy = await serve(keyed=keyed)
    for path in (b"/v1/chat/completions", b"/v1/responses", b"/nope", b"/healthz"):
        client = await proxy.connect()
        client.send(AMBIGUOUS[kind] % (path, proxy.bearers["chat"]), proxy.chat())
        answer = await client.answer()
        assert (answer.status, answer.body["error"]["type"]) == (400, "invalid_request_error"), path
        assert await client.is_closed(), path


@pytest.mark.parametrize("version", [b"1.0", b"1.1"])
async def test_a_plain_head_is_served_in_either_version(serve: Serve, version: bytes) -> None:
    """HTTP/1.0 with a length is what it always was."""
    proxy = await serve()
    client = await proxy.connect()
    client.send(proxy.chat().replace(b"HTTP/1.1", b"HTTP/" + version))
    assert (await client.answer()).status == 200


@pytest.mark.parametrize("nonsense", [b"nonsense", b"POST / HTTP/1.1\r\nContent-Length: x", b"GET / HTTP/1.1\r\nA: \0"])
async def test_what_is_no_http_gets_400_and_is_closed(serve: Serve, nonsense: bytes) -> None:
    """In OpenAI's form, and without the versions of Python and aiohttp."""
    proxy = await serve()
    client = await proxy.connect()
    client.send(nonsense + b"\r\nExpect: 100-continue\r\n\r\n")
    answer = await client.answer()
    assert (answer.status, answer.body["error"]["type"]) == (400, "invalid_request_error")
    assert answer.headers["server"] == "caf"
    assert await client.is_closed()


# Expectations

WHERE: dict[str, tuple[int, str, dict[str, bytes]]] = REFUSALS | {
    "a chat": (200, "chat", {}),
    "a response": (200, "chat", {"path": b"/v1/responses"}),
    "a probe": (200, "none", {"method": b"GET", "path": b"/healthz"}),
}
UNKNOWN = [b"x", b"100-continued", b"100-continue, x", b"200-ok", b"x\r\nExpect: 100-continue"]


@pytest.mark.parametrize(("where", "keyed"), list(product(WHERE, [True, False])))
async def test_an_expectation_that_nobody_knows_gets_417_unread(serve: Serve, where: str, keyed: bool) -> None:
    """In OpenAI's form, logged and counted like any other answer; what is sent on is taken only so far."""
    proxy = await serve(keyed=keyed)
    _, key, route = WHERE[where]
    for expected in UNKNOWN:
        client = await proxy.connect()
        with structlog.testing.capture_logs() as lines:
            client.send(head(proxy.bearers[key], b"Expect: " + expected, b"Content-Length: 10000000000", **route), b"{")
            answer = await client.answer()
        assert (answer.status, answer.headers["connection"]) == (417, "close"), expected
        assert (answer.body["error"]["type"], answer.body["error"]["code"]) == ("invalid_request_error", "http_417")
        assert [line["status"] for line in lines if "status" in line] == [417]
        assert await client.flood(b" " * LIMIT, 1000) < 1000
        assert await client.is_closed()


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_a_client_that_asks_first_is_refused_at_once(serve: Serve, refusal: str) -> None:
    """No `100 Continue` before the refusal: nothing is uploaded for it."""
    proxy = await serve()
    status, key, where = REFUSALS[refusal]
    for body in ("begun", "never begun", "too large", "chunked"):
        lines, data = BODIES[body]
        answer = await proxy.sends(head(proxy.bearers[key], b"Expect: 100-continue", lines, **where), data)
        assert (answer.status, answer.closed) == (status, True), body


@pytest.mark.parametrize("path", [b"/v1/chat/completions", b"/v1/responses"])
async def test_a_client_that_asks_first_is_not_asked_for_what_is_too_large(serve: Serve, path: bytes) -> None:
    """413 instead."""
    proxy = await serve()
    lines = [proxy.bearers["chat"], b"Expect: 100-continue", b"Content-Length: 100000"]
    answer = await proxy.sends(head(*lines, path=path))
    assert (answer.status, answer.closed) == (413, True)


@pytest.mark.parametrize("form", ["length", "chunked"])
@pytest.mark.parametrize("expected", [b"100-continue", b"100-Continue"])
async def test_a_client_that_asks_first_is_told_to_go_on(serve: Serve, form: str, expected: bytes) -> None:
    """Its key and its path being right; then it is answered, and the connection kept."""
    proxy = await serve()
    client = await proxy.connect()
    for _ in range(2):
        body = ask("Hi")
        length = b"Content-Length: %d" % len(body) if form == "length" else b"Transfer-Encoding: chunked"
        client.send(head(proxy.bearers["chat"], b"Expect: " + expected, length))
        assert await client.line() == "HTTP/1.1 100 Continue"
        assert await client.line() == ""
        client.send(body if form == "length" else b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
        assert (await client.answer()).status == 200


@pytest.mark.parametrize("lines", [b"Expect: 100-continue", b"Expect: ", b"Expect: 100-continue\r\nX-A: b"])
async def test_a_client_that_does_not_wait_for_leave_is_answered(serve: Serve, lines: bytes) -> None:
    """The body is there already: there is nothing to ask for."""
    proxy = await serve()
    assert (await proxy.sends(request(proxy.bearers["chat"], lines, body=ask("Hi")))).status == 200


async def test_a_client_of_before_is_not_told_to_go_on(serve: Serve) -> None:
    """HTTP/1.0 knows no interim answers, and no expectations."""
    proxy = await serve()
    for expected in (b"100-continue", b"x"):
        sent = request(proxy.bearers["chat"], b"Expect: " + expected, body=ask("Hi"))
        assert (await proxy.sends(sent.replace(b"HTTP/1.1", b"HTTP/1.0"))).status == 200


@pytest.mark.parametrize("guess", [name for name in GUESSES if name != "none"])
async def test_who_guesses_where_no_key_is_needed_is_counted(serve: Serve, guess: str) -> None:
    """`/readyz` tells more to an administrator; whoever sends it a wrong key has failed, and is told no more than others."""
    proxy = await serve(failures=3)
    for _ in range(5):
        answer = await proxy.sends(head(GUESSES[guess], method=b"GET", path=b"/readyz"))
        assert (answer.status, answer.body) == (200, {"status": "ready"})
    assert (await proxy.sends(head(method=b"GET", path=b"/v1/models"))).status == 429
