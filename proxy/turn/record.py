"""Stores the state of the conversation after a turn, and builds the trace of the turn."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import takewhile

import structlog

from knowledge_base.evidence import Evidence
from knowledge_base.library import Source
from models.engine import Body
from proxy.protocol.canonical import digest, fold
from proxy.state.conversation import CarriedWarning, Conversation
from proxy.state.conversation_store import ConversationStore
from proxy.state.danger_marks import mark_message, writer_key
from proxy.state.delivered_calls import DeliveredCall, delivered_call
from proxy.traces.trace import Attempt, Outcome, SelectedSource, Trace, TracedDocument
from proxy.turn.delivery import Answer, Delivery, delivered_text
from proxy.turn.turn import Turn, TurnRun

log = structlog.get_logger()

# The conversation


async def remember(store: ConversationStore, run: TurnRun, answer: Answer) -> list[CarriedWarning]:
    """Store the conversation state after each choice, even if the client disconnects. Return the new warnings."""
    keeping = _keep(store, run, answer)
    return await (asyncio.shield(keeping) if store.waits else keeping)


async def _keep(store: ConversationStore, run: TurnRun, answer: Answer) -> list[CarriedWarning]:
    """Store the state after each choice. A choice with only tool calls stores no state: the turn continues later."""
    turn, added = run.turn, list[CarriedWarning]()
    if calls := _delivered_calls(turn, answer):
        await store.put_calls(calls)
    for delivery in answer.deliveries:
        if delivery.text is None and not delivery.refused:
            continue
        text = delivered_text(run, delivery)
        reply = None if text is None else digest(fold(text))
        after = state_after(turn, delivery, reply)
        rules = dict(delivery.warnings)
        added += [warning for warning in after.warnings if warning.rule in rules]
        try:
            await store.put(turn.identity.keys_after(reply, after.id), after)
        except Exception as error:
            if delivery.outcome != "emergency":
                raise
            # A failing store must not stop the emergency text.
            log.error("state of an emergency not stored", error=type(error).__name__)
    return added


async def remember_danger(store: ConversationStore, run: TurnRun) -> None:
    """Store marks of user messages that mention danger, because a chat application may quote them in its own prompts."""
    turn = run.turn
    if turn.task is not None or not run.emergency.alarms:
        return
    writer = writer_key(turn.principal.key_id, turn.principal.user)
    messages = takewhile(lambda message: not message.is_reply, reversed(turn.request.messages))
    said = dict.fromkeys((turn.user_message, *(message.text for message in messages if message.role == "user")))
    try:
        await store.add_danger_marks(
            writer, [mark for text in said if (mark := mark_message(writer, text)) is not None]
        )
    except Exception as error:
        # A failing store must not stop the emergency text. Without its mark, a quoted message is a concern.
        log.error("marks of an emergency not stored", error=type(error).__name__)


def _delivered_calls(turn: Turn, answer: Answer) -> dict[bytes, DeliveredCall]:
    """Return the delivered tool calls to store, by key. The message's fields are stored with its first call only."""
    kept: dict[bytes, DeliveredCall] = {}
    for delivery in answer.deliveries:
        message = delivery.message
        for call in delivery.calls:
            if call.id:
                known = delivered_call(turn.conversation.id, call.name, call.arguments, call.upstream, message)
                kept[turn.identity.call_key(call.id)], message = known, {}
    return kept


def state_after(turn: Turn, delivery: Delivery, reply: str | None) -> Conversation:
    """Return the state of the conversation after a delivery.

    Args:
        turn: The turn.
        delivery: The delivery.
        reply: The hash of the delivered text; None if no text was delivered.
    """
    before, settings = turn.conversation, turn.bot.settings
    lasts = settings.warning_turns
    if delivery.outcome == "emergency" and settings.emergency is not None:
        lasts = settings.emergency.remember_turns
    warnings = before.add_warnings(delivery.warnings, turn.number, lasts)
    in_use = before.sources if delivery.in_use is None else delivery.in_use
    cited = delivery.citations if turn.cites else ()  # includes sections that only the refiner was shown
    sources = {**in_use, **{source: turn.number for source in cited if source in turn.bot.sections}}
    after = Conversation(before.id, turn.number, warnings, sources, before.delivered, before.pairs)
    if reply is None:
        return after
    pair = turn.identity.pair_after(reply)
    return after.after_reply(turn.number, reply, tuple(delivery.citations), pair, delivery.proposed)


# The trace


def build_trace(
    run: TurnRun, answer: Answer, messages: Sequence[Body], warnings_added: Sequence[CarriedWarning]
) -> Trace:
    """Return the trace of an answered turn.

    Args:
        run: The turn.
        answer: The turn's answer.
        messages: The message of each choice, as delivered.
        warnings_added: The warnings added in this turn.
    """
    turn, outcome = run.turn, answer.worst.outcome
    refusals = [message["refusal"] for message in messages]
    in_use = [delivery.in_use or {} for delivery in answer.deliveries]
    documents = _traced(turn.documents)
    for index, delivery in enumerate(answer.deliveries):
        documents += _traced([one for one in delivery.documents if one not in turn.documents], index)
    return replace(
        _what_happened(run),
        outcome=outcome,
        sources_in_use=list(dict.fromkeys(source for sources in in_use for source in sources)),
        documents=documents,
        concern=None if outcome == "emergency" else run.concern,
        warnings_added=[warning.trace_form(turn.bot.settings.role) for warning in warnings_added],
        replies=[message["content"] for message in messages],
        refusals=refusals if any(refusals) else [],
        tool_calls=sum(len(delivery.calls) for delivery in answer.deliveries),
    )


def build_failure_trace(run: TurnRun, error: str) -> Trace:
    """Return the trace of a failed turn, with the sent part of unfinished choices.

    Args:
        run: The turn.
        error: The code of the error.
    """
    trace = _what_happened(run)
    return replace(trace, error=error, attempts=[*trace.attempts, *_cut_off_attempts(run)], concern=run.concern)


def with_shadow(trace: Trace, run: TurnRun, would: Outcome | None) -> Trace:
    """Return the trace of a turn in shadow mode, including the judgements made after the reply was sent.

    Args:
        trace: The trace of the answered turn.
        run: The turn.
        would: The outcome that the turn would have had with the filter on; None: not judged.
    """
    judged = _what_happened(run)
    return replace(
        trace,
        would=would,
        emergency=judged.emergency,
        concern=None if would == "emergency" else run.concern,
        attempts=judged.attempts,
        calls=judged.calls,
    )


def _what_happened(run: TurnRun) -> Trace:
    turn, role = run.turn, run.turn.bot.settings.role
    return Trace(
        turn_id=turn.id,
        conversation_id=turn.conversation.id,
        key_id=turn.principal.key_id,
        chatbot=turn.bot.name,
        filter=turn.filter,
        started=turn.started_at,
        turn=turn.number,
        user_message=turn.user_message,
        memory=turn.how_found,
        selected=[source for retrieval in run.retrievals for source in retrieval.selected],
        selection_note=run.retrievals[0].note if run.retrievals else "",
        invalid_ids=sum(retrieval.invalid_ids for retrieval in run.retrievals),
        sources_in_use=list(run.retrievals[-1].in_use) if run.retrievals else [],
        evidence=_evidence(run.evidence),
        documents=_traced(turn.documents),
        warnings_shown=[warning.trace_form(role) for warning in turn.shown_warnings],
        emergency=list(run.emergency.judgements),
        attempts=list(run.attempts),
        dropped_calls=list(run.dropped_calls),
        invisible_removed=run.invisible_removed,
        notes=list(run.notes),
        calls=list(run.ledger.calls),
        ms=turn.at_ms,
    )


def _evidence(evidence: Iterable[Evidence]) -> list[SelectedSource]:
    """Return the sections that drafts were compared with, without duplicates. The first entry of a section is kept."""
    first = {one.source.id: one for one in reversed([*evidence])}
    return [SelectedSource(one.source.id, one.by, one.reason) for one in evidence if first[one.source.id] is one]


def _traced(documents: Iterable[Source], choice: int | None = None) -> list[TracedDocument]:
    return [TracedDocument(one.id, one.title, one.text, one.trusted, choice) for one in documents]


def _cut_off_attempts(run: TurnRun) -> list[Attempt]:
    """Return the sent part of each choice that was unfinished when the turn failed."""
    if run.gate is None:
        return []
    traced = {attempt.choice for attempt in run.attempts}
    cut_off = [(i, count, run.gate.committed(i)) for i, count in run.gate.sent_chars.items() if i not in traced]
    at_ms = run.turn.at_ms
    return [Attempt("draft", i, said.text[:count], said.citations, at_ms, left=count) for i, count, said in cut_off]
