"""Connects the turns of a proxy in this process with their places in the experiment, and reads their traces."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any

from aiohttp import web

from models.answer_cache import request_purpose
from models.usage import Call
from proxy.traces.trace import Trace
from scoring.arm import PLACE_HEADER
from scoring.transcript import Attempt, Document, Exchange, Step, Verdict


@web.middleware
async def tag_recording(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """aiohttp middleware: record the model answers of a request under its place in the experiment."""
    token = request_purpose.set(request.headers.get(PLACE_HEADER))
    try:
        return await handler(request)
    finally:
        request_purpose.reset(token)


class ProxyTurns:
    """Holds the traces of finished turns until `complete` adds them to their exchanges."""

    def __init__(self) -> None:
        self._traces: dict[str, Trace] = {}

    def keep(self, trace: Trace) -> None:
        self._traces[trace.turn_id] = trace

    def complete(self, exchange: Exchange, turn_id: str) -> Exchange:
        """Return an exchange with data from the trace of its turn. The trace is then discarded."""
        trace = self._traces.pop(turn_id, None)
        if trace is None:  # an arm in shadow mode judges its turns after the replies
            return exchange
        attempts = [Attempt(kind=one.kind, text=one.text, verdicts=_verdicts(one.judgements)) for one in trace.attempts]
        if trace.emergency:
            attempts.insert(0, Attempt(kind="message", text=trace.user_message, verdicts=_verdicts(trace.emergency)))
        costs = [call.cost for call in trace.calls if call.cost is not None]
        documents = (
            Document(id=one.id, title=one.title, text=one.text)
            for one in trace.documents
            if one.choice in (None, 0) and one.id in exchange.citations  # the first choice is the delivered one
        )
        return exchange.model_copy(
            update={
                "attempts": tuple(attempts),
                "steps": tuple(_steps(trace.calls)),
                "cost": sum(costs) if costs else None,
                "documents": tuple(documents),
            }
        )


def _steps(calls: Sequence[Call]) -> Iterator[Step]:
    for name in sorted({call.step for call in calls}):
        usages = [call.usage for call in calls if call.step == name]
        yield Step(
            name=name,
            calls=len(usages),
            prompt_tokens=sum(usage.prompt_tokens for usage in usages),
            completion_tokens=sum(usage.completion_tokens for usage in usages),
        )


def _verdicts(judgements: Any) -> tuple[Verdict, ...]:
    return tuple(Verdict(judge=j.judge, stage=j.stage, verdict=j.verdict, reason=j.reason) for j in judgements)
