"""Runs a turn: produces the answer, stores the state, and builds the completion. Every turn is traced, counted and audited."""

import asyncio

import aiohttp
import structlog
from aiohttp import web

from judges.verdict import signs
from models.engine import Body
from models.errors import ModelError, OutOfTime
from proxy.api.completion import completion
from proxy.api.service import Service
from proxy.audit.records import record_turn
from proxy.protocol.errors import ApiError, TurnTimeout
from proxy.state.conversation import CarriedWarning
from proxy.telemetry.logs import FIELDS
from proxy.traces.trace import Trace
from proxy.turn.actions import act
from proxy.turn.delivery import Answer, Delivery
from proxy.turn.record import build_failure_trace, build_trace, remember, remember_danger, with_shadow
from proxy.turn.take_turn import as_emergency, emergency, take_turn
from proxy.turn.turn import Turn, TurnRun

log = structlog.get_logger()


async def run_turn(service: Service, request: web.Request, run: TurnRun) -> Body:
    """Run a turn, store the conversation state, and return the completion.

    Raises:
        ModelError: The call to the chatbot's model failed.
        TurnTimeout: The turn took too long.
    """
    limit_s = service.config.server.turn_timeout_s
    try:
        answer, warnings_added = await _answer_in_any_case(service, run, limit_s)
        body = completion(run, answer, expose=service.config.expose == "caf")
        trace = build_trace(run, answer, [choice["message"] for choice in body["choices"]], warnings_added)
    except BaseException as error:
        trace = build_failure_trace(run, _error_code(error))
        _report(service, request, run.turn, trace)
        _keep_trace(service, run, trace)
        if isinstance(error, Exception):  # a cancelled turn sends no reply
            await service.traces.flush()
        if isinstance(error, TimeoutError | OutOfTime):
            raise TurnTimeout(
                f"The turn took longer than {limit_s:g} s (server.turn_timeout_s) and was cancelled. Try again."
            ) from None
        raise
    _report(service, request, run.turn, trace)
    if run.cause is not None:
        request[FIELDS]["cause"] = run.cause
    if run.turn.filter == "shadow":
        if service.traces.sync:
            service.traces.record(trace)  # recorded again later, with the judgements
        service.run_in_background(_judge_in_shadow(service, run, answer, trace))
    else:
        _keep_trace(service, run, trace)
    _call_staff(service, run.turn, answer)
    await service.traces.flush()
    return body


async def _answer_in_any_case(service: Service, run: TurnRun, limit_s: float) -> tuple[Answer, list[CarriedWarning]]:
    """Take the turn and store its state. If a step fails and the user may be in danger, answer with the emergency text."""
    try:
        answer = await take_turn(run, limit_s)
        return await _store(service, run, await act(service.actions, service.conversations, run, answer))
    except (ApiError, ModelError, OutOfTime, TimeoutError) as error:
        if not run.emergency.alarms or run.has_sent:
            raise
        log.warning("concern in a turn that cannot be served", turn_id=run.turn.id, error=type(error).__name__)
        return await _store(service, run, Answer([emergency(run, as_emergency(run.emergency))]))


async def _store(service: Service, run: TurnRun, answer: Answer) -> tuple[Answer, list[CarriedWarning]]:
    """Store the conversation state after an answer. Return the answer and the new warnings."""
    with run.step("remember"):
        await remember_danger(service.conversations, run)
        return answer, await remember(service.conversations, run, answer)


def _error_code(error: BaseException) -> str:
    match error:
        case TimeoutError() | OutOfTime():
            return "turn_timeout"
        case ModelError():
            return error.kind
        case asyncio.CancelledError():  # the client disconnected, or the proxy stops
            return "cancelled"
    return type(error).__name__


def _report(service: Service, request: web.Request, turn: Turn, trace: Trace) -> None:
    """Add the turn's fields to the log line of the request, and add the turn to the audit log."""
    request[FIELDS].update(
        conversation_id=trace.conversation_id if turn.generated_id else None, turn=trace.turn,
        memory=trace.memory, filter=trace.filter,
        outcome=trace.outcome if trace.error is None else None, calls=len(trace.calls), turn_ms=trace.ms,
        unjudged=sum(judgement.verdict == "unjudged" for judgement in trace.judgements),
    )  # fmt: skip
    if service.audit is not None:
        record_turn(service.audit, trace, keyed=service.keys is not None)


def _call_staff(service: Service, turn: Turn, answer: Answer) -> None:
    """Notify the staff of an emergency through the configured webhook, in the background."""
    first, settings = answer.deliveries[0], turn.bot.settings.emergency
    if first.outcome == "emergency" and settings is not None and settings.webhook:
        service.run_in_background(_tell_staff(service.session, settings.webhook, turn, first))


async def _tell_staff(session: aiohttp.ClientSession, url: str, turn: Turn, delivery: Delivery) -> None:
    """Send the ids and the kind of an emergency to the webhook, but no text. A failure is only logged."""
    present = signs(delivery.judgements)
    note = {
        "turn_id": turn.id,
        "conversation_id": turn.conversation.id,
        "chatbot": turn.bot.name,
        "kind": present[0].kind if present else None,
    }
    try:
        async with asyncio.timeout(10), session.post(url, json=note, allow_redirects=False) as answer:
            if answer.status < 300:  # a redirect delivers nothing
                return
            problem = f"status {answer.status}"
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        problem = type(error).__name__
    log.error("emergency webhook failed", turn_id=turn.id, error=problem)


async def _judge_in_shadow(service: Service, run: TurnRun, answer: Answer, trace: Trace) -> None:
    would = None
    try:
        would = await service.shadows.judge(run, answer, service.config.server.turn_timeout_s)
    finally:
        _keep_trace(service, run, with_shadow(trace, run, would))


def _keep_trace(service: Service, run: TurnRun, trace: Trace) -> None:
    service.metrics.turn(trace, run.ledger, run.steps)
    if service.telemetry is not None:
        service.telemetry.record_verdicts(trace)
    service.traces.record(trace)
    if service.watch is not None:
        service.watch(trace)
