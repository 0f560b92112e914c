"""The concurrency limit, its queue, and hedged requests, with a real server."""

import asyncio

import pytest

from models.errors import CircuitOpen, Overloaded, UpstreamUnavailable
from models.usage import Ledger
from tests.models.conftest import hang, refuse, say, until

ASK = {"messages": [{"role": "user", "content": "Hi"}]}


class Gate:
    """Holds replies back until the test releases them, and counts the waiting requests."""

    def __init__(self):
        self.open = asyncio.Event()
        self.inside = 0
        self.most = 0

    async def __call__(self, request):
        self.inside += 1
        self.most = max(self.most, self.inside)
        try:
            await self.open.wait()
        finally:
            self.inside -= 1
        return await say("Hello.")(request)


def ask(models, ledger=None):
    return asyncio.create_task(models.complete("judge", ASK, step="draft", ledger=ledger or Ledger()))


async def test_no_more_calls_are_under_way_than_may_be(models_at, upstream):
    """Further calls wait in order, and all are answered."""
    gate = Gate()
    upstream.replies = [gate]
    models = models_at(max_concurrent=2, queue=3)
    calls = [ask(models) for _ in range(5)]
    await until(lambda: gate.inside == 2)
    bulkhead = models.bulkheads["judge"]
    assert (bulkhead.running, bulkhead.waiting, bulkhead.full) == (2, 3, True)
    gate.open.set()
    await asyncio.gather(*calls)
    assert (gate.most, bulkhead.running, bulkhead.waiting, bulkhead.full) == (2, 0, 0, False)


async def test_a_full_queue_refuses_at_once(models_at, upstream):
    """Nothing is sent, and the ledger records the error."""
    gate = Gate()
    upstream.replies = [gate]
    models = models_at(max_concurrent=1, queue=1)
    calls = [ask(models), ask(models)]
    await until(lambda: models.bulkheads["judge"].waiting == len(upstream.seen) == 1)
    ledger = Ledger()
    with pytest.raises(Overloaded) as raised:
        await ask(models, ledger)
    assert raised.value.retry_after
    assert ([call.error for call in ledger.calls], len(upstream.seen)) == (["Overloaded"], 1)
    assert models.bulkheads["judge"].refused_calls == 1
    gate.open.set()
    await asyncio.gather(*calls)


async def test_nobody_waits_in_the_queue_for_ever(models_at, upstream):
    """A call without a slot within `timeout_s` is refused. This is not a timeout of the upstream."""
    upstream.replies = [hang]
    models = models_at(max_concurrent=1, timeout_s=0.2, max_attempts=1, breaker={"failures": 1})
    bulkhead = models.bulkheads["judge"]
    probe = await bulkhead.enter(asyncio.get_running_loop().time() + 1)
    with pytest.raises(Overloaded):
        await ask(models)
    assert (bulkhead.waiting, bulkhead.breaker.failures) == (0, 0)
    bulkhead.record_end(probe, None)
    bulkhead.leave()


async def test_who_leaves_the_queue_leaves_no_gap(models_at, upstream):
    """A cancelled call, whether waiting or running, frees its place."""
    gate = Gate()
    upstream.replies = [gate]
    models = models_at(max_concurrent=1)
    running, waiting, last = ask(models), ask(models), ask(models)
    await until(lambda: models.bulkheads["judge"].waiting == 2)
    waiting.cancel()
    running.cancel()
    gate.open.set()
    await last
    bulkhead = models.bulkheads["judge"]
    assert (bulkhead.running, bulkhead.waiting, bulkhead.full) == (0, 0, False)


async def test_the_queue_empties_when_the_circuit_opens(models_at, upstream):
    """Waiting calls are not sent to an upstream that is down."""
    upstream.replies = [refuse(500)]
    models = models_at(max_concurrent=1, max_attempts=1, breaker={"failures": 1})
    results = await asyncio.gather(*(ask(models) for _ in range(20)), return_exceptions=True)
    assert [type(one) for one in results] == [UpstreamUnavailable] + [CircuitOpen] * 19
    assert len(upstream.seen) == 1


async def test_retries_give_their_place_away_while_they_wait(models_at, upstream):
    """A call that pauses before a retry does not hold a slot."""
    upstream.replies = [refuse(429, retry_after="2"), say("Second.")]
    models = models_at(max_concurrent=1)
    first = ask(models)
    await until(lambda: len(upstream.seen) == 1)
    async with asyncio.timeout(1):
        await ask(models)
    first.cancel()


async def test_a_slow_answer_gets_a_rival(models_at, upstream):
    """The first good answer is used, the other request is cancelled at the upstream, and the ledger has both calls."""
    upstream.replies = [hang, say("From the second.")]
    ledger = Ledger()
    answer = await ask(models_at(hedge_after_s=0.05), ledger)
    assert answer["choices"][0]["message"]["content"] == "From the second."
    assert sorted(call.error or "" for call in ledger.calls) == ["", "cancelled"]
    assert upstream.raw[0] == upstream.raw[1]
    async with asyncio.timeout(3):
        await upstream.left.wait()


async def test_a_quick_answer_gets_none(models_at, upstream):
    """A fast answer causes no second request."""
    ledger = Ledger()
    await ask(models_at(hedge_after_s=5), ledger)
    assert (len(upstream.seen), len(ledger.calls)) == (1, 1)


async def test_a_rival_that_fails_does_not_decide(models_at, upstream):
    """If the second request fails, the answer to the first is used."""
    gate = Gate()
    upstream.replies = [gate, refuse(400)]
    ledger = Ledger()
    call = ask(models_at(hedge_after_s=0.02), ledger)
    await until(lambda: ledger.calls)
    gate.open.set()
    assert (await call)["choices"]
    assert [one.error for one in ledger.calls] == ["UpstreamRefused", None]


async def test_when_both_fail_the_first_ones_error_is_told(models_at, upstream):
    """The ledger has both calls."""

    async def late(request):
        await asyncio.sleep(0.1)
        return await refuse(503)(request)

    upstream.replies = [late, refuse(400)]
    ledger = Ledger()
    with pytest.raises(UpstreamUnavailable):
        await ask(models_at(hedge_after_s=0.02, max_attempts=1), ledger)
    assert len(ledger.calls) == 2


async def test_a_rival_does_not_queue(models_at, upstream):
    """Without a free slot, the second request is not sent, because it would delay another user's request."""
    gate = Gate()
    upstream.replies = [gate]
    models = models_at(hedge_after_s=0.01, max_concurrent=1)
    call = ask(models)
    await asyncio.sleep(0.1)
    assert models.bulkheads["judge"].waiting == 0
    gate.open.set()
    await call
    assert len(upstream.seen) == 1


async def test_whoever_cancels_cancels_both(models_at, upstream):
    """If the client disconnects, both requests are cancelled."""
    upstream.replies = [hang]
    ledger = Ledger()
    call = ask(models_at(hedge_after_s=0.02), ledger)
    await until(lambda: len(upstream.seen) == 2)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert [one.error for one in ledger.calls] == ["cancelled"] * 2


async def test_nobody_queues_for_an_upstream_that_is_left_alone(models_at):
    """While the breaker is open, calls fail at once, even if hanging calls occupy all slots."""
    models = models_at(max_concurrent=1, breaker={"failures": 1})
    bulkhead = models.bulkheads["judge"]
    probe = await bulkhead.enter(asyncio.get_running_loop().time() + 1)
    bulkhead.record_end(probe, UpstreamUnavailable())
    with pytest.raises(CircuitOpen):
        await ask(models)
    assert (bulkhead.waiting, bulkhead.refused_calls) == (0, 0)
    bulkhead.leave()
