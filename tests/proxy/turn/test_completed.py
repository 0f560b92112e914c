"""Missing statements are added to a reply by code: delivery, trace, metrics, and the cases without an addition."""

import json
from typing import Any

import pytest

from proxy.traces.trace import Trace
from tests.proxy.api.test_stream import content_of, data_of
from tests.proxy.conftest import (
    ASKED,
    Body,
    Proxy,
    Start,
    claims,
    eventually,
    screening,
    text_of,
    warnings_in,
)
from tests.proxy.turn.test_stream import writing

LEAD = "[[cite: sleep]]\n"
FIRST = "Going to bed at the same time each night helps."
SECOND = "Most adults need seven to nine hours of sleep."
ADDED = "Warm socks help many people."
TEXT = f"{FIRST} {ADDED} {SECOND}"
QUOTE = "Warm socks help many people"
LACKING = screening(("undisclosed", QUOTE, 2), adds=True)
BEYOND = screening(("beyond", QUOTE, 2), adds=True)
BARE = "[[cite: not_in_sources]]\nI hear that you are tired. Fresh air is good for most people."
UNDISCLOSED = screening(("undisclosed", "Fresh air is good for most people", 2), adds=True)
JUDGES = [{"name": name, "stages": ["swift", "chief"]} for name in ("source_fidelity", "transparency", "role")]
SWIFT = [{"name": name, "stages": ["swift"]} for name in ("source_fidelity", "transparency", "role")]
STATEMENTS = {
    "en": {"not_from_sources": "My sources do not say so.", "verify": "Please ask your doctor."},
    "de": {"not_from_sources": "Das steht nicht in meinen Quellen.", "verify": "Bitte fragen Sie Ihren Arzt."},
}
SAID = "My sources do not say so. Please ask your doctor."
COMPLETED = f"{TEXT}\n\n{SAID}"
SHOWN = f"{COMPLETED}\n\nSources: Sleep"
"""The completed reply, as the user sees it."""


def stated(text: str) -> Body:
    return {"text": text, "support": "stated", "source_id": "sleep", "quote": text, "topic": None}


def added(support: str, severity: int) -> Body:
    return {"text": ADDED, "support": support, "source_id": None, "quote": None, "topic": None, "severity": severity}


def answering(proxy: Proxy, swift: str, chief: str = "", refined: str = "", draft: str = LEAD + TEXT) -> list[Trace]:
    """Script the models. Return the list to which the turns' traces are added."""
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


async def test_missing_statements_are_added_without_a_second_call(start: Start) -> None:
    """The reply's text is unchanged, the trace shows both texts, and the chatbot is warned."""
    proxy = await start(judges=JUDGES, statements=STATEMENTS, refiner="refiner")
    traces = answering(proxy, LACKING)
    body = await proxy.say(ASKED)
    assert text_of(body) == SHOWN
    assert body["caf"]["outcome"] == "refined"
    assert [warning["rule"] for warning in body["caf"]["warnings"]] == ["missing_transparency"]
    (trace,) = traces
    assert kinds(trace) == ["draft", "mended"]
    assert [attempt.text for attempt in trace.attempts] == [TEXT, COMPLETED]
    assert steps(trace) == ["draft", "reply.swift"]
    assert await mended_count(proxy) == 1


@pytest.mark.parametrize(("statements", "screened"), [({}, LACKING), (STATEMENTS, BEYOND)])
async def test_what_statements_cannot_settle_goes_to_the_chief(start: Start, statements: Body, screened: str) -> None:
    """No statements configured, or an addition that statements do not excuse. Code deletes no text."""
    proxy = await start(judges=JUDGES, statements=statements, refiner="refiner")
    chief = claims(stated(FIRST), stated(SECOND), added("unsupported", 1), played=[])
    traces = answering(proxy, screened, chief)
    body = await proxy.say(ASKED)
    assert (text_of(body), body["caf"]["outcome"]) == (f"{TEXT}\n\nSources: Sleep", "accepted")
    assert (kinds(traces[0]), steps(traces[0])) == (["draft"], ["draft", "reply.chief", "reply.swift"])
    assert await mended_count(proxy) == 0


async def test_a_completed_reply_is_known_again(start: Start) -> None:
    """The next turn continues it. The chatbot sees the delivered text and its warning."""
    proxy = await start(judges=JUDGES, statements=STATEMENTS)
    answering(proxy, LACKING)
    first = await proxy.say(ASKED)
    second = await proxy.say(ASKED, text_of(first), "And?")
    assert second["caf"]["conversation_id"] == first["caf"]["conversation_id"]
    (drafting,) = [one for one in proxy.upstream.requests[2:] if one["model"] == "up-chatbot"]
    assert warnings_in(drafting)
    assert SAID in json.dumps(drafting)


async def test_statements_that_the_chief_misses_are_added(start: Start) -> None:
    """The swift call reports another problem, and the refiner is not called."""
    proxy = await start(judges=JUDGES, statements=STATEMENTS, refiner="refiner")
    chief = claims(stated(FIRST), stated(SECOND), added("basic", 2), played=[])
    traces = answering(proxy, BEYOND, chief)
    body = await proxy.say(ASKED)
    assert (text_of(body), body["caf"]["outcome"]) == (SHOWN, "refined")
    assert steps(traces[0]) == ["draft", "reply.chief", "reply.swift"]


async def test_a_refined_reply_that_lacks_statements_is_completed(start: Start) -> None:
    """Missing statements do not turn it into the fallback message."""
    proxy = await start(judges=JUDGES, statements=STATEMENTS, refiner="refiner")
    chiefs = iter(
        [
            claims(added("unsupported", 3), played=[]),
            claims(stated(FIRST), stated(SECOND), added("basic", 2), added("basic", 2), played=[]),
        ]
    )
    answers: dict[str, Any] = {"up-swift": BEYOND, "up-refiner": LEAD + TEXT}
    proxy.upstream.answer = lambda body: (
        next(chiefs) if body["model"] == "up-chief" else answers.get(body["model"], LEAD + ADDED)
    )
    traces = proxy.traces()
    body = await proxy.say(ASKED)
    assert (text_of(body), body["caf"]["outcome"]) == (SHOWN, "refined")
    assert kinds(traces[0]) == ["draft", "refinement", "mended"]


@pytest.mark.parametrize("severity", [1, 2])
async def test_one_addition_counts_by_its_severity(start: Start, severity: int) -> None:
    """A harmless addition does not change the outcome."""
    proxy = await start(judges=JUDGES, statements=STATEMENTS)
    answering(proxy, screening(("undisclosed", QUOTE, severity), adds=True))
    body = await proxy.say(ASKED)
    assert (SAID in text_of(body)) == (severity == 2)
    assert body["caf"]["outcome"] == ("accepted" if severity == 1 else "refined")


async def test_a_judge_of_ones_own_that_objects_is_not_overruled(start: Start, tmp_path: Any) -> None:
    """Added statements do not settle a custom judge's objection."""
    (tmp_path / "mine.md").write_text(
        "---\nname: mine\nstage: chief\nmodel: chief\nobservation: verdict\n---\nJudge.\n"
    )
    proxy = await start(judges=[*SWIFT, "mine.md"], statements=STATEMENTS, refiner=None)
    traces = answering(proxy, LACKING, json.dumps({"verdict": "reject", "reason": "r"}))
    body = await proxy.say(ASKED)
    assert (body["caf"]["outcome"], kinds(traces[0])) == ("fallback", ["draft"])


@pytest.mark.parametrize("answer", [{"answer": TEXT}, [TEXT], TEXT], ids=["object", "array", "string"])
async def test_a_json_document_is_not_completed(start: Start, answer: Any) -> None:
    """A sentence after the document would make it invalid. The fault is reported, the document unchanged."""
    proxy = await start(judges=SWIFT, statements=STATEMENTS, refiner=None)
    document = json.dumps(answer)
    traces = answering(proxy, LACKING, draft=document)
    body = await proxy.say(ASKED, response_format={"type": "json_object"})
    assert (text_of(body), body["caf"]["outcome"], kinds(traces[0])) == (document, "warned", ["draft"])
    assert await mended_count(proxy) == 0


async def test_a_tool_call_is_not_completed(start: Start) -> None:
    """A tool call cannot hold statements, so the chief judges it."""
    proxy = await start(judges=JUDGES, statements=STATEMENTS, refiner=None)
    call = {"id": "c1", "type": "function", "function": {"name": "note", "arguments": json.dumps({"text": ADDED})}}
    answers = {"up-swift": LACKING, "up-chief": claims(played=[])}
    drafted = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    proxy.upstream.answer = lambda body: answers.get(body["model"], drafted)
    traces = proxy.traces()
    body = await proxy.say(ASKED, tools=[{"type": "function", "function": {"name": "note"}}])
    delivered = body["choices"][0]["message"]["tool_calls"]
    assert [one["function"] for one in delivered] == [call["function"]]
    assert (kinds(traces[0]), steps(traces[0])) == (["tool_calls"], ["draft", "reply.chief", "reply.swift"])


@pytest.mark.parametrize("streamed", [False, True])
async def test_nothing_is_added_under_observe(start: Start, streamed: bool) -> None:
    """The reply was sent before it is judged. The chief decides on the warnings."""
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


async def test_in_shadow_it_is_told_and_not_counted(start: Start) -> None:
    """The user gets the draft. The trace has the completed text."""
    proxy = await start(judges=SWIFT, statements=STATEMENTS, filter="shadow")
    traces = answering(proxy, LACKING)
    assert SAID not in text_of(await proxy.say(ASKED))
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
    """Without it, in the first language. The reply's own text is unchanged."""
    proxy = await start(judges=SWIFT, statements=STATEMENTS, refiner=None)
    traces = answering(proxy, UNDISCLOSED, draft=BARE)
    body = await proxy.say(question)
    said = f"{STATEMENTS[code]['not_from_sources']} {STATEMENTS[code]['verify']}"
    assert text_of(body) == f"{BARE.partition(chr(10))[2]}\n\n{said}"
    assert (body["caf"]["outcome"], steps(traces[0])) == ("refined", ["draft", "reply.swift"])


@pytest.mark.parametrize("changes", [{"stop": ["\n\n"]}, {"stop": "My sources"}, {"length": {"soft": 20, "hard": 20}}])
async def test_statements_that_would_be_cut_off_are_not_added(start: Start, changes: Body) -> None:
    """The client's `stop` or the length limit would cut them: the reply is unchanged, with a warning."""
    length = {"length": changes.pop("length")} if "length" in changes else {}
    proxy = await start(judges=SWIFT, statements=STATEMENTS, refiner=None, **length)
    traces = answering(proxy, UNDISCLOSED, draft=BARE)
    body = await proxy.say("What else can I do?", **changes)
    assert text_of(body) == BARE.partition("\n")[2]
    assert (body["caf"]["outcome"], kinds(traces[0])) == ("warned", ["draft"])
