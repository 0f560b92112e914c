"""`caf trace shadow`: what the filter would have done, counted."""

import dataclasses
import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.shadow import count
from judges.verdict import Judgement, Verdict
from proxy.traces.file import decode, encode
from proxy.traces.store import TraceStore
from proxy.traces.trace import Attempt, Outcome, Trace
from tests.cli.conftest import Ended

Caf = Callable[..., Ended]
CONFIG = "models: {m: {engine: embedded}}\nchatbots: {p: {kind: passthrough, model: m}}\n"


def turn(would: Outcome | None, emergency: Verdict = "accept", **verdicts: Verdict) -> Trace:
    """Return a turn in shadow, with what each judge made of its draft."""
    said = [Judgement(judge, "local", verdict) for judge, verdict in verdicts.items()]
    refined = [Attempt("refinement", 0, "", [], 1.0, judgements=[Judgement("role", "local", "accept")])]
    return Trace(
        turn_id=f"{time.perf_counter_ns():032x}",
        conversation_id="c",
        key_id="k",
        chatbot="bot",
        filter="shadow",
        started=time.time(),
        emergency=[Judgement("emergency", "local", emergency)],
        attempts=[Attempt("draft", 0, "", [], 0.5, judgements=said), *(refined if would == "refined" else [])],
        would=would,
    )


TURNS = [
    turn("accepted", role="accept", transparency="accept"),
    turn("accepted", role="accept", transparency="accept"),
    turn("unfiltered"),
    turn("warned", role="warn", transparency="accept"),
    turn("refined", role="reject", transparency="warn"),
    turn("fallback", role="accept", transparency="reject"),
    turn("fallback", role="unjudged"),
    turn("unjudged", role="unjudged"),
    turn("emergency", emergency="reject"),
    turn(None, role="accept"),
]
LEFT_OUT = [
    dataclasses.replace(turn("refined", role="reject"), filter="on", would=None),
    dataclasses.replace(turn(None, role="reject"), error="upstream_timeout"),
]


def data(*traces: Trace) -> list[dict[str, Any]]:
    return [decode(encode(trace)) for trace in traces]


def test_turns_are_counted_by_what_the_filter_would_have_done() -> None:
    """Turns that nobody judged are no acceptance; turns with the filter on, and errors, are not counted."""
    found = count(data(*TURNS, *LEFT_OUT))
    assert (found.turns, found.not_judged) == (10, 1)
    assert found.filter == {"accepted": 3, "warned": 1, "refined": 1, "replaced": 2, "unjudged": 1, "emergency": 1}


def test_verdicts_are_counted_by_what_they_would_have_led_to() -> None:
    """Those on the first draft, each judge for itself: what it accepted and another rejected is accepted."""
    judges = count(data(*TURNS)).judges
    assert judges["role"] == {"accepted": 3, "warned": 1, "refined": 1, "unjudged": 2}
    assert judges["transparency"] == {"accepted": 3, "warned": 1, "replaced": 1}
    assert judges["emergency"] == {"accepted": 8, "emergency": 1}


def test_a_judge_of_several_stages_is_counted_once_by_its_last() -> None:
    """The swift stage only screens."""
    judgements = [Judgement("role", "swift", "reject"), Judgement("role", "chief", "accept")]
    one = replace(turn("accepted"), attempts=[Attempt("draft", 0, "", [], 0.5, judgements=judgements)])
    assert count(data(one)).judges["role"] == {"accepted": 1}


def test_of_several_choices_the_worst_counts() -> None:
    """As for the outcome of a turn."""
    one = turn("refined", role="accept")
    more = Attempt("draft", 1, "", [], 0.5, judgements=[Judgement("role", "local", "reject")])
    assert count(data(replace(one, attempts=[*one.attempts, more]))).judges["role"] == {"refined": 1}


def test_verdicts_on_a_rewritten_text_are_not_counted() -> None:
    """They say nothing of what the chatbot wrote."""
    one = turn("fallback", role="accept", transparency="reject")
    more = Attempt("refinement", 0, "", [], 1.0, judgements=[Judgement("role", "local", "reject")])
    assert count(data(replace(one, attempts=[*one.attempts, more]))).judges["role"] == {"accepted": 1}


def test_a_trace_of_before_there_was_a_shadow_outcome_is_not_judged() -> None:
    """Older files are read too."""
    old = data(turn("accepted"))
    del old[0]["would"]
    assert count(old).not_judged == 1


@pytest.fixture
def file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG + "privacy: {path: traces.db}\n")
    store = TraceStore(tmp_path / "traces.db", "redacted", 30)
    store.start()
    for one in (*TURNS, *LEFT_OUT, dataclasses.replace(turn("warned"), chatbot="other", started=time.time() - 7_200)):
        store.record(one)
    store.close()


@pytest.mark.usefixtures("file")
def test_the_table_tells_shares(inside: Caf) -> None:
    """The filter first, then each judge; also from redacted traces."""
    ended = inside("trace", "shadow", "--chatbot", "bot")
    assert ended.code == 0, ended.err
    lines = [" ".join(line.split()) for line in ended.out.splitlines() if line]
    assert lines == [
        "10 turns in shadow, of which 1 were not judged. The filter would have had:",
        "turns accepted warned refined replaced emergency unjudged",
        "the filter 9 3 (33.3%) 1 (11.1%) 1 (11.1%) 2 (22.2%) 1 (11.1%) 1 (11.1%)",
        "emergency 9 8 (88.9%) - - - 1 (11.1%) -",
        "role 7 3 (42.9%) 1 (14.3%) 1 (14.3%) - - 2 (28.6%)",
        "transparency 5 3 (60.0%) 1 (20.0%) - 1 (20.0%) - -",
    ]


@pytest.mark.usefixtures("file")
def test_the_counts_can_be_narrowed_and_printed_for_programs(inside: Caf) -> None:
    """By chatbot and time, as JSON."""
    assert json.loads(inside("trace", "shadow", "--json").out)["turns"] == 11
    assert json.loads(inside("trace", "shadow", "--json", "--since", "1h").out)["turns"] == 10
    other = json.loads(inside("trace", "shadow", "--json", "--chatbot", "other").out)
    assert (other["turns"], other["filter"]["warned"], other["judges"]["emergency"]["accepted"]) == (1, 1, 1)
    assert inside("trace", "shadow", "--chatbot", "nobody").out.startswith("no turns in shadow; set filter: shadow")


@pytest.mark.usefixtures("file")
def test_the_list_of_turns_tells_it_too(inside: Caf) -> None:
    """Beside the outcome, which in shadow is always the same."""
    assert "unfiltered (refined)" in inside("trace", "list").out
    shown = inside("trace", "show", TURNS[4].turn_id).out
    assert "outcome unfiltered (with the filter: refined)" in shown
