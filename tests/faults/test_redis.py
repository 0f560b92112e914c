"""Redis is killed, restarted, or hangs while conversations go on: no state that was acknowledged is lost, and no limit is."""

import asyncio
import time
from pathlib import Path

from proxy.auth import keys
from tests.faults.driver_proxy import Proxy, serving, until
from tests.faults.driver_talk import (
    CONTACT,
    CRISIS,
    Ear,
    Load,
    Talk,
    expect_counted,
    expect_no_wrong_delivery,
    expect_state_kept,
    expect_truth,
    settings,
)
from tests.faults.driver_told import Reply
from tests.faults.driver_upstream import Body
from tests.redis_server import RedisServer

PER_MINUTE = 6


def made_keys(folder: Path) -> dict[str, str]:
    """Write a file with a key for each kind of limit, and return the keys."""
    made = {
        "free": keys.create("free", ("admin", "chat")),
        "frequent": keys.create("frequent", requests_per_minute=PER_MINUTE),
        "dear": keys.create("dear", daily_budget=1.5),
        "single": keys.create("single", max_concurrent=1),
    }
    keys.save([one.record for one in made.values()], folder / "keys.json")
    return {name: one.text for name, one in made.items()}


def stored_in(redis: RedisServer, up: Ear, **memory: object) -> Body:
    config = settings(up, memory={"store": "redis", "url": redis.url, "timeout_s": 0.5, **memory})
    config["models"]["chatbot"]["price"] = {"input": 100_000, "output": 0}  # a turn costs 1
    return config


async def in_danger(proxy: Proxy, load: Load, key: str) -> Reply:
    """Ask as somebody who needs help now, in the middle of a conversation."""
    talk = next(talk for talk in load.talks if talk.replies)
    reply = await proxy.post("bot", *talk.said[:2], CRISIS, key=key)
    load.answers.append(reply)
    return reply


async def test_killed_or_hanging_under_load_it_loses_nothing_acknowledged(
    tmp_path: Path, up: Ear, redis: RedisServer
) -> None:
    """`closed`: 503 and the emergency text meanwhile; then every conversation goes on where it was, and so does every limit."""
    made = made_keys(tmp_path)
    config = stored_in(redis, up, on_error="closed") | {"keys": {"file": "keys.json"}}
    async with serving(tmp_path, config, workers=2) as proxy:
        proxy.key = made["free"]
        load = Load(proxy, made["free"])
        began = time.monotonic()
        passed = await load.ask("Hello", key=made["frequent"], times=2)
        assert await load.ask("Hello", key=made["dear"]) == 1
        async with load.running(12):
            await load.more(30)
            held = asyncio.create_task(load.ask("Please wait", key=made["single"]))
            await until(lambda: any("wait" in heard.said for heard in up.heard))
            for fail, recover in ((redis.kill, redis.start), (redis.freeze, redis.thaw)):
                fail()
                before = len(load.answers)
                await load.refused(12)
                assert {r.code for r in load.answers[before:] if r.status == 503} == {"state_unavailable"}
                for key in ("free", "frequent"):
                    reply = await in_danger(proxy, load, made[key])
                    assert (reply.status, reply.outcome, reply.text) == (200, "emergency", CONTACT)
                up.held.set()  # the request of the key with one place ends while nobody can count that
                assert await held == 0
                for key in ("frequent", "single"):  # a server that hangs counts this one when it goes on
                    assert await load.ask("Hello", key=made[key]) == 0
                    assert load.answers[-1].status == 503
                await asyncio.to_thread(recover)
                await load.more(30)
        passed += await load.ask("Hello", key=made["frequent"], times=PER_MINUTE + 10)
        assert load.answers[-1].code == "rate_limit_exceeded"
        assert passed <= PER_MINUTE * (1 + (time.monotonic() - began) / 60)
        assert await load.ask("Hello", key=made["dear"], times=2) == 1
        assert load.answers[-1].code == "insufficient_quota"
        await until(lambda: load.ask("Hello", key=made["single"]))
        await proxy.counted("caf_memory_failures", 24)
        await expect_counted(load, proxy)
        proxy.end()
    expect_no_wrong_delivery(load, up)
    expect_state_kept(load.talks, up, proxy)
    expect_truth(load, proxy)
    assert proxy.lines("state store unavailable", policy="closed")
    assert proxy.lines("use of a key not counted yet")


async def test_degraded_every_turn_is_served_and_what_is_forgotten_is_told(
    tmp_path: Path, up: Ear, redis: RedisServer
) -> None:
    """`degrade`: no reply fails, whether Redis is killed or hangs; conversations before and after it have their state."""
    made = made_keys(tmp_path)
    config = stored_in(redis, up, on_error="degrade", timeout_s=0.2) | {"keys": {"file": "keys.json"}}
    async with serving(tmp_path, config) as proxy:
        proxy.key = made["free"]
        load = Load(proxy, made["free"])
        began = time.monotonic()
        whole: list[Talk] = []
        allowed = await load.ask("Hello", key=made["frequent"], times=PER_MINUTE + 10)
        for fail, recover in ((redis.kill, redis.start), (redis.freeze, redis.thaw)):
            begun = len(load.talks)
            async with load.running(8):
                await load.more(40)
                whole += [talk for talk in load.talks[begun:] if talk.done]
                fail()
                failures = await proxy.count("caf_memory_failures")
                await load.more(20)
                assert await proxy.count("caf_memory_failures") > failures
                reply = await in_danger(proxy, load, made["free"])
                assert (reply.outcome, reply.text) == ("emergency", CONTACT)
            failures = await proxy.count("caf_memory_failures")
            assert await load.ask(*whole[0].said, "Hello", key=made["free"]) == 1
            assert (
                await proxy.count("caf_memory_failures") == failures + 2
            )  # however long the conversation is: get and put
            allowed += await load.ask("Hello", key=made["frequent"], times=PER_MINUTE + 10)
            await asyncio.to_thread(recover)
            begun = len(load.talks)
            async with load.running(8):
                await load.more(40)
            whole += load.talks[begun:]
        allowed += await load.ask("Hello", key=made["frequent"], times=PER_MINUTE + 10)
        assert allowed <= 2 * PER_MINUTE * (1 + (time.monotonic() - began) / 60)  # Redis', and the process' own
        assert {reply.status for reply in load.answers} == {200, 429}
        await expect_counted(load, proxy)
        proxy.end()
    expect_no_wrong_delivery(load, up)
    expect_state_kept(whole, up, proxy)
    expect_truth(load, proxy)
    assert proxy.lines("state store unavailable", policy="degrade")
    assert proxy.lines("limits unavailable", policy="degrade")
