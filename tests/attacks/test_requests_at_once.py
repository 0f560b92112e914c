"""Requests that come at once on what is left for one: a budget, or tokens a minute, holds them as if they came one by one."""

import asyncio
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from proxy.api.service import SERVICE
from proxy.auth.limits import ProcessMeter
from tests.proxy.auth.test_access import keyed
from tests.proxy.conftest import CRISIS, HELLO, NO_PROBLEMS, Body, Proxy, Start, bot_settings, dialogue, judge_with
from tests.redis_server import INSTALLED, RedisServer, needs_redis

AT_ONCE = 100
PRICE = {"input": 100_000, "output": 0}
"""A call of the upstream, which says that it read 10 tokens, costs 1."""
LIMITS: dict[str, Body] = {"budget": {"daily_budget": 1.0}, "tokens": {"tokens_per_minute": 15}}
"""What is just enough for one call."""
BOTS: dict[str, Body] = {
    "passthrough": {"kind": "passthrough", "model": "chatbot"},
    "unjudged": bot_settings(judges=[], refiner=None),
    "judged": bot_settings(judges=[*judge_with("local")[:1], *judge_with("swift", "chief")[1:]]),
}
STORES = ["process", pytest.param("redis", marks=needs_redis)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer | None]:
    one = RedisServer(tmp_path_factory.mktemp("redis")) if INSTALLED else None
    yield one
    if one is not None:
        one.close()


class Crowd:
    """A proxy, and a key whose clients ask at once."""

    def __init__(self, proxies: list[Proxy], headers: dict[str, str]) -> None:
        self.proxies, self.headers = proxies, headers

    @property
    def requests(self) -> list[Body]:
        """What the upstream was asked."""
        return self.proxies[0].upstream.requests

    async def ask(self, stream: bool, worker: int = 0, said: str = "Hi", **more: Any) -> tuple[int, bytes, str]:
        proxy = self.proxies[worker % len(self.proxies)]
        body = {"model": "bot", "messages": dialogue(said), "stream": stream, **more}
        async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=body, headers=self.headers) as response:
            return response.status, await response.read(), response.headers.get("Retry-After", "")

    async def ask_at_once(self, stream: bool, times: int = AT_ONCE) -> list[tuple[int, bytes, str]]:
        return await asyncio.gather(*(self.ask(stream, n) for n in range(times)))

    async def reserved(self) -> int:
        """Return for how many requests something is reserved."""
        count = 0
        for proxy in self.proxies:
            meter = proxy.app[SERVICE].meter
            if isinstance(meter, ProcessMeter):
                count += sum(len(usage.reserved) for usage in meter._usage.values())
            else:
                client: Any = meter._client  # type: ignore[attr-defined]
                count += sum([await client.zcard(name) for name in await client.keys("caf:meter:*:running")])
        return count

    async def until_released(self) -> None:
        async with asyncio.timeout(5):
            while await self.reserved():  # noqa: ASYNC110
                await asyncio.sleep(0.01)


async def gather(
    start: Start, folder: Path, server: RedisServer | None, store: str, bot: Body, limits: Body, workers: int = 1
) -> Crowd:
    config, headers = keyed(folder, **limits)
    if store == "redis":
        assert server is not None
        config = config | {"memory": {"store": "redis", "url": server.url, "timeout_s": 10}}
    started = [await start(config=config, chatbots={"bot": bot}, alias={"price": PRICE}) for _ in range(workers)]
    started[0].upstream.answer = answer_slowly
    return Crowd(started, headers)


async def answer_slowly(body: Body) -> str:
    await asyncio.sleep(0.3)
    return HELLO if body["model"] == "up-chatbot" else NO_PROBLEMS


@pytest.mark.parametrize(
    ("store", "limit", "kind", "stream"),
    [
        pytest.param(*case, marks=needs_redis if case[0] == "redis" else ())
        for case in product(("process", "redis"), LIMITS, BOTS, (False, True))
    ],
)
async def test_what_is_enough_for_one_is_not_enough_for_all(
    start: Start, tmp_path: Path, server: RedisServer | None, store: str, limit: str, kind: str, stream: bool
) -> None:
    """Of a hundred at once one is answered, with one process or several that share a Redis; nothing stays reserved."""
    crowd = await gather(start, tmp_path, server, store, BOTS[kind], LIMITS[limit], 2 if store == "redis" else 1)
    answers = await crowd.ask_at_once(stream)
    assert [status for status, *_ in answers].count(200) == 1
    assert {status for status, *_ in answers} == {200, 429}
    assert all(int(wait) >= 1 for status, _, wait in answers if status == 429)
    assert len([one for one in crowd.requests if one["model"] == "up-chatbot"]) == 1
    await crowd.until_released()


@pytest.mark.parametrize("store", STORES)
async def test_a_limit_that_is_wide_enough_refuses_nobody(
    start: Start, tmp_path: Path, server: RedisServer | None, store: str
) -> None:
    """What is reserved for a hundred requests fits into it."""
    limits = {"daily_budget": 1e6, "tokens_per_minute": 10_000_000}
    crowd = await gather(start, tmp_path, server, store, BOTS["judged"], limits)
    assert {status for status, *_ in await crowd.ask_at_once(stream=False)} == {200}
    await crowd.until_released()


@pytest.mark.parametrize("store", STORES)
async def test_who_waits_as_long_as_told_is_answered(
    start: Start, tmp_path: Path, server: RedisServer | None, store: str
) -> None:
    """Where only reservations were in the way, the wait is that for a turn to end, and not for another day."""
    crowd = await gather(start, tmp_path, server, store, BOTS["passthrough"], {"daily_budget": 1.5})
    answers = await crowd.ask_at_once(stream=False, times=5)
    refused = [(body, wait) for status, body, wait in answers if status == 429]
    assert len(refused) == 4
    assert {wait for _, wait in refused} == {"1"}
    assert all(b"reserved" in body and b"rate_limit_exceeded" in body for body, _ in refused)
    await asyncio.sleep(1)
    assert (await crowd.ask(stream=False))[0] == 200
    status, body, wait = await crowd.ask(stream=False)
    assert (status, b"insufficient_quota" in body) == (429, True)
    assert int(wait) > 1


@pytest.mark.parametrize(("store", "stream"), list(product(STORES[:1], (False, True))))
async def test_turns_that_fail_release_what_was_reserved(
    start: Start, tmp_path: Path, server: RedisServer | None, store: str, stream: bool
) -> None:
    """An upstream that fails costs nothing, and the next one to ask is served."""
    for kind, status in (("passthrough", 500), ("unjudged", 500), ("judged", 400)):
        crowd = await gather(start, tmp_path, server, store, BOTS[kind], LIMITS["budget"])
        upstream = crowd.proxies[0].upstream
        upstream.answer = lambda _, status=status: web.json_response({"error": {"message": "no"}}, status=status)
        assert (await crowd.ask(stream))[0] >= 400
        await crowd.until_released()
        for broken in ({"messages": "none"}, {"temperature": "hot"}, {"n": "many"}):
            await crowd.ask(stream, **broken)
        await crowd.until_released()
        upstream.answer = answer_slowly
        (tmp_path / "keys.json").unlink()


@pytest.mark.parametrize(("store", "kind", "stream"), list(product(STORES, BOTS, (False, True))))
async def test_clients_that_leave_release_what_was_reserved(
    start: Start, tmp_path: Path, server: RedisServer | None, store: str, kind: str, stream: bool
) -> None:
    """Whenever they leave: before the answer, or in the middle of it."""
    limits = {"daily_budget": 1e6, "tokens_per_minute": 10_000_000}
    crowd = await gather(start, tmp_path, server, store, BOTS[kind], limits)
    asking = [asyncio.create_task(crowd.ask(stream, n)) for n in range(20)]
    for n, task in enumerate(asking):
        await asyncio.sleep(0.001 * n)
        task.cancel()
    await asyncio.gather(*asking, return_exceptions=True)
    await crowd.until_released()


@pytest.mark.parametrize("store", STORES)
async def test_the_emergency_text_is_reserved_for_nobody(
    start: Start, tmp_path: Path, server: RedisServer | None, store: str
) -> None:
    """A person in danger is answered at once, while others wait for what is reserved, and when all is spent."""
    crowd = await gather(start, tmp_path, server, store, BOTS["judged"], LIMITS["budget"])
    waiting = asyncio.create_task(crowd.ask_at_once(stream=False, times=5))
    await asyncio.sleep(0.1)
    for _ in range(2):
        began = time.monotonic()
        status, body, _ = await crowd.ask(stream=False, said=CRISIS)
        assert (status, b"You matter. Call 112." in body) == (200, True)
        assert time.monotonic() - began < 2
        await waiting
    assert [status for status, *_ in waiting.result()].count(200) == 1


async def test_small_turns_before_do_not_open_the_door_for_large_ones(start: Start, tmp_path: Path) -> None:
    """The request's own size counts, whatever the last turns used: long prompts, long answers, many choices."""
    limits = {"tokens_per_minute": 40_000}
    for large in ({"said": "x" * 160_000}, {"max_tokens": 40_000}, {"max_completion_tokens": 10_000, "n": 4}):
        crowd = await gather(start, tmp_path, None, "process", BOTS["passthrough"], limits)
        for _ in range(20):
            assert (await crowd.ask(stream=False))[0] == 200
        answers = await asyncio.gather(*(crowd.ask(False, **large) for _ in range(20)))
        assert [status for status, *_ in answers].count(200) == 1
        await crowd.until_released()


async def test_large_turns_before_are_expected_again(start: Start, tmp_path: Path) -> None:
    """Where turns take more than their requests show, what is left is not given out many times over."""
    crowd = await gather(start, tmp_path, None, "process", BOTS["passthrough"], {"tokens_per_minute": 1_000_000})

    async def answer(body: Body) -> Body:
        await asyncio.sleep(0.2)
        message = {"role": "assistant", "content": "Hello."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {
            "choices": [choice],
            "usage": {"prompt_tokens": 300_000, "completion_tokens": 0, "total_tokens": 300_000},
        }

    crowd.proxies[0].upstream.answer = answer
    assert (await crowd.ask(stream=False))[0] == 200
    answers = await crowd.ask_at_once(stream=False, times=50)
    assert [status for status, *_ in answers].count(200) == 3


async def test_a_key_without_such_limits_reserves_in_vain(start: Start, tmp_path: Path) -> None:
    """Only what is limited is held."""
    crowd = await gather(start, tmp_path, None, "process", BOTS["passthrough"], {"requests_per_minute": 1_000})
    assert {status for status, *_ in await crowd.ask_at_once(stream=True)} == {200}
