"""Connections and headers of the engine, as the server sees them."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress

import aiohttp
import pytest
from aiohttp import web

from models.errors import ModelSettingsError, UpstreamUnavailable
from models.openai_engine import OpenAIEngine, make_session
from models.settings import ModelSettings

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
EVENT = b"data: 1\n\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 18\r\n\r\n" + EVENT


class Raw:
    """A server that answers every request with the same bytes, and stores the bytes of each connection."""

    def __init__(self, answer: bytes) -> None:
        self.answer = answer
        self.connections: list[list[bytes]] = []
        self.writers: list[asyncio.StreamWriter] = []
        self.session: aiohttp.ClientSession
        """What is used to ask it."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections.append(seen := [])
        self.writers.append(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                seen.append(head + await reader.readexactly(length))
                writer.write(self.answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def close(self) -> None:
        for writer in self.writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


@pytest.fixture
async def upstream() -> AsyncIterator[Callable[..., object]]:
    """Start a server with a fixed response, and return it with an engine. Keyword arguments are settings."""
    async with AsyncExitStack() as stack:

        async def start(answer: bytes = OK, **more: object) -> tuple[Raw, OpenAIEngine]:
            raw = Raw(answer)
            stack.push_async_callback(raw.close)
            server = await stack.enter_async_context(await asyncio.start_server(raw.serve, "127.0.0.1", 0))
            stack.callback(server.close)
            raw.session = await stack.enter_async_context(make_session())
            url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
            settings = ModelSettings.model_validate({"engine": "openai", "base_url": url} | more)
            return raw, OpenAIEngine(settings, raw.session, {})

        yield start


async def test_a_request_has_its_headers_once_and_its_body(upstream):
    """A client cannot override a configured header, in any letter case."""
    raw, engine = await upstream(headers={"openai-beta": "ours"}, query={"v": "1"})
    await engine.forward(b"{}", {"OpenAI-Beta": "theirs", "X-Request-Id": "1"})
    head, _, body = raw.connections[0][0].partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    names = [line.partition(":")[0].lower() for line in lines]
    assert first == "POST /v1/chat/completions?v=1 HTTP/1.1"
    assert len(set(names)) == len(names)
    assert {"openai-beta: ours", "X-Request-Id: 1", "Content-Length: 2"} <= set(lines)
    assert body == b"{}"


@pytest.mark.parametrize("value", ["1\r\nX-Admin: yes", "1\nX-Admin: yes", "\ud800"])
async def test_a_value_that_ends_its_line_is_not_sent(upstream, value):
    """Otherwise a client could inject headers."""
    raw, engine = await upstream()
    assert (await engine.forward(b"", {"X-Request-Id": value})).status == 200
    assert b"X-Admin" not in raw.connections[0][0]
    assert b"X-Request-Id" not in raw.connections[0][0]


async def test_a_configured_value_that_ends_its_line_is_refused_at_start(upstream):
    """Otherwise every request would fail."""
    with pytest.raises(ModelSettingsError, match=r"headers\.X-Team: invalid value: expected one line"):
        await upstream(headers={"X-Team": "a\nX-Admin: yes"})


async def test_a_stream_that_is_left_cuts_its_connection(upstream):
    """Otherwise the rest would be read as the next answer. After a complete stream, the connection is reused."""
    raw, engine = await upstream(STREAM)
    async with await engine.forward(b"1", {}) as answer:
        assert await anext(answer.chunks) == EVENT
    raw.answer = STREAM + EVENT
    for _ in range(2):
        async with await engine.forward(b"2", {}) as answer:
            assert b"".join([chunk async for chunk in answer.chunks]) == 2 * EVENT
    assert [len(requests) for requests in raw.connections] == [1, 2]


POOL_TAKES_IT = pytest.mark.xfail(
    reason="https://github.com/aio-libs/aiohttp/issues/13656: the pool takes it for the next"
)


@pytest.mark.parametrize("when", ["with the answer", pytest.param("later", marks=POOL_TAKES_IT)])
async def test_a_second_answer_is_nobodys(upstream, when):
    """A connection with unexpected data is not reused, because another request would get the data."""
    second = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret"
    raw, engine = await upstream(OK + second if when == "with the answer" else OK)
    assert (await engine.forward(b"", {})).body == b"hi"
    if when == "later":
        raw.writers[0].write(second)
        await asyncio.sleep(0.05)
    raw.answer = OK
    assert (await engine.forward(b"", {})).body == b"hi"
    assert [len(requests) for requests in raw.connections] == [1, 1]


async def test_who_waits_for_more_is_told_that_the_answer_was_closed(upstream):
    """A closed relay must not leave its reader waiting."""
    _, engine = await upstream(STREAM)
    answer = await engine.forward(b"", {})
    assert await anext(answer.chunks) == EVENT
    reading = asyncio.ensure_future(anext(answer.chunks))
    await asyncio.sleep(0)
    await answer.close()
    with pytest.raises(UpstreamUnavailable):
        await asyncio.wait_for(reading, 5)


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
async def test_a_certificate_must_be_one_that_is_trusted(tmp_path):
    """An untrusted TLS certificate is refused."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    named = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *named]
    await asyncio.to_thread(
        subprocess.run, [*made, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )

    async def hello(request: web.Request) -> web.Response:
        return web.Response(text=f"{request.scheme} {request.content_length}")

    app = web.Application()
    app.router.add_post("/v1/chat/completions", hello)
    runner = web.AppRunner(app)
    await runner.setup()
    own = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    own.load_cert_chain(certificate, key)
    await web.TCPSite(runner, "localhost", 0, ssl_context=own).start()
    settings = ModelSettings(engine="openai", base_url=f"https://localhost:{runner.addresses[0][1]}/v1")
    trusting = aiohttp.TCPConnector(ssl=ssl.create_default_context(cafile=str(certificate)))
    try:
        async with aiohttp.ClientSession(connector=trusting) as session:
            assert (await OpenAIEngine(settings, session, {}).forward(b"1234", {})).body == b"https 4"
        async with make_session() as session:
            with pytest.raises(UpstreamUnavailable, match="has a TLS certificate that this machine does not trust"):
                await OpenAIEngine(settings, session, {}).forward(b"1234", {})
    finally:
        await runner.cleanup()
