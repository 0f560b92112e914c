"""POST /v1/chat/completions: from the request to a guarded reply. `responses/` comes the same way, in a dialect of its own.

chat ── hear      the local emergency judge, before anything can refuse the request
   ├── begin      validate, recognise the conversation
   ├── complete   take the turn, remember it, write the reply
   └── respond    as JSON, or streamed (respond.py)
"""

import asyncio
import math
import re
import secrets
import time
from dataclasses import replace
from typing import Any

import structlog
from aiohttp import web

from judges.case import alarm_case
from judges.review import Review
from models.client import Body
from models.errors import ModelError, OutOfTime
from models.usage import Ledger
from proxy.api import reply
from proxy.api.dialect import ChatDialect, Dialect
from proxy.api.passthrough import Relaying, passed_through, passthrough
from proxy.api.request_body import read_body, refuse_forms
from proxy.api.respond import respond
from proxy.api.service import SERVICE, Service
from proxy.api.session import recall, remember
from proxy.audit.records import record_turn
from proxy.config.chatbot_settings import Filter
from proxy.state.conversation import Conversation, Identity
from proxy.telemetry.logs import FIELDS
from proxy.tenants.access import Access, requested_filter
from proxy.traces.trace import Trace
from proxy.turn.background import tell_staff
from proxy.turn.chatbot import Chatbot
from proxy.turn.delivery import Answer, Turn
from proxy.turn.stream_gate import StreamGate
from proxy.turn.turn import cut_off, emergency, take_turn
from proxy.wire.errors import ApiError, BadRequest, ModelNotFound, NotJson, TurnTimeout
from proxy.wire.messages import ChatRequest, asked, read_chat_request, read_json, read_loosely

log = structlog.get_logger()

_MINTED = re.compile(r"[0-9a-f]{32}")
RESERVE, RESERVE_S = 0.05, 1.0
"""What no model call gets of a turn's time: this share of it, and at most so many seconds."""


async def chat(request: web.Request) -> web.StreamResponse:
    """Answer a chat completion request."""
    return await converse(request, ChatDialect())


async def converse(request: web.Request, dialect: Dialect) -> web.StreamResponse:
    """Answer a request in the form that its client speaks."""
    service = request.app[SERVICE]
    access = service.access(request)
    raw = await read_body(request)
    fault: Exception | None = None
    try:
        refuse_forms(request, service.keys)
        data = read_json(raw)
    except (BadRequest, NotJson) as error:
        data, fault = read_loosely(raw), error
        if not isinstance(data.get("model"), str) or data["model"] not in service.chatbots:
            raise
    bot = _chatbot(service, access, data)
    if fault is None:
        data, heard, fault = await dialect.parse(data, access.key_id)
    else:
        data = heard = dialect.parse_leniently(data)
    if bot.settings.kind == "passthrough" and fault is None:
        async with service.meter.admit(access.key, Ledger(service.telemetry)) as ledger:
            with Relaying(service, bot.name, access.key, ledger):
                if dialect.verbatim:
                    return await passthrough(request, bot, raw, data, ledger)
                work = passed_through(request, bot, data, ledger)
                return await respond(service, request, dialect, work, data.get("stream") is True)
    mode = bot.settings.filter
    try:
        mode = requested_filter(request.headers, access, bot.settings.filter)
    except ApiError as error:
        fault = fault or error
    said = asked(heard)
    alarm = await _check_emergency_locally(bot, mode, said)

    async def serve(alarm: Review) -> web.StreamResponse:
        urgent = alarm.verdict == "reject"
        # Whatever its key has used up, and wherever that is counted, a person in danger gets the emergency text: it costs no call.
        async with service.meter.admit(None if urgent else access.key, Ledger(service.telemetry)) as ledger:
            try:
                if fault is not None:
                    raise fault
                turn, identity = await _begin(service, request, access, bot, mode, data, said, alarm, ledger)
            except Exception as error:
                if not urgent:
                    raise
                log.warning("emergency in a request that cannot be served", error=type(error).__name__)
                minimal = _minimal_request(data, bot, said)
                turn, identity = await _begin(
                    service, request, access, bot, mode, minimal, said, alarm, ledger, bare=True
                )
            request[FIELDS].update(chatbot=bot.name, turn_id=turn.trace.turn_id)
            dialect.conversation_id = turn.trace.conversation_id
            work = _complete(service, request, turn, identity)
            return await respond(service, request, dialect, work, turn.request.stream is True, turn)

    try:
        return await serve(alarm)
    except ApiError as error:
        if alarm.verdict == "reject" or not alarm.alarms:
            raise
        log.warning("concern in a request that cannot be served", error=type(error).__name__)
        return await serve(_as_emergency(alarm))


def _chatbot(service: Service, access: Access, data: dict[str, Any]) -> Chatbot:
    name = data.get("model")
    if not isinstance(name, str) or not name:
        raise BadRequest("model: the name of a chatbot is missing.", param="model")
    bot = service.chatbots.get(name)
    if bot is None or not access.may_ask(name):  # one that the key may not ask is as unknown as one that is not there
        known = ", ".join(access.visible_chatbots(service.chatbots)) or "none that this key may ask"
        raise ModelNotFound(f"There is no chatbot {name[:64]!r} here; there is: {known}.", param="model")
    return bot


Said = tuple[str, list[str]]
"""The user's newest message and the earlier ones, of whatever can be read of a request."""


async def _check_emergency_locally(bot: Chatbot, mode: Filter, said: Said) -> Review:
    """Ask the local emergency judge."""
    return await bot.filter.hear(alarm_case(*said)) if mode == "on" else Review()


def _as_emergency(alarm: Review) -> Review:
    """Return what the emergency judge said as if it had been sure: for somebody who would get no answer at all."""
    return replace(alarm, decisive=[replace(alarm.alarms[-1], verdict="reject")])


def _minimal_request(data: dict[str, Any], bot: Chatbot, said: Said) -> dict[str, Any]:
    """Return the request reduced to what an emergency reply takes."""
    return {
        "model": bot.name,
        "messages": [{"role": "user", "content": said[0]}],
        "stream": data.get("stream") is True,
    }


async def _begin(
    service: Service,
    request: web.Request,
    access: Access,
    bot: Chatbot,
    mode: Filter,
    data: dict[str, Any],
    said: Said,
    alarm: Review,
    ledger: Ledger,
    *,
    bare: bool = False,
) -> tuple[Turn, Identity]:
    """Validate the request and recognise its conversation."""
    asked_for = read_chat_request(data, service.config.server.max_messages)
    explicit = None if bare else _explicit_id(request, asked_for)
    identity = Identity((access.key_id, asked_for.user or "", bot.name), asked_for.messages, explicit)
    found, how = await recall(service.conversations, identity, urgent=alarm.verdict in ("warn", "reject"))
    ids = secrets.token_hex(32)  # for both at once: it asks the kernel
    conversation = found or Conversation(explicit or ids[32:])
    user_message, earlier = said
    trace = Trace(
        turn_id=ids[:32],
        conversation_id=conversation.id,
        key_id=access.key_id,
        chatbot=bot.name,
        filter=mode,
        started=time.time(),
        turn=conversation.turn + 1,
        user_message=user_message,
        memory=how,
        emergency=list(alarm.judgements),
    )
    if mode == "on":
        trace.warnings_shown = [w.shown(bot.settings.role) for w in conversation.live_warnings(trace.turn)]
    # An id that the client chose, in this turn or an earlier one, may say who somebody is: no log holds it.
    minted = explicit is None and _MINTED.fullmatch(conversation.id) is not None
    turn = Turn(
        bot, asked_for, user_message, earlier, conversation, mode, alarm, trace, minted, ledger, reveals=access.trace
    )
    turn.stream_gate = _stream_gate(turn)
    return turn, identity


def _stream_gate(turn: Turn) -> StreamGate | None:
    """Return where the turn keeps what leaves before its reply is settled; None where that is nothing."""
    streaming = turn.bot.settings.streaming
    if streaming == "hold" or turn.request.wants_json or turn.request.raw.get("logprobs"):
        return None  # half a document is none, and the likelihoods of tokens are told with the text they spell
    if streaming == "verified" and not turn.judged:
        return None
    return StreamGate(streaming)


def _explicit_id(request: web.Request, asked_for: ChatRequest) -> str | None:
    header = request.headers.get("X-Conversation-Id")
    given = header or (asked_for.metadata or {}).get("conversation_id")
    if given is None:
        return None
    if not isinstance(given, str) or not 0 < len(given) <= 200 or not given.isprintable():
        field = "X-Conversation-Id" if header else "metadata.conversation_id"
        raise BadRequest(f"{field}: must be 1 to 200 printable characters.", param=field)
    return given


async def _complete(service: Service, request: web.Request, turn: Turn, identity: Identity) -> Body:
    """Take the turn, remember it, and write the completion."""
    limit = service.config.server.turn_timeout_s
    # No call goes on until the very end: what is left then is for the fallback message, when judges or a refiner hang.
    turn.ledger.until = asyncio.get_running_loop().time() + limit - min(RESERVE_S, limit * RESERVE)
    try:
        try:
            async with asyncio.timeout(limit):
                answer = await take_turn(turn)
        except (TimeoutError, OutOfTime, ModelError) as error:
            alarm = turn.concern or turn.alarm
            if not alarm.alarms or (turn.stream_gate is not None and turn.stream_gate.sent_chars):
                raise
            turn.concern = turn.trace.concern = None
            log.warning(
                "concern in a turn that cannot be served", turn_id=turn.trace.turn_id, error=type(error).__name__
            )
            answer = Answer([emergency(turn, _as_emergency(alarm))])
        turn.ledger.until = math.inf  # what is judged in shadow has its own time
        with turn.step("remember"):
            await remember(service.conversations, turn, identity, answer)
        completion = reply.completion(turn, answer, expose=service.config.expose == "caf")
        turn.trace.outcome = reply.worst(answer.deliveries).outcome
        turn.trace.tool_calls = sum([len(d.calls) for d in answer.deliveries])
        turn.trace.replies = [choice["message"]["content"] for choice in completion["choices"]]
        refusals = [choice["message"]["refusal"] for choice in completion["choices"]]
        turn.trace.refusals = refusals if any(refusals) else []
    except (TimeoutError, OutOfTime):
        turn.trace.error = "turn_timeout"
        raise TurnTimeout(f"The turn took longer than {limit:g} s and was cancelled.") from None
    except BaseException as error:
        turn.trace.error = error.kind if isinstance(error, ModelError) else type(error).__name__
        if isinstance(error, asyncio.CancelledError):  # the client has left, or the proxy was told to stop at once
            turn.trace.error = "cancelled"
        raise
    finally:
        _finish(service, request, turn)
    _after(service, turn, answer)
    return completion


def _finish(service: Service, request: web.Request, turn: Turn) -> None:
    """Complete the trace, count it, and bind what the log line will say."""
    trace = turn.trace
    trace.calls, trace.ms = turn.ledger.calls, turn.at_ms
    trace.sources_in_use = list(turn.in_use)
    if trace.error is not None:
        trace.attempts += cut_off(turn)
    request[FIELDS].update(
        conversation_id=trace.conversation_id if turn.minted_id else None, turn=trace.turn,
        memory=trace.memory, filter=trace.filter,
        outcome=trace.outcome if trace.error is None else None, calls=len(trace.calls), turn_ms=trace.ms,
        unjudged=sum([judgement.verdict == "unjudged" for judgement in trace.judgements]),
    )  # fmt: skip
    if service.audit is not None:
        record_turn(service.audit, trace, keyed=service.keys is not None)
    if turn.filter != "shadow" or trace.error is not None:  # in shadow, the judging is still to come
        _keep(service, turn)


def _after(service: Service, turn: Turn, answer: Answer) -> None:
    """Start what no reply waits for."""
    first = answer.deliveries[0]
    settings = turn.bot.settings.emergency
    if first.outcome == "emergency" and settings is not None and settings.webhook:
        service.later(tell_staff(service.session, settings.webhook, turn, first))
    if turn.filter == "shadow":
        service.later(_shadow(service, turn))


async def _shadow(service: Service, turn: Turn) -> None:
    try:
        await service.shadows.judge(turn, service.config.server.turn_timeout_s)
    finally:
        _keep(service, turn)


def _keep(service: Service, turn: Turn) -> None:
    service.metrics.turn(turn.trace, turn.ledger, turn.steps)
    if service.telemetry is not None:
        service.telemetry.judged(turn.trace)
    service.traces.record(turn.trace)
    if service.watch is not None:
        service.watch(turn.trace)
