"""Shadow mode: what the filter would have made of a turn, found out after its reply has left.

The reply is what it is with the filter off: same bytes, same calls, same state. The rest is done here, on a copy of the turn with
its filter on: judges, refiner, and judges again. Their calls are in the trace and the metrics, but in nobody's budget. A few turns
are judged at a time and few may wait, so that on a busy day shadows do not take from live traffic what it needs: those left out
are in the trace as not judged.
"""

import asyncio
from dataclasses import replace

import structlog

from judges.case import alarm_case
from proxy.traces.trace import RANK, Outcome
from proxy.turn.delivery import Answer, Turn
from proxy.turn.judging import judged, judged_calls
from proxy.turn.turn import kind_of, prepend_emergency_judgements

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

    async def judge(self, turn: Turn, limit_s: float) -> None:
        """Find out what the filter would have made of a turn, and put it into its trace. A failure is logged, and harms nothing.

        Args:
            turn: The turn; its reply is settled.
            limit_s: For how long at most, once it begins.
        """
        if self._waiting >= MOST_WAITING:
            log.warning("not judged in shadow", turn_id=turn.trace.turn_id, reason="too many are waiting")
            return
        self._waiting += 1
        try:
            await asyncio.sleep(AFTER_S)
            async with self._room, asyncio.timeout(limit_s):
                turn.trace.would = await judge_in_shadow(turn)
        except Exception as error:
            log.warning("not judged in shadow", turn_id=turn.trace.turn_id, reason=type(error).__name__)
        finally:
            self._waiting -= 1


async def judge_in_shadow(turn: Turn) -> Outcome:
    """Return the outcome that a delivered turn would have had with the filter on; its trace gets the evidence."""
    filtered = replace(turn, filter="on", shadowed=[])
    if not filtered.judged:
        return turn.trace.outcome
    judges = turn.bot.filter
    case = alarm_case(turn.user_message, turn.earlier)
    heard = await judges.hear(case)
    alarm = heard + await judges.alarm(case, turn.ledger, heard)
    turn.trace.emergency += alarm.judgements
    if alarm.verdict == "reject":
        return "emergency"
    if alarm.verdict == "warn":
        turn.trace.concern = kind_of(alarm)
    if alarm.failed_closed:
        return "fallback"
    settled = [
        await (judged_calls(filtered, attempt) if attempt.kind == "tool_calls" else judged(filtered, attempt))
        for attempt in turn.shadowed
    ]
    answer = prepend_emergency_judgements(filtered, alarm, Answer(settled))
    return min([turn.trace.outcome, *(delivery.outcome for delivery in answer.deliveries)], key=RANK.index)
