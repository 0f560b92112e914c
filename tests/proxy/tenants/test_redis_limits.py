"""Limits of keys that several processes share."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from redis.asyncio import Redis

from proxy.errors import ApiError, QuotaSpent, RateLimited, StoreUnavailable
from proxy.tenants import keys
from proxy.tenants.redis_limits import RedisMeter
from tests.redis_server import INSTALLED, RedisServer

pytestmark = pytest.mark.skipif(not INSTALLED, reason="needs redis-server: apt-get install redis-server")


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"))
    yield server
    server.kill()


@pytest.fixture
async def two(redis: RedisServer) -> AsyncIterator[tuple[RedisMeter, RedisMeter]]:
    """The meters of two processes."""
    made = [RedisMeter(Redis.from_url(redis.url), 60, degrade=False) for _ in range(2)]
    yield made[0], made[1]
    for meter in made:
        await meter.close()


def record(**limits: Any) -> keys.KeyRecord:
    return keys.create("one", **limits).record


async def test_processes_share_a_limit(two: tuple[RedisMeter, RedisMeter]) -> None:
    """However many ask at once, no more than the limit pass."""
    key = record(requests_per_minute=7)
    asked = [two[n % 2].begin(key) for n in range(40)]
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(answer, str) for answer in answers) == 7
    assert all(isinstance(answer, str | RateLimited) for answer in answers)


async def test_requests_at_a_time_are_leases(redis: RedisServer, two: tuple[RedisMeter, RedisMeter]) -> None:
    """One that ends makes room everywhere; one whose process was killed gives its place back when it runs out."""
    key = record(max_concurrent=1)
    lease = await two[0].begin(key)
    with pytest.raises(RateLimited):
        await two[1].begin(key)
    await two[0].end(key, lease, 0, None)
    short = RedisMeter(Redis.from_url(redis.url), 0.2, degrade=False)
    await short.begin(key)
    with pytest.raises(RateLimited):
        await two[1].begin(key)
    await asyncio.sleep(0.3)
    await two[1].begin(key)
    await short.close()


async def test_tokens_and_money_are_counted_afterwards(two: tuple[RedisMeter, RedisMeter]) -> None:
    """What one process spent, the other knows."""
    spender, talker = record(daily_budget=1.0), record(tokens_per_minute=100)
    for key in (spender, talker):
        await two[0].end(key, await two[0].begin(key), 500, 1.5)
    with pytest.raises(QuotaSpent):
        await two[1].begin(spender)
    with pytest.raises(RateLimited) as caught:
        await two[1].begin(talker)
    assert 200 <= int(caught.value.headers["Retry-After"]) <= 241


@pytest.mark.parametrize(("degrade", "allowed"), [(False, 0), (True, 2)])
async def test_without_redis_the_policy_decides(degrade: bool, allowed: int) -> None:
    """Closed: nobody with a limit gets in; degraded: this process counts alone."""
    meter = RedisMeter(Redis(port=1, socket_connect_timeout=0.2), 60, degrade=degrade)
    key, passed, why = record(requests_per_minute=2), 0, []
    for _ in range(4):
        try:
            await meter.begin(key)
            passed += 1
        except ApiError as error:
            why.append(type(error))
    assert passed == allowed
    assert set(why) == {RateLimited if degrade else StoreUnavailable}
    await meter.close()
