"""deploy/nginx.conf in a real nginx, before two real hosts that share a Redis."""

import asyncio
import io
import json
import signal
import socket
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import yaml

from tests.deploy.nginx import INSTALLED, Nginx
from tests.faults.conftest import bound, upstream  # noqa: F401 - fixtures
from tests.faults.driver_proxy import CHAT, PATIENCE_S, Proxy, request, running, until
from tests.faults.driver_told import Reply
from tests.faults.driver_upstream import Asked, Upstream
from tests.proxy.api.test_stream import content_of, data_of
from tests.redis_server import RedisServer, needs_redis

pytestmark = [
    pytest.mark.skipif(not INSTALLED, reason="needs nginx and openssl: apt-get install nginx-light openssl"),
    needs_redis,
]
ROOT = Path(__file__).resolve().parents[2]
ASKED = "How much sleep do I need?"
FIRST, SECOND = (
    "Sleep problems are very common in schizophrenia.",
    "Most adults need about 7 to 9 hours of sleep a night.",
)
BEGINNING, REST = f"[[cite: diet-exercise-sleep-alcohol]]\n{FIRST} {SECOND[:4]}", SECOND[4:]
"""What the model writes before and after it waits: a word leaves when white space comes behind it."""


class Site:
    """Hosts behind nginx, seen from outside."""

    def __init__(self, nginx: Nginx, hosts: list[Proxy]) -> None:
        self.nginx, self.hosts = nginx, hosts

    @asynccontextmanager
    async def asking(self, method: str, path: str, **given: Any) -> AsyncIterator[aiohttp.ClientResponse]:
        timeout = aiohttp.ClientTimeout(PATIENCE_S)
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.request(method, self.nginx.url + path, ssl=self.nginx.trust, **given) as response,
        ):
            yield response

    async def post(self, chatbot: str, *said: str, stream: bool = False) -> Reply:
        async with self.asking("POST", CHAT, json=request(chatbot, *said, stream=stream)) as response:
            return Reply(response.status, response.headers, await response.read())

    async def told(self, chatbot: str, said: str, *, stream: bool = False) -> bool:
        """Ask, and tell whether the whole reply has come; else it was refused for a fault, or has broken off."""
        try:
            reply = await self.post(chatbot, said, stream=stream)
        except aiohttp.ClientPayloadError:
            return False
        if reply.status != 200:
            assert reply.status == 502, reply
            return False
        if stream:
            return reply.raw.endswith(b"data: [DONE]\n\n") and SECOND in content_of(data_of(reply.raw)[:-1])
        return reply.text.startswith(f"{FIRST} {SECOND}\n")

    @asynccontextmanager
    async def connected(self) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        """Connect, and leave at the end of the block without a word."""
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection("127.0.0.1", self.nginx.port, ssl=self.nginx.trust)
            try:
                yield reader, writer
            finally:
                writer.transport.abort()
                await writer.wait_closed()


class Model:
    """An upstream model that writes its first sentence when it is let, and its second one when it is let again."""

    def __init__(self) -> None:
        self.begins, self.goes_on = asyncio.Event(), asyncio.Event()

    async def __call__(self, asked: Asked) -> None:
        await asked.events()
        await self.begins.wait()
        await asked.more(event(BEGINNING))
        await self.goes_on.wait()
        await asked.more(event(REST), b"data: [DONE]\n\n")
        await asked.raw(b"0\r\n\r\n")


def event(text: str) -> bytes:
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    one = RedisServer(tmp_path_factory.mktemp("redis"))
    yield one
    one.kill()


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, store: RedisServer, bound: socket.socket) -> Iterator[Site]:  # noqa: F811
    """Two hosts with the shipped chatbot, and one whose model is the upstream. No test ends them."""
    folder = tmp_path_factory.mktemp("site")
    settings = yaml.safe_load((ROOT / "config.yaml").read_text())
    shipped = settings["chatbots"]["schizophrenia"]
    shipped |= {name: str(ROOT / shipped[name]) for name in ("role", "knowledge_base")}
    settings["chatbots"]["streaming"] = shipped | {"model": "upstream", "streaming": "observe"}
    address = f"http://127.0.0.1:{bound.getsockname()[1]}/v1"
    settings["models"]["upstream"] = {"engine": "openai", "base_url": address, "model": "m", "max_attempts": 1}
    settings["server"] = {"header_wait_s": 0, "keep_alive_s": 0.1, "grace_s": 30}
    settings["memory"] = {"store": "redis", "url": store.url}
    settings["privacy"] = {"store": "none"}
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    with ExitStack() as started:
        hosts = [Proxy(folder), Proxy(folder)]
        for host in hosts:
            started.callback(host.kill)
        for host in hosts:
            host.greeted()
        yield started.enter_context(behind_nginx(folder / "nginx", hosts))


@pytest.fixture
def ending(site: Site, tmp_path: Path) -> Iterator[Site]:
    """A host that a test may end, of which nobody has asked anything yet, and one that stays."""
    staying = site.hosts[1]
    with running(staying.folder) as host, behind_nginx(tmp_path / "nginx", [host, staying]) as one:
        yield one


@contextmanager
def behind_nginx(folder: Path, hosts: list[Proxy]) -> Iterator[Site]:
    nginx = Nginx(folder, [f"127.0.0.1:{host.port}" for host in hosts])
    try:
        yield Site(nginx, hosts)
    finally:
        nginx.stop()


async def test_a_conversation_goes_on_whichever_host_is_asked(site: Site) -> None:
    """Its turns are dealt out to both, are counted up, and carry the warning that arose on one of them."""
    said: list[str] = []
    for question in ("Which supplements should I take, and how much?", *[ASKED] * 5):
        reply = await site.post("schizophrenia", *said, question)
        assert reply.status == 200
        said += [question, reply.text]
    conversation = reply.caf["conversation_id"]

    def turns() -> list[list[int]]:
        """Return of each host which turns it has served."""
        served = [host.lines("request", conversation_id=conversation) for host in site.hosts]
        return [[line["turn"] for line in lines] for lines in served]

    await until(lambda: len([*chain(*turns())]) == 6)
    assert sorted(chain(*turns())) == [1, 2, 3, 4, 5, 6]
    assert all(turns())
    assert [await host.count("caf_warnings_live_total") > 0 for host in site.hosts] == [True, True]


async def test_a_stream_leaves_as_it_comes(site: Site, upstream: Upstream) -> None:  # noqa: F811
    """The model waits for the reader of its first sentence, so that nobody could read it if nginx held it back."""
    model = upstream.acts["m"] = Model()
    read = b""
    async with (
        asyncio.timeout(PATIENCE_S),
        site.asking("POST", CHAT, json=request("streaming", ASKED, stream=True)) as response,
    ):
        assert response.headers["Content-Type"] == "text/event-stream"
        async for piece in response.content.iter_any():
            read += piece
            if b": keep-alive\n\n" in read:
                model.begins.set()
            if FIRST.encode() in read:
                model.goes_on.set()
    assert SECOND in content_of(data_of(read)[:-1])
    assert read.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("stream", [True, False])
async def test_a_client_that_leaves_is_seen_by_its_host(site: Site, upstream: Upstream, stream: bool) -> None:  # noqa: F811
    """And the model is not kept at work for nobody."""
    working: list[Asked] = []

    async def writes(asked: Asked) -> None:
        working.append(asked)
        await asked.events(event(BEGINNING))
        await asked.hangs()

    def left() -> int:
        return sum(len(host.lines("request", status=499)) for host in site.hosts)

    upstream.acts["m"], before = writes, left()
    async with site.connected() as (reader, writer):
        body = json.dumps(request("streaming", ASKED, stream=stream))
        writer.write(f"POST {CHAT} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode())
        if stream:
            await reader.readuntil(FIRST.encode())
        await until(lambda: working)
    await until(lambda: working[0].left and left() == before + 1)


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_too_large_is_refused_in_the_proxys_own_words(site: Site, chunked: bool) -> None:
    """They name the limit."""
    body = io.BytesIO(json.dumps(request("schizophrenia", "a" * 4_200_000)).encode())
    kind = {"Content-Type": "application/json"}
    async with site.asking("POST", CHAT, data=body, headers=kind, chunked=chunked or None) as response:
        assert response.status == 413
        assert "4000000 bytes" in (await response.json())["error"]["message"]


ANNOUNCED = {"length": "Content-Length: 9000000\r\n\r\n", "chunk": "Transfer-Encoding: chunked\r\n\r\n895440\r\na"}


@pytest.mark.parametrize("way", ANNOUNCED)
async def test_a_body_that_is_far_too_large_is_not_even_read(site: Site, way: str) -> None:
    """nginx keeps it from the hosts."""
    async with site.connected() as (reader, writer):
        writer.write(f"POST {CHAT} HTTP/1.1\r\nHost: x\r\n{ANNOUNCED[way]}".encode())
        answer = await reader.readuntil(b"</html>")
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"<center>nginx" in answer


async def test_what_was_said_does_not_lie_on_nginxs_disk(site: Site) -> None:
    """Not for a moment, if a conversation is not as long as a book; nginx would warn of it."""
    said, before = ["Hello. " * 10_000] * 10, site.nginx.errors()
    assert (await site.post("schizophrenia", *said, ASKED)).status == 200
    assert site.nginx.errors() == before


OUTSIDE = "/metrics", "/admin/conversations/x", "/openapi.json", "/healthz", "/"
DETOURS = "//metrics", "/v1/../metrics", "/v1/%2e%2e/metrics", "/v1/..%2fmetrics", "/v1/%252e%252e/metrics"


@pytest.mark.parametrize("path", [*OUTSIDE, *DETOURS, "http://127.0.0.1/metrics"])
async def test_what_is_for_operators_is_not_there_from_outside(site: Site, path: str) -> None:
    """Not by another spelling either."""
    for method in ("GET", "DELETE"):
        async with site.connected() as (reader, writer):
            # As it is, which no client's library would send.
            writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            answer = await reader.read()
        assert answer.startswith(b"HTTP/1.1 404 ")
        assert b"caf_" not in answer


async def test_a_probe_is_told_whether_a_host_is_ready(site: Site) -> None:
    """It is the one thing besides the API that is there from outside."""
    async with site.asking("GET", "/readyz") as response:
        assert response.status == 200
        assert (await response.json())["status"] == "ready"


async def held_by(site: Site, upstream: Upstream) -> list[asyncio.Task[bool]]:  # noqa: F811
    """Have each host wait for the model with a stream and with a whole reply; return whether each of the four came whole."""
    asking: list[asyncio.Task[bool]] = []
    for n, stream in enumerate((True, True, False, False)):
        asking.append(asyncio.create_task(site.told("streaming", f"{ASKED} (no{n})", stream=stream)))
        await until(lambda: len(upstream.asked) == len(asking))
    return asking


async def served(site: Site, upstream: Upstream) -> None:  # noqa: F811
    """Check that new requests are answered, whatever becomes of those that wait; the model that they wait for does not."""
    upstream.acts["m"] = told = Model()
    told.begins.set()
    told.goes_on.set()
    for n in range(10):
        assert await site.told("streaming", f"{ASKED} (after{n})", stream=n % 2 == 0)


async def test_kill_9_breaks_what_was_under_way_on_the_host_and_nothing_is_done_twice(
    ending: Site,
    upstream: Upstream,  # noqa: F811
) -> None:
    """What comes later goes to the other one, which is asked at once where the dead one does not listen."""
    model = upstream.acts["m"] = Model()
    model.begins.set()
    asking = await held_by(ending, upstream)
    dead, alive = ending.hosts
    dead.kill()
    await served(ending, upstream)
    model.goes_on.set()
    assert Counter([await one for one in asking]) == {True: 2, False: 2}
    assert set(Counter(asked.said for asked in upstream.asked).values()) == {1}
    tried = Counter(ending.nginx.tried())
    assert tried[f"POST 502 127.0.0.1:{dead.port}"] == 1
    assert tried[f"POST 200 127.0.0.1:{dead.port}, 127.0.0.1:{alive.port}"] >= 1


async def test_a_host_that_is_stopped_answers_what_it_has_begun(ending: Site, upstream: Upstream) -> None:  # noqa: F811
    """Streams and replies that wait for their model come whole; the other host takes what comes meanwhile."""
    model = upstream.acts["m"] = Model()
    model.begins.set()
    asking = await held_by(ending, upstream)
    leaving, staying = ending.hosts
    before = len(staying.lines("request", path=CHAT))
    leaving.process.send_signal(signal.SIGTERM)
    await until(lambda: leaving.listeners() == 0)
    await served(ending, upstream)
    model.goes_on.set()
    assert [await one for one in asking] == [True] * 4
    leaving.end(told=True)
    assert {line.split()[1] for line in ending.nginx.tried()} == {"200"}
    assert len(leaving.lines("request", path=CHAT)) == 2
    await until(lambda: len(staying.lines("request", path=CHAT)) == before + 12)


async def test_a_host_that_cannot_be_reached_is_not_waited_for(site: Site, tmp_path: Path) -> None:
    """Without power it does not even say no."""
    with socket.socket() as silent, socket.socket() as first:
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        first.connect(silent.getsockname())  # and whoever comes now is not heard
        silenced, answering = (f"127.0.0.1:{port}" for port in (silent.getsockname()[1], site.hosts[0].port))
        nginx = Nginx(tmp_path / "nginx", [silenced, answering])
        try:
            outside = Site(nginx, [])
            async with asyncio.timeout(15), asyncio.TaskGroup() as group:
                asking = [group.create_task(outside.post("schizophrenia", ASKED)) for _ in range(4)]
        finally:
            nginx.stop()
        assert [one.result().status for one in asking] == [200] * 4
        assert f"POST 200 {silenced}, {answering}" in nginx.tried()
