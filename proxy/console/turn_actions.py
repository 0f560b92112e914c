"""What people do with a turn: label what its judges said, take it as a scenario, delete its conversation."""

import asyncio
import sys
from asyncio.subprocess import DEVNULL, PIPE
from functools import partial
from pathlib import Path
from typing import Any, get_args
from urllib.parse import parse_qsl, quote

from aiohttp import web

from proxy.api.erasure import erase_conversation
from proxy.console.admission import admit
from proxy.console.console_request import ConsoleRequest
from proxy.console.form import read_form
from proxy.console.journal import record_action
from proxy.console.trace_reading import NoTraces, read_traces
from proxy.console.turn_list_query import read_turn_query
from proxy.console.turn_page import LIST, find_turn
from proxy.protocol.errors import BadRequest, Forbidden, StoreUnavailable
from proxy.traces.backend import TraceBackend, trace_backend
from proxy.traces.labels import RightVerdict
from proxy.traces.search import chatbots_of
from proxy.traces.turn_label import UnfitLabel, label_turn

LONGEST_NOTE = 2_000
"""Characters."""
SCENARIO_S = 30.0
"""How long the process that writes a scenario may take."""
MOST_SCENARIOS = 2
"""Such processes at a time; each loads libraries for a second."""
_writing: set[str] = set()
"""The turns of which scenarios are being written."""


async def label(console: ConsoleRequest) -> web.Response:
    """Write down what a judge should have made of a turn, and show the turn again."""
    trace, form = await _turn(console), await read_form(console.request)
    verdict, note = form.get("verdict"), form.get("note", "").strip()
    judge, choice = form.get("judge", ""), form.get("choice", "0")
    if verdict not in get_args(RightVerdict):
        raise BadRequest("Say what the judge should have said: accept, warn or reject.", param="verdict")
    if not (choice.isascii() and choice.isdigit() and len(choice) < 4):
        raise BadRequest("There is no such choice of the reply.", param="choice")
    if len(note) > LONGEST_NOTE:
        raise BadRequest(f"A note has at most {LONGEST_NOTE} characters.", param="note")
    bot = console.service.chatbots.get(trace["chatbot"])
    write = partial(
        _label, trace=trace, judge=judge, verdict=verdict, choice=int(choice), note=note,
        others=bot.judges if bot else (), library=bot.library if bot else None,
    )  # fmt: skip
    try:
        await read_traces(console.service, write)
    except NoTraces:
        raise StoreUnavailable from None
    record_action(
        console.service, "console_label", console.access.key, turn=trace["turn_id"], judge=judge, verdict=str(verdict)
    )
    return console.see_other(f"{_address(trace)}{_list_query(console, str(form.get('list', '')))}#labels")


def _label(place: TraceBackend, *, trace: dict[str, Any], **fields: Any) -> None:
    try:
        label_turn(place, trace, **fields)
    except UnfitLabel as error:
        raise BadRequest(f"{error.problems[0][:1].upper()}{error.problems[0][1:]}.") from None


async def show_scenario(console: ConsoleRequest) -> web.Response:
    """Show a turn as a scenario, to copy or download."""
    console.require("trace")
    trace = await _turn(console)
    choice = console.request.query.get("choice", "0")
    choice = choice if choice.isascii() and choice.isdigit() and len(choice) < 4 else "0"
    yaml, lines = await _write_scenario(console, trace["turn_id"], choice)
    record_action(console.service, "console_read", console.access.key, turn=trace["turn_id"], scenario=True)
    if yaml and "download" in console.request.query:
        name = f"trace-{trace['turn_id'][:12]}.yaml"
        response = web.Response(text=yaml, content_type="application/yaml", charset="utf-8")
        response.headers.update({"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"})
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
    query = _list_query(console, console.request.query_string)
    back = f"{_address(trace)}{query}"
    return console.render("conversations/scenario.html", trace=trace, yaml=yaml, said=lines, choice=choice, back=back)


async def _write_scenario(console: ConsoleRequest, turn_id: str, choice: str) -> tuple[str, list[str]]:
    """Return a scenario, and what its reader should know; or none, and why.

    A process of its own writes it: what serves imports nothing of what measures.
    """
    config = console.service.config
    command = [sys.executable, "-m", "cli", "scenario", "from-trace", turn_id, "--choice", choice]
    if config.file is not None:
        command += ["--config", str(config.file)]
    if isinstance(place := trace_backend(config.privacy), Path):
        command += ["--file", str(place)]
    if turn_id in _writing or len(_writing) == MOST_SCENARIOS:
        return "", ["Other scenarios are being written at the moment; reload the page in a few seconds."]
    _writing.add(turn_id)
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        try:
            async with asyncio.timeout(SCENARIO_S):
                printed, complaints = await process.communicate()
        except TimeoutError:
            return "", ["It took too long; try again when less is going on."]
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    finally:
        _writing.discard(turn_id)
    lines = [line.removeprefix("caf: ") for line in complaints.decode(errors="replace").splitlines() if line.strip()]
    return (printed.decode(), lines) if process.returncode == 0 else ("", lines or ["It failed, and did not say why."])


async def ask_to_delete(console: ConsoleRequest) -> web.Response:
    """Ask whether a conversation is really to go."""
    trace = await _turn_to_delete(console)
    query = _list_query(console, console.request.query_string)
    return console.render("conversations/delete.html", trace=trace, back=f"{_address(trace)}{query}", list_query=query)


async def delete(console: ConsoleRequest) -> web.Response:
    """Delete a turn's conversation, as `DELETE /admin/conversations/{id}` does, and lead back to the list."""
    trace, form = await _turn_to_delete(console), await read_form(console.request)
    erased = await erase_conversation(console.service, trace["conversation_id"], console.access.key)
    record_action(console.service, "console_delete", console.access.key, turn=trace["turn_id"], turns=erased["turns"])
    query = _list_query(console, form.get("list", ""))
    return console.see_other(f"{LIST}{query}")


async def _turn(console: ConsoleRequest) -> dict[str, Any]:
    """Return the trace of the turn that the address names.

    Raises:
        web.HTTPNotFound: There is none of a chatbot that the client may see.
        StoreUnavailable: None can be read.
    """
    try:
        trace = await find_turn(console)
    except NoTraces:
        raise StoreUnavailable from None
    if trace is None:
        raise web.HTTPNotFound
    return trace


async def _turn_to_delete(console: ConsoleRequest) -> dict[str, Any]:
    """Return the trace of the turn that the address names, if nothing goes with it that the client may not see.

    Raises:
        Forbidden: Its conversation has the same id as one with another chatbot.
        web.HTTPNotFound, StoreUnavailable: As `_turn`.
    """
    trace = await _turn(console)
    try:
        chatbots = await read_traces(console.service, chatbots_of, trace["conversation_id"])
    except NoTraces:
        raise StoreUnavailable from None
    if not all(map(console.access.may_ask, chatbots)):
        raise Forbidden(
            "Clients have given a conversation with another chatbot the same id, and both would go: ask somebody whose key may "
            "see all chatbots."
        )
    return trace


def _address(trace: dict[str, Any]) -> str:
    return f"{LIST}/{quote(trace['turn_id'], safe='')}"


def _list_query(console: ConsoleRequest, query: str) -> str:
    """Return the query of the list that a page came from: only fields that a list has."""
    return read_turn_query(dict(parse_qsl(query.removeprefix("?"), max_num_fields=100))).here


ROUTES = [
    web.post(LIST + "/{turn_id}/label", admit(label, "admin")),
    web.get(LIST + "/{turn_id}/scenario", admit(show_scenario, "admin")),
    web.get(LIST + "/{turn_id}/delete", admit(ask_to_delete, "admin")),
    web.post(LIST + "/{turn_id}/delete", admit(delete, "admin")),
]
