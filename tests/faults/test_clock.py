"""The clock of the host jumps an hour ahead, over midnight, and back, while conversations go on."""

import asyncio
import signal
import time
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest

from tests.cli.conftest import Ended
from tests.faults.driver_proxy import Proxy, serving, until
from tests.faults.driver_talk import (
    Ear,
    Load,
    expect_counted,
    expect_no_wrong_delivery,
    expect_state_kept,
    expect_truth,
    settings,
)
from tests.faults.driver_upstream import Body
from tests.faults.test_redis import PER_MINUTE, made_keys
from tests.redis_server import INSTALLED, RedisServer

LIBRARIES = [*Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")]
pytestmark = pytest.mark.skipif(not LIBRARIES, reason="needs libfaketime: apt-get install faketime")
DAY_S, HOUR_S = 86_400, 3_600


class Clock:
    """A wall clock for other processes, which reads half past eleven at night (UTC) when it is made, and can be set."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._first = DAY_S - HOUR_S // 2 - int(time.time()) % DAY_S
        self.jump(0)

    def jump(self, seconds: int) -> None:
        """Set it to so many seconds after what it would read if it had never jumped."""
        new = self._file.with_suffix(".new")
        new.write_text(f"{self._first + seconds:+d}\n")
        new.replace(self._file)

    def variables(self) -> dict[str, str]:
        """Return what has a process read it."""
        return {
            "LD_PRELOAD": str(LIBRARIES[0]),
            "FAKETIME_TIMESTAMP_FILE": str(self._file),
            "FAKETIME_NO_CACHE": "1",
            "NO_FAKE_STAT": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",  # the name of it in older versions
        }


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    return Clock(tmp_path / "clock")


def frail(up: Ear) -> Body:
    """Return a configuration with a second chatbot whose upstream is left alone after two failures, for a few minutes."""
    config = settings(
        up,
        keys={"file": "keys.json"},
        privacy={"store": "redacted", "path": "traces.db", "days": 0.5},
        audit={"folder": "audit"},
        memory={"max_age_s": HOUR_S / 2},
    )
    config["models"]["chatbot"]["price"] = {"input": 100_000, "output": 0}  # a turn costs 1
    config["models"]["frail"] = config["models"]["chatbot"] | {"breaker": {"failures": 2, "open_s": 600}}
    config["chatbots"]["frail"] = config["chatbots"]["bot"] | {"model": "frail"}
    return config


async def left_alone(proxy: Proxy, up: Ear, load: Load, key: str) -> bool:
    """Return whether the circuit breaker holds calls to the frail upstream back."""
    before = len(up.heard)
    load.answers.append(await proxy.post("frail", "break", key=key))
    broken = [heard for heard in up.heard[before:] if "break" in heard.said]
    return load.answers[-1].code == "upstream_unavailable" and not broken


@pytest.mark.parametrize("store", ["process", "redis"])
async def test_a_clock_that_jumps_changes_no_state_no_limit_and_no_deadline(
    tmp_path: Path,
    up: Ear,
    clock: Clock,
    caf: Callable[..., Ended],
    store: str,
) -> None:
    """An hour ahead over midnight, and back: the new day has its budget, once. All else counts seconds that have passed."""
    made = made_keys(tmp_path)
    redis = None
    config = frail(up)
    if store == "redis":
        if not INSTALLED:
            pytest.skip("needs redis-server: apt-get install redis-server")
        (tmp_path / "redis").mkdir()
        redis = RedisServer(tmp_path / "redis")
        config["memory"] = {"store": "redis", "url": redis.url, "max_age_s": HOUR_S / 2}
    try:
        async with serving(tmp_path, config, clock.variables()) as proxy:
            proxy.key = made["free"]
            load = Load(proxy, made["free"])
            began = time.monotonic()
            passed = await load.ask("Hello", key=made["frequent"], times=PER_MINUTE + 10)
            assert await load.ask("Hello", key=made["dear"], times=9) == 2
            while not await left_alone(proxy, up, load, made["free"]):
                pass
            held = asyncio.create_task(load.ask("Please wait", key=made["single"]))
            await until(lambda: any("wait" in heard.said for heard in up.heard))
            async with load.running(4):
                await load.more(10)
                for jump in (HOUR_S, 0):
                    clock.jump(jump)
                    await load.more(10)
                    assert await left_alone(proxy, up, load, made["free"])
                    # Redis has a clock of its own, which has not jumped.
                    anew = 2 if jump and redis is None else 0
                    assert await load.ask("Hello", key=made["dear"], times=9) == anew
                    assert load.answers[-1].code == "insufficient_quota"
                    passed += await load.ask("Hello", key=made["frequent"], times=2 * PER_MINUTE)
                for chains, jump in ((2, HOUR_S), (3, 0)):
                    clock.jump(jump)
                    proxy.process.send_signal(signal.SIGHUP)  # which purges traces, and begins another chain
                    await until(lambda chains=chains: len(proxy.lines("configuration reloaded")) == chains - 1)
                    await load.more(10)
                up.held.set()
                assert await held == 1, "the jump has ended a turn that was waiting"
            assert passed <= PER_MINUTE * (1 + (time.monotonic() - began) / 60)
            assert await load.ask("Hello", key=made["single"], times=2) == 2
            await expect_counted(load, proxy)
            proxy.end()
    finally:
        if redis is not None:
            redis.kill()
    expect_no_wrong_delivery(load, up)
    expect_state_kept(load.talks, up, proxy)
    expect_truth(load, proxy)
    hours = {line["timestamp"][11:13] for line in proxy.lines("request")}
    assert {"23", "00"} <= hours, "the clock did not jump"
    verified = caf("audit", "verify", tmp_path / "audit")
    assert verified.code == 0, verified.out + verified.err
    listed = caf("trace", "list", "--file", tmp_path / "traces.db", "--limit", 10_000, "--json")
    kept = {trace["turn_id"]: trace["outcome"] for trace in orjson.loads(listed.out)}
    delivered = {reply.caf["turn_id"]: reply.outcome for talk in load.talks for reply in talk.replies}
    assert delivered.items() <= kept.items()
