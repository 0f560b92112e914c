"""Clients that disconnect, in the cases that tests/faults/test_clients.py does not cover."""

import asyncio
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from proxy.api.service import SERVICE
from tests.proxy.conftest import Body, Start, dialogue, eventually, judge_with


@pytest.mark.parametrize("streamed", [False, True])
async def test_client_that_leaves_while_the_emergency_is_judged_stops_judge_and_draft(
    start: Start, streamed: bool
) -> None:
    """Both upstream requests are cancelled, no state is stored, and the trace has the calls but no reply."""
    proxy = await start(judges=judge_with("swift"), config={"server": {"header_wait_s": 0, "keep_alive_s": 0.05}})
    proxy.upstream.answer = lambda body: asyncio.sleep(30)
    traces = proxy.traces()
    async with aiohttp.ClientSession() as session:
        body: Body = {"model": "bot", "messages": dialogue("What helps?"), "stream": streamed}
        task: asyncio.Task[Any] = asyncio.create_task(session.post(f"{proxy.url}/v1/chat/completions", json=body))
        await eventually(lambda: len(proxy.upstream.requests) == 2)
        task.cancel()
        (left,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(left, aiohttp.ClientResponse):  # a stream, whose headers had come
            left.close()
    await eventually(lambda: traces)
    (trace,) = traces
    assert trace.error == "cancelled"
    assert not trace.replies
    assert {call.step: call.error for call in trace.calls} == {"draft": "cancelled", "emergency.swift": "cancelled"}
    await eventually(lambda: proxy.upstream.cancelled == 2)
    assert len(proxy.app[SERVICE].conversations) == 0


async def test_client_that_leaves_a_forwarded_stream_stops_it(start: Start) -> None:
    """The upstream's stream ends too, and its queue place is free again."""
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
