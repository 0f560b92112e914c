"""The life of one guarded turn: from what the user said to what they are told.

take_turn ── emergency judge (models) ┐ concurrent: if it fires, the draft is cancelled
   └── _answer ───────────────────────┘
         ├── retrieve     sections for the question (retrieval.py)
         ├── draft        (draft.py)
         └── _settle      for each choice: hard checks (draft.py); judging, completing, refining (judging.py); its tool calls
"""

import asyncio
import math
from dataclasses import replace

import structlog

from judges.case import run_in_thread_if
from judges.verdict import Review, signs
from models.engine import Body
from models.errors import ModelError, OutOfTime
from models.turn_scope import SCOPE, TurnScope
from proxy.traces.trace import DroppedCall, Outcome
from proxy.turn.draft import check_draft, draft
from proxy.turn.evidence import with_upstream_evidence
from proxy.turn.inputs import Turn
from proxy.turn.judging import fallback, judge_calls, judge_reply
from proxy.turn.results import Answer, Delivery, kind_of
from proxy.turn.retrieval import retrieve
from proxy.turn.tool_calls import ToolCall, declared_tools, read_calls

log = structlog.get_logger()

MANY_CALLS = 1_000
"""Tool calls of a choice from which reading them takes some 10 ms."""
RESERVE, RESERVE_S = 0.05, 1.0
"""What no model call gets of a turn's time: this share of it, and at most so many seconds."""


async def take_turn(turn: Turn, limit_s: float = math.inf) -> Answer:
    """Answer the user within so many seconds.

    In an emergency with its text; so too, when the emergency judge is not sure and there would be no answer at all.

    Raises:
        ModelError: The chatbot's model could not be asked.
        TimeoutError: The turn took too long.
    """
    # No call goes on until the very end: what is left then is for the fallback message, when judges or a refiner hang.
    until = asyncio.get_running_loop().time() + limit_s
    SCOPE.set(TurnScope(turn.ledger, turn.principal, turn.results.notes))
    turn.ledger.began = turn.started
    turn.ledger.until = until if limit_s == math.inf else until - min(RESERVE_S, limit_s * RESERVE)
    try:
        async with asyncio.timeout(None if limit_s == math.inf else limit_s):
            return await _answer_unless_emergency(turn)
    except (TimeoutError, OutOfTime, ModelError) as error:
        alarm = turn.results.emergency
        if not alarm.alarms or (turn.stream_gate is not None and turn.stream_gate.sent_chars):
            raise
        log.warning("concern in a turn that cannot be served", turn_id=turn.id, error=type(error).__name__)
        return Answer([emergency(turn, as_emergency(alarm))])
    finally:
        turn.ledger.until = math.inf  # what is judged in shadow has its own time


async def _answer_unless_emergency(turn: Turn) -> Answer:
    alarm, judge = turn.results.emergency, turn.bot.pipeline.emergency
    if alarm.verdict == "reject":
        return Answer([emergency(turn, alarm)])
    if not turn.judged or judge is None or judge.local_only:
        if alarm.failed_closed:
            return Answer([fallback(turn, alarm.judgements)])
        _open_gate(turn)
        return add_emergency_review(turn, await _answer(turn))
    case = turn.bot.emergency_case(turn.user_message if turn.task is None else turn.task.unheard, turn.earlier)
    asking = asyncio.create_task(turn.bot.pipeline.judge_emergency_by_models(case, turn.ledger, alarm))
    answering = asyncio.create_task(_answer(turn))
    try:
        review = await asking
        review = replace(review, judgements=alarm.judgements + review.judgements)
        turn.results.emergency = review = review if turn.task is None else as_concern(review)
        if review.verdict == "reject":
            return Answer([emergency(turn, review)])
        if review.failed_closed:
            return Answer([fallback(turn, review.judgements)])
        if turn.task is not None and review.alarms:
            return add_emergency_review(turn, Answer([fallback(turn)]))
        _open_gate(turn)
        return add_emergency_review(turn, await answering)
    finally:
        for task in (asking, answering):
            task.cancel()
        await asyncio.gather(asking, answering, return_exceptions=True)


def _open_gate(turn: Turn) -> None:
    """Let the reply be sent, now that the emergency judge has not fired."""
    if turn.stream_gate is not None:
        turn.stream_gate.open()


async def _answer(turn: Turn) -> Answer:
    if turn.task is not None and (turn.task.quotes_heard or turn.results.emergency.alarms):
        return Answer([fallback(turn)])
    with turn.step("select"):
        retrieval = await retrieve(turn)
    if retrieval is not None:
        turn = turn.with_sources(retrieval)
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
    turn = with_upstream_evidence(turn, choice)
    text = message.get("content")
    text = text if isinstance(text, str) else ""
    is_long = len(message.get("tool_calls") or ()) > MANY_CALLS
    calls = await run_in_thread_if(is_long, _declared_calls, turn, index, message)
    if not text.strip() and (calls or message.get("refusal")):
        delivery = Delivery(None, "unfiltered", in_use=turn.in_use, documents=turn.documents)
    else:
        delivery = await _settle_text(turn, index, text, bool(calls))
    delivery = replace(delivery, choice=choice)
    return await judge_calls(turn, index, calls, delivery) if calls else delivery


def _declared_calls(turn: Turn, index: int, message: Body) -> list[ToolCall]:
    """Return the tool calls that the request allows."""
    calls = read_calls(message, turn.id, index)
    allowed = declared_tools(turn.request) if calls else ()
    turn.results.dropped_calls += [
        DroppedCall(index, call.name, "undeclared") for call in calls if (call.kind, call.name) not in allowed
    ]
    return [
        replace(call, arguments=turn.results.visible(call.arguments, as_json=call.kind != "custom"))
        for call in calls
        if (call.kind, call.name) in allowed
    ]


async def _settle_text(turn: Turn, index: int, text: str, with_tools: bool) -> Delivery:
    turn, attempt = await check_draft(turn, index, text, with_tools)
    committed = turn.committed(index)
    if not attempt.text and with_tools:  # only a citation came with the calls
        delivery = Delivery(None, "unfiltered")
    elif not attempt.text.startswith(committed.text):  # what was sent was another text's beginning
        log.error("draft does not go on from what was sent", turn_id=turn.id)
        delivery = fallback(turn, committed=committed)
    else:
        delivery = await judge_reply(turn, attempt)
    return replace(delivery, in_use=turn.in_use, documents=turn.documents)


def add_emergency_review(turn: Turn, answer: Answer) -> Answer:
    """Return an answer with what the emergency judge said in each of its deliveries."""
    alarm, concern = turn.results.emergency, turn.results.concern
    unjudged: tuple[Outcome, ...] = ("unjudged",) if alarm.verdict == "unjudged" else ()
    return replace(
        answer,
        deliveries=[
            replace(
                delivery,
                judgements=[*alarm.judgements, *delivery.judgements],
                warnings=[*delivery.warnings, *([("concern", "")] if concern else [])],
                other_outcomes=[*delivery.other_outcomes, *unjudged],
                concern=concern,
            )
            for delivery in answer.deliveries
        ],
    )


def as_emergency(alarm: Review) -> Review:
    """Return what the emergency judge said as if it had been sure: for somebody who would get no answer at all."""
    return replace(alarm, decisive=[replace(alarm.alarms[-1], verdict="reject")])


def as_concern(alarm: Review) -> Review:
    """Return what the emergency judge said as if it had not been sure: of words that a program quotes."""
    return replace(alarm, decisive=[replace(j, verdict="warn") if j.verdict == "reject" else j for j in alarm.decisive])


def emergency(turn: Turn, review: Review) -> Delivery:
    """Answer an emergency: the configured text for its kind, and nothing else."""
    kind = kind_of(review) if signs(review.judgements) else ""
    text = turn.bot.emergency_text(kind, turn.user_message)
    detail = (
        f"In turn {turn.number} the user's message told of an emergency{f' ({kind})' if kind else ''}, and they were given "
        "the emergency contact. Be calm and brief, and name the contact again if they are still in danger."
    )
    return Delivery(text, "emergency", ("emergency_contact",), review.judgements, [("emergency", detail)])
