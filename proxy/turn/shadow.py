"""Shadow mode: what the filter would have made of a turn, found out after its reply has been sent.

The reply is the same as with the filter off: bytes, calls, state. Judges and refiner run here afterwards. Their calls are in the
trace and the metrics, but in nobody's budget. Few turns are judged at a time and few may wait, so that shadows do not slow down
live traffic; the trace marks those left out as not judged.
"""

import asyncio

import structlog

from proxy.traces.trace import Outcome, worst_outcome
from proxy.turn.delivery import Answer
from proxy.turn.judging import judge_call_reply, judge_reply
from proxy.turn.take_turn import add_emergency_review
from proxy.turn.turn import ChoiceRun, TurnRun

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

    async def judge(self, run: TurnRun, answer: Answer, limit_s: float) -> Outcome | None:
        """Return what the filter would have made of a turn; None where that was not found out, which is logged and harms nothing.

        Args:
            run: The turn; it gets the judgements.
            answer: Its answer.
            limit_s: For how long at most, once it begins.
        """
        if self._waiting >= MOST_WAITING:
            log.warning("not judged in shadow", turn_id=run.turn.id, reason="too many are waiting")
            return None
        self._waiting += 1
        try:
            await asyncio.sleep(AFTER_S)
            async with self._room, asyncio.timeout(limit_s):
                return await judge_in_shadow(run, answer)
        except Exception as error:
            log.warning("not judged in shadow", turn_id=run.turn.id, reason=type(error).__name__)
            return None
        finally:
            self._waiting -= 1


async def judge_in_shadow(run: TurnRun, answer: Answer) -> Outcome:
    """Return the outcome that a delivered turn would have had with the filter on. The run gets the evidence."""
    outcome, turn = answer.worst.outcome, run.turn
    run.in_shadow = True
    if not run.needs_judging:
        return outcome
    judges = turn.bot.pipeline
    case = turn.bot.emergency_case(turn.user_message, turn.earlier)
    local_review = await judges.check_emergency_locally(case)
    review = run.emergency = local_review + await judges.judge_emergency_by_models(case, run.ledger, local_review)
    if review.verdict == "reject":
        return "emergency"
    if review.failed_closed:
        return "fallback"
    settled = []
    for delivery in answer.deliveries:
        for reply in delivery.left_to_judge:
            choice = ChoiceRun(run, reply.attempt.choice, delivery.in_use, documents=tuple(delivery.documents))
            judge = judge_call_reply if reply.attempt.kind == "tool_calls" else judge_reply
            settled.append(await judge(choice, reply))
    shadowed = add_emergency_review(run, Answer(settled))
    return worst_outcome([outcome, *(delivery.outcome for delivery in shadowed.deliveries)])
