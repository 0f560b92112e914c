"""Conversation states in Redis."""

import asyncio
import json
from pathlib import Path

import pytest
import structlog
from redis.asyncio import Redis

from proxy.api.service import SERVICE
from proxy.config.settings import MemorySettings
from proxy.protocol.errors import StoreUnavailable
from proxy.state.conversation import CarriedWarning, Conversation
from proxy.state.redis_conversations import open_redis
from tests.proxy.auth.test_access import keyed
from tests.proxy.conftest import CRISIS, Body, Proxy, Start, dialogue, text_of, warnings_in
from tests.redis_server import RedisServer

ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night, it cures voices."


def stored_in(server: RedisServer, **more: object) -> Body:
    return {"memory": {"store": "redis", "url": server.url, "timeout_s": 0.5, **more}}


async def drift(proxy: Proxy) -> list[Body]:
    """Take one turn that adds a warning; return the messages of the next one."""
    proxy.upstream.answer = lambda body: ADVICE
    said = text_of(await proxy.say("What helps?"))
    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nHello."
    proxy.upstream.requests.clear()
    return dialogue("What helps?", said, "And then?")


async def test_processes_share_what_a_conversation_carries(start: Start, redis: RedisServer) -> None:
    """A warning from one process is shown by another, behind any load balancer."""
    one, other = await start(config=stored_in(redis)), await start(config=stored_in(redis))
    messages = await drift(one)
    await other.say(*messages)
    assert any(warnings_in(body) for body in other.upstream.requests)


async def test_state_comes_back_as_it_was(redis: RedisServer) -> None:
    """Including the keys of exchanges, which are bytes and not JSON."""
    memory = open_redis(MemorySettings(store="redis", url=redis.url), {})
    kept = Conversation("c", 1, (CarriedWarning("role", "Say less.", 1, 5, 3),), {"sleep": 1})
    kept = kept.after_reply(2, "hash", ("sleep", "no_claims"), bytes(range(16)), "bcdfgh")
    await memory.put([b"a"], kept)
    assert await memory.get(b"a") == kept
    await memory.close()


async def test_processes_share_what_a_model_wants_back(start: Start, redis: RedisServer) -> None:
    """With the upstream's ids. Erasing a conversation deletes them; entries of another version count as lost."""
    settings = {"config": stored_in(redis), "kind": "wrapped", "trusted_tools": ["f"]}
    one, other = await start(**settings), await start(**settings)
    call = {
        "id": "functions.f:0",
        "type": "function",
        "function": {"name": "f", "arguments": "{}"},
        "extra_content": {"a": [1]},
    }
    message = {"role": "assistant", "content": None, "reasoning_content": "Hm.", "tool_calls": [call]}
    one.upstream.answer = lambda body: [message]
    tools = [{"type": "function", "function": {"name": "f"}}]
    first = await one.say("Hi", tools=tools)
    reply = first["choices"][0]["message"]
    result = {"role": "tool", "tool_call_id": reply["tool_calls"][0]["id"], "content": "42"}
    other.upstream.answer = lambda body: "Hello."

    async def sent() -> list[Body]:
        await other.say("Hi", reply, result, tools=tools)
        messages: list[Body] = other.upstream.requests[-1]["messages"]
        return messages[1:]

    expected = {**message, "refusal": None}
    assert await sent() == [expected, {**result, "tool_call_id": "functions.f:0"}]
    client = Redis.from_url(redis.url)
    keys = [key for key in await client.keys("caf:state:*") if b"functions.f:0" in await client.get(key)]
    assert len(keys) == 1
    await client.set(keys[0], b'{"id": 5}', keepttl=True)
    assert await sent() == [reply, result]
    await client.aclose()
    await one.say("Hi", tools=tools)
    store = other.app[SERVICE].conversations
    assert await store.forget(first["caf"]["conversation_id"]) > 0
    assert await sent() == [reply, result]


async def test_many_turns_at_once_find_redis_there(redis: RedisServer) -> None:
    """More connections than the library's default are allowed. `max_connections` in the URL lowers the limit."""
    memory = open_redis(MemorySettings(store="redis", url=redis.url, timeout_s=30), {})
    kept = Conversation("c", 1, (), {"sleep": 1})
    await asyncio.gather(*[memory.put([bytes([n % 250, n // 250])], kept) for n in range(400)])
    assert memory.failures == 0
    await memory.close()
    few = open_redis(MemorySettings(store="redis", url=f"{redis.url}?max_connections=2"), {})
    ended = await asyncio.gather(*[few.put([b"a"], kept) for _ in range(50)], return_exceptions=True)
    await few.close()
    assert {type(one) for one in ended} == {type(None), StoreUnavailable}


async def test_states_hold_no_text(start: Start, redis: RedisServer) -> None:
    """Neither the user's messages nor delivered or rejected replies."""
    messages = await drift(await start(config=stored_in(redis)))
    client = Redis.from_url(redis.url)
    kept = b"".join([await client.get(key) for key in await client.keys("*")])
    await client.aclose()
    assert kept
    for text in ("What helps", "magnesium", messages[1]["content"][:30]):
        assert text.encode() not in kept


async def test_a_state_expires(start: Start, redis: RedisServer) -> None:
    """Redis deletes a state that was not used for its age."""
    proxy = await start(config=stored_in(redis, max_age_s=0.2))
    messages = await drift(proxy)
    await asyncio.sleep(0.4)
    await proxy.say(*messages)
    assert not any(warnings_in(body) for body in proxy.upstream.requests)


async def test_without_redis_nothing_is_served_but_the_emergency_text(start: Start, redis: RedisServer) -> None:
    """With `closed`, a reply without its state is not sent, but the emergency text is."""
    proxy = await start(config=stored_in(redis))
    messages = await drift(proxy)
    redis.kill()
    status, error = await proxy.error({"model": "bot", "messages": messages})
    assert (status, error["code"]) == (503, "state_unavailable")
    status, body = await proxy.post({"model": "bot", "messages": [*messages[:2], *dialogue(CRISIS)]})
    assert (status, text_of(body)) == (200, "You matter. Call 112.")


@pytest.mark.parametrize("ended", ["kill", "freeze"])
async def test_it_is_not_ready_while_redis_does_not_answer(start: Start, redis: RedisServer, ended: str) -> None:
    """With `closed` requests would fail. The probe shows only the status, and does not count as a lost state."""
    proxy = await start(config=stored_in(redis, timeout_s=0.2))
    assert await ready(proxy) == (200, "ready")
    getattr(redis, ended)()
    await until(proxy, (503, "not ready"))
    _, metrics = await proxy.get("/metrics")
    assert "caf_memory_failures 0.0" in metrics
    (redis.start if ended == "kill" else redis.thaw)()
    await until(proxy, (200, "ready"))


async def test_why_it_is_not_ready_is_for_an_admin(start: Start, tmp_path: Path) -> None:
    """Without the permission, the probe shows only the status."""
    config, plain = keyed(tmp_path)
    _, admin = keyed(tmp_path, "admin")
    proxy = await start(config=config | {"memory": {"store": "redis", "url": "redis://127.0.0.1:1"}})
    for headers, keys in (({}, {"status"}), (plain, {"status"}), (admin, {"status", "chatbots", "reason"})):
        async with proxy.session.get(f"{proxy.url}/readyz", headers=headers) as response:
            assert (response.status, (await response.json()).keys()) == (503, keys)


async def test_degraded_it_is_ready_without_redis(start: Start) -> None:
    """With `degrade`, requests are served."""
    proxy = await start(config={"memory": {"store": "redis", "url": "redis://127.0.0.1:1", "on_error": "degrade"}})
    assert await ready(proxy) == (200, "ready")


async def test_probing_asks_redis_once_a_second(start: Start, redis: RedisServer) -> None:
    """Independent of the number of probes."""
    proxy = await start(config=stored_in(redis))
    client = Redis.from_url(redis.url)
    await client.config_resetstat()
    async with asyncio.TaskGroup() as group:
        for _ in range(50):
            group.create_task(ready(proxy))
    asked = (await client.info("commandstats")).get("cmdstat_ping", {"calls": 0})["calls"]
    await client.aclose()
    assert asked < 25


async def test_a_start_without_redis_is_told_in_the_log(start: Start) -> None:
    """The proxy starts, because Redis may come back. The log shows it before the first request."""
    with structlog.testing.capture_logs() as logs:
        await start(config={"memory": {"store": "redis", "url": "redis://127.0.0.1:1"}})
    (line,) = [line for line in logs if line["event"] == "state store unavailable"]
    assert (line["log_level"], line["error"], line["policy"]) == ("error", "ConnectionError", "closed")


async def ready(proxy: Proxy) -> tuple[int, str]:
    status, text = await proxy.get("/readyz")
    return status, json.loads(text)["status"]


async def until(proxy: Proxy, wanted: tuple[int, str]) -> None:
    async with asyncio.timeout(10):
        while await ready(proxy) != wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
