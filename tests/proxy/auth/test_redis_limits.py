"""Limits of keys that several processes share."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError

from models.usage import Ledger
from proxy.auth import keys
from proxy.auth.limits import NOTHING, Estimate, Reservation
from proxy.auth.redis_limits import RedisMeter
from proxy.protocol.errors import ApiError, QuotaSpent, RateLimited, StoreUnavailable
from tests.redis_server import RedisServer, needs_redis

pytestmark = needs_redis
ESTIMATE = Estimate("bot", NOTHING, NOTHING)


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


async def told(redis: RedisServer, key: keys.KeyRecord) -> tuple[float, int]:
    """Return what Redis knows: the money that a key has spent, and its requests under way."""
    async with Redis.from_url(redis.url) as client:
        spent = await client.hget(f"caf:meter:{{{key.id}}}", "spent")
        return float(spent or 0), await client.zcard(f"caf:meter:{{{key.id}}}:running")


async def until_told(redis: RedisServer, key: keys.KeyRecord, spent: float) -> None:
    """Wait until Redis knows what a key has spent, and that nothing of it is under way."""
    async with asyncio.timeout(20):
        while await told(redis, key) != (spent, 0):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.05)


async def interrupt(task: asyncio.Task[Any]) -> None:
    """Cancel a task that waits for Redis."""
    await asyncio.sleep(0.05)
    assert not task.done()
    task.cancel()
    await asyncio.wait([task])


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


async def test_what_is_reserved_is_shared_and_runs_out(redis: RedisServer, two: tuple[RedisMeter, RedisMeter]) -> None:
    """What one process reserves is not there for another; one that was killed reserves nothing once its lease runs out."""
    for key in (record(daily_budget=1.0), record(tokens_per_minute=1_000)):
        short = RedisMeter(Redis.from_url(redis.url), 0.3, degrade=False)
        lease = await two[0].begin(key, Reservation(1_000, 1e-7))
        await two[0].end(key, lease, 0, None)
        await short.begin(key, Reservation(2_000, 2.0))
        with pytest.raises(RateLimited) as caught:
            await two[1].begin(key, Reservation(1, 0.1, seconds=3))
        assert caught.value.headers["Retry-After"] == "3"
        assert not isinstance(caught.value, QuotaSpent)
        await asyncio.sleep(0.4)
        lease = await two[1].begin(key, Reservation(2_000, 2.0))
        with pytest.raises(RateLimited):
            await two[0].begin(key)
        await two[1].end(key, lease, 1, 0.1)
        await two[0].begin(key)
        await short.close()


async def test_a_full_redis_is_no_limit_and_takes_places_back(
    redis: RedisServer, two: tuple[RedisMeter, RedisMeter]
) -> None:
    """Out of memory it refuses requests as one that is away (503, not 429), and a request that ends then leaves no place taken."""
    key = record(max_concurrent=1)
    lease = await two[0].begin(key)
    async with Redis.from_url(redis.url) as client:
        await client.config_set("maxmemory", "1")
        try:
            await two[0].end(key, lease, 0, 0.5)
            assert await told(redis, key) == (0.5, 0)
            for _ in range(3):
                with pytest.raises(StoreUnavailable):
                    await two[1].begin(key)
        finally:
            await client.config_set("maxmemory", "0")
    await two[1].end(key, await two[1].begin(key), 0, None)


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


async def test_a_client_that_leaves_a_server_that_hangs_gives_its_place_back(
    redis: RedisServer, two: tuple[RedisMeter, RedisMeter]
) -> None:
    """The server hands the place out when it goes on, to nobody: it must not be taken for as long as a lease lasts."""
    key = record(max_concurrent=1)
    await two[0].end(key, await two[0].begin(key), 0, None)  # connected
    redis.freeze()
    asking = asyncio.create_task(two[0].begin(key))
    await interrupt(asking)
    assert asking.cancelled()
    redis.thaw()
    async with asyncio.timeout(20):
        while True:
            try:
                await two[1].begin(key)
                break
            except RateLimited:
                await asyncio.sleep(0.05)


@pytest.mark.parametrize("killed", [False, True])
async def test_a_client_that_leaves_while_its_use_is_counted_has_used_it(
    redis: RedisServer, two: tuple[RedisMeter, RedisMeter], killed: bool
) -> None:
    """Many close the connection at the last byte: money and place are counted, whatever becomes of a server that hangs."""
    key = record(daily_budget=10.0, max_concurrent=1)
    await two[0].end(key, await two[0].begin(key), 0, 0.0)  # connected
    lease = await two[0].begin(key)
    redis.freeze()
    await interrupt(asyncio.create_task(two[0].end(key, lease, 10, 5.0)))
    if killed:
        redis.kill()
        redis.start()
    else:
        redis.thaw()
    await until_told(redis, key, 5.0)


async def test_a_client_that_leaves_while_its_use_is_counted_has_got_all(
    redis: RedisServer, two: tuple[RedisMeter, RedisMeter]
) -> None:
    """Its request is answered, not broken off; one that failed before stays what it is."""

    async def ask(key: keys.KeyRecord, does: Callable[[], object]) -> object:
        async with two[0].admit(key, Ledger(), ESTIMATE):
            redis.freeze()
            return does()

    for does, cancelled in ((lambda: "answered", False), (lambda: int("broken"), True)):
        key = record(max_concurrent=1)
        asking = asyncio.create_task(ask(key, does))
        await asyncio.sleep(0.2)
        await interrupt(asking)
        redis.thaw()
        assert asking.cancelled() == cancelled
        if not cancelled:
            assert asking.result() == "answered"
            assert asking.cancelling() == 0
        await until_told(redis, key, 0.0)


async def test_what_a_redis_that_lost_its_data_is_told_counts(
    redis: RedisServer, two: tuple[RedisMeter, RedisMeter]
) -> None:
    """It is spent today, taken from a full minute's worth, and forgotten some day."""
    key = record(daily_budget=1.0, tokens_per_minute=1_000)
    lease = await two[0].begin(key)
    used = f"caf:meter:{{{key.id}}}"
    async with Redis.from_url(redis.url) as client:
        await client.flushall()
        await two[0].end(key, lease, 900, 5.0)
        assert float(await client.hget(used, "tokens")) == 100
        assert await client.ttl(used) > 0
    with pytest.raises(QuotaSpent):
        await two[1].begin(key)


async def test_a_limit_that_is_new_finds_no_debt(redis: RedisServer, two: tuple[RedisMeter, RedisMeter]) -> None:
    """What was used without a limit is not waited off when one is set while the proxy runs."""
    key = record(daily_budget=1000.0)
    for _ in range(20):
        await two[0].end(key, await two[0].begin(key), 1_000, 0.0)
    limited = key.model_copy(update={"requests_per_minute": 60_000, "tokens_per_minute": 60_000})
    await asyncio.sleep(0.01)
    await two[1].begin(limited)


@asynccontextmanager
async def cutting(redis: RedisServer) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A way to Redis that loses the next answer, and its connection, when it is told to."""
    cut, links = asyncio.Event(), []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, answers: bool) -> None:
        while data := await reader.read(65_536):
            if answers and cut.is_set():
                cut.clear()
                break
            writer.write(data)
        writer.close()

    async def link(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", redis.port)
        links.append(asyncio.current_task())
        async with asyncio.TaskGroup() as pumps:
            pumps.create_task(pump(reader, forth, answers=False))
            pumps.create_task(pump(back, writer, answers=True))

    server = await asyncio.start_server(link, "127.0.0.1", 0)
    yield f"redis://127.0.0.1:{server.sockets[0].getsockname()[1]}/0", cut
    server.close()
    await asyncio.wait([one for one in links if one is not None])


async def test_a_request_whose_answer_was_lost_is_not_in_its_own_way(redis: RedisServer) -> None:
    """The client library asks again on a new connection: the place that the request has got is its own."""
    async with cutting(redis) as (url, cut):
        meter = RedisMeter(Redis.from_url(url, retry=Retry(NoBackoff(), 1, (RedisConnectionError,))), 60, degrade=False)
        key = record(max_concurrent=1, daily_budget=1.0)
        await meter.end(key, await meter.begin(key), 0, None)  # connected
        cut.set()
        lease = await meter.begin(key, Reservation(1, 5.0))
        assert not cut.is_set()
        assert await told(redis, key) == (0.0, 1)
        await meter.end(key, lease, 0, None)
        await meter.close()


@pytest.mark.parametrize("degrade", [False, True])
async def test_what_was_used_while_redis_was_away_is_counted_when_it_is_back(redis: RedisServer, degrade: bool) -> None:
    """Degraded, also what requests used that began meanwhile."""
    meter = RedisMeter(Redis.from_url(redis.url, retry=Retry(NoBackoff(), 0)), 60, degrade=degrade)
    key = record(daily_budget=1.0)
    lease = await meter.begin(key)
    redis.kill()
    try:
        await meter.end(key, await meter.begin(key) if degrade else lease, 10, 5.0)
    finally:
        redis.start()
    await until_told(redis, key, 5.0)
    await meter.close()


@pytest.mark.parametrize("hanging", [False, True])
async def test_a_meter_that_closes_tries_once_more(redis: RedisServer, hanging: bool) -> None:
    """What Redis was not told yet, it is told before the process ends, or its configuration is exchanged."""
    meter = RedisMeter(Redis.from_url(redis.url, retry=Retry(NoBackoff(), 0)), 60, degrade=False)
    key = record(daily_budget=1.0, max_concurrent=1)
    lease = await meter.begin(key)
    if hanging:
        redis.freeze()
        await interrupt(asyncio.create_task(meter.end(key, lease, 10, 5.0)))
        redis.thaw()
    else:
        redis.kill()
        try:
            await meter.end(key, lease, 10, 5.0)
        finally:
            redis.start()
    await meter.close()
    assert await told(redis, key) == (5.0, 0)


async def test_a_meter_that_closes_does_not_wait_for_ever(redis: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that hangs: the keys whose use it was not told are named in the log."""
    monkeypatch.setattr("proxy.auth.redis_limits.CLOSE_TIMEOUT_S", 0.1)
    meter = RedisMeter(Redis.from_url(redis.url), 60, degrade=False)
    key = record(daily_budget=1.0)
    lease = await meter.begin(key)
    redis.freeze()
    try:
        await interrupt(asyncio.create_task(meter.end(key, lease, 10, 5.0)))
        with structlog.testing.capture_logs() as logs:
            async with asyncio.timeout(2):
                await meter.close()
    finally:
        redis.thaw()
    assert [(line["log_level"], line["keys"]) for line in logs if "keys" in line] == [("error", [key.id])]


async def test_a_clock_that_was_wrong_by_days_leaves_no_limit_stuck(
    redis: RedisServer, two: tuple[RedisMeter, RedisMeter]
) -> None:
    """A day in the year after next does not last until it comes, and neither does a lease that was given in it."""
    key = record(daily_budget=1.0, max_concurrent=2)
    await two[0].end(key, await two[0].begin(key), 0, 0.1)
    client = Redis.from_url(redis.url)
    used, running = f"caf:meter:{{{key.id}}}", f"caf:meter:{{{key.id}}}:running"
    now, _ = await client.time()
    await client.hset(used, "day", now // 86_400 + 700)
    await client.zadd(running, {"of a worker that was killed": now + 700 * 86_400})
    await two[0].begin(key)
    assert int(await client.hget(used, "day")) in (now // 86_400, now // 86_400 + 1)
    assert float(await client.hget(used, "spent")) == 0.1
    assert await client.zscore(running, "of a worker that was killed") < now + 120
    await client.aclose()


@pytest.mark.parametrize(("degrade", "allowed"), [(False, 0), (True, 2)])
async def test_without_redis_the_policy_decides(degrade: bool, allowed: int) -> None:
    """Closed: nobody with a limit gets in; degraded: this process counts alone."""
    meter = RedisMeter(Redis(port=1, retry=Retry(NoBackoff(), 0)), 60, degrade=degrade)
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
