"""POST /v1/chat/completions: from the request to a guarded reply. `responses/` comes the same way, in a dialect of its own.

chat ── check_emergency   the local emergency judge, before anything can refuse the request
   ├── begin_turn        validate, recognise the conversation
   ├── run_turn          take the turn, remember it, write the reply, trace it (run_turn.py)
   └── respond           as JSON, or streamed (respond.py)
"""

import re
import secrets
from typing import Any

import structlog
from aiohttp import web

from judges.case import alarm_case
from judges.review import Review
from models.usage import Ledger
from proxy.api.dialect import ChatDialect, Dialect
from proxy.api.passthrough import Relaying, passed_through, passthrough
from proxy.api.request_body import read_body, refuse_forms
from proxy.api.respond import respond
from proxy.api.run_turn import run_turn
from proxy.api.service import SERVICE, Service
from proxy.config.chatbot_settings import Filter
from proxy.state.conversation import Conversation, Identity
from proxy.state.recall import recall
from proxy.telemetry.logs import FIELDS
from proxy.tenants.access import Access, requested_filter
from proxy.turn.chatbot import Chatbot
from proxy.turn.inputs import Turn
from proxy.turn.results import TurnResults
from proxy.turn.stream_gate import StreamGate
from proxy.turn.turn import as_emergency
from proxy.wire.errors import ApiError, BadRequest, ModelNotFound, NotJson
from proxy.wire.messages import ChatRequest, asked, read_chat_request, read_json, read_loosely

log = structlog.get_logger()

_GENERATED_ID = re.compile(r"[0-9a-f]{32}")


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
                turn, identity = await _begin_turn(service, request, access, bot, mode, data, said, alarm, ledger)
            except Exception as error:
                if not urgent:
                    raise
                log.warning("emergency in a request that cannot be served", error=type(error).__name__)
                minimal = _minimal_request(data, bot, said)
                turn, identity = await _begin_turn(
                    service, request, access, bot, mode, minimal, said, alarm, ledger, bare=True
                )
            request[FIELDS].update(chatbot=bot.name, turn_id=turn.id)
            dialect.conversation_id = turn.conversation.id
            work = run_turn(service, request, turn, identity)
            return await respond(service, request, dialect, work, turn.request.stream is True, turn)

    try:
        return await serve(alarm)
    except ApiError as error:
        if alarm.verdict == "reject" or not alarm.alarms:
            raise
        log.warning("concern in a request that cannot be served", error=type(error).__name__)
        return await serve(as_emergency(alarm))


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


def _minimal_request(data: dict[str, Any], bot: Chatbot, said: Said) -> dict[str, Any]:
    """Return the request reduced to what an emergency reply takes."""
    return {
        "model": bot.name,
        "messages": [{"role": "user", "content": said[0]}],
        "stream": data.get("stream") is True,
    }


async def _begin_turn(
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
    chat_request = read_chat_request(data, service.config.server.max_messages)
    explicit = None if bare else _explicit_id(request, chat_request)
    identity = Identity((access.key_id, chat_request.user or "", bot.name), chat_request.messages, explicit)
    found, how_found = await recall(service.conversations, identity, urgent=alarm.verdict in ("warn", "reject"))
    ids = secrets.token_hex(32)  # for both at once: it asks the kernel
    conversation = found or Conversation(explicit or ids[32:])
    user_message, earlier = said
    turn = Turn(
        id=ids[:32],
        key_id=access.key_id,
        bot=bot,
        request=chat_request,
        user_message=user_message,
        earlier=earlier,
        conversation=conversation,
        how_found=how_found,
        filter=mode,
        results=TurnResults(alarm),
        # An id that the client chose, in this turn or an earlier one, may say who somebody is: no log holds it.
        generated_id=explicit is None and _GENERATED_ID.fullmatch(conversation.id) is not None,
        reveals=access.trace,
        stream_gate=_open_stream_gate(bot, chat_request, mode),
        ledger=ledger,
    )
    return turn, identity


def _open_stream_gate(bot: Chatbot, request: ChatRequest, mode: Filter) -> StreamGate | None:
    """Return where the turn keeps what is sent before its reply is settled; None where that is nothing."""
    streaming = bot.settings.streaming
    if streaming == "hold" or request.wants_json or request.raw.get("logprobs"):
        return None  # half a document is none, and the likelihoods of tokens are told with the text they spell
    if streaming == "verified" and (mode != "on" or bot.filter.empty):
        return None
    return StreamGate(streaming)


def _explicit_id(request: web.Request, chat_request: ChatRequest) -> str | None:
    header = request.headers.get("X-Conversation-Id")
    given = header or (chat_request.metadata or {}).get("conversation_id")
    if given is None:
        return None
    if not isinstance(given, str) or not 0 < len(given) <= 200 or not given.isprintable():
        field = "X-Conversation-Id" if header else "metadata.conversation_id"
        raise BadRequest(f"{field}: must be 1 to 200 printable characters.", param=field)
    return given
