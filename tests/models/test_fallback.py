"""Fallbacks between aliases, with a real server."""

import asyncio

import pytest
from pydantic import BaseModel

from models.errors import CircuitOpen, OutOfTime, UpstreamBusy, UpstreamRefused, UpstreamTimeout, UpstreamUnavailable
from models.fallback import chain, fallback_problems, with_all_asked
from models.settings import ModelSettings
from models.usage import Ledger
from tests.models.conftest import completion, cut, give, hang, refuse, say, stream

ASK = {"messages": [{"role": "user", "content": "Hi"}]}


def by_model(upstream, **replies):
    """Let the upstream answer by the model that a request names."""

    async def answer(request):
        return await replies[upstream.seen[-1]["model"]](request)

    upstream.replies = [answer]


def asked(upstream):
    return [seen["model"] for seen in upstream.seen]


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        (refuse(500), "UpstreamUnavailable"),
        (refuse(429), "UpstreamBusy"),
        (cut, "UpstreamUnavailable"),
        (hang, "UpstreamTimeout"),
        (give(b"<html>Bad gateway</html>"), "UpstreamGarbled"),
        (give({"object": "error", "message": "busy", "code": 503}), "UpstreamUnavailable"),
        (give({"choices": [{"message": {"content": "Ha"}, "finish_reason": "error"}]}), "UpstreamUnavailable"),
        (stream(b'data: {"choices": []}\n\n', b'data: {"text": "x", "error_code": 1}\n\n'), "UpstreamGarbled"),
    ],
)  # fmt: skip
async def test_what_fails_is_asked_elsewhere(models, upstream, trouble, kind):
    """An outage, a rate limit or an invalid answer leads to the fallback. The ledger has each call under its own alias."""
    by_model(upstream, a=trouble, b=say("From b."))
    ledger = Ledger()
    answer = await models(a={"fallback": ["b"]}, b={}).complete("a", ASK, step="draft", ledger=ledger)
    assert answer["choices"][0]["message"]["content"] == "From b."
    assert [(call.alias, call.step, call.error) for call in ledger.calls] == [
        ("a", "draft", kind),
        ("b", "draft", None),
    ]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_what_is_refused_is_not_asked_elsewhere(models, upstream, status):
    """CAF does not try models until one accepts a refused request."""
    by_model(upstream, a=refuse(status), b=say("Gladly."))
    with pytest.raises(UpstreamRefused):
        await models(a={"fallback": ["b"]}, b={}).complete("a", ASK, step="draft", ledger=Ledger())
    assert asked(upstream) == ["a"]


async def test_fallbacks_are_tried_in_order_each_followed_by_its_own(models, upstream):
    """No alias is asked twice, and the error is the error of the alias itself."""
    by_model(upstream, a=refuse(429, retry_after="7"), b=refuse(500), c=refuse(500), d=refuse(500))
    made = models(a={"fallback": ["b", "c"]}, b={"fallback": ["d", "c"]}, c={}, d={})
    with pytest.raises(UpstreamBusy) as raised:
        await made.complete("a", ASK, step="draft", ledger=Ledger())
    assert asked(upstream) == ["a", "b", "d", "c"]
    assert (raised.value.alias, raised.value.retry_after) == ("a", 7)


async def test_a_refusal_on_the_way_ends_it(models, upstream):
    """If the second alias refuses the request, the third is not asked."""
    by_model(upstream, a=refuse(500), b=refuse(400), c=say("Gladly."))
    with pytest.raises(UpstreamUnavailable):
        await models(a={"fallback": ["b", "c"]}, b={}, c={}).complete("a", ASK, step="draft", ledger=Ledger())
    assert asked(upstream) == ["a", "b"]


async def test_an_open_circuit_is_asked_elsewhere_at_once(models, upstream):
    """The paused alias is not called, and the ledger has the reason."""
    by_model(upstream, a=refuse(500), b=say("From b."))
    made = models(a={"fallback": ["b"], "breaker": {"failures": 2}}, b={})
    ledger = Ledger()
    for _ in range(3):
        await made.complete("a", ASK, step="draft", ledger=ledger)
    assert asked(upstream) == ["a", "b", "a", "b", "b"]
    assert [call.error for call in ledger.calls[-2:]] == ["CircuitOpen", None]


async def test_each_alias_has_its_own_way_to_be_asked_for_json(models, upstream):
    """If a fallback does not support json_schema, only requests to that fallback change."""

    class Found(BaseModel):
        ok: bool

    async def b(request):
        if "response_format" in upstream.seen[-1]:
            return await refuse(400, None, "response_format")(request)
        return await say('{"ok": true}')(request)

    by_model(upstream, a=refuse(500), b=b)
    made = models(a={"fallback": ["b"]}, b={})
    found = await made.structured("a", ASK["messages"], Found, step="role", ledger=Ledger())
    assert found.value.ok
    assert asked(upstream) == ["a", "b", "b", "b"]
    assert "json_schema" in str(upstream.seen[0]["response_format"])
    by_model(upstream, a=say('{"ok": true}'), b=b)
    await made.structured("a", ASK["messages"], Found, step="role", ledger=Ledger())
    assert upstream.seen[-1]["response_format"]["type"] == "json_schema"


async def test_a_step_without_time_asks_nobody_else(models, upstream):
    """After the deadline of the turn, no fallback is asked."""
    by_model(upstream, a=hang, b=say("Too late."))
    ledger = Ledger()
    ledger.until = asyncio.get_running_loop().time() + 0.05
    with pytest.raises(OutOfTime):
        await models(a={"fallback": ["b"]}, b={}).complete("a", ASK, step="draft", ledger=ledger)
    assert asked(upstream) == ["a"]


@pytest.mark.parametrize("trouble", [refuse(500), refuse(429), cut])
async def test_a_forwarded_request_goes_elsewhere_too(models, upstream, trouble):
    """The fallback gets its own model name. The response names the alias, and the ledger has the failure."""
    by_model(upstream, a=trouble, **{"b-large": give(completion("From b."))})
    made = models(a={"fallback": ["b"]}, b={"model": "b-large"})
    ledger = Ledger()
    answer = await made.forward("a", b'{"model": "a", "novelty": [1]}', {}, ledger)
    assert (answer.status, answer.alias) == (200, "b")
    assert b"From b." in answer.body
    assert upstream.seen[-1] == {"model": "b-large", "novelty": [1]}
    assert [(call.alias, call.step) for call in ledger.calls] == [("a", "forward")]


async def test_the_last_ones_error_is_relayed(models, upstream):
    """If all aliases fail with a response, the client gets the last response."""
    by_model(upstream, a=refuse(500), b=refuse(429, message="slow down"))
    answer = await models(a={"fallback": ["b"]}, b={}).forward("a", b'{"model": "a"}', {})
    assert (answer.status, b"slow down" in answer.body) == (429, True)


async def test_without_an_answer_the_first_ones_error_is_raised(models, upstream):
    """The error keeps Retry-After of the first alias, even if its response could have been relayed."""
    by_model(upstream, a=refuse(429, Retry_After="7"), b=refuse(500))
    with pytest.raises(UpstreamBusy) as raised:
        await models(a={"fallback": ["b"]}, b={}).forward("a", b'{"model": "a"}', {})
    assert raised.value.retry_after == 7


async def test_a_forwarded_refusal_is_relayed_at_once(models, upstream):
    """No fallback is asked."""
    by_model(upstream, a=refuse(400), b=say("Gladly."))
    answer = await models(a={"fallback": ["b"]}, b={}).forward("a", b'{"model": "a"}', {})
    assert answer.status == 400
    assert asked(upstream) == ["a"]


async def test_a_forwarded_stream_holds_its_place_until_it_is_closed(models, upstream):
    """The slot is occupied before the stream is closed, and free afterwards."""
    by_model(upstream, a=stream(b"data: 1\n\n", then=hang))
    made = models(a={"max_concurrent": 1, "queue": 0})
    answer = await made.forward("a", b'{"model": "a"}', {})
    assert made.bulkheads["a"].running == 1
    async with answer:
        assert await anext(answer.chunks) == b"data: 1\n\n"
        assert made.bulkheads["a"].full
    await answer.close()
    assert made.bulkheads["a"].running == 0
    assert not made.bulkheads["a"].full


async def test_a_stream_that_breaks_off_counts_as_a_failure(models, upstream):
    """The breaker also opens for an upstream that begins every answer but completes none."""
    by_model(upstream, a=stream(b"data: 1\n\n", then=cut_off))
    made = models(a={"breaker": {"failures": 1}})
    async with await made.forward("a", b'{"model": "a"}', {}) as answer:
        assert await anext(answer.chunks)
        with pytest.raises(UpstreamUnavailable):
            await anext(answer.chunks)
    with pytest.raises(CircuitOpen):
        await made.forward("a", b'{"model": "a"}', {})


async def cut_off(request):
    request.transport.abort()


def settings(**fallbacks):
    return {name: ModelSettings(engine="embedded", fallback=list(others)) for name, others in fallbacks.items()}


def test_circles_are_named():
    """An alias must not be its own fallback, directly or indirectly."""
    found = fallback_problems(settings(a="b", b="c", c="a", d="d", e="a"))
    assert [problem.partition(" is a cycle")[0] for problem in found] == [
        "models.a.fallback: a -> b -> c -> a",
        "models.b.fallback: b -> c -> a -> b",
        "models.c.fallback: c -> a -> b -> c",
        "models.d.fallback: d -> d",
    ]
    assert not fallback_problems(settings(a="bc", b="cd", c="d", d=""))


def test_a_fallback_that_is_not_there_is_named():
    """The message lists the configured aliases."""
    (problem,) = fallback_problems(settings(a="x"))
    assert problem == "models.a.fallback: no model alias 'x' (configured: a)"


def test_who_stands_in_is_opened_too():
    """Fallbacks of fallbacks are included."""
    models = settings(a="bc", b="d", c="d", d="", e="a")
    assert chain("a", models) == ("a", "b", "d", "c")
    assert with_all_asked({"c"}, models) == {"c", "d"}


async def test_no_time_is_left_for_a_retry(models, upstream):
    """If the pause before a retry would exceed the deadline, the error is raised at once."""
    by_model(upstream, a=refuse(429, retry_after="15"))
    ledger = Ledger()
    ledger.until = asyncio.get_running_loop().time() + 10
    async with asyncio.timeout(5):
        with pytest.raises(UpstreamBusy):
            await models(a={"max_attempts": 3}).complete("a", ASK, step="draft", ledger=ledger)
    assert [call.attempts for call in ledger.calls] == [1]


async def test_no_try_takes_longer_than_its_step_may(models, upstream):
    """The deadline of a step counts as a failure of the upstream. After the deadline of the turn, nothing is sent."""

    class Found(BaseModel):
        ok: bool

    by_model(upstream, a=hang)
    made = models(a={"timeout_s": 60, "breaker": {"failures": 1}})
    ledger = Ledger()
    ledger.until = asyncio.get_running_loop().time() + 0.05
    with pytest.raises(OutOfTime):
        await made.complete("a", ASK, step="draft", ledger=ledger)
    with pytest.raises(OutOfTime):
        await made.complete("a", ASK, step="draft", ledger=ledger)
    assert asked(upstream) == ["a"]
    assert not made.bulkheads["a"].breaker.open
    with pytest.raises(UpstreamTimeout):
        await made.structured("a", ASK["messages"], Found, step="role", ledger=Ledger(), timeout_s=0.5)
    assert made.bulkheads["a"].breaker.open


async def test_each_alias_is_asked_for_logprobs_until_it_has_refused_them(models, upstream):
    """The fallback is asked too. The request without log probabilities goes to the same alias."""
    by_model(upstream, a=refuse(500), b=say("Yes"))
    asking = models(a={"fallback": ["b"]}, b={})

    async def ask():
        answer = await asking.with_logprobs("a", ASK, step="hazards.swift", ledger=Ledger())
        return answer["choices"][0]["message"]["content"]

    assert await ask() == "Yes"
    told = refuse(400, param="logprobs")

    async def picky(request):
        return await (told if upstream.seen[-1].get("logprobs") else say("No"))(request)

    by_model(upstream, a=refuse(500), b=picky)
    assert [await ask(), await ask()] == ["No", "No"]
    assert [(seen["model"], "logprobs" in seen) for seen in upstream.seen] == [
        ("a", True), ("b", True),
        ("a", True), ("b", True), ("b", False),
        ("a", True), ("b", False),
    ]  # fmt: skip
