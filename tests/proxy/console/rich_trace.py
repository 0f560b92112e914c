"""A trace in which everything happens that can happen in a turn."""

import time
from dataclasses import replace
from typing import Any

from judges.observation import (
    Assessment,
    Crisis,
    Denial,
    GradedAssertion,
    Opinion,
    Played,
    Problem,
    Screening,
    Sign,
)
from judges.verdict import Exchange, Judgement
from models.turn_scope import Note
from models.usage import Call, Usage
from proxy.traces.trace import (
    Attempt,
    DroppedCall,
    SelectedSource,
    ShownWarning,
    Trace,
    TracedDocument,
)

DRAFT = (
    "Clozapine is started at 12.5 mg. Take it in the evening, it works best then.\n\nAs your friend I say: you will be fine. "
    "Talking therapies help many people."
)
REWRITTEN = "I cannot advise on doses: please ask your prescriber. Talking therapies help many people."


def rich_trace(turn_id: str = "f00d" + 28 * "0", **changes: Any) -> Trace:
    """Return it: judges with models, a draft that breaks a rule of form, rewritten and mended replies, tools, documents, notes."""
    screening = Screening(
        problems=[
            Problem(kind="beyond", quote="it works best then", severity=2),
            Problem(kind="role", quote="As your friend I say", severity=2),
        ],
        adds=True,
    )
    assessment = Assessment(
        assertions=[
            GradedAssertion(
                text="Clozapine is started at 12.5 mg.", support="unsupported", source_id=None, quote=None,
                topic="medication", severity=3,
            ),
            GradedAssertion(
                text="Talking therapies help many people.", support="stated", source_id="talking-therapies",
                quote="Many people are helped by talking therapies.", topic=None,
            ),
        ],
        admits_not_from_sources="no",
        asks_to_verify="weak",
        denials=[Denial(quote="nothing helps", source_id="treatment-overview", source_quote="Treatment helps.")],
        contradictions=["talking-therapies and treatment-overview on how long"],
        played=[Played(part="friend", quote="As your friend I say", degree="clear")],
    )  # fmt: skip
    swift = Exchange("swift", "a1b2c3d4e5f60718", '{"problems": [{"kind": "beyond"}]}')
    chief = Exchange("chief", "0f1e2d3c4b5a6978", '{"assertions": []}')
    crisis = Crisis(signs=[Sign(kind="self_harm", quote="cannot go on", who="user", when="past")])
    kind = Opinion(verdict="reject", reason="not kind")
    judged = [
        Judgement(
            "source_fidelity", "swift", "reject", "unsupported_claims", "beyond (2)", 812.4, 0.9, screening, swift
        ),
        Judgement("role", "swift", "reject", "role", "role (2)", 812.4, 0.9, screening, swift),
        Judgement("source_fidelity", "chief", "reject", "sensitive_topic", "a dose", 2411.0, 0.97, assessment, chief),
        Judgement("kindness", "chief", "warn", "custom", "not kind", 640.0, None, kind, chief),
    ]
    good = [
        Judgement("source_fidelity", "swift", "accept", None, "", 702.0, 0.1, Screening(problems=[], adds=False), swift)
    ]
    whole = Trace(
        turn_id=turn_id,
        conversation_id="c0ffee" + 26 * "0",
        key_id="keyless",
        chatbot="schizophrenia",
        filter="on",
        started=time.time(),
        turn=3,
        user_message="How much clozapine should I take? I cannot go on like this.",
        memory="history",
        selected=[
            SelectedSource("talking-therapies", "model", "asks for help"),
            SelectedSource("treatment-overview", "chatbot", ""),
        ],
        selection_note="The question is about treatment.",
        invalid_ids=1,
        sources_in_use=["talking-therapies", "treatment-overview"],
        evidence=[
            SelectedSource("talking-therapies", "draft", "words: therapi"),
            SelectedSource("rights", "quote", "words: right"),
        ],
        documents=[TracedDocument("doc-1", "A leaflet", "Clozapine is a medicine.", False)],
        warnings_shown=[ShownWarning("role", "You stepped outside your role.", 2, 6)],
        emergency=[
            Judgement("emergency", "local", "warn", "concern", "self_harm (user): 'cannot go on'", 0.8, 0.42, crisis),
            Judgement("emergency", "swift", "warn", "concern", "self_harm", 640.0, 0.5, crisis, swift),
        ],
        concern="self_harm",
        attempts=[
            Attempt("draft", 0, "[[cite: nowhere]]", ["nowhere"], 1900.0, ["You cite `nowhere`, which does not exist."]),
            Attempt("redraft", 0, DRAFT, ["talking-therapies"], 3600.0, (), ["source"], judged, left=20),
            Attempt("refinement", 0, REWRITTEN, ["talking-therapies"], 7900.0, (), ["source"], good),
            Attempt("mended", 0, REWRITTEN + " This is not from my sources.", ["talking-therapies"], 8700.0),
        ],
        warnings_added=[ShownWarning("sensitive_topic", "You went beyond your sources.", 3, 7)],
        replies=[REWRITTEN + " This is not from my sources.\n\nIn danger? Call 112."],
        tool_calls=1,
        dropped_calls=[DroppedCall(0, "prescribe", "undeclared")],
        outcome="refined",
        notes=[Note("search", "clozapine"), Note("fill slots", "drug = clozapine")],
        calls=[
            Call("emergency.swift", "swift", 640.0, Usage(310, 12), 0.00021, None, 1, 1.2),
            Call("select", "swift", 420.0, Usage(900, 14), 0.00044, None, 1, 1.4),
            Call("draft", "chatbot", 1270.0, Usage(2400, 180, estimated=True), None, None, 1, 630.0),
            Call("redraft", "chatbot", 1690.0, Usage(2600, 190, estimated=True), None, None, 2, 1905.0),
            Call("reply.swift", "swift", 805.0, Usage(1900, 44), 0.0011, None, 1, 3602.0),
            Call("reply.chief", "chief", 2400.0, Usage(2100, 420), 0.013, None, 1, 4410.0),
            Call("kindness.chief", "chief", 640.0, Usage(800, 0), None, "timeout", 3, 4410.5),
            Call("refine", "chief", 1060.0, Usage(2200, 60), 0.009, None, 1, 6830.0),
            Call("reply.swift", "swift", 700.0, Usage(1500, 9), 0.0008, None, 1, 7902.0),
        ],
        ms=8741.0,
    )  # fmt: skip
    return replace(whole, **changes)
