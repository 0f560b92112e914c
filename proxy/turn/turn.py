"""One guarded turn: from what the user said to what they are told.

take_turn ── emergency judge (models) ┐ concurrent: if it fires, the draft is cancelled
   └── _answer ───────────────────────┘
         ├── retrieve     sections for the question (retrieval.py)
         ├── draft        (draft.py)
         └── _settle      for each choice: `checked` by hard rules (draft.py), `judged` and refined (judging.py); its tool calls
"""

import asyncio
from dataclasses import replace

import structlog

from judges.case import alarm_case
from judges.review import Review, signs
from models.client import Body
from proxy.traces.trace import Attempt, ConcernKind, DroppedCall
from proxy.turn.delivery import Answer, Delivery, Turn
from proxy.turn.draft import checked, draft
from proxy.turn.judging import fallback, judged, settle_calls
from proxy.turn.retrieval import retrieve
from proxy.turn.tool_calls import ToolCall, declared_tools, read_calls

log = structlog.get_logger()


async def take_turn(turn: Turn) -> Answer:
    """Answer the user, unless the emergency judge fires first.

    Raises:
        ModelError: The chatbot's model could not be asked, and there was no emergency to answer instead.
    """
    if turn.alarm.verdict == "reject":
        return Answer([emergency(turn, turn.alarm)])
    judge = turn.bot.filter.emergency if turn.judged else None
    if judge is None or judge.local_only:
        if turn.alarm.failed_closed:
            return Answer([fallback(turn, turn.alarm)])
        _go_on(turn, turn.alarm)
        return prepend_emergency_judgements(turn, turn.alarm, await _answer(turn))
    case = alarm_case(turn.user_message, turn.earlier)
    alarm = asyncio.create_task(turn.bot.filter.alarm(case, turn.ledger, turn.alarm))
    answer = asyncio.create_task(_answer(turn))
    try:
        review = await alarm
        turn.trace.emergency += review.judgements
        heard = replace(review, judgements=turn.alarm.judgements + review.judgements)
        if review.verdict == "reject":
            return Answer([emergency(turn, heard)])
        if review.failed_closed:
            return Answer([fallback(turn, heard)])
        _go_on(turn, heard)
        return prepend_emergency_judgements(turn, heard, await answer)
    finally:
        for task in (alarm, answer):
            task.cancel()
        await asyncio.gather(alarm, answer, return_exceptions=True)


def _go_on(turn: Turn, alarm: Review) -> None:
    """Let the reply leave, now that the emergency judge has not fired; keep in mind that it is concerned, if it is."""
    if alarm.verdict == "warn":
        turn.concern = alarm
        turn.trace.concern = kind_of(alarm)
    if turn.stream_gate is not None:
        turn.stream_gate.open()


async def _answer(turn: Turn) -> Answer:
    with turn.step("select"):
        await retrieve(turn)
    with turn.step("draft"):
        upstream = await draft(turn)
    choices = upstream["choices"]
    if len(choices) == 1:
        return Answer([await _settle(turn, 0, choices[0])], upstream)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_settle(turn, i, choice)) for i, choice in enumerate(choices)]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return Answer([task.result() for task in tasks], upstream)


async def _settle(turn: Turn, index: int, choice: Body) -> Delivery:
    """Bring one choice from draft to delivery."""
    message = choice["message"]
    text = message.get("content")
    text = text if isinstance(text, str) else ""
    calls = _declared_calls(turn, index, message)
    if not text.strip() and (calls or message.get("refusal")):
        delivery = Delivery(None, "unfiltered")
    else:
        delivery = await _settle_text(turn, index, text, bool(calls))
    delivery.message, delivery.choice = message, choice
    if calls:
        await settle_calls(turn, index, calls, delivery)
    return delivery


def _declared_calls(turn: Turn, index: int, message: Body) -> list[ToolCall]:
    """Return the tool calls that the request allows."""
    calls = read_calls(message, turn.trace.turn_id, index)
    allowed = declared_tools(turn.request) if calls else ()
    turn.trace.dropped_calls += [
        DroppedCall(index, call.name, "undeclared") for call in calls if (call.kind, call.name) not in allowed
    ]
    return [call for call in calls if (call.kind, call.name) in allowed]


async def _settle_text(turn: Turn, index: int, text: str, with_tools: bool) -> Delivery:
    attempt = await checked(turn, index, text, with_tools)
    if not attempt.text and with_tools:  # only a citation came with the calls
        return Delivery(None, "unfiltered")
    committed = turn.committed(index)
    attempt.left = len(committed.text)
    if not attempt.text.startswith(committed.text):  # what was sent was another text's beginning
        log.error("draft does not go on from what has left", turn_id=turn.trace.turn_id)
        return fallback(turn, Review(), (), committed)
    return await judged(turn, attempt)


def cut_off(turn: Turn) -> list[Attempt]:
    """Return what had been sent of choices that were still being written when the turn failed."""
    traced = {attempt.choice for attempt in turn.trace.attempts}
    sent = turn.stream_gate.sent_chars if turn.stream_gate is not None else {}
    return [
        Attempt("draft", index, committed.text[:count], list(committed.citations), turn.at_ms, left=count)
        for index, count in sent.items()
        if index not in traced and (committed := turn.committed(index))
    ]


def prepend_emergency_judgements(turn: Turn, alarm: Review, answer: Answer) -> Answer:
    """Add what the emergency judge said to a settled answer."""
    for delivery in answer.deliveries:
        delivery.judgements[:0] = alarm.judgements
        if turn.concern is not None:
            delivery.warnings.append(("concern", ""))
        if alarm.verdict == "unjudged" and delivery.outcome in ("refined", "warned", "accepted", "unfiltered"):
            delivery.outcome = "unjudged"
    return answer


def emergency(turn: Turn, review: Review) -> Delivery:
    """Answer an emergency: the configured text for its kind, and nothing else."""
    found = signs(review.judgements)
    kind = found[0].kind if found else ""
    text = turn.bot.emergency_text(kind, turn.user_message)
    detail = (
        f"In turn {turn.number} the user's message told of an emergency{f' ({kind})' if kind else ''}, and they were given "
        "the emergency contact. Be calm and brief, and name the contact again if they are still in danger."
    )
    return Delivery(text, "emergency", ("emergency_contact",), list(review.judgements), [("emergency", detail)])


def kind_of(review: Review) -> ConcernKind:
    """Return the kind of danger that the strongest judge saw who saw one."""
    found = signs(review.judgements)
    return found[0].kind if found else "unknown"
