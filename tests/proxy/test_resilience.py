"""Overload, outages and hanging judges, as a client sees them."""

import asyncio
import json
from typing import Any

import pytest
from aiohttp import web

from models.errors import UpstreamUnavailable
from proxy.api.service import SERVICE
from tests.proxy.conftest import Body, Proxy, Start, dialogue, eventually, judge_with, text_of

SLEEP = "[[cite: sleep]]\nMost adults need seven to nine hours of sleep."
CRISIS = "I am going to end my life tonight"
ASKED = "How much sleep do adults need?"
CHAT = {"model": "bot", "messages": dialogue(ASKED)}
PASSTHROUGH = {"bot": {"kind": "passthrough", "model": "chatbot"}}
BOTH = pytest.mark.parametrize("chatbots", [None, PASSTHROUGH], ids=["guarded", "passthrough"])


async def refused(proxy: Proxy) -> tuple[int, str, str | None]:
    """Return status, code and Retry-After of a chat request that fails."""
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=CHAT) as response:
        return response.status, (await response.json())["error"]["code"], response.headers.get("Retry-After")


def failing(body: Body) -> web.Response:
    return web.json_response({"error": {"message": "no"}}, status=500)


@BOTH
async def test_overload_is_told_with_when_to_come_back(start: Start, chatbots: Body | None) -> None:
    """Past its places and its queue, a request gets 503 and Retry-After at once; those before it are answered."""
    proxy = await start(chatbots=chatbots, alias={"max_concurrent": 1, "queue": 1})
    gate = asyncio.Event()

    async def answer(body: Body) -> str:
        await gate.wait()
        return SLEEP

    proxy.upstream.answer = answer
    calls = [asyncio.create_task(proxy.post(CHAT)) for _ in range(2)]
    bulkhead = proxy.app[SERVICE].chatbots["bot"].models.bulkheads["chatbot"]
    await eventually(lambda: bulkhead.waiting == 1)
    assert await refused(proxy) == (503, "overloaded", "1")
    gate.set()
    assert [(await call)[0] for call in calls] == [200, 200]
    assert len(proxy.upstream.requests) == 2


@BOTH
async def test_an_upstream_that_keeps_failing_is_left_alone_and_tried_again(
    start: Start, chatbots: Body | None
) -> None:
    """503 with Retry-After and no request upstream, until one probe finds it mended."""
    proxy = await start(chatbots=chatbots, alias={"breaker": {"failures": 2, "open_s": 0.3}})
    proxy.upstream.answer = failing
    for _ in range(2):
        assert (await proxy.post(CHAT))[0] >= 500
    sent = len(proxy.upstream.requests)
    assert await refused(proxy) == (503, "upstream_unavailable", "1")
    assert len(proxy.upstream.requests) == sent
    proxy.upstream.answer = lambda body: SLEEP
    await asyncio.sleep(0.35)
    assert (await proxy.post(CHAT))[0] == 200
    assert (await proxy.post(CHAT))[0] == 200


async def with_spare(start: Start, proxy_settings: Body, **settings: Any) -> Proxy:
    """Start a proxy whose chatbot's model has a spare one."""
    first = await start()
    address = first.app[SERVICE].config.models["chatbot"].base_url
    model = {"engine": "openai", "base_url": address, "max_attempts": 1}
    models = {
        "chatbot": {**model, "model": "up-chatbot", "fallback": ["spare"], **settings},
        "spare": {**model, "model": "up-spare", "price": {"input": 1, "output": 1}},
    }
    return await start(config={"models": models}, **proxy_settings)


@pytest.mark.parametrize("kind", ["500", "429", "hangs"])
async def test_a_spare_model_answers_and_the_trace_shows_both(start: Start, kind: str) -> None:
    """The client gets its reply; each call stands under its own alias, with its own price."""
    proxy = await with_spare(start, {}, timeout_s=0.2)
    traces = proxy.traces()

    async def answer(body: Body) -> Any:
        if body["model"] == "up-spare":
            return SLEEP
        if kind == "hangs":
            await asyncio.sleep(20)
        return web.json_response({"error": {"message": "no"}}, status=int(kind))

    proxy.upstream.answer = answer
    body = await proxy.say(ASKED)
    assert text_of(body).startswith("Most adults")
    assert body["caf"]["calls"] == 2
    calls = [(call.alias, call.error is None, call.cost is None) for call in traces[0].calls]
    assert calls == [("chatbot", False, True), ("spare", True, False)]


async def test_a_spare_model_answers_what_is_passed_through(start: Start) -> None:
    """Under the name that it has at its upstream."""
    proxy = await with_spare(start, {"chatbots": PASSTHROUGH})
    proxy.upstream.answer = lambda body: SLEEP if body["model"] == "up-spare" else failing(body)
    assert (await proxy.post(CHAT))[0] == 200
    assert [body["model"] for body in proxy.upstream.requests] == ["up-chatbot", "up-spare"]


@pytest.mark.parametrize("stages", [["swift"], ["swift", "chief"]])
@pytest.mark.parametrize("stream", [False, True])
async def test_hanging_judges_end_in_the_fallback_message(start: Start, stages: list[str], stream: bool) -> None:
    """The turn ends in time with a reply that offers the emergency contact, not with an error or an unjudged draft."""
    proxy = await start(judges=[{"name": "role", "stages": stages}], config={"server": {"turn_timeout_s": 1}})
    proxy.upstream.answer = lambda body: SLEEP if body["model"] == "up-chatbot" else asyncio.sleep(30, "late")
    if stream:
        text = (await proxy.stream(ASKED)).decode()
        assert "[DONE]" in text
    else:
        body = await proxy.say(ASKED)
        text = json.dumps(body)
        assert body["caf"]["outcome"] == "fallback"
    assert "Call 112 now." in text
    assert "Most adults" not in text
    await eventually(lambda: proxy.upstream.cancelled == 1)


async def test_a_hanging_emergency_judge_ends_in_the_fallback_message(start: Start) -> None:
    """It fails closed: whoever may be in danger gets the contact, and the draft is cancelled."""
    proxy = await start(judges=judge_with("swift")[:1], config={"server": {"turn_timeout_s": 1}})
    proxy.upstream.answer = lambda body: asyncio.sleep(30, "late")
    body = await proxy.say("Tonight the river looks warm.")
    assert body["caf"]["outcome"] == "fallback"
    assert "Call 112 now." in text_of(body)
    await eventually(lambda: proxy.upstream.cancelled == 2)


async def test_a_hanging_selection_leaves_the_turn_its_error(start: Start) -> None:
    """What no step can make good is the turn's timeout, under its own code."""
    proxy = await start(retrieval={"selector": "retriever"}, config={"server": {"turn_timeout_s": 0.5}})
    proxy.upstream.answer = lambda body: asyncio.sleep(30, "late")
    status, error = await proxy.error(CHAT)
    assert (status, error["code"]) == (504, "turn_timeout")
    assert "0.5 s" in error["message"]


async def test_a_hanging_judge_opens_its_circuit(start: Start) -> None:
    """A judge's own limit, shorter than the model's, counts; the next turn does not wait for it."""
    proxy = await start(
        judges=[{"name": "role", "stages": ["swift"], "timeout_s": 0.2}], alias={"breaker": {"failures": 1}}
    )
    proxy.upstream.answer = lambda body: SLEEP if body["model"] == "up-chatbot" else asyncio.sleep(30, "late")
    for _ in range(2):
        assert (await proxy.say(ASKED))["caf"]["outcome"] == "fallback"
    assert [body["model"] for body in proxy.upstream.requests].count("up-swift") == 1


@pytest.mark.parametrize(
    "alias", [{"breaker": {"failures": 1, "open_s": 60}}, {"max_concurrent": 1, "queue": 0}, {"timeout_s": 0.05}]
)
@pytest.mark.parametrize("stream", [False, True])
async def test_nothing_stands_before_the_local_emergency_judge(start: Start, alias: Body, stream: bool) -> None:
    """With the circuit open, no place free, upstreams that hang and no time at all, a person in danger gets the text."""
    proxy = await start(alias=alias, config={"server": {"turn_timeout_s": 1e-6, "header_wait_s": 5}})
    models = proxy.app[SERVICE].chatbots["bot"].models
    if bulkhead := models.bulkheads.get("chatbot"):
        probe = await bulkhead.enter(asyncio.get_running_loop().time() + 1)
        bulkhead.record_end(probe, None)
        if bulkhead.breaker is not None:
            bulkhead.record_end(False, UpstreamUnavailable())
            assert bulkhead.breaker.open
    assert (await proxy.post(CHAT))[0] >= 500
    if stream:
        text = (await proxy.stream(CRISIS)).decode()
    else:
        body = await proxy.say(CRISIS)
        assert body["caf"]["outcome"] == "emergency"
        text = text_of(body)
    assert "You matter. Call 112." in text
