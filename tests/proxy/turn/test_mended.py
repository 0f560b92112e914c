"""Small faults are mended in place: what leaves, what is traced and counted, and where nothing may be changed."""

import asyncio
import json
from typing import Any

import pytest

from judges.weights import weights_id
from proxy.traces.trace import Trace
from tests.proxy.api.test_stream import content_of, data_of
from tests.proxy.conftest import (
    ASKED,
    Body,
    Proxy,
    Start,
    claims,
    dialogue,
    eventually,
    screening,
    text_of,
    warnings_in,
)
from tests.proxy.turn.test_stream_gate import writing

LEAD = "[[cite: sleep]]\n"
FIRST = "Going to bed at the same time each night helps."
SECOND = "Most adults need seven to nine hours of sleep."
ADDED = "Warm socks help many people."
DRAFT = f"{LEAD}{FIRST} {ADDED} {SECOND}"
SMALL = ("beyond", "Warm socks help many people", 2)
GRAVE = ("beyond", "Warm socks help many people", 3)
BARE = "[[cite: not_in_sources]]\nI hear that you are tired. Fresh air is good for most people."
UNDISCLOSED = screening(("undisclosed", "Fresh air is good for most people", 2), adds=True)
JUDGES = [{"name": name, "stages": ["swift", "chief"]} for name in ("source_fidelity", "transparency", "role")]
SWIFT = [{"name": name, "stages": ["swift"]} for name in ("source_fidelity", "transparency", "role")]
STATEMENTS = {
    "en": {"not_from_sources": "My sources do not say so.", "verify": "Please ask your doctor."},
    "de": {"not_from_sources": "Das steht nicht in meinen Quellen.", "verify": "Bitte fragen Sie Ihren Arzt."},
}


def stated(text: str) -> Body:
    return {"text": text, "support": "stated", "source_id": "sleep", "quote": text, "topic": None}


def added(severity: int) -> Body:
    return {
        "text": ADDED,
        "support": "unsupported",
        "source_id": None,
        "quote": None,
        "topic": None,
        "severity": severity,
    }


def answering(proxy: Proxy, swift: str, chief: str = "", refined: str = "", draft: str = DRAFT) -> list[Trace]:
    """Script the models; return the list that the turns' traces will come to."""
    answers = {"up-chatbot": draft, "up-swift": swift, "up-chief": chief, "up-refiner": refined}
    proxy.upstream.answer = lambda body: answers[body["model"]]
    return proxy.traces()


def kinds(trace: Trace) -> list[str]:
    return [attempt.kind for attempt in trace.attempts]


def steps(trace: Trace) -> list[str]:
    return sorted(call.step for call in trace.calls)


async def mended_count(proxy: Proxy) -> float:
    lines = (await proxy.get("/metrics"))[1].splitlines()
    (value,) = [line.split()[-1] for line in lines if line.startswith('caf_mended_total{chatbot="bot"}')]
    return float(value)


async def test_a_small_addition_is_taken_out_without_a_second_call(start: Start) -> None:
    """The rest stays word for word; the trace shows both texts, and the chatbot is warned."""
    proxy = await start(judges=JUDGES, refiner="refiner")
    traces = answering(proxy, screening(SMALL, adds=True))
    body = await proxy.say(ASKED)
    assert text_of(body) == f"{FIRST} {SECOND}\n\nSources: Sleep"
    assert body["caf"]["outcome"] == "refined"
    assert [warning["rule"] for warning in body["caf"]["warnings"]] == ["unsupported_claims"]
    (trace,) = traces
    assert kinds(trace) == ["draft", "mended"]
    assert ADDED in trace.attempts[0].text
    assert trace.attempts[1].text == f"{FIRST} {SECOND}"
    assert steps(trace) == ["draft", "reply.swift"]
    assert await mended_count(proxy) == 1


async def test_a_mended_reply_is_known_again(start: Start) -> None:
    """The next turn continues it, and the chatbot is shown what was delivered, with its warning."""
    proxy = await start(judges=JUDGES)
    answering(proxy, screening(SMALL, adds=True))
    first = await proxy.say(ASKED)
    second = await proxy.say(ASKED, text_of(first), "And?")
    assert second["caf"]["conversation_id"] == first["caf"]["conversation_id"]
    (drafting,) = [one for one in proxy.upstream.requests[2:] if one["model"] == "up-chatbot"]
    assert warnings_in(drafting)
    assert "socks" not in json.dumps(drafting)


async def test_what_the_chief_finds_small_is_mended(start: Start) -> None:
    """The swift call overrates it; the refiner is not asked."""
    proxy = await start(judges=JUDGES, refiner="refiner")
    chief = claims(stated(FIRST), stated(SECOND), added(2), played=[])
    traces = answering(proxy, screening(GRAVE, adds=True), chief)
    body = await proxy.say(ASKED)
    assert (text_of(body), body["caf"]["outcome"]) == (f"{FIRST} {SECOND}\n\nSources: Sleep", "refined")
    assert steps(traces[0]) == ["draft", "reply.chief", "reply.swift"]


async def test_what_a_refiner_leaves_is_mended(start: Start) -> None:
    """A refined reply with a small addition is not thrown away for it."""
    proxy = await start(judges=JUDGES, refiner="refiner")
    chiefs = iter([claims(added(3), played=[]), claims(stated(FIRST), stated(SECOND), added(2), played=[])])
    answers: dict[str, Any] = {"up-swift": screening(GRAVE, adds=True), "up-refiner": DRAFT}
    proxy.upstream.answer = lambda body: (
        next(chiefs) if body["model"] == "up-chief" else answers.get(body["model"], LEAD + ADDED)
    )
    traces = proxy.traces()
    body = await proxy.say(ASKED)
    assert (text_of(body), body["caf"]["outcome"]) == (f"{FIRST} {SECOND}\n\nSources: Sleep", "refined")
    assert kinds(traces[0]) == ["draft", "refinement", "mended"]


@pytest.mark.parametrize("severity", [1, 2])
async def test_one_addition_counts_by_its_severity(start: Start, severity: int) -> None:
    """A harmless one changes nothing at all."""
    proxy = await start(judges=JUDGES)
    answering(proxy, screening((*SMALL[:2], severity), adds=True))
    body = await proxy.say(ASKED)
    assert (ADDED in text_of(body)) == (severity == 1)
    assert body["caf"]["outcome"] == ("accepted" if severity == 1 else "refined")


async def test_a_judge_of_ones_own_that_objects_is_not_overruled(start: Start, tmp_path: Any) -> None:
    """What it objects to is still there when the addition is gone."""
    (tmp_path / "mine.md").write_text(
        "---\nname: mine\nstage: chief\nmodel: chief\nobservation: verdict\n---\nJudge.\n"
    )
    proxy = await start(judges=[*SWIFT, "mine.md"], refiner=None)
    traces = answering(proxy, screening(SMALL, adds=True), json.dumps({"verdict": "reject", "reason": "r"}))
    body = await proxy.say(ASKED)
    assert (body["caf"]["outcome"], kinds(traces[0])) == ("fallback", ["draft"])


async def test_a_json_document_is_not_mended(start: Start) -> None:
    """Half a document is none: the fault is told, and the document arrives as it was written."""
    proxy = await start(judges=SWIFT, refiner=None)
    document = json.dumps({"answer": f"{FIRST} {ADDED} {SECOND}"})
    traces = answering(proxy, screening(SMALL, adds=True), draft=document)
    body = await proxy.say(ASKED, response_format={"type": "json_object"})
    assert (text_of(body), body["caf"]["outcome"], kinds(traces[0])) == (document, "warned", ["draft"])
    assert await mended_count(proxy) == 0


@pytest.mark.parametrize("streamed", [False, True])
async def test_nothing_is_mended_under_observe(start: Start, streamed: bool) -> None:
    """All of it has left when it is judged: the chief decides what the chatbot is warned of."""
    proxy = await start(judges=JUDGES, statements=STATEMENTS, streaming="observe")
    traces = answering(proxy, UNDISCLOSED, claims(played=[]), draft=BARE)
    if streamed:
        judging = proxy.upstream.answer

        async def respond(request: Any) -> Any:
            body = await request.json()
            answer = judging(body)
            return await writing(answer)(request)

        proxy.upstream.respond = respond
        text = content_of([c for c in data_of(await proxy.stream(ASKED)) if c])
    else:
        text = text_of(await proxy.say(ASKED))
    assert text == BARE.partition("\n")[2]
    await eventually(lambda: traces)
    assert (traces[0].outcome, kinds(traces[0])) == ("unfiltered", ["draft"])
    assert steps(traces[0]) == ["draft", "reply.chief", "reply.swift"]
    assert await mended_count(proxy) == 0


@pytest.mark.parametrize(("quote", "left"), [(ADDED, f"{FIRST} {SECOND}"), (FIRST, f"{FIRST} {ADDED} {SECOND}")])
async def test_nothing_that_has_left_is_changed(start: Start, quote: str, left: str) -> None:
    """With `verified`, what is mended stands behind what the user has seen; a fault in that is told alone."""
    judges = [
        {
            "name": "source_fidelity",
            "stages": ["local", "swift"],
            "accept_below": {"score": 0.5, "weights": weights_id("source_fidelity")},
        }
    ]
    proxy = await start(judges=judges, refiner=None, streaming="verified")
    traces = answering(proxy, screening(("beyond", quote, 2), adds=True))
    seen = asyncio.Event()

    async def respond(request: Any) -> Any:
        body = await request.json()
        if body["model"] == "up-chatbot":
            return await writing(LEAD, f"{FIRST} {ADDED[:4]}", seen.wait, f"{ADDED[4:]} {SECOND}")(request)
        return await writing(screening(("beyond", quote, 2), adds=True))(request)

    proxy.upstream.respond = respond
    body = {"model": "bot", "messages": dialogue(ASKED), "stream": True}
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=body) as response:
        raw = b""
        async with asyncio.timeout(10):
            while FIRST.encode() not in raw:
                raw += await response.content.readany()
        seen.set()
        raw += await response.read()
    assert content_of([c for c in data_of(raw) if c]) == f"{left}\n\nSources: Sleep"
    assert kinds(traces[0]) == (["draft", "mended"] if quote == ADDED else ["draft"])


async def test_in_shadow_it_is_told_and_not_counted(start: Start) -> None:
    """The user has the draft; what would have been done is in the trace."""
    proxy = await start(judges=SWIFT, filter="shadow")
    traces = answering(proxy, screening(SMALL, adds=True))
    assert ADDED in text_of(await proxy.say(ASKED))
    await eventually(lambda: traces)
    assert (traces[0].would, kinds(traces[0])) == ("refined", ["draft", "mended"])
    assert await mended_count(proxy) == 0


@pytest.mark.parametrize(
    ("question", "code"),
    [
        ("What else can I do?", "en"),
        ("Was kann ich sonst noch tun, bitte?", "de"),
        ("¿Qué más puedo hacer para dormir?", "en"),
    ],
)
async def test_statements_are_added_in_the_users_language(start: Start, question: str, code: str) -> None:
    """Else in the first one; the reply itself stays word for word."""
    proxy = await start(judges=SWIFT, statements=STATEMENTS, refiner=None)
    traces = answering(proxy, UNDISCLOSED, draft=BARE)
    body = await proxy.say(question)
    said = f"{STATEMENTS[code]['not_from_sources']} {STATEMENTS[code]['verify']}"
    assert text_of(body) == f"{BARE.partition(chr(10))[2]}\n\n{said}"
    assert (body["caf"]["outcome"], steps(traces[0])) == ("refined", ["draft", "reply.swift"])


@pytest.mark.parametrize("changes", [{"stop": ["\n\n"]}, {"stop": "My sources"}, {"length": {"soft": 20, "hard": 20}}])
async def test_statements_that_would_be_cut_off_are_not_added(start: Start, changes: Body) -> None:
    """The client's `stop` or the length limit would end the reply before them: it stays as it is, and is warned of."""
    length = {"length": changes.pop("length")} if "length" in changes else {}
    proxy = await start(judges=SWIFT, statements=STATEMENTS, refiner=None, **length)
    traces = answering(proxy, UNDISCLOSED, draft=BARE)
    body = await proxy.say("What else can I do?", **changes)
    assert text_of(body) == BARE.partition("\n")[2]
    assert (body["caf"]["outcome"], kinds(traces[0])) == ("warned", ["draft"])
