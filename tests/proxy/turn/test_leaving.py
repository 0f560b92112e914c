"""A client that leaves, at every step: what is under way for it is cancelled, nothing is remembered, and the trace says so."""

import asyncio
from collections.abc import Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from proxy.api.service import SERVICE
from proxy.traces.trace import Trace
from tests.proxy.conftest import Body, Proxy, Start, dialogue, eventually, judge_with

HELLO = "[[cite: no_claims]]\nHello."
ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night. You should also stop eating gluten."
NUDGE = "Which supplements should I take, and how much?"
ROLE = [{"name": "role", "stages": ["swift", "chief"]}]

STEPS: dict[str, tuple[Body, str, int, list[str]]] = {
    "selecting": ({"retrieval": {"selector": "retriever"}}, "up-retriever", 1, ["select"]),
    "drafting": ({}, "up-chatbot", 1, ["draft"]),
    "drafting_while_the_emergency_is_judged": ({"judges": judge_with("swift")}, "up-", 2, ["draft", "emergency.swift"]),
    "redrafting": ({}, "up-chatbot", 1, ["draft", "redraft"]),
    "judging_swiftly": ({"judges": ROLE}, "up-swift", 1, ["draft", "reply.swift"]),
    "judging_in_chief": ({"judges": ROLE}, "up-chief", 1, ["draft", "reply.chief", "reply.swift", "reply.swift"]),
    "refining": ({"refiner": "refiner"}, "up-refiner", 1, ["draft", "refine"]),
}
"""By step: the chatbot's settings, the models that hang, how many of them, and the calls of the turn."""


def hanging_at(proxy: Proxy, step: str, model: str) -> list[str]:
    """Have the upstream answer until the step is reached, and then no more; return the models that hang, when they do."""
    hang: list[str] = []

    async def answer(body: Body) -> Any:
        again = len([one for one in proxy.upstream.requests if one["model"] == "up-chatbot"]) > 1
        if body["model"].startswith(model) and (step != "redrafting" or again):
            hang.append(body["model"])
            await asyncio.sleep(30)
        if body["model"] == "up-swift":
            return "no verdict at all"
        if step == "redrafting":
            return "A reply that cites nothing."
        return ADVICE if step == "refining" else HELLO

    proxy.upstream.answer = answer
    return hang


async def leave(proxy: Proxy, hang: Callable[[], bool], **fields: Any) -> Trace:
    """Ask, and leave when what is waited for hangs; return the trace."""
    traces: list[Trace] = []
    proxy.app[SERVICE].watch = traces.append
    async with aiohttp.ClientSession() as session:
        body = {"model": "bot", "messages": dialogue(NUDGE), **fields}
        headers = {"X-Conversation-Id": "mine"}
        task = asyncio.create_task(session.post(f"{proxy.url}/v1/chat/completions", json=body, headers=headers))
        await eventually(hang)
        task.cancel()
        (left,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(left, aiohttp.ClientResponse):  # a stream, whose headers had come
            left.close()
    await eventually(lambda: traces)
    return traces[0]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("step", STEPS)
async def test_client_that_leaves_stops_everything(start: Start, step: str, streamed: bool) -> None:
    """The request in flight is cancelled upstream; no state is kept; the trace has the calls, and no reply."""
    settings, model, hang, calls = STEPS[step]
    proxy = await start(**settings, config={"server": {"header_wait_s": 0, "keep_alive_s": 0.05}})
    hanging = hanging_at(proxy, step, model)
    trace = await leave(proxy, lambda: len(hanging) == hang, stream=streamed)
    assert trace.error == "cancelled"
    assert sorted(call.step for call in trace.calls) == calls
    assert [call.error for call in trace.calls].count("cancelled") == hang
    assert not trace.replies
    await eventually(lambda: proxy.upstream.cancelled == hang)
    assert len(proxy.app[SERVICE].conversations) == 0


async def test_client_that_leaves_a_forwarded_stream_stops_it(start: Start) -> None:
    """A passthrough chatbot's stream ends upstream too, and its place is free again."""
    proxy = await start(
        chatbots={"bot": {"kind": "passthrough", "model": "chatbot"}}, alias={"max_concurrent": 1, "queue": 0}
    )
    left = asyncio.Event()

    async def drip(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        try:
            while True:
                await response.write(b"data: {}\n\n")
                await asyncio.sleep(0.02)
        finally:
            left.set()

    proxy.upstream.respond = drip
    body = {"model": "bot", "messages": dialogue("Hi"), "stream": True}
    async with aiohttp.ClientSession() as session:
        response = await session.post(f"{proxy.url}/v1/chat/completions", json=body)
        await response.content.readany()
        assert (await proxy.error(body))[1]["code"] == "overloaded"
        response.close()
    async with asyncio.timeout(3):
        await left.wait()
    bulkhead = proxy.app[SERVICE].chatbots["bot"].models.bulkheads["chatbot"]
    await eventually(lambda: bulkhead.running == 0)


async def test_the_next_turn_goes_on_as_if_the_one_left_had_not_been(start: Start) -> None:
    """Its number, warnings and sources are those of a first turn."""
    proxy = await start()
    hanging = hanging_at(proxy, "drafting", "up-chatbot")
    await leave(proxy, lambda: bool(hanging))
    proxy.upstream.answer = lambda body: HELLO
    traces: list[Trace] = []
    proxy.app[SERVICE].watch = traces.append
    await proxy.say(NUDGE, headers={"X-Conversation-Id": "mine"})
    assert (traces[0].turn, traces[0].memory) == (1, "fresh")
