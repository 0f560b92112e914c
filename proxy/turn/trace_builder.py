"""The trace of a turn, built from its results."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from knowledge_base.evidence import Evidence
from knowledge_base.library import Source
from models.engine import Body
from proxy.state.conversation import CarriedWarning
from proxy.traces.trace import Attempt, Outcome, SelectedSource, Trace, TracedDocument
from proxy.turn.inputs import Turn
from proxy.turn.results import Answer


def build_trace(
    turn: Turn, answer: Answer, messages: Sequence[Body], warnings_added: Sequence[CarriedWarning]
) -> Trace:
    """Return the trace of a turn that was answered.

    Args:
        turn: The turn.
        answer: Its answer.
        messages: The message of each choice, as delivered.
        warnings_added: Those that arose in it.
    """
    outcome = answer.worst.outcome
    refusals = [message["refusal"] for message in messages]
    in_use = [delivery.in_use or {} for delivery in answer.deliveries]
    documents = _traced(turn.documents)
    for choice, delivery in enumerate(answer.deliveries):
        documents += _traced([one for one in delivery.documents if one not in turn.documents], choice)
    return replace(
        _what_happened(turn),
        outcome=outcome,
        sources_in_use=list(dict.fromkeys(source for sources in in_use for source in sources)),
        documents=documents,
        concern=None if outcome == "emergency" else turn.results.concern,
        warnings_added=[warning.trace_form(turn.bot.settings.role) for warning in warnings_added],
        replies=[message["content"] for message in messages],
        refusals=refusals if any(refusals) else [],
        tool_calls=sum(len(delivery.calls) for delivery in answer.deliveries),
    )


def build_failure_trace(turn: Turn, error: str) -> Trace:
    """Return the trace of a turn that failed, with what had been sent of choices that were still being written.

    Args:
        turn: The turn.
        error: The code of the error that ended it.
    """
    trace = _what_happened(turn)
    attempts = [*trace.attempts, *_cut_off_attempts(turn)]
    return replace(trace, error=error, attempts=attempts, concern=turn.results.concern)


def with_shadow(trace: Trace, turn: Turn, would: Outcome | None) -> Trace:
    """Return the trace of a turn in shadow with what its judges said afterwards.

    Args:
        trace: The trace of the turn as it was answered.
        turn: The turn.
        would: What the filter would have made of it; None: that was not found out.
    """
    judged = _what_happened(turn)
    return replace(
        trace,
        would=would,
        emergency=judged.emergency,
        concern=None if would == "emergency" else turn.results.concern,
        attempts=judged.attempts,
        calls=judged.calls,
    )


def _what_happened(turn: Turn) -> Trace:
    results, conversation, role = turn.results, turn.conversation, turn.bot.settings.role
    return Trace(
        turn_id=turn.id,
        conversation_id=conversation.id,
        key_id=turn.principal.key_id,
        chatbot=turn.bot.name,
        filter=turn.filter,
        started=turn.started_at,
        turn=turn.number,
        user_message=turn.user_message,
        memory=turn.how_found,
        selected=[source for retrieval in results.retrievals for source in retrieval.selected],
        selection_note=results.retrievals[0].note if results.retrievals else "",
        invalid_ids=sum(retrieval.invalid_ids for retrieval in results.retrievals),
        sources_in_use=list(results.retrievals[-1].in_use) if results.retrievals else [],
        evidence=_evidence(results.evidence),
        documents=_traced(turn.documents),
        warnings_shown=[warning.trace_form(role) for warning in turn.shown_warnings],
        emergency=list(results.emergency.judgements),
        attempts=list(results.attempts),
        dropped_calls=list(results.dropped_calls),
        invisible_removed=results.invisible_removed,
        notes=list(results.notes),
        calls=list(turn.ledger.calls),
        ms=turn.at_ms,
    )


def _evidence(evidence: Iterable[Evidence]) -> list[SelectedSource]:
    """Return each section once, as it first came into view."""
    first = {one.source.id: one for one in reversed([*evidence])}
    return [SelectedSource(one.source.id, one.by, one.reason) for one in evidence if first[one.source.id] is one]


def _traced(documents: Iterable[Source], choice: int | None = None) -> list[TracedDocument]:
    return [TracedDocument(one.id, one.title, one.text, one.trusted, choice) for one in documents]


def _cut_off_attempts(turn: Turn) -> list[Attempt]:
    """Return what had been sent of choices that were still being written when the turn failed."""
    traced = {attempt.choice for attempt in turn.results.attempts}
    sent = turn.stream_gate.sent_chars if turn.stream_gate is not None else {}
    return [
        Attempt("draft", index, committed.text[:count], committed.citations, turn.at_ms, left=count)
        for index, count in sent.items()
        if index not in traced and (committed := turn.committed(index))
    ]
