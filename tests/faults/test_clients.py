"""Clients that leave, at every step, and clients that are slow, before a real process."""

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import redis

from proxy.auth import keys
from tests.faults.driver_config import guarded, lay_out, models
from tests.faults.driver_proxy import CHAT, Proxy, memory_peak, request, running, until
from tests.faults.driver_told import Noted
from tests.faults.driver_upstream import HELLO, REJECTED, Act, Asked, Body, Upstream, hangs, says, verdict
from tests.redis_server import RedisServer, needs_redis

TEXT = HELLO.partition("\n")[2]
EVENT = b'data: {"choices":[{"index":0,"delta":{"content":"Good"}}]}\n\n'


def config(bound: socket.socket, store: RedisServer | None) -> Body:
    return {
        "server": {"header_wait_s": 0, "keep_alive_s": 0.05, "grace_s": 1},
        "models": models(bound.getsockname()[1], forwarded={}),
        "chatbots": {"bot": guarded(), "plain": {"kind": "passthrough", "model": "forwarded"}},
        "memory": {"store": "process"} if store is None else {"store": "redis", "url": store.url, "timeout_s": 30},
    }


@pytest.fixture(scope="module")
def proxy(bound: socket.socket, store: RedisServer | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """One for all tests; after them, every turn that was left stands as cancelled in every book."""
    folder = tmp_path_factory.mktemp("clients")
    lay_out(folder, config(bound, store))
    with running(folder) as one:
        yield one
        one.end()
        one.compare()


class Client:
    """A connection to the proxy that a test holds by its bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    def send(
        self, chatbot: str, *said: str, conversation: str = "", stream: bool = False, length: int = 0, key: str = ""
    ) -> bytes:
        """Send a request's headers, and return the body that they announce."""
        body = json.dumps(request(chatbot, *said, stream=stream)).encode()
        lines = [f"POST {CHAT} HTTP/1.1", "Host: x", "Content-Type: application/json"]
        lines += [
            f"Content-Length: {length or len(body)}",
            *([f"X-Conversation-Id: {conversation}"] * bool(conversation)),
            *([f"Authorization: Bearer {key}"] * bool(key)),
        ]
        self.writer.write("\r\n".join([*lines, "", ""]).encode())
        return body

    def leave(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def connected(proxy: Proxy) -> AsyncIterator[Client]:
    link = socket.socket()
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # so that what a slow client does not read is felt
    link.setblocking(False)
    await asyncio.get_running_loop().sock_connect(link, ("127.0.0.1", proxy.port))
    reader, writer = await asyncio.open_connection(sock=link, limit=4096)
    try:
        yield Client(reader, writer)
    finally:
        writer.transport.abort()


def forwarded(proxy: Proxy) -> list[str | None]:
    """Return the errors of the forwarded requests in the audit log."""
    return [record["error"] for record in proxy.audit() if record["filter"] == "passthrough"]


def after(count: int, first: Act, then: Act) -> Act:
    """Do one thing so many times, and then the other."""
    seen: list[Asked] = []

    async def act(asked: Asked) -> None:
        seen.append(asked)
        await (first if len(seen) <= count else then)(asked)

    return act


def rejected(**acts: Act) -> dict[str, Act]:
    judges: dict[str, Act] = dict.fromkeys(("up-swift", "up-chief"), says(verdict("reject")))
    return {"up-chatbot": says(REJECTED), **judges, **{f"up-{alias}": act for alias, act in acts.items()}}


STEPS: dict[str, tuple[Callable[[], dict[str, Act]], str, int]] = {
    "selecting": (lambda: {"up-retriever": hangs}, "retriever", 1),
    "drafting": (lambda: {"up-chatbot": hangs}, "chatbot", 1),
    "redrafting": (lambda: {"up-chatbot": after(1, says("It cites nothing."), hangs)}, "chatbot", 2),
    "judging_swiftly": (lambda: {"up-swift": hangs}, "swift", 1),
    "judging_in_chief": (lambda: {"up-swift": says(verdict("warn")), "up-chief": hangs}, "chief", 1),
    "refining": (lambda: rejected(refiner=hangs), "refiner", 1),
    "judging_again": (lambda: rejected(chief=after(1, says(verdict("reject")), hangs)), "chief", 2),
}
"""By step: how the upstream behaves, and the model whose so-manieth call never ends."""


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("step", STEPS)
async def test_a_client_that_leaves_stops_its_turn(proxy: Proxy, upstream: Upstream, step: str, stream: bool) -> None:
    """The call is cancelled upstream, every book says so, and the conversation is as if nothing had been said."""
    acts, alias, nth = STEPS[step]
    upstream.acts = acts()
    conversation, noted = f"{step}-{stream}", Noted()
    async with proxy.noting(noted), connected(proxy) as client:
        client.writer.write(client.send("bot", "Hello", conversation=conversation, stream=stream))
        if stream:
            await client.reader.readuntil(b": keep-alive\n\n")
        await until(lambda: len(upstream.of(f"up-{alias}")) == nth)
        client.leave()
        await until(lambda: upstream.of(f"up-{alias}")[-1].left)
    assert (noted.line["status"], noted.line["outcome"]) == (499, None)
    assert noted.turns() == {"error": 1}
    assert noted.calls(alias) == {"cancelled": 1} | ({"": nth - 1} if nth > 1 else {})
    upstream.acts = {}
    told = await proxy.ask("bot", "Hello", conversation=conversation)
    assert (told.outcome, told.line["turn"], told.line["memory"]) == ("accepted", 1, "fresh")


@needs_redis
async def test_a_client_that_leaves_while_it_is_remembered_leaves_a_whole_state(
    proxy: Proxy, upstream: Upstream, store: RedisServer
) -> None:
    """What has been begun to be written is written; half a state there is never."""
    noted = Noted()
    with redis.Redis(port=store.port) as control:
        control.execute_command("CLIENT", "PAUSE", 60_000, "WRITE")
        async with proxy.noting(noted), connected(proxy) as client:
            client.writer.write(client.send("bot", "Hello", conversation="remembering"))
            await until(lambda: control.info("clients")["blocked_clients"] == 1)
            client.leave()
        control.execute_command("CLIENT", "UNPAUSE")
        await until(lambda: control.info("clients")["blocked_clients"] == 0)
    assert (noted.line["status"], noted.turns()) == (499, {"error": 1})
    assert noted.calls("chatbot") == {"": 1}
    told = await proxy.ask("bot", "Hello", conversation="remembering")
    assert (told.line["turn"], told.line["memory"]) == (2, "explicit")


@pytest.mark.parametrize("read", [b"data: ", TEXT.encode()])
async def test_a_client_that_leaves_within_a_settled_reply_has_had_its_turn(
    proxy: Proxy, upstream: Upstream, read: bytes
) -> None:
    """The outcome is what was on its way, and the next turn goes on from it."""
    noted, conversation = Noted(), f"settled-{len(read)}"
    async with proxy.noting(noted), connected(proxy) as client:
        client.writer.write(client.send("bot", "Hello", conversation=conversation, stream=True))
        await client.reader.readuntil(read)
        client.leave()
    assert (noted.line["outcome"], noted.turns()) == ("accepted", {"accepted": 1})
    told = await proxy.ask("bot", "Hello", conversation=conversation)
    assert told.line["turn"] == 2


async def expect_answered(proxy: Proxy, key: str = "") -> None:
    """Read streams to the end, and close the connection at once."""
    noted = Noted()
    async with proxy.noting(noted, requests=20):
        for _ in range(20):
            async with connected(proxy) as client:
                client.writer.write(client.send("bot", "Hello", stream=True, key=key))
                await client.reader.readuntil(b"\r\n0\r\n\r\n")
    assert [line["status"] for line in noted.lines] == [200] * 20
    assert noted.turns() == {"accepted": 20}


async def test_a_client_that_has_got_all_has_not_left(proxy: Proxy, upstream: Upstream) -> None:
    """It may close its connection at once: its request is counted as answered."""
    await expect_answered(proxy)


@needs_redis
async def test_a_client_with_a_limited_key_that_has_got_all_has_not_left(
    bound: socket.socket, upstream: Upstream, store: RedisServer, tmp_path: Path
) -> None:
    """Its use is still counted then, elsewhere: all of it, and every place is given back."""
    made = keys.create("limited", ("admin", "chat"), max_concurrent=100, daily_budget=1_000_000.0)
    keys.save([made.record], tmp_path / "keys.json")
    settings = config(bound, store) | {"keys": {"file": "keys.json"}}
    settings["models"]["chatbot"]["price"] = {"input": 1_000_000, "output": 1_000_000}  # a token costs 1
    lay_out(tmp_path, settings)
    with running(tmp_path) as proxy:
        proxy.key = made.text
        await expect_answered(proxy, made.text)
        proxy.end()
        proxy.compare()
    used = f"caf:meter:{{{made.record.id}}}"
    with redis.Redis(port=store.port, decode_responses=True) as client:
        assert float(str(client.hget(used, "spent"))) == 20 * 15
        assert client.zcard(f"{used}:running") == 0


async def test_a_client_that_leaves_a_forwarded_stream_ends_it(proxy: Proxy, upstream: Upstream) -> None:
    """After the first bytes, or before: the upstream's connection is closed, and the call is counted as cancelled."""

    async def begins(asked: Asked) -> None:
        await asked.events(EVENT)
        await asked.hangs()

    for act in (begins, hangs):
        upstream.acts["up-forwarded"] = act
        upstream.asked.clear()
        noted, before = Noted(), forwarded(proxy)
        async with proxy.noting(noted), connected(proxy) as client:
            client.writer.write(client.send("plain", "Hello", stream=True))
            await (client.reader.readuntil(EVENT) if act is begins else until(lambda: upstream.asked))
            client.leave()
            await until(lambda: upstream.asked[0].left)
        assert noted.line["status"] == 499
        assert noted.calls("forwarded") == {"cancelled": 1}
        await until(lambda before=before: len(forwarded(proxy)) > len(before))
        assert forwarded(proxy) == [*before, "cancelled"]


async def test_a_client_that_leaves_after_done_has_cancelled_no_call(proxy: Proxy, upstream: Upstream) -> None:
    """Some close the connection there and do not wait for the end of the response."""

    async def lingers(asked: Asked) -> None:
        await asked.events(EVENT, b"data: [DONE]\n\n")
        await asked.hangs()

    upstream.acts["up-forwarded"] = lingers
    noted, before = Noted(), forwarded(proxy)
    async with proxy.noting(noted), connected(proxy) as client:
        client.writer.write(client.send("plain", "Hello", stream=True))
        await client.reader.readuntil(b"data: [DONE]\n\n")
        client.leave()
        await until(lambda: upstream.asked[0].left)
    assert noted.calls("forwarded") == {"": 1}
    await until(lambda: len(forwarded(proxy)) > len(before))
    assert forwarded(proxy) == [*before, None]


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
async def test_a_client_that_reads_byte_by_byte_holds_up_nobody(proxy: Proxy, upstream: Upstream) -> None:
    """Its stream waits at the upstream and not in the proxy's memory, and others are answered meanwhile."""
    sent = 0

    async def pours(asked: Asked) -> None:
        nonlocal sent
        event = b"data: " + b"x" * 65_536 + b"\n\n"
        await asked.events(EVENT)
        while True:
            await asked.more(event)
            sent += len(event)
            await asyncio.sleep(0)  # it would not let the test go on

    upstream.acts["up-forwarded"] = pours
    before, noted = memory_peak(proxy.process.pid), Noted()
    async with proxy.noting(noted, requests=11), connected(proxy) as client:
        client.writer.write(client.send("plain", "Hello", stream=True))
        await client.reader.readuntil(EVENT)
        for _ in range(10):
            assert len(await client.reader.readexactly(1)) == 1
            assert (await proxy.post("bot", "Hello")).text == TEXT
        client.leave()
    assert sent < 32 * 2**20
    assert memory_peak(proxy.process.pid) - before < 32 * 2**20
    assert noted.turns() == {"accepted": 10}
    assert noted.calls("forwarded") == {"cancelled": 1}


async def test_a_client_that_sends_byte_by_byte_is_heard_to_the_end(proxy: Proxy, upstream: Upstream) -> None:
    """Others are answered between its bytes."""
    noted = Noted()
    async with proxy.noting(noted, requests=4), connected(proxy) as client:
        body = client.send("bot", "Hello from a slow line")
        for at in range(len(body)):
            client.writer.write(body[at : at + 1])
            await client.writer.drain()
            await asyncio.sleep(0.001)
            if at in (10, 30, 50):
                assert (await proxy.post("bot", "Hello")).status == 200
        head = await client.reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 ")
    assert noted.turns() == {"accepted": 4}
    assert upstream.of("up-chatbot")[-1].said == "Hello from a slow line"


async def test_a_client_that_leaves_within_its_request_begins_no_turn(proxy: Proxy, upstream: Upstream) -> None:
    """Nothing is asked upstream, and it is no fault of the proxy's."""
    noted = Noted()
    async with proxy.noting(noted), connected(proxy) as client:
        client.writer.write(client.send("bot", "Hello", length=10_000))
        await client.writer.drain()
        await until(lambda: not client.writer.transport.get_write_buffer_size())
        client.leave()
    assert noted.line["status"] == 499
    assert noted.turns() == {}
    assert upstream.asked == []


async def test_a_request_that_never_ends_does_not_keep_the_process_from_its_end(tmp_path: Path) -> None:
    """Nor is it a turn."""
    lay_out(tmp_path, {"server": {"grace_s": 1}, "models": models(1), "chatbots": {"bot": guarded()}})
    with running(tmp_path) as proxy:
        async with connected(proxy) as client:
            client.writer.write(client.send("bot", "Hello", length=10_000))
            await client.writer.drain()
            proxy.end()
        proxy.compare()
        assert proxy.audit() == []
