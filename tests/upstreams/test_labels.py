"""The content decides what an answer is, not its Content-Type, nor what was asked for."""

import asyncio
import json
from typing import Any

import pytest

from tests.proxy.conftest import Start, Upstream
from tests.upstreams.conftest import BOTS, FORWARDED, Answer, Asking, read, says, ways

WHOLE = "The room opens at nine."
LABELS = ("text/event-stream", "text/plain; charset=utf-8", "application/json", "application/octet-stream", "text/html")
FIRST = (
    b"",
    b"\n\n",
    b": OPENROUTER PROCESSING\n\n",
    b"event: message\n",
    b"id: 1\n",
    b"retry: 100\n",
    b"\xef\xbb\xbf",
)


def labelled(label: str, always: str = "") -> Answer:
    answer = says("The ", "room ", "opens ", "at ", "nine.")
    answer.label = answer.stream_label = label
    answer.always = always
    return answer


@ways
@pytest.mark.parametrize("always", ["", "whole", "events"])
@pytest.mark.parametrize("label", LABELS)
async def test_any_label_will_do(asking: Asking, bot: str, stream: bool, label: str, always: str) -> None:
    """Also a stream that nobody asked for, and an answer in one piece to who asked for a stream."""
    asking.answers(labelled(label, always))
    got = await asking.ask(bot, stream)
    assert (got.text, got.finish) == (WHOLE, "stop")


@ways
@pytest.mark.parametrize("first", FIRST)
async def test_a_stream_may_begin_with_any_line(asking: Asking, bot: str, stream: bool, first: bytes) -> None:
    """Comments, blank lines and fields that nobody needs."""
    answer = labelled("text/plain", "whole")
    events = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in answer.events)
    answer.whole = first + events + b"data: [DONE]\n\n"
    asking.answers(answer)
    assert (await asking.ask(bot, stream)).text == WHOLE


@ways
async def test_a_stream_that_goes_on_after_its_end_is_not_waited_for(asking: Asking, bot: str, stream: bool) -> None:
    """Also where nobody asked for a stream."""
    answer = labelled("text/plain", "events")
    left = asyncio.Event()
    answer.events += [b"[DONE]", b"[DONE]"]
    sent = 0

    async def between() -> None:
        nonlocal sent
        sent += 1
        if sent == len(answer.events) - 1:
            await left.wait()

    answer.between = between
    asking.answers(answer)
    async with asyncio.timeout(10):
        assert (await asking.ask(bot, stream)).text == WHOLE
    left.set()


@pytest.mark.parametrize("label", [*LABELS, ""])
@pytest.mark.parametrize(("stream", "always"), [(True, ""), (False, "events")])
async def test_passthrough_relays_a_stream_at_once(asking: Asking, label: str, stream: bool, always: str) -> None:
    """Before its second event is there."""
    answer = labelled(label, always)
    go = asyncio.Event()
    answer.between = go.wait
    asking.answers(answer)
    body = {"model": FORWARDED, "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    async with (
        asyncio.timeout(10),
        asking.proxy.session.post(f"{asking.proxy.url}/v1/chat/completions", json=body) as got,
    ):
        first = await got.content.readuntil(b"\n\n")
        assert got.content_type == "text/event-stream"
        assert b"The " in first
        go.set()
        assert read(got.status, first + await got.read()).text == WHOLE


@pytest.mark.parametrize(("stream", "always"), [(True, "whole"), (False, "whole")])
async def test_passthrough_labels_events_that_came_in_one_piece(asking: Asking, stream: bool, always: str) -> None:
    """As it labels others."""
    answer = labelled("text/plain", always)
    answer.whole = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in answer.events)
    asking.answers(answer)
    body = {"model": FORWARDED, "messages": [{"role": "user", "content": "Hi"}], "stream": stream}
    async with asking.proxy.session.post(f"{asking.proxy.url}/v1/chat/completions", json=body) as got:
        assert (got.content_type, await got.read()) == ("text/event-stream", answer.whole)


@pytest.mark.parametrize(("stream", "always"), [(True, ""), (False, "events")])
async def test_a_relayed_stream_may_take_longer_than_the_timeout(
    start: Start, upstream: Upstream, stream: bool, always: str
) -> None:
    """What `timeout_s` bounds is its silence."""
    asking = Asking(await start(chatbots=BOTS, alias={"timeout_s": 0.6}), upstream)
    answer = labelled("text/plain", always)

    async def between() -> None:
        await asyncio.sleep(0.2)

    answer.between = between
    asking.answers(answer)
    assert (await asking.ask(FORWARDED, stream)).text == WHOLE


@pytest.mark.parametrize("body", [b"<html>busy</html>", b"Internal error", b"", b"[1]"])
@pytest.mark.parametrize("label", ["text/event-stream", "text/html"])
@ways
async def test_what_is_neither_is_no_reply(asking: Asking, bot: str, stream: bool, label: str, body: Any) -> None:
    """Whatever its label says."""
    answer = labelled(label, "whole")
    answer.whole = body
    asking.answers(answer)
    assert (await asking.ask(bot, stream)).failed
