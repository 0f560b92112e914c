"""POST /v1/chat/completions: from the request to a guarded reply.

chat ── hear      the local emergency judge, before anything can refuse the request
   ├── begin      validate, recognise the conversation
   ├── complete   take the turn, remember it, write the reply
   └── respond    as JSON, or streamed once it is settled
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import aiohttp
import orjson
import structlog
from aiohttp import web

from judges.case import alarm_case
from judges.filter import Review
from models.client import Body
from models.errors import ModelError
from models.usage import Ledger
from proxy import reply, stream
from proxy.access import Access, access_of, requested_filter
from proxy.afterwards import judge_in_shadow, tell_staff
from proxy.chatbot import Chatbot
from proxy.config import Config, Filter
from proxy.conversation import Conversation, Identity
from proxy.delivery import Answer, Turn
from proxy.errors import ApiError, BadRequest, ModelNotFound, TurnTimeout
from proxy.keys import KeyRing
from proxy.limits import Meter
from proxy.memory import Memory
from proxy.messages import ChatRequest, asked, read_chat_request, read_json, read_loosely
from proxy.metrics import Metrics
from proxy.middleware import FIELDS, told
from proxy.passthrough import passthrough
from proxy.session import recall, remember
from proxy.trace import Trace
from proxy.trace_store import TraceStore
from proxy.turn import take_turn

log = structlog.get_logger()


@dataclass(slots=True)
class Service:
    """What serving chats takes; made once by create_app."""

    config: Config
    chatbots: dict[str, Chatbot]
    memory: Memory
    traces: TraceStore
    metrics: Metrics
    session: aiohttp.ClientSession
    keys: KeyRing | None = None
    meter: Meter = field(default_factory=Meter)
    watch: Callable[[Trace], None] | None = None
    background: set[asyncio.Task[None]] = field(default_factory=set)

    def later(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something that no reply waits for."""
        task = asyncio.create_task(work)
        self.background.add(task)
        task.add_done_callback(self.background.discard)

    async def settle(self) -> None:
        """Stop what is still being done that no reply waits for."""
        for task in self.background:
            task.cancel()
        await asyncio.gather(*self.background, return_exceptions=True)


SERVICE = web.AppKey("service", Service)


async def chat(request: web.Request) -> web.StreamResponse:
    """Answer a chat completion request."""
    service = request.app[SERVICE]
    access = access_of(request.headers, service.keys, service.config.server.host)
    raw = await _read(request)
    try:
        data, fault = read_json(raw), None
    except BadRequest as error:
        data, fault = read_loosely(raw), error
        if not isinstance(data.get("model"), str) or data["model"] not in service.chatbots:
            raise
    bot = _chatbot(service, access, data)
    if bot.settings.kind == "passthrough" and fault is None:
        with service.meter.admitted(access.key, Ledger()) as ledger:
            return await passthrough(request, bot, raw, data, ledger)
    alarm = _hear(request, access, bot, data)
    ledger = Ledger()
    with ExitStack() as stack:
        try:
            stack.enter_context(service.meter.admitted(access.key, ledger))
            if fault is not None:
                raise fault
            turn, identity = await _begin(service, request, access, bot, data, alarm, ledger)
        except Exception as error:
            if alarm.verdict not in ("warn", "reject"):
                raise
            # Whatever is wrong with the request, and whatever its key has used up, a person in danger gets the emergency text.
            log.warning("emergency in a request that cannot be served", error=type(error).__name__)
            turn, identity = await _begin(service, request, access, bot, _least(data, bot), alarm, ledger, bare=True)
        request[FIELDS].update(chatbot=bot.name, turn_id=turn.trace.turn_id)
        if not turn.request.stream:
            return _json(await _complete(service, request, turn, identity))
        return await _streamed(service, request, turn, identity)


async def _read(request: web.Request) -> bytes:
    try:
        return await request.read()
    except web.RequestPayloadError as error:  # a Content-Encoding that the bytes do not have, or broken chunks
        fault = BadRequest("The request body cannot be decoded; check Content-Encoding and its bytes.")
        fault.headers["Connection"] = "close"  # aiohttp drops a connection whose request it could not read
        raise fault from error


def _chatbot(service: Service, access: Access, data: dict[str, Any]) -> Chatbot:
    name = data.get("model")
    if not isinstance(name, str) or not name:
        raise BadRequest("model: the name of a chatbot is missing.", param="model")
    allowed = access.chatbots(service.chatbots)
    bot = service.chatbots.get(name)
    if bot is None or name not in allowed:  # one that the key may not ask is as unknown as one that is not there
        known = ", ".join(allowed)
        raise ModelNotFound(f"There is no chatbot {name[:64]!r} here; there is: {known}.", param="model")
    return bot


def _hear(request: web.Request, access: Access, bot: Chatbot, data: dict[str, Any]) -> Review:
    """Ask the local emergency judge, of whatever can be read of the request."""
    try:
        mode = requested_filter(request.headers, access, bot)
    except ApiError:
        mode = bot.settings.filter
    if mode != "on":
        return Review()
    return bot.filter.alarm_now(alarm_case(*asked(data)))


def _least(data: dict[str, Any], bot: Chatbot) -> dict[str, Any]:
    """Return the request reduced to what an emergency reply takes."""
    user_message, _ = asked(data)
    return {
        "model": bot.name,
        "messages": [{"role": "user", "content": user_message}],
        "stream": data.get("stream") is True,
    }


async def _begin(
    service: Service,
    request: web.Request,
    access: Access,
    bot: Chatbot,
    data: dict[str, Any],
    alarm: Review,
    ledger: Ledger,
    *,
    bare: bool = False,
) -> tuple[Turn, Identity]:
    """Validate the request and recognise its conversation."""
    mode: Filter = "on" if bare else requested_filter(request.headers, access, bot)
    asked_for = read_chat_request(data, service.config.server.max_messages)
    explicit = None if bare else _explicit_id(request, asked_for)
    identity = Identity((access.key_id, asked_for.user or "", bot.name), asked_for.messages, explicit)
    found, how = await recall(service.memory, identity)
    conversation = found or Conversation(explicit or uuid.uuid4().hex)
    user_message, earlier = asked(data)
    trace = Trace(
        turn_id=uuid.uuid4().hex,
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
    minted = explicit is None  # an id that the client chose may say who somebody is: no log holds it
    turn = Turn(bot, asked_for, user_message, earlier, conversation, mode, alarm, trace, minted, ledger)
    turn.reveals = access.trace
    return turn, identity


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
    try:
        async with asyncio.timeout(limit):
            answer = await take_turn(turn)
        await asyncio.shield(remember(service.memory, turn, identity, answer))
        completion = reply.completion(turn, answer, expose=service.config.expose == "caf")
        turn.trace.outcome = reply.worst(answer.deliveries).outcome
        turn.trace.tool_calls = sum(len(d.message.get("tool_calls") or ()) for d in answer.deliveries)
        turn.trace.replies = [choice["message"]["content"] for choice in completion["choices"]]
    except TimeoutError:
        turn.trace.error = "turn_timeout"
        raise TurnTimeout(f"The turn took longer than {limit:g} s and was cancelled.") from None
    except BaseException as error:
        turn.trace.error = error.kind if isinstance(error, ModelError) else type(error).__name__
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
    request[FIELDS].update(
        conversation_id=trace.conversation_id if turn.minted_id else None, turn=trace.turn,
        memory=trace.memory, filter=trace.filter,
        outcome=trace.outcome if trace.error is None else None, calls=len(trace.calls), turn_ms=trace.ms,
        unjudged=sum(j.verdict == "unjudged" for j in (*trace.emergency, *(j for a in trace.attempts for j in a.judgements))),
    )  # fmt: skip
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
        await judge_in_shadow(turn)
    finally:
        _keep(service, turn)


def _keep(service: Service, turn: Turn) -> None:
    service.metrics.turn(turn.trace, turn.ledger)
    service.traces.record(turn.trace)
    if service.watch is not None:
        service.watch(turn.trace)


def _json(completion: Body) -> web.Response:
    return web.Response(body=orjson.dumps(completion), content_type="application/json")


async def _streamed(service: Service, request: web.Request, turn: Turn, identity: Identity) -> web.StreamResponse:
    """Hold the reply until it is settled, then stream it."""
    server = service.config.server
    task = asyncio.create_task(_complete(service, request, turn, identity))
    try:
        done, _ = await asyncio.wait({task}, timeout=server.header_wait_s)
        if done and (error := task.exception()) is not None:
            raise error
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        while not task.done():
            await response.write(stream.KEEP_ALIVE)
            await asyncio.wait({task}, timeout=server.keep_alive_s)
        include_usage = turn.request.stream_options is not None and turn.request.stream_options.include_usage
        try:
            events = b"".join(stream.events(task.result(), include_usage))
        except Exception as error:
            # The headers are gone: the stream says so itself, and ends without [DONE].
            events = stream.event(told(request, error).body())
        await response.write(events)
        await response.write_eof()
        return response
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
