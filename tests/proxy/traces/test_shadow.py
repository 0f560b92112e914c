"""What the filter would have done, counted from traces."""

import dataclasses
import time
from dataclasses import replace
from typing import Any

from judges.verdict import Judgement, Verdict
from proxy.traces.shadow import count_shadow
from proxy.traces.sqlite import decode, encode
from proxy.traces.trace import Attempt, Outcome, Trace


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
    found = count_shadow(data(*TURNS, *LEFT_OUT))
    assert (found.turns, found.not_judged) == (10, 1)
    assert found.filter == {"accepted": 3, "warned": 1, "refined": 1, "replaced": 2, "unjudged": 1, "emergency": 1}


def test_verdicts_are_counted_by_what_they_would_have_led_to() -> None:
    """Those on the first draft, each judge for itself: what it accepted and another rejected is accepted."""
    judges = count_shadow(data(*TURNS)).judges
    assert judges["role"] == {"accepted": 3, "warned": 1, "refined": 1, "unjudged": 2}
    assert judges["transparency"] == {"accepted": 3, "warned": 1, "replaced": 1}
    assert judges["emergency"] == {"accepted": 8, "emergency": 1}


def test_a_judge_of_several_stages_is_counted_once_by_its_last() -> None:
    """The swift stage only screens."""
    judgements = [Judgement("role", "swift", "reject"), Judgement("role", "chief", "accept")]
    one = replace(turn("accepted"), attempts=[Attempt("draft", 0, "", [], 0.5, judgements=judgements)])
    assert count_shadow(data(one)).judges["role"] == {"accepted": 1}


def test_of_several_choices_the_worst_counts() -> None:
    """As for the outcome of a turn."""
    one = turn("refined", role="accept")
    more = Attempt("draft", 1, "", [], 0.5, judgements=[Judgement("role", "local", "reject")])
    assert count_shadow(data(replace(one, attempts=[*one.attempts, more]))).judges["role"] == {"refined": 1}


def test_verdicts_on_a_rewritten_text_are_not_counted() -> None:
    """They say nothing of what the chatbot wrote."""
    one = turn("fallback", role="accept", transparency="reject")
    more = Attempt("refinement", 0, "", [], 1.0, judgements=[Judgement("role", "local", "reject")])
    assert count_shadow(data(replace(one, attempts=[*one.attempts, more]))).judges["role"] == {"accepted": 1}


def test_a_trace_of_before_there_was_a_shadow_outcome_is_not_judged() -> None:
    """Older files are read too."""
    old = data(turn("accepted"))
    del old[0]["would"]
    assert count_shadow(old).not_judged == 1
