"""The playground: chat with a chatbot in the browser and see the outcome of each reply.

The browser is a client like any other, with a session instead of a key: the same turns, limits, audit and traces.
"""

import asyncio
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from aiohttp import web
from pydantic import BaseModel, ValidationError

from proxy.api.chat import converse
from proxy.api.dialect import ChatDialect
from proxy.api.request_body import read_body
from proxy.auth.access import GRANTED
from proxy.console.admission import admit
from proxy.console.checkpoint_file import Conversation, write_checkpoint
from proxy.console.console_request import ConsoleRequest
from proxy.console.journal import record_action
from proxy.console.quote_marks import mark_quotes
from proxy.console.render import HEADERS
from proxy.console.reply_facts import DeliveredReply, Json, ReplyFacts, facts_of_caf, facts_of_trace, proving_quotes
from proxy.console.trace_reading import run_query
from proxy.console.words import DANGERS, OUTCOMES, STAGES
from proxy.protocol.errors import BadRequest, Forbidden
from proxy.traces.backend import TraceError, trace_backend, trace_detail
from proxy.traces.redaction import is_redacted
from proxy.traces.search import read_turn
from proxy.turn.chatbot import Chatbot

WAITS_S = (0.0, 0.25, 0.25, 0.5, 1.0)
"""Seconds to wait before each attempt to read a trace. Another thread writes it shortly after the reply."""
TURN_ID = re.compile(r"[0-9a-f]{32}")
ModelT = TypeVar("ModelT", bound=BaseModel)


async def show_playground(console: ConsoleRequest) -> web.Response:
    """Show the playground."""
    return console.render(
        "playground/index.html",
        bots=console.bots,
        wordings=OUTCOMES,
        shadow=any(bot.settings.filter == "shadow" for bot in console.bots),
    )


async def ask(console: ConsoleRequest) -> web.StreamResponse:
    """Answer a message, as `/v1/chat/completions` does."""
    console.request[GRANTED] = console.access
    return await converse(console.request, ChatDialect())


async def show_turn(console: ConsoleRequest) -> web.Response:
    """Show the facts of a reply: from its trace if the client may read the trace, else from the reply's `caf` object."""
    turn_id = console.request.match_info["turn"]
    if not TURN_ID.fullmatch(turn_id):
        raise web.HTTPNotFound
    reply = await _read_json(console, DeliveredReply)
    bot = _find_bot(console, reply.chatbot)
    trace = await _find_trace(console, turn_id, patient=True) if console.may("trace") else None
    facts: ReplyFacts | None = None
    if trace is not None:
        if not is_redacted(trace):
            record_action(console.service, "console_read", console.access.key, turn=turn_id)
        titles = {id: section.title for id, section in bot.sections.items()}
        facts = await asyncio.to_thread(facts_of_trace, trace, reply.caf, reply.text, titles)
    elif reply.caf is not None:
        facts = await asyncio.to_thread(facts_of_caf, reply.caf, reply.text)
    return console.render(
        "playground/_turn.html",
        facts=facts,
        turn_id=turn_id,
        bot=bot,
        traced=trace is not None,
        stages=STAGES,
        dangers=DANGERS,
    )


async def show_source(console: ConsoleRequest) -> web.Response:
    """Show a section, or a document of a turn, with the quotes of judges marked."""
    bot = _find_bot(console, console.request.match_info["chatbot"])
    source_id, turn_id = console.request.match_info["source"], console.request.query.get("turn", "")
    trace = None
    if console.may("trace") and TURN_ID.fullmatch(turn_id):
        trace = await _find_trace(console, turn_id)
    section = bot.sections.get(source_id)
    if section is not None:
        quotes = proving_quotes(trace, source_id) if trace is not None else []
        passages = await asyncio.to_thread(mark_quotes, section.text, quotes)
        return console.render("playground/_source.html", title=section.title, section=section, passages=passages)
    if not console.may("trace"):
        raise Forbidden("To read the documents of a turn, use a key with the permission “trace”.")
    document = next((one for one in (trace or {}).get("documents", ()) if one["id"] == source_id), None)
    if trace is None or document is None:
        raise web.HTTPNotFound
    record_action(console.service, "console_read", console.access.key, turn=turn_id)
    passages = await asyncio.to_thread(mark_quotes, document["text"], proving_quotes(trace, source_id))
    return console.render("playground/_source.html", title=document["title"], section=None, passages=passages)


async def save_checkpoint(console: ConsoleRequest) -> web.Response:
    """Answer with the conversation shown as a checkpoint file."""
    conversation = await _read_json(console, Conversation)
    _find_bot(console, conversation.chatbot)
    text = await asyncio.to_thread(write_checkpoint, conversation, datetime.now(UTC).replace(microsecond=0))
    disposition = f'attachment; filename="{conversation.name}.yaml"'
    return web.Response(
        text=text, content_type="application/yaml", headers={**HEADERS, "Content-Disposition": disposition}
    )


def _find_bot(console: ConsoleRequest, name: str) -> Chatbot:
    """Return a chatbot by its name. Raises: web.HTTPNotFound: no such chatbot, or the client may not use it."""
    if name not in console.chatbots:
        raise web.HTTPNotFound
    return console.service.chatbots[name]


async def _find_trace(console: ConsoleRequest, turn_id: str, *, patient: bool = False) -> Json | None:
    """Return the trace of a turn; None: not stored, or the client may not use its chatbot.

    Args:
        console: The request.
        turn_id: The id of the turn.
        patient: Whether the turn has just ended, so that its trace may not be written yet; then try several times.
    """
    config = console.service.config
    if trace_detail(config) == "none":
        return None
    for wait_s in WAITS_S if patient else WAITS_S[:1]:
        await asyncio.sleep(wait_s)
        try:
            trace = await run_query(read_turn, trace_backend(config.privacy), turn_id, console.chatbots)
        except TraceError:  # there may be no file yet
            continue
        if trace is not None:
            return trace
    return None


async def _read_json(console: ConsoleRequest, model: type[ModelT]) -> ModelT:
    """Parse and validate the JSON body of a request. Raises: BadRequest: the body is invalid."""
    try:
        return model.model_validate_json(await read_body(console.request))
    except ValidationError as error:
        faults: Sequence[Any] = error.errors(include_url=False, include_input=False)
        where = ".".join(map(str, faults[0]["loc"])) or "body"
        raise BadRequest(f"Invalid value of `{where}`: {faults[0]['msg']}.", param=where) from None


ROUTES = [
    web.get("/console/playground", admit(show_playground)),
    web.post("/console/playground/chat", admit(ask, "chat")),
    web.post("/console/playground/turns/{turn}", admit(show_turn)),
    web.get("/console/playground/sources/{chatbot}/{source}", admit(show_source)),
    web.post("/console/playground/checkpoint", admit(save_checkpoint)),
]
