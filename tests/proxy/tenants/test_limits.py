"""Limits of keys."""

import asyncio
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.usage import Call, Ledger, Usage
from proxy.tenants import keys
from proxy.tenants.keys import KeyRecord
from proxy.tenants.limits import ProcessMeter
from proxy.wire.errors import QuotaSpent, RateLimited

DAY = 86_400.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000 * DAY + 10

    def __call__(self) -> float:
        return self.now


def meter() -> tuple[ProcessMeter, Clock]:
    clock = Clock()
    return ProcessMeter(clock, clock), clock


def record(**limits: float) -> KeyRecord:
    return keys.create("one", **limits).record  # type: ignore[arg-type]


async def test_requests_a_minute() -> None:
    """A minute's worth at once, then one for each share of the minute that passes."""
    meter_, clock = meter()
    key = record(requests_per_minute=3)
    for _ in range(3):
        await meter_.begin(key)
    with pytest.raises(RateLimited) as caught:
        await meter_.begin(key)
    assert caught.value.headers["Retry-After"] == "20"
    clock.now += 20
    await meter_.begin(key)


async def test_tokens_are_waited_off_afterwards() -> None:
    """What a turn takes is known when it ends: the next request waits for it."""
    meter_, clock = meter()
    key = record(tokens_per_minute=100)
    await meter_.begin(key)
    await meter_.end(key, "", 150, None)
    with pytest.raises(RateLimited):
        await meter_.begin(key)
    clock.now += 31
    await meter_.begin(key)


async def test_the_budget_is_for_a_day() -> None:
    """The next day, by UTC, brings a new one; a clock that is set back brings none."""
    meter_, clock = meter()
    key = record(daily_budget=1.0)
    await meter_.begin(key)
    await meter_.end(key, "", 0, 1.5)
    with pytest.raises(QuotaSpent) as caught:
        await meter_.begin(key)
    assert int(caught.value.headers["Retry-After"]) == DAY - 10
    clock.now -= DAY
    with pytest.raises(QuotaSpent):
        await meter_.begin(key)
    clock.now += 2 * DAY
    await meter_.begin(key)


async def test_a_day_that_only_a_wrong_clock_has_seen_does_not_last_until_it_comes() -> None:
    """A clock that was ahead by two years, and was put right: the budget is spent today, and there again tomorrow."""
    meter_, clock = meter()
    key = record(daily_budget=1.0)
    clock.now += 700 * DAY
    await meter_.begin(key)
    await meter_.end(key, "", 0, 1.5)
    clock.now -= 700 * DAY
    with pytest.raises(QuotaSpent):
        await meter_.begin(key)
    clock.now += DAY
    await meter_.begin(key)


async def test_requests_at_a_time() -> None:
    """One that ends makes room; one that was refused took none."""
    meter_, _ = meter()
    key = record(max_concurrent=1)
    await meter_.begin(key)
    for _ in range(3):
        with pytest.raises(RateLimited):
            await meter_.begin(key)
    await meter_.end(key, "", 0, None)
    await meter_.begin(key)


async def test_a_limit_that_is_new_finds_no_debt() -> None:
    """What was used without a limit is not waited off when one is set while the proxy runs."""
    meter_, clock = meter()
    key = record(daily_budget=1000.0)
    for _ in range(200):
        await meter_.begin(key)
        await meter_.end(key, "", 1_000, 0.0)
    limited = key.model_copy(update={"requests_per_minute": 60, "tokens_per_minute": 1_000})
    clock.now += 1
    await meter_.begin(limited)


async def test_keys_do_not_share_limits() -> None:
    """One tenant's load is not another's."""
    meter_, _ = meter()
    one, other = record(requests_per_minute=1), record(requests_per_minute=1)
    await meter_.begin(one)
    await meter_.begin(other)


async def test_what_fails_is_counted_too() -> None:
    """Calls that were made were paid for, however the turn ended."""
    meter_, _ = meter()
    key = record(daily_budget=1.0)
    with pytest.raises(ValueError, match="broken"):  # noqa: PT012
        async with meter_.admit(key, Ledger()) as ledger:
            ledger.add(Call("draft", "chatbot", 1.0, Usage(10, 10), 2.0, None))
            raise ValueError("broken")
    with pytest.raises(QuotaSpent):
        await meter_.begin(key)


@given(st.lists(st.floats(0, 90), max_size=60), st.integers(1, 20))
def test_never_more_than_two_minutes_worth_in_a_minute(pauses: list[float], limit: int) -> None:
    """Whatever the rhythm: a bucket holds one minute's worth and gains another in a minute."""
    meter_, clock = meter()
    key = record(requests_per_minute=limit)
    passed: list[float] = []

    async def ask() -> None:
        for pause in pauses:
            clock.now += pause
            with suppress(RateLimited):
                await meter_.begin(key)
                passed.append(clock.now)

    asyncio.run(ask())
    assert all(sum(at <= one < at + 60 for one in passed) <= 2 * limit for at in passed)


async def test_what_a_long_request_used_is_not_made_up_for_by_its_own_length() -> None:
    """A full bucket does not fill further while the request runs."""
    meter_, clock = meter()
    key = record(tokens_per_minute=100)
    lease = await meter_.begin(key)
    clock.now += 60
    await meter_.end(key, lease, 100, None)
    with pytest.raises(RateLimited):
        await meter_.begin(key)


async def test_what_ends_after_midnight_counts_for_the_new_day() -> None:
    """Else whatever is under way at midnight would cost nothing."""
    meter_, clock = meter()
    key = record(daily_budget=1)
    clock.now += DAY - 20
    lease = await meter_.begin(key)
    clock.now += 20
    await meter_.end(key, lease, 0, 5.0)
    with pytest.raises(QuotaSpent):
        await meter_.begin(key)
