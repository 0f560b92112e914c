"""Limits of keys."""

import asyncio
import math
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.usage import Call, Ledger, Usage
from proxy.auth import keys
from proxy.auth.keys import KeyRecord
from proxy.auth.limits import NOTHING, Estimate, ProcessMeter, Reservation
from proxy.protocol.errors import QuotaSpent, RateLimited

DAY = 86_400.0
ESTIMATE = Estimate("bot", NOTHING, NOTHING)


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
        async with meter_.admit(key, Ledger(), ESTIMATE) as ledger:
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


async def test_what_is_reserved_is_not_there_for_others() -> None:
    """It passes while anything is left; the reservation ends with its request, which counts what it used."""
    meter_, _ = meter()
    key = record(daily_budget=1.0, tokens_per_minute=100)
    first = await meter_.begin(key, Reservation(60, 0.6))
    second = await meter_.begin(key, Reservation(60, 0.6, seconds=7))
    with pytest.raises(RateLimited) as caught:
        await meter_.begin(key, Reservation(1, 0.1, seconds=7))
    assert caught.value.headers["Retry-After"] == "7"
    assert not isinstance(caught.value, QuotaSpent)
    await meter_.end(key, first, 10, 0.1)
    third = await meter_.begin(key, Reservation(60, 0.6))
    for lease in (second, third):
        await meter_.end(key, lease, 50, 0.5)
    with pytest.raises(QuotaSpent):
        await meter_.begin(key)


@pytest.mark.parametrize(
    ("turns", "reserved"),
    [([], 100), ([10], 20), ([50], 50), ([50, 10], 46), ([10, 50], 50), ([90, *[10] * 60], 20)],
)
async def test_what_is_reserved_follows_the_largest_of_recent_turns(turns: list[int], reserved: int) -> None:
    """A first turn reserves what its chatbot may take, a later one what recent ones took, and no less than its own request says."""
    meter_, _ = meter()
    key, estimate = record(tokens_per_minute=1), Estimate("bot", Reservation(100, 1.0), Reservation(20, 0.2))
    for tokens in turns:
        meter_.learn(key, "bot", Reservation(tokens, tokens / 100))
    got = meter_.estimate(key, estimate)
    assert (got.tokens, got.cost) == (pytest.approx(reserved, abs=1), pytest.approx(reserved / 100, abs=0.01))
    assert meter_.estimate(record(tokens_per_minute=1), estimate) == estimate.first
    assert meter_.estimate(key, Estimate("other", estimate.first, estimate.least)) == estimate.first


@given(st.lists(st.tuples(st.integers(0, 9), st.floats(0.01, 5), st.floats(0, 1)), max_size=60), st.floats(0.1, 20))
def test_the_last_turn_alone_overshoots(steps: list[tuple[int, float, float]], budget: float) -> None:
    """Begins and ends in any order: what is spent and reserved is never negative, and in the end nothing is reserved."""
    meter_, _ = meter()
    key = record(daily_budget=budget, tokens_per_minute=1_000)
    running: dict[str, Reservation] = {}

    async def ask() -> None:
        for place, size, share in steps:
            if place < 6:
                with suppress(RateLimited):
                    reservation = Reservation(math.ceil(100 * size), size)
                    running[await meter_.begin(key, reservation)] = reservation
            elif running:
                lease = list(running)[place % len(running)]
                held = running.pop(lease)
                await meter_.end(key, lease, int(share * held.tokens), share * held.cost)
            usage = meter_._usage.get(key.id)
            if usage is not None:
                assert usage.reserved == running
                assert usage.spent >= 0
                assert usage.spent + sum(one.cost for one in running.values()) < budget + 5
                assert sum(one.tokens for one in running.values()) - usage.tokens < 500
        for lease, held in running.items():
            await meter_.end(key, lease, held.tokens, held.cost)
        assert all(not usage.reserved and usage.running == 0 for usage in meter_._usage.values())

    asyncio.run(ask())


@pytest.mark.parametrize("ending", [ValueError, asyncio.CancelledError, RateLimited])
async def test_a_request_that_ends_in_any_way_reserves_nothing_more(ending: type[BaseException]) -> None:
    """A failed turn, a client that leaves, and a refusal after the limits."""
    meter_, _ = meter()
    key = record(daily_budget=1.0)
    error = RateLimited("busy", 1) if ending is RateLimited else ending("broken")
    with suppress(ending):
        async with meter_.admit(key, Ledger(), Estimate("bot", Reservation(1, 5.0), Reservation(1, 5.0))):
            raise error
    await meter_.begin(key)
