"""Shadow mode: judges a turn after its reply has been sent.

The reply, the model calls and the stored state are the same as with the filter off. Judges and refiner run afterwards. Their calls
are in the trace and in the metrics, but do not count for a key's budget. The number of turns that are judged or waiting is limited,
so that shadow mode does not slow down live traffic. The trace marks turns over this limit as not judged.
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
"""Maximum number of turns that are judged at the same time."""
MOST_WAITING = 200
"""Maximum number of turns that are judged or waiting. Each turn keeps the texts of its conversation in memory."""
AFTER_S = 0.02
"""Delay in seconds before judging, so that the reply is sent before judging uses the processor."""


class Shadows:
    """Judges turns that were delivered unfiltered, a limited number at the same time."""

    def __init__(self) -> None:
        self._room = asyncio.Semaphore(AT_ONCE)
        self._waiting = 0

    async def judge(self, run: TurnRun, answer: Answer, limit_s: float) -> Outcome | None:
        """Return the outcome that a turn would have had with the filter on; None: not judged, which is logged.

        Args:
            run: The turn, to which the judgements are added.
            answer: The turn's answer.
            limit_s: Time limit of judging in seconds, without the wait before.
        """
        if self._waiting >= MOST_WAITING:
            log.warning("not judged in shadow", turn_id=run.turn.id, reason="too many turns are waiting")
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
    """Judge a delivered turn, and return the outcome that it would have had. Evidence and judgements are added to the run."""
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
