"""Stored responses in Redis: any process continues, reads and deletes them."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from proxy.api.responses.redis_store import INDEX, OVERHEAD, PREFIX, RedisResponses
from proxy.api.responses.store import StoredResponse
from tests.proxy.api.responses.test_route import CRISIS, NUDGE, ask, refuse, respond, stream, text_of
from tests.proxy.conftest import Body, Proxy, Start
from tests.redis_server import INSTALLED, RedisServer

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server: apt-get install redis-server")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


@pytest.fixture
async def redis(shared: RedisServer) -> RedisServer:
    """The Redis server of this file's tests, empty and running."""
    async with Redis.from_url(shared.url) as client:
        await client.flushall()
    return shared


@pytest.fixture
async def client(redis: RedisServer) -> AsyncIterator[Redis]:
    async with Redis.from_url(redis.url) as opened:
        yield opened


@pytest.fixture
def mortal(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis server that a test may stop."""
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    yield server
    server.kill()


def kept_in(server: RedisServer, **more: Any) -> Body:
    return {"memory": {"store": "redis", "url": server.url, "timeout_s": 0.5, **more}}


async def got(proxy: Proxy, method: str, ident: str) -> tuple[int, Body]:
    async with proxy.session.request(method, f"{proxy.url}/v1/responses/{ident}") as response:
        return response.status, await response.json()


async def test_any_process_continues_reads_and_deletes_a_response(start: Start, redis: RedisServer) -> None:
    """With history and conversation, in both directions. A deleted response is gone for all processes."""
    one, other = await start(config=kept_in(redis)), await start(config=kept_in(redis))
    first = await respond(one, "Hi", user="ann")
    second = await respond(other, "And?", previous_response_id=first["id"])
    third = await respond(one, "So?", previous_response_id=second["id"])
    sent = one.upstream.requests[-1]
    assert [m["content"] for m in sent["messages"] if m["role"] == "user"] == ["Hi", "And?", "So?"]
    assert sent["user"] == "ann"
    assert len({body["caf"]["conversation_id"] for body in (first, second, third)}) == 1
    assert await got(other, "GET", first["id"]) == (200, first)
    assert (await got(other, "DELETE", first["id"]))[1]["deleted"] is True
    assert [(await got(one, method, first["id"]))[0] for method in ("GET", "DELETE")] == [404, 404]
    assert (await refuse(one, "So?", previous_response_id=third["id"]))[0] == 404


async def test_erasing_a_conversation_reaches_its_responses(start: Start, redis: RedisServer, client: Redis) -> None:
    """From any process. None of its text is left, and responses of other conversations are kept."""
    one, other = await start(config=kept_in(redis)), await start(config=kept_in(redis))
    first = await respond(one, "WORDOFUSER: hi")
    await respond(one, "WORDOFUSER: and?", previous_response_id=first["id"])
    stays = await respond(one, "Hello")
    ident = first["caf"]["conversation_id"]
    async with other.session.delete(f"{other.url}/admin/conversations/{ident}") as response:
        assert (await response.json())["responses"] == 2
    values = [await client.hgetall(key) for key in await client.keys(f"{PREFIX}*")]
    assert len(values) == 1
    assert b"WORDOFUSER" not in repr(values).encode()
    assert (await got(one, "GET", stays["id"]))[0] == 200
    assert (await got(one, "GET", first["id"]))[0] == 404


async def test_ids_that_clients_chose_are_not_in_the_keys(start: Start, redis: RedisServer, client: Redis) -> None:
    """Neither conversation ids nor response ids. All keys in Redis expire."""
    proxy = await start(config=kept_in(redis))
    await respond(proxy, "Hi", {"X-Conversation-Id": "CHOSEN"})
    assert (await got(proxy, "GET", "resp_*"))[0] == 404
    keys = await client.keys("*")
    assert len([key for key in keys if key.startswith(PREFIX.encode())]) == 1
    assert b"CHOSEN" not in b"".join(keys)
    assert all([await client.pttl(key) > 0 for key in keys])


async def test_without_redis_no_continuation_is_made_up(start: Start, mortal: RedisServer) -> None:
    """`closed`: 503 without a call, never 404. A user in danger gets the emergency text with `store: false`."""
    proxy = await start(config=kept_in(mortal))
    first = await respond(proxy, "Hi")
    assert first["store"] is True
    mortal.kill()
    proxy.upstream.requests.clear()
    status, error = await refuse(proxy, "And?", previous_response_id=first["id"])
    assert (status, error["code"]) == (503, "state_unavailable")
    assert [(await got(proxy, method, first["id"]))[0] for method in ("GET", "DELETE")] == [503, 503]
    assert not proxy.upstream.requests
    crisis = await respond(proxy, CRISIS, previous_response_id=first["id"])
    _, events = await stream(proxy, CRISIS, store=True)
    for body in (crisis, events[-1]["response"]):
        assert (text_of(body), body["caf"]["outcome"]) == ("You matter. Call 112.", "emergency")
    assert events[-1]["response"]["store"] is False
    mortal.start()
    assert (await ask(proxy, "And?", previous_response_id=first["id"]))[0] == 200


async def test_degraded_it_keeps_responses_in_this_process(start: Start, mortal: RedisServer) -> None:
    """They can be continued here, also after Redis is back. Responses in Redis are not reported as missing."""
    proxy = await start(config=kept_in(mortal, on_error="degrade"))
    before = await respond(proxy, "Hi")
    mortal.kill()
    first = await respond(proxy, NUDGE)
    second = await respond(proxy, "And?", previous_response_id=first["id"])
    assert first["store"] is second["store"] is True
    status, error = await refuse(proxy, "And?", previous_response_id=before["id"])
    assert (status, error["code"]) == (503, "state_unavailable")
    assert (await got(proxy, "DELETE", second["id"]))[0] == 503
    assert (await got(proxy, "GET", second["id"]))[0] == 503  # deleted here, and in Redis nobody knows
    async with proxy.session.get(f"{proxy.url}/metrics") as response:
        lines = (await response.text()).splitlines()
    assert float(next(line for line in lines if line.startswith("caf_memory_failures")).split()[1]) > 4
    mortal.start()
    for ident in (before["id"], first["id"]):
        assert (await ask(proxy, "And?", previous_response_id=ident))[0] == 200


def stored(name: str, size: int = 100, conversation: str = "c") -> StoredResponse:
    return StoredResponse(name, "", None, b"x" * size, b"{}", conversation)


async def sizes(client: Redis, key_id: str) -> tuple[int, int]:
    """Return a key's counted bytes and its real bytes."""
    values = [await client.hgetall(key) for key in await client.keys(f"{PREFIX}{{{key_id}}}:*")]
    known = int(await client.get(f"{INDEX}{{{key_id}}}:bytes") or 0)
    return known, sum(len(v[b"messages"]) + len(v[b"body"]) + OVERHEAD for v in values)


async def test_a_key_cannot_fill_redis(client: Redis) -> None:
    """Above its byte limit its least recently used responses are dropped. Other keys are unaffected; deleting frees bytes."""
    store = RedisResponses(client, 100, 60, "closed", max_bytes=3 * (OVERHEAD + 102))
    await store.put("00000002", stored("theirs"))
    for name in ("a", "b", "c"):
        await store.put("00000001", stored(name))
        await asyncio.sleep(0.002)  # Redis tells the last use to the millisecond
    assert await store.get("00000001", "a") is not None
    await store.put("00000001", stored("d"))
    assert [name for name in "abcd" if await store.get("00000001", name)] == ["a", "c", "d"]
    assert await store.delete("00000001", "c")
    await store.put("00000001", stored("e"))
    assert [name for name in "abcde" if await store.get("00000001", name)] == ["a", "d", "e"]
    theirs = await store.get("00000002", "theirs")
    assert theirs is not None
    assert (theirs.user, theirs.previous, theirs.messages, theirs.body) == ("", None, b"x" * 100, b"{}")
    await store.put("00000001", stored("huge", 10_000))  # larger than all that a key may have
    assert not [name for name in ("a", "huge") if await store.get("00000001", name)]
    assert await sizes(client, "00000001") == (0, 0)


async def test_what_runs_out_is_taken_off_the_sum(client: Redis, redis: RedisServer) -> None:
    """Otherwise a key's limit would shrink. Reading renews a response; replacing counts it once."""
    store = RedisResponses(client, 100, 60, "closed")
    for _ in range(3):
        await store.put("00000001", stored("old", 300))
    (old,), index = await client.keys(f"{PREFIX}*"), f"{INDEX}{{00000001}}"
    for _ in range(3):
        await store.put("00000001", stored("read", 200))
    (read,) = {*await client.keys(f"{PREFIX}*")} - {old}
    for key in (read, index, f"{index}:bytes"):
        await client.pexpire(key, 5_000)
    assert await store.get("00000001", "read") is not None
    assert min([await client.pttl(key) for key in (read, index, f"{index}:bytes")]) > 5_000
    await client.delete(old)  # as Redis does a minute after its last use
    await client.zadd(index, {name: 0 for name in await client.zrange(index, 0, -1) if name.endswith(b":802")})
    assert await store.get("00000001", "old") is None
    await store.put("00000001", stored("new", 50))
    known, there = await sizes(client, "00000001")
    assert known == there == 200 + 50 + 2 * (2 + OVERHEAD)
    assert await store.forget("c") == 2
    assert await sizes(client, "00000001") == (0, 0)
