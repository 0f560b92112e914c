"""What the engine does with connections and headers, seen from the server's side of the wire."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, suppress

import aiohttp
import pytest
from aiohttp import web

from models.errors import ModelSettingsError, UpstreamTimeout, UpstreamUnavailable
from models.openai_engine import OpenAIEngine, make_session
from models.settings import ModelSettings

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
EVENT = b"data: 1\n\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 18\r\n\r\n" + EVENT


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
    """Start a server that gives certain bytes, and return it with an engine that asks it; keyword arguments are its settings."""
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
    """A configured header is no client's to change, in whatever letters either writes the name."""
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
    """Nor one that is no text; else a client could write headers of the proxy's."""
    raw, engine = await upstream()
    assert (await engine.forward(b"", {"X-Request-Id": value})).status == 200
    assert b"X-Admin" not in raw.connections[0][0]
    assert b"X-Request-Id" not in raw.connections[0][0]


async def test_a_configured_value_that_ends_its_line_is_refused_at_start(upstream):
    """Every request would fail."""
    with pytest.raises(ModelSettingsError, match="headers: write the value of X-Team as one line"):
        await upstream(headers={"X-Team": "a\nX-Admin: yes"})


async def test_a_stream_that_is_left_cuts_its_connection(upstream):
    """The rest of it would be taken for the next answer. One that was read to its end leaves its connection to the next."""
    raw, engine = await upstream(STREAM)
    async with await engine.forward(b"1", {}) as answer:
        assert await anext(answer.chunks) == EVENT
    raw.answer = STREAM + EVENT
    for _ in range(2):
        async with await engine.forward(b"2", {}) as answer:
            assert b"".join([chunk async for chunk in answer.chunks]) == 2 * EVENT
    assert [len(requests) for requests in raw.connections] == [1, 2]


async def test_who_closes_an_answer_late_cuts_nobody_else_off(upstream):
    """Its connection may be serving the next request by then."""
    raw, engine = await upstream(STREAM + EVENT)
    first = await engine.forward(b"1", {})
    assert b"".join([chunk async for chunk in first.chunks]) == 2 * EVENT
    raw.answer = STREAM
    async with await engine.forward(b"2", {}) as second:
        assert await anext(second.chunks) == EVENT
        await first.close()
        raw.writers[0].write(EVENT)
        assert await asyncio.wait_for(anext(second.chunks), 5) == EVENT


async def test_events_are_passed_on_as_they_come(upstream):
    """Each before the next one is sent."""
    raw, engine = await upstream(STREAM.replace(b"18", b"27"))
    async with await engine.forward(b"", {}) as answer:
        assert await asyncio.wait_for(anext(answer.chunks), 5) == EVENT
        for nth in (b"2", b"3"):
            raw.writers[0].write(EVENT.replace(b"1", nth))
            assert await asyncio.wait_for(anext(answer.chunks), 5) == EVENT.replace(b"1", nth)


async def test_requests_at_once_have_connections_of_their_own(upstream):
    """Which serve the next requests."""
    raw, engine = await upstream()
    raw.delay_s = 0.1
    for _ in range(2):
        await asyncio.gather(*(engine.forward(b"", {}) for _ in range(3)))
    assert [len(requests) for requests in raw.connections] == [2, 2, 2]


async def test_a_connection_that_the_server_has_closed_is_not_used_again(upstream):
    """It is found out before anything is sent, since nothing is sent twice."""
    raw, engine = await upstream()
    for _ in range(2):
        await engine.forward(b"", {})
        for writer in raw.writers:
            writer.close()
        await asyncio.sleep(0.05)
    assert [len(requests) for requests in raw.connections] == [1, 1]


POOL_TAKES_IT = pytest.mark.xfail(
    reason="https://github.com/aio-libs/aiohttp/issues/13656: the pool takes it for the next"
)


@pytest.mark.parametrize("when", ["with the answer", pytest.param("later", marks=POOL_TAKES_IT)])
async def test_a_second_answer_is_nobodys(upstream, when):
    """It would be somebody else's: a connection that has heard more than was asked for serves no further request."""
    second = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret"
    raw, engine = await upstream(OK + second if when == "with the answer" else OK)
    assert (await engine.forward(b"", {})).body == b"hi"
    if when == "later":
        raw.writers[0].write(second)
        await asyncio.sleep(0.05)
    raw.answer = OK
    assert (await engine.forward(b"", {})).body == b"hi"
    assert [len(requests) for requests in raw.connections] == [1, 1]


async def test_each_answer_is_waited_for_as_long(upstream):
    """From when it was asked for."""
    raw, engine = await upstream(timeout_s=0.3)
    raw.delay_s = 5
    loop, began, waited = asyncio.get_running_loop(), asyncio.get_running_loop().time(), []

    async def ask(after: float) -> None:
        await asyncio.sleep(after)
        with pytest.raises(UpstreamTimeout):
            await engine.forward(b"", {})
        waited.append(loop.time() - began - after)

    async with asyncio.TaskGroup() as group:
        for after in (0, 0.1, 0.2):
            group.create_task(ask(after))
    assert all(0.25 < seconds < 0.45 for seconds in waited), waited


async def test_an_answer_in_time_leaves_no_timer_to_the_next(upstream):
    """What is asked over the same connection has all of its own time, and a connection that waits is not given up for it."""
    raw, engine = await upstream(timeout_s=0.4)
    raw.delay_s = 0.25
    for pause in (0, 0, 0.5, 0):
        assert (await engine.forward(b"", {})).body == b"hi"
        await asyncio.sleep(pause)
    assert [len(requests) for requests in raw.connections] == [4]


async def test_closing_the_session_closes_what_waits(upstream):
    """The proxy leaves no connection behind."""
    raw, engine = await upstream()
    await engine.forward(b"", {})
    await raw.session.close()
    await asyncio.sleep(0.05)
    assert raw.ended == 1


async def test_who_waits_for_more_is_told_that_the_answer_was_closed(upstream):
    """A relay that is stopped must not leave its reader waiting for ever."""
    _, engine = await upstream(STREAM)
    answer = await engine.forward(b"", {})
    assert await anext(answer.chunks) == EVENT
    reading = asyncio.ensure_future(anext(answer.chunks))
    await asyncio.sleep(0)
    await answer.close()
    with pytest.raises(UpstreamUnavailable):
        await asyncio.wait_for(reading, 5)


async def test_an_announcement_is_not_the_answer(upstream):
    """Some servers say 100 or 103 before they answer."""
    _, engine = await upstream(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + OK)
    answer = await engine.forward(b"", {})
    assert (answer.status, answer.body) == (200, b"hi")


@pytest.mark.parametrize("garbage", [b"SSH-2.0-OpenSSH_9.2\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"])
async def test_what_is_no_http_is_an_error(upstream, garbage):
    """Of ours, as everything else that goes wrong."""
    _, engine = await upstream(garbage)
    with pytest.raises(UpstreamUnavailable):
        await engine.forward(b"", {})


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
            with pytest.raises(UpstreamUnavailable, match="ClientConnectorCertificateError"):
                await OpenAIEngine(settings, session, {}).forward(b"1234", {})
    finally:
        await runner.cleanup()
