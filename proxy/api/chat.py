"""POST /v1/chat/completions: from the request to a guarded reply. /v1/responses uses the same functions with another dialect.

chat ── read                       read as much of the request as is readable
   ├── check_emergency_locally    before the request can be refused
   ├── begin                      admit, validate, recognise the conversation
   └── respond                    as JSON, or streamed (respond.py)
          └── run_turn            take the turn, store its state, write the reply, trace it (run_turn.py)
"""

import asyncio
import re
import secrets
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace
from typing import Any

import structlog
from aiohttp import web

from judges.case import run_in_thread_if
from judges.verdict import Review
from models.engine import Body
from models.turn_scope import SCOPE, Principal, TurnScope
from models.usage import Ledger
from proxy.api.dialect import ChatDialect, Dialect
from proxy.api.passthrough import ForwardAccounting, forward_translated, passthrough
from proxy.api.request_body import read_body, refuse_forms
from proxy.api.respond import respond
from proxy.api.run_turn import run_turn
from proxy.api.service import SERVICE, Service
from proxy.api.turn_estimate import estimate_turn
from proxy.auth.access import Access, requested_filter
from proxy.config.chatbot_settings import FilterMode
from proxy.protocol.errors import ApiError, BadRequest, ModelNotFound, NotJson
from proxy.protocol.lenient_json import read_leniently, repeats_a_key
from proxy.protocol.messages import ChatRequest, read_chat_request, read_json
from proxy.protocol.task_prompt import TaskPrompt, asked_form
from proxy.protocol.user_texts import find_user_texts
from proxy.state.conversation import Conversation, Identity
from proxy.state.conversation_store import recall, recall_calls
from proxy.state.danger_marks import blank_marked, writer_key
from proxy.telemetry.logs import FIELDS
from proxy.turn.chatbot import Chatbot
from proxy.turn.sources import read_request_evidence
from proxy.turn.stream import StreamGate
from proxy.turn.take_turn import as_concern, as_emergency
from proxy.turn.turn import Turn, TurnRun

log = structlog.get_logger()

LONG_BODY, MANY_QUOTES = 1_000_000, 10_000
"""Number of bytes or quotation marks above which a body is read in a thread: reading takes about 20 ms at either limit."""
LONG_BROKEN_BODY = 20_000
"""Number of bytes from which a body is read leniently in a thread: reading 20,000 bytes takes about 5 ms."""
_GENERATED_ID = re.compile(r"[0-9a-f]{32}")


async def chat(request: web.Request) -> web.StreamResponse:
    """Answer a chat completion request."""
    return await converse(request, ChatDialect())


@dataclass(frozen=True, slots=True)
class Incoming:
    """A chat request, parsed as far as possible. It may still be invalid (`fault`)."""

    request: web.Request
    dialect: Dialect
    access: Access
    bot: Chatbot
    filter: FilterMode
    raw: bytes
    data: Body
    """The request as a chat request."""
    user_message: str
    earlier: list[str]
    """The user's earlier messages, oldest first."""
    fault: Exception | None
    """The first error found in the request; None: no error was found yet."""
    task: TaskPrompt | None = None
    """A chat application's request for a title, tags or follow-ups; None: a person asks."""
    bare: bool = False
    """Whether the request is reduced to the user's message, without a conversation."""

    def reduce(self) -> "Incoming":
        """Return a copy with only the fields that an emergency reply needs."""
        messages = [{"role": "user", "content": self.user_message}]
        data = {"model": self.bot.name, "messages": messages, "stream": self.data.get("stream") is True}
        return replace(self, data=data, fault=None, bare=True)


async def converse(request: web.Request, dialect: Dialect) -> web.StreamResponse:
    """Answer a chat request. The dialect translates the request and the reply."""
    service = request.app[SERVICE]
    incoming = await _read(service, request, dialect)
    if incoming.bot.settings.kind == "passthrough" and incoming.fault is None:
        return await _pass_through(service, incoming)
    emergency_review = Review()
    if incoming.filter == "on":
        task = await _read_task(service, incoming)
        said = incoming.user_message if task is None else task.unmarked
        emergency_review = await incoming.bot.pipeline.check_emergency_locally(
            incoming.bot.emergency_case(said, incoming.earlier)
        )
        if task is not None:
            incoming, emergency_review = replace(incoming, task=task), as_concern(emergency_review)
    async with AsyncExitStack() as stack:
        run = await _begin_in_any_case(service, incoming, emergency_review, stack)
        request[FIELDS].update(chatbot=run.turn.bot.name, turn_id=run.turn.id)
        dialect.conversation_id = run.turn.conversation.id
        return await respond(
            service, request, dialect, run_turn(service, request, run), run.turn.request.stream is True, run
        )


async def _begin_in_any_case(
    service: Service, incoming: Incoming, emergency_review: Review, stack: AsyncExitStack
) -> TurnRun:
    """Begin the turn. If this fails and the user may be in danger, begin a turn that replies with the emergency text.

    The turn with the emergency text makes no model call. It needs no valid request, no remaining quota and no working store.
    """
    try:
        return await _begin(service, incoming, emergency_review, stack)
    except Exception as error:
        if not emergency_review.alarms:
            raise
        danger = "emergency" if emergency_review.verdict == "reject" else "concern"
        log.warning(f"{danger} in a request that cannot be served", error=type(error).__name__)
    sure = as_emergency(emergency_review)
    if emergency_review.verdict != "reject" and incoming.fault is None:
        with suppress(Exception):  # works if only the limits of its key were used up
            return await _begin(service, incoming, sure, stack)
    return await _begin(service, incoming.reduce(), sure, stack)


async def _read(service: Service, request: web.Request, dialect: Dialect) -> Incoming:
    """Read a request as far as possible. An error in the request is kept, and raised after the emergency judge has run.

    Raises:
        ApiError: The chatbot is missing or unknown, or the client may not use it.
    """
    access = service.access(request)
    raw = await read_body(request)
    fault: Exception | None = None
    try:
        refuse_forms(request, service.keys)
        data = await run_in_thread_if(_is_long(raw), read_json, raw)
    except (BadRequest, NotJson) as error:
        data, fault = await _read_leniently(raw), error
        if not isinstance(data.get("model"), str) or data["model"] not in service.chatbots:
            raise
    bot = _chatbot(service, access, data)
    if fault is None:
        repeated = repeats_a_key(raw, data)
        data, readable, fault = await dialect.parse(data, access.key_id)
        if repeated:
            _, readable, _ = await dialect.parse(await _read_leniently(raw), access.key_id)
    else:
        data = readable = dialect.parse_leniently(data)
    mode = bot.settings.filter
    if bot.settings.kind == "passthrough" and fault is None:  # no judge reads it
        return Incoming(request, dialect, access, bot, mode, raw, data, "", [], None)
    try:
        mode = requested_filter(request.headers, access, mode)
    except ApiError as error:
        fault = fault or error
    user_message, earlier = await run_in_thread_if(_is_long(raw), find_user_texts, readable)
    return Incoming(request, dialect, access, bot, mode, raw, data, user_message, earlier, fault)


def _is_long(raw: bytes) -> bool:
    """Return whether reading a body takes long, because of its size or the number of its strings."""
    return len(raw) > LONG_BODY or raw.count(b'"') > MANY_QUOTES


async def _read_leniently(raw: bytes) -> Body:
    """Read a body that is not valid JSON, or that contains duplicate keys. A long body is read in a thread."""
    return read_leniently(raw) if len(raw) < LONG_BROKEN_BODY else await asyncio.to_thread(read_leniently, raw)


async def _read_task(service: Service, incoming: Incoming) -> TaskPrompt | None:
    """Return the task prompt of a chat application, which quotes a conversation; None if a person asks."""
    text, user = incoming.user_message, incoming.data.get("user")
    answer = asked_form(text, incoming.data.get("response_format"))
    if answer is None:
        return None
    writer = writer_key(incoming.access.key_id, user if isinstance(user, str) else "")
    try:
        marks = await service.conversations.danger_marks(writer)
    except Exception as error:  # without marks, quoted messages are judged like new ones
        log.warning("marks of emergencies not read", error=type(error).__name__)
        marks = ()
    unmarked = await run_in_thread_if(bool(marks), blank_marked, writer, text, marks)
    return TaskPrompt(answer, unmarked, quotes_danger=unmarked != text)


async def _pass_through(service: Service, incoming: Incoming) -> web.StreamResponse:
    """Forward a request to the model of a passthrough chatbot."""
    request, bot, data, key = incoming.request, incoming.bot, incoming.data, incoming.access.key
    async with service.meter.admit(key, Ledger(service.telemetry), estimate_turn(bot, data)) as ledger:
        user = data.get("user")
        principal = Principal(
            incoming.access.key_id, user if isinstance(user, str) else "", incoming.access.permissions
        )
        SCOPE.set(TurnScope(ledger, principal))  # an assistant's calls count for the client's key
        with ForwardAccounting(service, bot.name, key, ledger):
            if incoming.dialect.verbatim:
                return await passthrough(request, bot, incoming.raw, data, ledger)
            work = forward_translated(request, bot, data, ledger)
            return await respond(service, request, incoming.dialect, work, data.get("stream") is True)


def _chatbot(service: Service, access: Access, data: dict[str, Any]) -> Chatbot:
    name = data.get("model")
    if not isinstance(name, str) or not name:
        raise BadRequest("model: expected the name of a chatbot. GET /v1/models lists them.", param="model")
    bot = service.chatbots.get(name)
    if bot is None or not access.may_ask(name):  # a chatbot that the key may not use is reported as unknown
        raise ModelNotFound.of_chatbot(name, access.visible_chatbots(service.chatbots))
    return bot


async def _begin(service: Service, incoming: Incoming, emergency_review: Review, stack: AsyncExitStack) -> TurnRun:
    """Admit and validate a request, and recognise its conversation.

    Args:
        service: The objects that handlers share.
        incoming: The request.
        emergency_review: The review of the local emergency judge. An emergency does not count for the limits of a key.
        stack: Holds the admission until the turn has ended.

    Raises:
        Exception: The request is invalid, its key has used up its limits, or a store fails.
    """
    access, bot = incoming.access, incoming.bot
    key = None if emergency_review.verdict == "reject" else access.key
    estimate = estimate_turn(bot, incoming.data if incoming.fault is None else {})
    async with AsyncExitStack() as admission:
        ledger = await admission.enter_async_context(service.meter.admit(key, Ledger(service.telemetry), estimate))
        if incoming.fault is not None:
            raise incoming.fault
        turn = await _read_turn(service, incoming, urgent=emergency_review.verdict in ("warn", "reject"))
        stack.push_async_exit(admission.pop_all())
    return TurnRun(turn, emergency_review, ledger, _open_stream_gate(bot, turn.request))


async def _read_turn(service: Service, incoming: Incoming, *, urgent: bool) -> Turn:
    """Validate a request and recognise its conversation. `urgent` is as for `recall`."""
    access, bot = incoming.access, incoming.bot
    is_long = not incoming.bare and _is_long(incoming.raw)
    max_messages = service.config.server.max_messages
    chat_request = await run_in_thread_if(is_long, read_chat_request, incoming.data, max_messages)
    explicit = None if incoming.bare else _explicit_id(incoming.request, chat_request)
    scope = access.key_id, chat_request.user or "", bot.name
    identity = await run_in_thread_if(is_long, Identity, scope, chat_request.messages, explicit)
    found, how_found = await recall(service.conversations, identity, urgent=urgent)
    calls = await recall_calls(service.conversations, identity, urgent=urgent)
    documents, tool_messages = (
        ((), {}) if incoming.bare or not access.may("evidence") else read_request_evidence(chat_request, bot.settings)
    )
    ids = secrets.token_hex(32)  # two ids with one system call
    # Tool calls alone store no state, so their conversation's id is taken from the calls.
    begun = next((call.id for call in calls.values()), ids[32:])
    conversation = found or Conversation(explicit or begun)
    return Turn(
        id=ids[:32],
        bot=bot,
        request=chat_request,
        user_message=incoming.user_message,
        earlier=incoming.earlier,
        conversation=conversation,
        identity=identity,
        how_found=how_found,
        filter=incoming.filter,
        # An id that the client chose, in any turn, may identify a person: it is not logged.
        generated_id=explicit is None and _GENERATED_ID.fullmatch(conversation.id) is not None,
        principal=Principal(access.key_id, chat_request.user or "", access.permissions),
        documents=documents,
        task=incoming.task,
        tool_messages=tool_messages,
        calls=calls,
    )


def _open_stream_gate(bot: Chatbot, request: ChatRequest) -> StreamGate | None:
    """Return the gate for text that may be sent before the verdict; None if no text may be sent before it."""
    if bot.settings.streaming == "hold" or request.wants_json or request.raw.get("logprobs"):
        return None  # part of a JSON document is invalid, and logprobs are sent with their text
    if "upstream" in bot.settings.evidence:
        return None  # the upstream sends the documents of a reply at its end
    return StreamGate()


def _explicit_id(request: web.Request, chat_request: ChatRequest) -> str | None:
    header = request.headers.get("X-Conversation-Id")
    given = header or (chat_request.metadata or {}).get("conversation_id")
    if given is None:
        return None
    if not isinstance(given, str) or not 0 < len(given) <= 200 or not given.isprintable():
        field = "X-Conversation-Id" if header else "metadata.conversation_id"
        raise BadRequest(f"{field}: expected 1 to 200 printable characters.", param=field)
    return given
