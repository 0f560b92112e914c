"""Retrieval: the evidence for a reply, how it was found, and its effect on calls, citations and the trace."""

import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from judges.verdict import Judgement
from proxy.traces.facts import derive_facts
from proxy.traces.redaction import hide_texts, redact
from proxy.traces.trace import Attempt, Trace
from tests.proxy.conftest import (
    ASKED,
    HELLO,
    NO_PROBLEMS,
    Body,
    Proxy,
    Start,
    claims,
    judge_with,
    screening,
    text_of,
    warnings_in,
)

GENES = "Genes play a part."
COACHES = "Job coaches can help you find and keep a job."
BEDTIME = "Going to bed at the same time each night helps."
NONSENSE = "xyzzy plugh quux grault garply"
ZINC = "Zinc mends it within a week."
JUDGES = judge_with("swift", "chief")[1:]
SMALL = {"evidence_tokens": 150}
"""A token budget that the sections of `large_library` exceed."""


@pytest.fixture
def large_library(tmp_path: Path, start: Start) -> None:
    """Add unrelated sections, so that the knowledge base is searched."""
    for name in ("xyzzy", "plugh", "quux"):
        front = f"id: {name}\ntitle: {name}\nsummary: {name}.\nreferences: []\nreviewed_by: null\nreviewed_on: null"
        (tmp_path / "kb" / f"{name}.md").write_text(f"---\n{front}\n---\n" + f"{NONSENSE} " * 8)


def case_of(body: Body) -> Body:
    case: Body = json.loads(body["messages"][1]["content"])
    return case


def asked(proxy: Proxy, alias: str) -> list[Body]:
    """Return the cases that a model was sent."""
    return [case_of(body) for body in proxy.upstream.requests if body["model"] == f"up-{alias}"]


def ids(case: Body) -> list[str]:
    return [source["id"] for source in case["sources"]]


def script(proxy: Proxy, **answers: Any) -> list[Trace]:
    """Script the models by alias; return the list that the turns' traces will come to."""
    proxy.upstream.answer = lambda body: answers[body["model"].removeprefix("up-")]
    return proxy.traces()


def stated(text: str, section: str) -> Body:
    return {"text": text, "support": "stated", "source_id": section, "quote": text, "topic": None}


def found(trace: Trace) -> list[tuple[str, str]]:
    return [(one.id, one.by) for one in trace.evidence]


def steps(trace: Trace) -> list[str]:
    return sorted(call.step for call in trace.calls)


async def test_a_small_knowledge_base_is_in_view_whole_and_the_trace_says_so(start: Start) -> None:
    """For a wrapped chatbot, sections that its words match count as cited."""
    proxy = await start(kind="wrapped", judges=JUDGES, refiner=None)
    traces = script(proxy, chatbot=COACHES, swift=NO_PROBLEMS)
    body = await proxy.say("Who helps?")
    assert ids(asked(proxy, "swift")[0]) == ["causes", "sleep", "work"]
    assert dict(found(traces[0]))["work"] == "draft"
    assert {by for _, by in found(traces[0])} <= {"draft", "whole"}
    assert "work" in [one["id"] for one in body["caf"]["citations"]]


@pytest.mark.usefixtures("large_library")
async def test_a_larger_one_is_searched_by_the_draft_then_by_the_question(start: Start) -> None:
    """The trace says how each section was found, and why."""
    proxy = await start(kind="wrapped", judges=JUDGES, refiner=None, retrieval=SMALL)
    traces = script(proxy, chatbot=COACHES, swift=NO_PROBLEMS)
    body = await proxy.say("What about genes?")
    assert found(traces[0]) == [("work", "draft"), ("sleep", "draft"), ("causes", "question")]
    assert "coach" in traces[0].evidence[0].reason
    assert ids(asked(proxy, "swift")[0]) == ["causes", "sleep", "work"]
    assert [one["id"] for one in body["caf"]["citations"]] == ["work", "sleep"]


@pytest.mark.usefixtures("large_library")
async def test_a_message_that_refers_back_keeps_the_sections_of_the_turn_before(start: Start) -> None:
    """The message itself names no subject."""
    proxy = await start(kind="wrapped", judges=JUDGES, refiner=None, retrieval=SMALL)
    traces = script(proxy, chatbot="I can say it in other words.", swift=NO_PROBLEMS)
    await proxy.say("What about genes?", "They matter a little.", "Can you explain that more simply?")
    assert ("causes", "question") in found(traces[0])


@pytest.mark.usefixtures("large_library")
async def test_a_selector_sees_the_draft_of_a_wrapped_chatbot(start: Start) -> None:
    """It is called once, after the draft, and its sections come first."""
    proxy = await start(kind="wrapped", judges=JUDGES, refiner=None, retrieval={**SMALL, "selector": "retriever"})
    picks = json.dumps({"parts": [{"part": "bedtime", "ids": ["sleep"]}], "reason": "it is about nights"})
    traces = script(proxy, chatbot=COACHES, retriever=picks, swift=NO_PROBLEMS)
    await proxy.say("Who helps?")
    (request,) = asked(proxy, "retriever")
    assert request["draft"] == COACHES
    assert found(traces[0])[:2] == [("sleep", "model"), ("work", "draft")]
    assert steps(traces[0]) == ["draft", "reply.swift", "select"]


async def test_a_selector_is_not_asked_where_all_is_in_view(start: Start) -> None:
    """All sections are used, so there is nothing to select."""
    proxy = await start(kind="wrapped", judges=JUDGES, refiner=None, retrieval={"selector": "retriever"})
    traces = script(proxy, chatbot=COACHES, swift=NO_PROBLEMS)
    await proxy.say("Who helps?")
    assert steps(traces[0]) == ["draft", "reply.swift"]


@pytest.mark.usefixtures("large_library")
async def test_what_is_flagged_is_looked_up_before_the_chief_without_a_further_call(start: Start) -> None:
    """Only the flagged words match the section, not the rest of the draft or the question."""
    draft = f"[[cite: no_claims]]\n{NONSENSE}. {GENES}"
    proxy = await start(judges=JUDGES, refiner=None, retrieval=SMALL)
    chief = claims(stated(GENES, "causes"), played=[])
    traces = script(proxy, chatbot=draft, swift=screening(("beyond", GENES, 2)), chief=chief)
    body = await proxy.say("Xyzzy?")
    (screened,), (decided,) = asked(proxy, "swift"), asked(proxy, "chief")
    assert "causes" not in ids(screened)
    assert "causes" in ids(decided)
    assert ("causes", "quote") in found(traces[0])
    assert steps(traces[0]) == ["draft", "reply.chief", "reply.swift"]
    assert body["caf"]["outcome"] == "accepted"


@pytest.mark.usefixtures("large_library")
async def test_the_refiner_sees_what_was_looked_up(start: Start) -> None:
    """The refiner's sources include the sections found during the review."""
    draft = f"{NONSENSE}. {ZINC} Genes play all parts."
    proxy = await start(kind="wrapped", judges=JUDGES, refiner="refiner", retrieval=SMALL)
    rejected = claims({"text": ZINC, "support": "unsupported", "source_id": None, "quote": None, "topic": None, "severity": 3},
                      played=[])  # fmt: skip
    answers = {"chatbot": draft, "swift": screening(("changed", "Genes play all parts.", 3)), "refiner": GENES}
    chief = [rejected, claims(stated(GENES, "causes"), played=[])]
    proxy.upstream.answer = lambda body: (
        chief.pop(0) if body["model"] == "up-chief" else answers[body["model"].removeprefix("up-")]
    )
    body = await proxy.say("Xyzzy?")
    assert "causes" in ids(asked(proxy, "refiner")[0])
    assert all("causes" in ids(case) for case in asked(proxy, "chief"))
    assert GENES in text_of(body)


async def test_an_uncited_section_that_supports_a_reply_is_cited(start: Start) -> None:
    """As the chief says, with words of the section. The next turn shows it to the chatbot."""
    proxy = await start(judges=JUDGES, refiner=None)
    draft = f"[[cite: sleep]]\n{BEDTIME} {GENES}"
    chief = claims(stated(BEDTIME, "sleep"), stated(GENES, "causes"), played=[])
    traces = script(proxy, chatbot=draft, swift=screening(("beyond", GENES, 2)), chief=chief)
    body = await proxy.say(ASKED)
    assert body["caf"]["outcome"] == "accepted"
    assert [one["id"] for one in body["caf"]["citations"]] == ["sleep", "causes"]
    assert text_of(body).endswith("Sources: Sleep; Causes")
    proxy.upstream.answer = lambda body: NO_PROBLEMS if body["model"] == "up-swift" else HELLO
    await proxy.say(ASKED, text_of(body), "Thanks")
    assert "causes" in traces[1].sources_in_use


@pytest.mark.parametrize("quote", ["Genes play every part of it.", "Zinc mends it"])
async def test_a_section_that_does_not_say_it_is_not_cited(start: Start, quote: str) -> None:
    """Code compares the chief's quote with the section."""
    proxy = await start(judges=JUDGES, refiner=None)
    told = {"text": GENES, "support": "stated", "source_id": "causes", "quote": quote, "topic": None}
    chief = claims(stated(BEDTIME, "sleep"), told, played=[])
    script(proxy, chatbot=f"[[cite: sleep]]\n{BEDTIME} {GENES}", swift=screening(("beyond", GENES, 2)), chief=chief)
    body = await proxy.say(ASKED)
    assert body["caf"]["outcome"] != "accepted"
    assert "causes" not in [one["id"] for one in body["caf"]["citations"]]


async def test_a_supported_reply_asks_no_further_judge(start: Start) -> None:
    """A claim supported by an uncited section is not improvised."""
    proxy = await start(judges=[{"name": "source_fidelity", "stages": ["swift", "chief"]}], refiner=None)
    chief = claims(stated(GENES, "causes"))
    traces = script(proxy, chatbot=f"[[cite: sleep]]\n{GENES}", swift=screening(("beyond", GENES, 2)), chief=chief)
    body = await proxy.say(ASKED)
    assert (body["caf"]["outcome"], steps(traces[0])) == ("accepted", ["draft", "reply.chief", "reply.swift"])


async def test_feedback_of_the_chief_is_what_the_chatbot_is_told(start: Start) -> None:
    """It replaces the rule's text, which the client sees. The trace shows it."""
    proxy = await start(judges=JUDGES, refiner=None)
    feedback = "On remedies your sources name none: say so and refer to the doctor."
    objection = {"text": ZINC, "support": "unsupported", "source_id": None, "quote": None, "topic": None, "severity": 3}
    traces = script(
        proxy, chatbot=f"[[cite: sleep]]\n{ZINC}", swift=screening(("beyond", ZINC, 3)),
        chief=claims(objection, played=[], feedback=feedback),
    )  # fmt: skip
    body = await proxy.say(ASKED)
    assert feedback not in json.dumps(body)
    assert [one.message for one in traces[0].warnings_added] == [feedback]
    await proxy.say(ASKED, text_of(body), "And now?")
    (upstream,) = [body for body in proxy.upstream.requests if body["model"] == "up-chatbot"][1:]
    assert feedback in "\n".join(warnings_in(upstream))
    assert "Zinc" not in "\n".join(warnings_in(upstream))


async def test_the_evidence_of_a_redacted_trace_has_no_words(start: Start) -> None:
    """The reason for a section quotes the draft and is removed. Ids, origin and citations are kept."""
    proxy = await start(kind="wrapped", judges=JUDGES, refiner=None)
    traces = script(proxy, chatbot=COACHES, swift=NO_PROBLEMS)
    await proxy.say("Who helps?")
    hidden = redact(traces[0])
    assert [(one.id, one.by) for one in hidden.evidence] == found(traces[0])
    assert any(one.reason for one in traces[0].evidence)
    assert all(one.reason == "" or one.reason.endswith(" characters]") for one in hidden.evidence)


async def test_the_list_of_turns_knows_what_a_wrapped_chatbot_rests_on(start: Start) -> None:
    """A reply whose words match sections is not listed as one without a source."""
    proxy = await start(kind="wrapped", judges=JUDGES, refiner=None)
    traces = script(proxy, chatbot=COACHES, swift=NO_PROBLEMS)
    await proxy.say("Who?")
    facts = derive_facts(traces[0], None)
    assert not facts.no_source
    assert "work" in json.loads(facts.cited)
    assert "causes" not in json.loads(facts.cited)
    proxy.upstream.answer = lambda body: NO_PROBLEMS if body["model"] == "up-swift" else "Xyzzy!"
    await proxy.say("Who?")
    assert derive_facts(traces[1], None).no_source


def test_texts_of_a_trace_from_before_evidence_can_be_hidden() -> None:
    """An old trace has neither evidence nor judges' warnings."""
    bare = Trace(
        "t",
        "c",
        "k",
        "bot",
        "on",
        0.0,
        attempts=[Attempt("draft", 0, "Text.", (), 1.0, (), (), [Judgement("role", "swift", "accept")])],
    )
    stored = json.loads(orjson.dumps(bare, default=vars))
    del stored["evidence"], stored["attempts"][0]["judgements"][0]["warning"]
    assert hide_texts(stored)["evidence"] == []
