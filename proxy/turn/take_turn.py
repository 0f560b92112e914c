"""The steps of one guarded turn, from the user's message to the reply.

take_turn ── emergency judge (models) ┐ concurrent: an emergency cancels the draft
   └── _answer ───────────────────────┘
         ├── retrieve     sections for the question (sources.py)
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
from models.errors import EmptyAnswer
from models.turn_scope import SCOPE, TurnScope
from proxy.traces.trace import Outcome
from proxy.turn.delivery import Answer, Delivery
from proxy.turn.draft import check_draft, draft
from proxy.turn.judging import fallback, judge_calls, judge_reply
from proxy.turn.sources import retrieve, take_upstream_evidence
from proxy.turn.tool_calls import declared_calls
from proxy.turn.turn import ChoiceRun, TurnRun, kind_of

log = structlog.get_logger()

MANY_CALLS = 1_000
"""Number of tool calls above which a message is read in a thread: reading 1,000 calls takes about 10 ms."""
RESERVE, RESERVE_S = 0.05, 1.0
"""Time reserved for the fallback message: 5 % of the turn's time limit, at most 1 s."""


async def take_turn(run: TurnRun, limit_s: float = math.inf) -> Answer:
    """Take a turn: answer the user within a time limit.

    Args:
        run: The turn.
        limit_s: Time limit in seconds.

    Raises:
        ModelError: The call to the chatbot's model failed.
        OutOfTime, TimeoutError: The turn took too long.
    """
    turn, ledger = run.turn, run.ledger
    # Model calls end before the time limit. If judges or a refiner hang, the rest is for the fallback message.
    until = asyncio.get_running_loop().time() + limit_s
    SCOPE.set(TurnScope(ledger, turn.principal, run.notes, turn.conversation.id))
    ledger.began = turn.started
    ledger.until = until if limit_s == math.inf else until - min(RESERVE_S, limit_s * RESERVE)
    try:
        async with asyncio.timeout(None if limit_s == math.inf else limit_s):
            return await _answer_unless_emergency(run)
    finally:
        ledger.until = math.inf  # judging in shadow has its own time limit


async def _answer_unless_emergency(run: TurnRun) -> Answer:
    turn, pipeline, local_review = run.turn, run.turn.bot.pipeline, run.emergency
    if local_review.verdict == "reject":
        return Answer([emergency(run, local_review)])
    if not run.needs_judging or pipeline.emergency is None or pipeline.emergency.local_only:
        if local_review.failed_closed:
            return Answer([fallback(run, local_review.judgements)])
        _open_gate(run)
        return add_emergency_review(run, await _answer(run))
    case = turn.bot.emergency_case(turn.user_message if turn.task is None else turn.task.unmarked, turn.earlier)
    asking = asyncio.create_task(pipeline.judge_emergency_by_models(case, run.ledger, local_review))
    answering = asyncio.create_task(_answer(run))
    try:
        review = await asking
        review = replace(review, judgements=local_review.judgements + review.judgements)
        run.emergency = review = review if turn.task is None else as_concern(review)
        if review.verdict == "reject":
            return Answer([emergency(run, review)])
        if review.failed_closed:
            return Answer([fallback(run, review.judgements)])
        if turn.task is not None and review.alarms:
            return add_emergency_review(run, Answer([fallback(run)]))
        _open_gate(run)
        return add_emergency_review(run, await answering)
    finally:
        for task in (asking, answering):
            task.cancel()
        await asyncio.gather(asking, answering, return_exceptions=True)


def _open_gate(run: TurnRun) -> None:
    """Allow sending the committed text, because the emergency judge found no emergency."""
    if run.gate is not None:
        run.gate.open()


async def _answer(run: TurnRun) -> Answer:
    task = run.turn.task
    if task is not None and (task.quotes_danger or run.emergency.alarms):
        return Answer([fallback(run)])
    choice = ChoiceRun(run, documents=run.turn.documents)
    with run.step("select"):
        await retrieve(choice)
    with run.step("draft"):
        upstream = await draft(choice)
    drafted = upstream["choices"]
    if len(drafted) == 1:
        return Answer([await _settle(choice, drafted[0])], upstream)
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(_settle(choice.fork(i), one)) for i, one in enumerate(drafted)]
    except ExceptionGroup as errors:
        raise errors.exceptions[0] from errors
    return Answer([task.result() for task in tasks], upstream)


async def _settle(choice: ChoiceRun, drafted: Body) -> Delivery:
    """Check and judge a drafted choice with its tool calls, and return its delivery."""
    message = drafted["message"]
    take_upstream_evidence(choice, drafted)
    beside_text = choice.fork(choice.index)  # tool calls are judged with the sources in use before the text
    text = message.get("content")
    text = text if isinstance(text, str) else ""
    is_long = len(message.get("tool_calls") or ()) > MANY_CALLS
    calls = await run_in_thread_if(is_long, declared_calls, choice, message)
    if not text.strip() and (calls or message.get("refusal")):
        delivery = Delivery(None, "unfiltered")
    else:
        delivery = await _settle_text(choice, text, bool(calls))
    delivery.choice, delivery.in_use, delivery.documents = drafted, choice.in_use, choice.documents
    return await judge_calls(beside_text, calls, delivery) if calls else delivery


async def _settle_text(choice: ChoiceRun, text: str, with_tools: bool) -> Delivery:
    reply = await check_draft(choice, text, with_tools)
    committed = choice.committed
    if not reply.text and with_tools:  # only a citation came with the calls
        return Delivery(None, "unfiltered")
    if not reply.text:
        choice.run.cause = _cause_of_empty_draft(choice.run)
    if not reply.text.startswith(committed.text):  # another draft's start has been sent
        log.error("draft does not continue the sent text", turn_id=choice.turn.id)
        return fallback(choice.run, committed=committed)
    return await judge_reply(choice, reply)


def _cause_of_empty_draft(run: TurnRun) -> str:
    alias = next((call.alias for call in reversed(run.ledger.calls) if call.step in ("draft", "redraft")), "")
    return EmptyAnswer().at(alias, "draft").cause


# The emergency judge


def add_emergency_review(run: TurnRun, answer: Answer) -> Answer:
    """Add the emergency judge's review to each delivery of an answer, and return the answer."""
    review, concern = run.emergency, run.concern
    unjudged: tuple[Outcome, ...] = ("unjudged",) if review.verdict == "unjudged" else ()
    for delivery in answer.deliveries:
        delivery.judgements = [*review.judgements, *delivery.judgements]
        delivery.warnings = [*delivery.warnings, *([("concern", "")] if concern else [])]
        delivery.other_outcomes = [*delivery.other_outcomes, *unjudged]
        delivery.concern = concern
    return answer


def as_emergency(review: Review) -> Review:
    """Raise the last alarm of a review to an emergency, for a user who would otherwise get no answer."""
    return replace(review, decisive=[replace(review.alarms[-1], verdict="reject")])


def as_concern(review: Review) -> Review:
    """Lower the emergencies of a review to concerns, for a text that a program quotes."""
    return replace(
        review, decisive=[replace(j, verdict="warn") if j.verdict == "reject" else j for j in review.decisive]
    )


def emergency(run: TurnRun, review: Review) -> Delivery:
    """Return the delivery for an emergency, which contains only the configured text for the kind of emergency."""
    turn, kind = run.turn, kind_of(review) if signs(review.judgements) else ""
    text = turn.bot.emergency_text(kind, turn.user_message)
    detail = (
        f"In turn {turn.number} the user's message told of an emergency{f' ({kind})' if kind else ''}, and they were given "
        "the emergency contact. Be calm and brief, and name the contact again if they are still in danger."
    )
    return Delivery(text, "emergency", ("emergency_contact",), review.judgements, [("emergency", detail)])
