"""Shadow mode: clients and upstreams see no difference, and the trace has the filter's outcome."""

import asyncio
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from proxy.api.service import SERVICE
from proxy.protocol.json_text import json_text
from proxy.turn import judging, shadow
from tests.proxy.conftest import (
    ADVICE,
    CRISIS,
    NO_PROBLEMS,
    NUDGE,
    SLEEP,
    Body,
    Start,
    dialogue,
    eventually,
    judge_with,
    text_of,
)

BARE = "[[cite: not_in_sources]]\nFresh air is good for most people. This is not from my sources. Please check with your doctor."
CALM = '{"signs": []}'


def seen(body: Body) -> Body:
    """Return the client's view of a reply, without fields that differ between turns."""
    shown: Body = json.loads(json.dumps(body))
    for field in ("id", "created"):
        shown.pop(field)
    for caf in (shown["caf"], *(choice["caf"] for choice in shown["choices"] if "caf" in choice)):
        for field in ("turn_id", "conversation_id", "ms"):
            caf.pop(field)
    return shown


@pytest.mark.parametrize(
    ("reply", "question"),
    [
        (SLEEP, "How much sleep?"),
        (ADVICE, NUDGE),
        (BARE, "Is fresh air good?"),
        ("", "Hi"),
        (SLEEP, CRISIS),
        ([ADVICE, SLEEP], NUDGE),
    ],
)
async def test_shadow_changes_nothing_that_anybody_sees(start: Start, reply: Any, question: str) -> None:
    """Replies, streams and upstream requests are those of a chatbot with the filter off, over several turns."""
    found = []
    for mode in ("off", "shadow"):
        proxy = await start(filter=mode)
        proxy.upstream.requests.clear()
        proxy.upstream.answer = lambda body: reply
        fields = {"n": 2} if isinstance(reply, list) else {}
        one = await proxy.say(question, **fields)
        two = await proxy.say(question, text_of(one), "And what else?", **fields)
        stream = await proxy.stream("Hi", **fields)
        found.append((seen(one), seen(two), stream.count(b"data:"), proxy.upstream.requests[:]))
        await asyncio.sleep(0.1)  # judging ends before the next proxy begins
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("reply", "question", "changes", "outcome"),
    [
        (SLEEP, "How much sleep?", {}, "accepted"),
        (BARE, "Is fresh air good?", {}, "warned"),
        (ADVICE, NUDGE, {}, "refined"),
        (ADVICE, NUDGE, {"refiner": None}, "fallback"),
        (SLEEP, CRISIS, {}, "emergency"),
        (SLEEP, "How much sleep?", {"judges": []}, "unfiltered"),
        (SLEEP, "How much sleep?", {"judges": [{"name": "role", "stages": ["swift"]}]}, "fallback"),
        (SLEEP, "How much sleep?", {"judges": [{"name": "role", "stages": ["swift"], "on_error": "open"}]}, "unjudged"),
        (SLEEP, "How much sleep?", {"judges": [{"name": "emergency", "stages": ["swift"]}]}, "fallback"),
    ],
)
async def test_what_the_filter_would_have_done_is_what_it_does(
    start: Start, reply: str, question: str, changes: Body, outcome: str
) -> None:
    """The same turn with the filter on has the outcome that shadow mode recorded."""
    proxy = await start(filter="shadow", **changes)
    traces = proxy.traces()
    proxy.upstream.answer = lambda body: reply if body["model"] == "up-chatbot" else "unreadable"
    body = await proxy.say(question)
    await eventually(lambda: traces)
    assert (traces[0].outcome, traces[0].would) == ("unfiltered", outcome)
    assert traces[0].replies == [text_of(body)]
    on = await proxy.say(question, headers={"X-CAF-Filter": "on"})
    assert on["caf"]["outcome"] == outcome
    assert f'caf_shadow_turns_total{{chatbot="bot",would="{outcome}"}} 1.0' in (await proxy.get("/metrics"))[1]


async def test_no_reply_waits_for_judges_that_hang(start: Start) -> None:
    """Neither this reply nor later ones. After the time limit the turn is recorded as not judged."""
    proxy = await start(
        filter="shadow", judges=judge_with("swift"), config={"server": {"turn_timeout_s": 0.5}}, refiner=None
    )
    traces = proxy.traces()
    proxy.upstream.answer = lambda body: SLEEP if body["model"] == "up-chatbot" else asyncio.sleep(30, CALM)
    async with asyncio.timeout(0.45):
        body = await proxy.say("How much sleep?")
        await proxy.say("How much sleep?", text_of(body), "And why?")
    await eventually(lambda: len(traces) == 2)
    assert [(trace.outcome, trace.would) for trace in traces] == [("unfiltered", None)] * 2


async def test_shadows_do_not_crowd_out_live_traffic(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """The numbers of turns judged and waiting are limited; the others are recorded as not judged."""
    monkeypatch.setattr(shadow, "AT_ONCE", 2)
    monkeypatch.setattr(shadow, "MOST_WAITING", 5)
    proxy = await start(filter="shadow", judges=[{"name": "role", "stages": ["swift"]}])
    traces = proxy.traces()
    under_way, most = 0, 0

    async def judge() -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.1)
        under_way -= 1
        return NO_PROBLEMS

    proxy.upstream.answer = lambda body: SLEEP if body["model"] == "up-chatbot" else judge()
    await asyncio.gather(*(proxy.say(f"How much sleep? {n}") for n in range(20)))
    await eventually(lambda: len(traces) == 20, 5)
    assert most == 2
    assert sum(trace.would == "accepted" for trace in traces) == 5
    assert sum(trace.would is None for trace in traces) == 15


async def test_a_refiner_in_shadow_delivers_nothing(start: Start) -> None:
    """Its text is only in the trace. State, warnings and history hold the delivered text."""
    proxy = await start(filter="shadow", refiner="refiner")
    traces = proxy.traces()
    proxy.upstream.answer = lambda body: ADVICE if body["model"] == "up-chatbot" else "I cannot say. SHADOWWORD"
    body = await proxy.say(NUDGE)
    await eventually(lambda: traces)
    assert [attempt.kind for attempt in traces[0].attempts] == ["draft", "refinement"]
    assert "SHADOWWORD" in traces[0].attempts[1].text
    again = await proxy.say(NUDGE, text_of(body), "And?")
    chatbot = [request for request in proxy.upstream.requests if request["model"] == "up-chatbot"]
    assert "SHADOWWORD" not in json.dumps([body, again, chatbot])
    assert again["caf"]["conversation_id"] == body["caf"]["conversation_id"]
    assert traces[0].warnings_added == []


async def test_a_client_that_reads_slowly_or_leaves_changes_no_shadow(start: Start) -> None:
    """The delivered reply is judged, even if the client did not read it."""
    proxy = await start(filter="shadow")
    traces = proxy.traces()
    proxy.upstream.answer = lambda body: ADVICE
    body = {"model": "bot", "messages": dialogue(NUDGE), "stream": True}
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=body) as response:
        await response.content.readany()
    await eventually(lambda: traces)
    assert traces[0].would == "refined"


async def test_a_stopping_proxy_keeps_what_it_has_not_judged(start: Start, tmp_path: Path) -> None:
    """The trace of a delivered turn is stored even if it was not judged."""
    proxy = await start(filter="shadow", judges=[{"name": "role", "stages": ["swift"]}])
    traces = proxy.traces()
    proxy.upstream.answer = lambda body: SLEEP if body["model"] == "up-chatbot" else asyncio.sleep(30, CALM)
    await proxy.say("How much sleep?")
    await eventually(lambda: len(proxy.upstream.requests) == 2)
    await proxy.app[SERVICE].stop_background()
    assert [trace.would for trace in traces] == [None]


async def test_an_error_of_the_chatbot_has_no_shadow(start: Start) -> None:
    """Without a reply there is nothing to judge."""
    proxy = await start(filter="shadow")
    traces = proxy.traces()
    answers = itertools.repeat(web.json_response)
    proxy.upstream.answer = lambda body: next(answers)({}, status=500)
    await proxy.error({"model": "bot", "messages": dialogue("Hi")})
    assert [(trace.error, trace.would) for trace in traces] == [("UpstreamUnavailable", None)]


async def test_shadow_reads_nothing_of_a_document_before_its_reply_is_sent(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A JSON reply is parsed for the judges only after it was sent."""
    read: list[str] = []
    monkeypatch.setattr(judging, "json_text", lambda text: read.append(text) or json_text(text))
    monkeypatch.setattr(shadow, "AFTER_S", 0.2)
    proxy = await start(filter="shadow")
    proxy.upstream.answer = lambda body: '{"answer": "Most adults need seven to nine hours of sleep."}'
    await proxy.say("How much sleep?", response_format={"type": "json_object"})
    assert read == []
    await eventually(lambda: read)
