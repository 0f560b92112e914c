"""What goes over an upstream's connection, byte by byte."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress

import aiohttp
import pytest
from aiohttp import ClientTimeout, web
from yarl import URL

from models import connections
from models.connections import Connector
from models.exchange import Post

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Raw:
    """Answers every request with the same bytes, and keeps what it got, connection by connection."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.connections: list[list[bytes]] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.session: aiohttp.ClientSession
        """What is used to ask it."""
        self.delay_s = 0.0
        self.ended = 0
        """Connections that the other side has closed."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(seen := [])
        self.writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                seen.append(head + await reader.readexactly(length))
                await asyncio.sleep(self.delay_s)
                writer.write(self.answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.ended += 1
            writer.close()

    async def close(self) -> None:
        for writer in self.writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@pytest.fixture
async def upstream() -> AsyncIterator[Callable[..., object]]:
    """Start a server that gives certain bytes, and return it with what posts to it."""
    async with AsyncExitStack() as stack:

        async def start(
            answer: bytes = OK, headers: dict[str, str] | None = None, sock_read: float = 5
        ) -> tuple[Raw, Post]:
            raw = Raw(answer)
            stack.push_async_callback(raw.close)
            server = await stack.enter_async_context(await asyncio.start_server(raw.serve, "127.0.0.1", 0))
            stack.callback(server.close)
            session = raw.session = await stack.enter_async_context(aiohttp.ClientSession(connector=Connector()))
            url = URL(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/ask?v=1")
            return raw, Post(
                session, url, headers or {}, ClientTimeout(total=None, sock_connect=5, sock_read=sock_read)
            )

        yield start


async def test_a_request_has_its_headers_once_and_its_body(upstream):
    """What every request has is no client's to change, in whatever letters it writes the name."""
    raw, post = await upstream(headers={"Authorization": "Bearer ours"})
    async with await post.send(b"{}", {"authorization": "Bearer theirs", "X-Request-Id": "1"}) as answer:
        assert await answer.content.read() == b"hi"
    head, _, body = raw.connections[0][0].partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    names = [line.partition(":")[0].lower() for line in lines]
    assert first == "POST /v1/ask?v=1 HTTP/1.1"
    assert len(set(names)) == len(names)
    assert {"Authorization: Bearer ours", "X-Request-Id: 1", "Content-Length: 2"} <= set(lines)
    assert body == b"{}"


@pytest.mark.parametrize("value", ["1\r\nX-Admin: yes", "1\nX-Admin: yes", "\ud800"])
async def test_a_value_that_ends_its_line_is_not_sent(upstream, value):
    """Nor one that is no text; else a client could write headers of the proxy's."""
    raw, post = await upstream()
    async with await post.send(b"", {"X-Request-Id": value}) as answer:
        assert answer.status == 200
    assert b"X-Admin" not in raw.connections[0][0]
    assert b"X-Request-Id" not in raw.connections[0][0]


async def test_an_answer_that_was_read_leaves_its_connection_to_the_next(upstream):
    """One that was not is cut off: the rest of it would be taken for the next answer."""
    raw, post = await upstream(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi")
    async with await post.send(b"1", {}):
        pass
    raw.answer = OK
    for _ in range(2):
        async with await post.send(b"2", {}) as answer:
            assert await answer.content.read() == b"hi"
    assert [len(requests) for requests in raw.connections] == [1, 2]


async def test_who_closes_an_answer_late_cuts_nobody_else_off(upstream):
    """Its connection may be serving the next request by then."""
    raw, post = await upstream()
    first = await post.send(b"1", {})
    assert await first.content.read() == b"hi"
    raw.answer = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n"
    second = await post.send(b"2", {})
    first.close()
    raw.writers[0].write(b"more")
    assert await asyncio.wait_for(second.content.read(), 5) == b"more"


async def test_requests_at_once_have_connections_of_their_own(upstream):
    """Which serve the next requests, the one used last before the others."""
    raw, post = await upstream()
    answers = await asyncio.gather(*(post.send(b"1", {}) for _ in range(3)))
    for answer in answers:
        await answer.content.read()
    for _ in range(2):
        async with await post.send(b"2", {}) as answer:
            await answer.content.read()
    assert sorted(map(len, raw.connections)) == [1, 1, 3]


async def test_a_connection_that_the_server_has_closed_is_not_used_again(upstream):
    """It is found out before anything is sent, since nothing is sent twice."""
    raw, post = await upstream()
    for _ in range(2):
        async with await post.send(b"1", {}) as answer:
            await answer.content.read()
        for writer in raw.writers:
            writer.close()
        await asyncio.sleep(0.05)
    assert [len(requests) for requests in raw.connections] == [1, 1]


@pytest.mark.parametrize("when", ["with the answer", "later"])
async def test_what_comes_unasked_is_nobodys_answer(upstream, when):
    """It would be somebody else's: a connection that has heard it serves no further request."""
    unasked = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret"
    raw, post = await upstream(OK + unasked if when == "with the answer" else OK)
    async with await post.send(b"1", {}) as answer:
        assert await answer.content.read() == b"hi"
    if when == "later":
        raw.writers[0].write(unasked)
        await asyncio.sleep(0.05)
    raw.answer = OK
    async with await post.send(b"2", {}) as answer:
        assert await answer.content.read() == b"hi"
    assert [len(requests) for requests in raw.connections] == [1, 1]


async def test_each_answer_is_waited_for_as_long(upstream):
    """From when it was asked for, though one timer is enough for all."""
    raw, post = await upstream(sock_read=0.3)
    raw.delay_s = 5
    loop, began, waited = asyncio.get_running_loop(), asyncio.get_running_loop().time(), []

    async def ask(after: float) -> None:
        await asyncio.sleep(after)
        with pytest.raises(aiohttp.SocketTimeoutError):
            await post.send(b"", {})
        waited.append(loop.time() - began - after)

    async with asyncio.TaskGroup() as group:
        for after in (0, 0.1, 0.2):
            group.create_task(ask(after))
    assert all(0.25 < seconds < 0.45 for seconds in waited), waited


async def test_an_answer_in_time_leaves_no_timer_to_the_next(upstream):
    """What is asked over the same connection has all of its own time, and a connection that waits is not given up for it."""
    raw, post = await upstream(sock_read=0.4)
    raw.delay_s = 0.25
    for pause in (0, 0, 0.5, 0):
        async with await post.send(b"", {}) as answer:
            assert await answer.content.read() == b"hi"
        await asyncio.sleep(pause)
    assert [len(requests) for requests in raw.connections] == [4]


async def test_a_long_answer_that_was_read_late_leaves_no_timer_to_the_next(upstream):
    """Reading was stopped meanwhile, and going on with it begins to wait anew, for nothing."""
    raw, post = await upstream(b"HTTP/1.1 200 OK\r\nContent-Length: 560000\r\n\r\n" + bytes(560_000), sock_read=0.6)
    async with await post.send(b"", {}) as answer:
        await asyncio.sleep(0.3)
        assert len(await answer.content.read()) == 560_000
    await asyncio.sleep(0.3)
    raw.answer, raw.delay_s = OK, 0.45
    async with await post.send(b"", {}) as answer:
        assert await answer.content.read() == b"hi"


async def test_what_waits_too_long_is_not_used_again(upstream, monkeypatch):
    """The server may be about to close it."""
    raw, post = await upstream()
    for waits_s in (15.0, -1.0):
        monkeypatch.setattr(connections, "IDLE_S", waits_s)
        async with await post.send(b"1", {}) as answer:
            await answer.content.read()
    assert [len(requests) for requests in raw.connections] == [1, 1]


async def test_what_waits_too_long_is_closed(upstream, monkeypatch):
    """Also if no request comes that would look for it."""
    monkeypatch.setattr(connections, "IDLE_S", 0.1)
    raw, post = await upstream()
    for waiting in (0, 0.3, 0):
        async with await post.send(b"1", {}) as answer:
            await answer.content.read()
        await asyncio.sleep(waiting)
    assert [len(requests) for requests in raw.connections] == [2, 1]
    assert raw.ended == 1


async def test_closing_the_session_closes_what_waits(upstream):
    """The proxy leaves no connection behind."""
    raw, post = await upstream()
    async with await post.send(b"1", {}) as answer:
        await answer.content.read()
    await raw.session.close()
    await asyncio.sleep(0.05)
    assert raw.ended == 1


async def test_who_waits_for_more_is_told_that_the_answer_was_closed(upstream):
    """A relay that is stopped must not leave its reader waiting for ever."""
    _, post = await upstream(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi")
    answer = await post.send(b"", {})
    reading = asyncio.create_task(answer.content.readexactly(3))
    await asyncio.sleep(0)
    answer.close()
    with pytest.raises(aiohttp.ClientConnectionError):
        await asyncio.wait_for(reading, 5)


async def test_an_announcement_is_not_the_answer(upstream):
    """Some servers say 100 or 103 before they answer."""
    _, post = await upstream(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK)
    async with await post.send(b"", {}) as answer:
        assert (answer.status, await answer.content.read()) == (200, b"hi")


@pytest.mark.parametrize("garbage", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"])
async def test_what_is_no_http_is_an_error(upstream, garbage):
    """Of aiohttp's, as everything else that goes wrong."""
    _, post = await upstream(garbage)
    with pytest.raises(aiohttp.ClientError):
        await post.send(b"", {})


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
async def test_a_certificate_must_be_one_that_is_trusted(tmp_path):
    """Over TLS the server has to prove who it is."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *named]
    await asyncio.to_thread(
        subprocess.run, [*made, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )

    async def hello(request: web.Request) -> web.Response:
        return web.Response(text=f"{request.scheme} {request.content_length}")

    app = web.Application()
    app.router.add_post("/", hello)
    runner = web.AppRunner(app)
    await runner.setup()
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(certificate, key)
    site = web.TCPSite(runner, "localhost", 0, ssl_context=own)
    await site.start()
    url = URL(f"https://localhost:{runner.addresses[0][1]}/")
    timeout = ClientTimeout(total=None, sock_connect=5, sock_read=5)
    trusting = ssl.create_default_context(cafile=str(certificate))
    try:
        async with (
            aiohttp.ClientSession(connector=Connector(trusting)) as session,
            await Post(session, url, {}, timeout).send(b"1234", {}) as answer,
        ):
            assert await answer.content.read() == b"https 4"
        async with aiohttp.ClientSession(connector=Connector()) as session:
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                await Post(session, url, {}, timeout).send(b"1234", {})
    finally:
        await runner.cleanup()
