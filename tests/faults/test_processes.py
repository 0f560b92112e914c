"""The proxy's own processes, killed, stopped and told to read a new configuration while they are being asked."""

import asyncio
import os
import signal
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import pytest

from tests.faults.driver_config import CONTACT, lay_out, models
from tests.faults.driver_proxy import CHAT, Proxy, running, until
from tests.faults.driver_told import Noted
from tests.faults.driver_upstream import HELLO, Act, Asked, Body, Upstream, says
from tests.redis_server import RedisServer, needs_redis

pytestmark = [
    needs_redis,
    pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks at /proc"),
]
TEXT = HELLO.partition("\n")[2]
SECOND = "Good evening, by the second configuration."
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"Good"}}]}\n\n'
DONE = b"data: [DONE]\n\n"


def config(port: int, store: RedisServer, model: str = "up-chatbot") -> Body:
    """Configure a chatbot with local judges, so that one model call is a turn, and one that forwards."""
    bot = {
        "model": "chatbot",
        "role": "Answers questions about sleep.",
        "judges": [{"name": "emergency", "stages": ["local"]}, {"name": "role", "stages": ["local"]}],
        "refiner": "local",
        "emergency": {"contact": CONTACT},
    }
    return {
        "server": {"header_wait_s": 0, "keep_alive_s": 0.2, "grace_s": 30},
        "models": models(port, chatbot={"model": model}, forwarded={}),
        "chatbots": {"bot": bot, "plain": {"kind": "passthrough", "model": "forwarded"}},
        "memory": {"store": "redis", "url": store.url, "timeout_s": 10},
    }


Start = Callable[[int], Awaitable[Proxy]]


@pytest.fixture
async def start(bound: socket.socket, store: RedisServer, tmp_path: Path) -> AsyncIterator[Start]:
    with ExitStack() as started:

        async def begin(workers: int) -> Proxy:
            lay_out(tmp_path, config(bound.getsockname()[1], store))
            proxy = started.enter_context(running(tmp_path, workers))
            await until(lambda: proxy.listeners() == workers)
            return proxy

        yield begin


class Gate:
    """Upstream behaviours that wait, all at one place, until a test opens it, or the proxy leaves."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()

    async def answers(self, asked: Asked) -> None:
        if await self._passed(asked):
            await asked.says(HELLO)

    async def streams(self, asked: Asked) -> None:
        await asked.events(EVENT)
        if await self._passed(asked):
            await asked.more(EVENT, DONE)
            await asked.raw(b"0\r\n\r\n")

    async def _passed(self, asked: Asked) -> bool:
        ways = {asyncio.create_task(self.opened.wait()), asyncio.create_task(asked.hangs())}
        await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)
        return not asked.left

    def acts(self) -> dict[str, Act]:
        return {"up-chatbot": self.answers, "up-forwarded": self.streams}


async def ask(proxy: Proxy, chatbot: str, said: str, *, stream: bool = False, conversation: str = "") -> str | None:
    """Ask over a connection of its own; return the reply's text or events, None if it broke off.

    Raises:
        ClientConnectorError: Nobody listens.
    """
    try:
        reply = await proxy.post(chatbot, said, stream=stream, conversation=conversation)
    except aiohttp.ClientConnectorError:
        raise
    except (aiohttp.ClientError, ConnectionError):
        return None
    assert reply.status == 200, reply.raw
    return reply.raw.decode() if stream else reply.text


async def opened(proxy: Proxy, upstream: Upstream, gate: Gate) -> dict[str, asyncio.Task[str | None]]:
    """Have 24 requests wait at the gate, of three kinds; return them by what they say."""
    upstream.acts = gate.acts()
    upstream.asked.clear()
    kinds = [("bot", False), ("bot", True), ("plain", True)]
    asking = {
        f"{n} {chatbot} {stream}": asyncio.create_task(ask(proxy, chatbot, f"{n} {chatbot} {stream}", stream=stream))
        for n in range(8)
        for chatbot, stream in kinds
    }
    await until(lambda: len(upstream.asked) == len(asking))
    return asking


def whole(said: str, reply: str | None) -> bool:
    """Return whether a reply is all of what was to be said."""
    if reply is None or "error" in reply:
        return False
    if said.endswith("bot False"):
        return reply == TEXT
    return reply.endswith(DONE.decode()) and ("Good" in reply)


async def turns(proxy: Proxy) -> dict[str, int]:
    """Return how many turns of each outcome all workers together have counted since their start."""
    return (await proxy.metrics()).by("outcome", "caf_turns_total", chatbot="bot")


async def settled(proxy: Proxy, count: int) -> None:
    """Wait until so many turns stand in the books: what the last moment had to write, kill -9 may cost."""
    counts: list[int] = []

    def arrived() -> bool:
        counts[:] = [len(proxy.audit()), len(proxy.traces())]
        return counts == [count, count]

    try:
        await until(arrived)
    except TimeoutError:
        pytest.fail(f"{counts} turns in audit log and traces, not {count}")


async def test_kill_9_under_load_breaks_only_the_killed_workers_requests(start: Start, upstream: Upstream) -> None:
    """The others are answered, a new worker joins, whatever was acknowledged is known to it, and the books stand."""
    proxy, gate = await start(2), Gate()
    acknowledged, noted = [f"conversation-{n}" for n in range(8)], Noted()
    async with proxy.noting(noted, requests=8):
        for one in acknowledged:
            assert await ask(proxy, "bot", "Hello", conversation=one) == TEXT
    await settled(proxy, 8)
    asking = await opened(proxy, upstream, gate)

    before = proxy.pids()
    os.kill(min(before), signal.SIGKILL)
    await until(lambda: len(proxy.pids() - before) == 1 and proxy.listeners() == 2)
    broken = {asked.said for asked in upstream.asked if asked.left}
    assert 0 < len(broken) < len(asking)
    gate.opened.set()
    replies = {said: await task for said, task in asking.items()}
    assert {said for said, reply in replies.items() if not whole(said, reply)} == broken

    await until(lambda: sum(line.get("path") == CHAT for line in proxy.log) == 8 + len(replies) - len(broken))

    again = Noted()
    async with proxy.noting(again, requests=8):
        assert [await ask(proxy, "bot", "Hello", conversation=one) for one in acknowledged] == [TEXT] * 8
    assert {(line["turn"], line["memory"]) for line in again.lines} == {(2, "explicit")}
    answered = sum("bot" in said for said in replies.keys() - broken)
    assert await turns(proxy) == {"accepted": 16 + answered}
    proxy.end()
    proxy.compare()
    assert sorted(proxy.endings()) == ["closed", "closed", "unclosed"]


@pytest.mark.parametrize("workers", [1, 2])
async def test_sigterm_under_load_answers_what_was_accepted(start: Start, upstream: Upstream, workers: int) -> None:
    """Replies, held streams and forwarded ones end whole; nobody else is let in; the exit code is 0."""
    proxy, gate = await start(workers), Gate()
    asking = await opened(proxy, upstream, gate)
    proxy.process.send_signal(signal.SIGTERM)
    await until(lambda: proxy.listeners() == 0)
    with pytest.raises(aiohttp.ClientConnectorError):
        await ask(proxy, "bot", "Hello")
    gate.opened.set()
    replies = {said: await task for said, task in asking.items()}
    assert [said for said, reply in replies.items() if not whole(said, reply)] == []
    proxy.end(told=True)
    proxy.compare()
    assert proxy.endings() == ["closed"] * workers
    assert Counter(record["outcome"] for record in proxy.audit()) == {"accepted": 16, "unfiltered": 8}


async def test_what_is_sent_over_a_kept_connection_while_the_proxy_stops_is_answered(
    start: Start, upstream: Upstream
) -> None:
    """A proxy before this one keeps connections, and cannot know that one is about to be closed."""
    proxy = await start(1)
    upstream.acts = {"up-chatbot": says(HELLO)}
    async with aiohttp.ClientSession() as proxy.session:
        assert await ask(proxy, "bot", "Hello") == TEXT
        proxy.process.send_signal(signal.SIGTERM)
        await until(lambda: proxy.listeners() == 0)
        last = await proxy.post("bot", "Hello")
        assert (last.status, last.headers["Connection"], last.text) == (200, "close", TEXT)
    proxy.session = None
    proxy.end(told=True)


async def test_sighup_under_load_fails_no_request(
    start: Start, upstream: Upstream, bound: socket.socket, store: RedisServer
) -> None:
    """Every worker takes a good configuration, and refuses a bad one; whatever comes meanwhile is answered by one of them."""
    proxy, stopped = await start(2), asyncio.Event()
    replies: list[tuple[float, str | None]] = []  # when each was asked for, and what it said
    upstream.acts = {"up-chatbot": says(HELLO), "up-second": says(f"[[cite: no_claims]]\n{SECOND}")}

    async def client() -> None:
        while not stopped.is_set():
            began = time.monotonic()
            replies.append((began, await ask(proxy, "bot", "Hello")))

    async def told(event: str) -> None:
        offset = len(proxy.log)
        proxy.process.send_signal(signal.SIGHUP)
        await until(lambda: sum(line["event"].startswith(event) for line in proxy.log[offset:]) == 2)

    async def more() -> None:
        count = len(replies)
        await until(lambda: len(replies) > count + 20)

    clients = [asyncio.create_task(client()) for _ in range(6)]
    await more()
    lay_out(proxy.folder, config(bound.getsockname()[1], store, "up-second"))
    await told("configuration reloaded")
    reloaded = time.monotonic()
    await more()
    lay_out(proxy.folder, config(bound.getsockname()[1], store, "up-third") | {"models": {}})
    await told("configuration refused")
    await more()
    stopped.set()
    await asyncio.gather(*clients)
    assert {reply for _, reply in replies} == {TEXT, SECOND}
    assert {reply for began, reply in replies if began > reloaded} == {SECOND}
    await until(lambda: len(proxy.pids()) == 2)
    assert await turns(proxy) == {"accepted": len(replies)}

    await settled(proxy, len(replies))

    # A worker that dies now finds a file that it cannot serve: the other goes on, until the file is mended.
    os.kill(min(proxy.pids()), signal.SIGKILL)
    await until(lambda: proxy.listeners() == 1)
    assert [await ask(proxy, "bot", "Hello") for _ in range(8)] == [SECOND] * 8
    lay_out(proxy.folder, config(bound.getsockname()[1], store, "up-second"))
    await until(lambda: proxy.listeners() == 2)
    assert [await ask(proxy, "bot", "Hello") for _ in range(8)] == [SECOND] * 8
    proxy.end()
    proxy.compare()
