"""Removes texts from a trace (`privacy.store: redacted`). Pure."""

import re
from collections.abc import Collection
from typing import Any

import orjson

from judges.verdict import Exchange, Judgement
from knowledge_base.citations import CLASSES
from models.turn_scope import Note
from models.usage import Call
from proxy.traces.trace import Attempt, DroppedCall, SelectedSource, ShownWarning, Trace, TracedDocument, view_stored


def redact(trace: Trace) -> Trace:
    """Return the trace with every text of a person or a model replaced by its length.

    The code lists every field that is copied, so a field that is added to `Trace` stays out until it is added here.
    """
    source_ids = {
        *CLASSES,
        *(source.id for source in trace.selected),
        *trace.sources_in_use,
        *(one.id for one in trace.evidence),
        *(document.id for document in trace.documents),
    }
    return Trace(
        turn_id=trace.turn_id,
        conversation_id=trace.conversation_id,
        key_id=trace.key_id,
        chatbot=trace.chatbot,
        filter=trace.filter,
        started=trace.started,
        turn=trace.turn,
        user_message=_length(trace.user_message),
        memory=trace.memory,
        selected=[SelectedSource(source.id, source.by, _length(source.reason)) for source in trace.selected],
        selection_note=_length(trace.selection_note),
        invalid_ids=trace.invalid_ids,
        invisible_removed=trace.invisible_removed,
        sources_in_use=list(trace.sources_in_use),
        evidence=[SelectedSource(one.id, one.by, _length(one.reason)) for one in trace.evidence],
        documents=[
            TracedDocument(one.id, _length(one.title), _length(one.text), one.trusted, one.choice)
            for one in trace.documents
        ],
        warnings_shown=[_warning(warning) for warning in trace.warnings_shown],
        emergency=[_judgement(judgement) for judgement in trace.emergency],
        concern=trace.concern,
        attempts=[_attempt(attempt, source_ids) for attempt in trace.attempts],
        warnings_added=[_warning(warning) for warning in trace.warnings_added],
        replies=[None if reply is None else _length(reply) for reply in trace.replies],
        refusals=[None if refusal is None else _length(refusal) for refusal in trace.refusals],
        tool_calls=trace.tool_calls,
        dropped_calls=[DroppedCall(call.choice, _length(call.name), call.why) for call in trace.dropped_calls],
        outcome=trace.outcome,
        would=trace.would,
        error=trace.error,
        notes=[Note(_length(note.step), _length(note.detail)) for note in trace.notes],
        calls=[_call(call) for call in trace.calls],
        ms=trace.ms,
    )


def hide_texts(data: dict[str, Any]) -> dict[str, Any]:
    """Return a stored trace for users without the permission `trace`: redacted, and without documents and notes."""
    # Older traces lack these fields.
    calls = [{"at_ms": None, "thoughts": "", "cause": ""} | call for call in data["calls"]]
    attempts = [{"left": 0} | attempt for attempt in data["attempts"]]
    hidden = redact(view_stored(data | {"documents": [], "notes": [], "calls": calls, "attempts": attempts}))
    stored: dict[str, Any] = orjson.loads(orjson.dumps(hidden, default=vars))
    return stored


def is_redacted(trace: dict[str, Any]) -> bool:
    """Return whether a stored trace holds only the lengths of its texts."""
    texts = [trace["user_message"], *(attempt["text"] for attempt in trace["attempts"])]
    return any(texts) and all(redacted_length(text) is not None for text in texts if text)


def redacted_length(text: str) -> int | None:
    """Return the length of a removed text in characters; None if the argument is a text."""
    match = _LENGTH.fullmatch(text)
    return int(match[1]) if match else None


_LENGTH = re.compile(r"\[(\d{1,9}) characters\]")


def _length(text: str) -> str:
    return f"[{len(text)} characters]" if text else ""


def _attempt(attempt: Attempt, source_ids: Collection[str]) -> Attempt:
    return Attempt(
        kind=attempt.kind,
        choice=attempt.choice,
        text=_length(attempt.text),
        # A citation that names no source is free text of the model.
        citations=[citation if citation in source_ids else _length(citation) for citation in attempt.citations],
        at_ms=attempt.at_ms,
        problems=[_length(problem) for problem in attempt.problems],
        modes=list(attempt.modes),
        judgements=[_judgement(judgement) for judgement in attempt.judgements],
        left=attempt.left,
    )


def _judgement(judgement: Judgement) -> Judgement:
    exchange = judgement.exchange
    return Judgement(
        judge=judgement.judge,
        stage=judgement.stage,
        verdict=judgement.verdict,
        rule=judgement.rule,
        reason=_length(judgement.reason),
        ms=judgement.ms,
        score=judgement.score,
        exchange=exchange and Exchange(exchange.model, exchange.prompt_hash, _length(exchange.raw)),
        warning=_length(getattr(judgement, "warning", "")),  # older traces lack this field
    )


def _warning(warning: ShownWarning) -> ShownWarning:
    return ShownWarning(warning.rule, _length(warning.message), warning.turn, warning.expires)


def _call(call: Call) -> Call:
    return Call(
        step=call.step,
        alias=call.alias,
        ms=call.ms,
        usage=call.usage,
        cost=call.cost,
        error=call.error,
        attempts=call.attempts,
        at_ms=call.at_ms,
        thoughts=_length(call.thoughts),
        cause=call.cause,
    )
