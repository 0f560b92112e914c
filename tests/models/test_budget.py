"""The budget for all calls of a run."""

import asyncio

import pytest

from models.budget import MAX_ANSWER_TOKENS, Budget, BudgetedEngine, BudgetSpent
from models.errors import (
    ModelSettingsError,
    UpstreamBusy,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from models.scripted import Scripted
from models.settings import ModelSettings
from proxy.protocol.model_errors import from_model_error

PRICED = ModelSettings.model_validate({"engine": "scripted", "script": [], "price": {"input": 1, "output": 10}})
REQUEST = {"model": "m", "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 100}
USAGE = {"prompt_tokens": 50, "completion_tokens": 10}
COST = (50 * 1 + 10 * 10) / 1e6
ANSWER = {"choices": [{"message": {"content": "Hi"}, "finish_reason": "stop"}], "usage": USAGE}
MOST = (77 + 100 * 10) / 1e6
"""The request has 77 bytes, and up to 100 tokens come back."""


def budgeted(limit, answers=lambda body: ANSWER):
    engine, budget = Scripted(answers), Budget(limit)
    return BudgetedEngine(engine, "swift", PRICED, budget), engine, budget


async def test_calls_are_made_while_their_worst_case_fits():
    """Calls are sent while their maximum cost fits the remaining budget. The next call is refused."""
    one, engine, budget = budgeted(MOST + 3 * COST)
    for _ in range(4):
        await one.complete(REQUEST)
    with pytest.raises(BudgetSpent, match="would exceed its budget"):
        await one.complete(REQUEST)
    assert len(engine.requests) == 4
    assert budget.spent == pytest.approx(4 * COST)


async def test_worst_case_is_every_byte_a_token_and_the_longest_answer():
    """A budget slightly below the maximum cost allows no call."""
    one, engine, _ = budgeted(MOST - 1e-9)
    with pytest.raises(BudgetSpent):
        await one.complete(REQUEST)
    assert engine.requests == []
    one, engine, _ = budgeted(MOST)
    await one.complete(REQUEST)


async def test_calls_under_way_count_in_full():
    """Concurrent calls together cannot exceed the budget."""
    go = asyncio.Event()

    async def slow(body):
        await go.wait()
        return ANSWER

    one, engine, budget = budgeted(2.5 * MOST, slow)
    calls = [asyncio.create_task(one.complete(REQUEST)) for _ in range(5)]
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert len(engine.requests) == 2
    go.set()
    done = await asyncio.gather(*calls, return_exceptions=True)
    assert [type(d) for d in done].count(BudgetSpent) == 3
    assert budget.spent == pytest.approx(2 * COST)
    await one.complete(REQUEST)


async def test_request_without_a_limit_gets_one():
    """Without `max_tokens`, the maximum cost would be unknown. A limit in the request stays."""
    one, engine, _ = budgeted(1)
    await one.complete({"model": "m", "messages": []})
    await one.complete({"model": "m", "messages": [], "max_completion_tokens": 7})
    assert [r.get("max_tokens") for r in engine.requests] == [MAX_ANSWER_TOKENS, None]


async def test_model_that_knows_the_limit_by_its_newer_name_gets_that():
    """OpenAI's reasoning models refuse `max_tokens`. The retry and all later calls use the newer name."""

    def reasoning(body):
        return UpstreamRefused(400, "unsupported_parameter", "max_tokens") if "max_tokens" in body else ANSWER

    one, engine, budget = budgeted(1, reasoning)
    await one.complete({"model": "m", "messages": []})
    await one.complete({"model": "m", "messages": []})
    assert [("max_tokens" in r, r.get("max_completion_tokens")) for r in engine.requests] == [
        (True, None), (False, MAX_ANSWER_TOKENS), (False, MAX_ANSWER_TOKENS),
    ]  # fmt: skip
    assert budget.spent == pytest.approx(2 * COST)


@pytest.mark.parametrize(
    ("failure", "charged"),
    [
        (UpstreamRefused(400), False), (UpstreamBusy(), False), (UpstreamUnavailable(status=503), False),
        (UpstreamUnavailable("cut off"), True), (UpstreamTimeout(), True), (UpstreamGarbled(), True),
        ({"choices": []}, True),
    ],
    ids=str,
)  # fmt: skip
async def test_failure_that_may_be_charged_counts_in_full(failure, charged):
    """A refused call costs nothing. A call that may have generated text counts with its maximum cost."""
    one, _, budget = budgeted(1, [failure, ANSWER])
    with pytest.raises(Exception):  # noqa: B017, PT011  # which one is the engine's business
        await one.complete(REQUEST)
    assert budget.spent == pytest.approx(MOST if charged else 0)


async def test_cancelled_call_counts_in_full():
    """The upstream may still generate the answer and charge for it."""
    one, _, budget = budgeted(1, lambda body: asyncio.sleep(9))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await one.complete(REQUEST)
    assert budget.spent == pytest.approx(MOST)


async def test_usage_that_is_not_reported_is_estimated():
    """An upstream that reports no usage is not free."""
    one, _, budget = budgeted(1, ["Some words."])
    await one.complete(REQUEST)
    assert budget.spent > 0


async def test_without_a_price_no_budget_can_be_kept():
    """The message says which setting to add."""
    engine = Scripted(["x"])
    free = ModelSettings(engine="scripted", script=[])
    with pytest.raises(ModelSettingsError, match=r"models\.swift: has no `price`"):
        await BudgetedEngine(engine, "swift", free, Budget(1)).complete(REQUEST)
    assert engine.requests == []


def test_spent_budget_is_told_like_any_failure_of_a_model():
    """The proxy's client gets a general error about the model, without any amount."""
    told = from_model_error(BudgetSpent("would exceed its budget of 2 with a call that may cost 3.0"))
    assert (told.status, told.code) == (502, "upstream_error")
    assert "budget" not in told.message
