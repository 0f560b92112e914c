"""Shadow mode: what the filter would have made of a turn, found out after its reply has left.

The reply is what it is with the filter off: same bytes, same calls, same state. The rest is done here, on a copy of the turn with
its filter on: judges, refiner, and judges again. Their calls are in the trace and the metrics, but in nobody's budget. A few turns
are judged at a time and few may wait, so that on a busy day shadows do not take from live traffic what it needs: those left out
are in the trace as not judged.
"""

import asyncio
from dataclasses import replace

import structlog

from proxy.traces.trace import Outcome, worst_outcome
from proxy.turn.inputs import Turn
from proxy.turn.judging import judge_call_attempt, judge_reply
from proxy.turn.results import Answer
from proxy.turn.turn import add_emergency_review

log = structlog.get_logger()

AT_ONCE = 8
"""Turns that are judged at a time."""
MOST_WAITING = 200
"""Turns that are judged or wait for it; each holds its conversation's texts."""
AFTER_S = 0.02
"""How long the reply has to get away before judging takes the processor."""


class Shadows:
    """Judges turns that were delivered unfiltered."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def judge(self, turn: Turn, answer: Answer, limit_s: float) -> Outcome | None:
        """Return what the filter would have made of a turn; None where that was not found out, which is logged and harms nothing.

        Args:
            turn: The turn; its results get what the judges say.
            answer: What it was answered.
            limit_s: For how long at most, once it begins.
        """
        if self._waiting >= MOST_WAITING:
            log.warning("not judged in shadow", turn_id=turn.id, reason="too many are waiting")
            return None
        self._waiting += 1
        try:
            await asyncio.sleep(AFTER_S)
            async with self._room, asyncio.timeout(limit_s):
                return await judge_in_shadow(turn, answer)
        except Exception as error:
            log.warning("not judged in shadow", turn_id=turn.id, reason=type(error).__name__)
            return None
        finally:
            self._waiting -= 1


async def judge_in_shadow(turn: Turn, answer: Answer) -> Outcome:
    """Return the outcome that a delivered turn would have had with the filter on; its results get the evidence."""
    outcome = answer.worst.outcome
    filtered = replace(turn, filter="on")
    if not filtered.judged:
        return outcome
    judges = turn.bot.pipeline
    case = turn.bot.emergency_case(turn.user_message, turn.earlier)
    local_review = await judges.check_emergency_locally(case)
    alarm = turn.results.emergency = local_review + await judges.judge_emergency_by_models(
        case, turn.ledger, local_review
    )
    if alarm.verdict == "reject":
        return "emergency"
    if alarm.failed_closed:
        return "fallback"
    settled = []
    for delivery in answer.deliveries:
        drafted = replace(filtered, in_use=delivery.in_use, documents=tuple(delivery.documents))
        for attempt in delivery.unjudged_attempts:
            judge = judge_call_attempt if attempt.kind == "tool_calls" else judge_reply
            settled.append(await judge(drafted, attempt))
    shadowed = add_emergency_review(filtered, Answer(settled))
    return worst_outcome([outcome, *(delivery.outcome for delivery in shadowed.deliveries)])
