"""Actions on a turn: label its judges, export it as a scenario, delete its conversation."""

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
"""Seconds that the process of an export may take."""
MOST_SCENARIOS = 2
"""Maximum concurrent exports. Each loads libraries for a second."""
_writing: set[str] = set()
"""Ids of the turns that are being exported."""


async def label(console: ConsoleRequest) -> web.Response:
    """Store the right verdict of a judge, and show the turn again."""
    trace, form = await _turn(console), await read_form(console.request)
    verdict, note = form.get("verdict"), form.get("note", "").strip()
    judge, choice = form.get("judge", ""), form.get("choice", "0")
    if verdict not in get_args(RightVerdict):
        raise BadRequest("The label cannot be saved: choose a verdict (accept, warn or reject).", param="verdict")
    if not (choice.isascii() and choice.isdigit() and len(choice) < 4):
        raise BadRequest(
            f"The label cannot be saved: invalid choice {choice[:20]!r} (expected a number from 0).", param="choice"
        )
    if len(note) > LONGEST_NOTE:
        raise BadRequest(
            f"The label cannot be saved: the reason has {len(note)} characters (maximum {LONGEST_NOTE}).", param="note"
        )
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
    """Show a turn as a scenario to copy or download."""
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
    """Return a scenario as YAML with notes for the user, or an empty text with the reasons for the failure.

    A separate process writes the scenario, because the proxy must not import the evaluation packages.
    """
    config = console.service.config
    command = [sys.executable, "-m", "cli", "scenario", "from-trace", turn_id, "--choice", choice]
    if config.file is not None:
        command += ["--config", str(config.file)]
    if isinstance(place := trace_backend(config.privacy), Path):
        command += ["--file", str(place)]
    if turn_id in _writing or len(_writing) == MOST_SCENARIOS:
        return "", ["Too many exports are running. Reload the page in a few seconds."]
    _writing.add(turn_id)
    try:
        process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=PIPE)
        try:
            async with asyncio.timeout(SCENARIO_S):
                printed, complaints = await process.communicate()
        except TimeoutError:
            return "", [f"The export did not finish within {SCENARIO_S:g} s. Try again later."]
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    finally:
        _writing.discard(turn_id)
    lines = [line.removeprefix("caf: ") for line in complaints.decode(errors="replace").splitlines() if line.strip()]
    return (
        (printed.decode(), lines)
        if process.returncode == 0
        else (
            "",
            lines
            or [
                "The export failed without an error message. Run `caf scenario from-trace` with the turn ID for details."
            ],
        )
    )


async def ask_to_delete(console: ConsoleRequest) -> web.Response:
    """Ask for confirmation of deleting a conversation."""
    trace = await _turn_to_delete(console)
    query = _list_query(console, console.request.query_string)
    return console.render("conversations/delete.html", trace=trace, back=f"{_address(trace)}{query}", list_query=query)


async def delete(console: ConsoleRequest) -> web.Response:
    """Delete a turn's conversation, as `DELETE /admin/conversations/{id}` does, and redirect to the list."""
    trace, form = await _turn_to_delete(console), await read_form(console.request)
    erased = await erase_conversation(console.service, trace["conversation_id"], console.access.key)
    record_action(console.service, "console_delete", console.access.key, turn=trace["turn_id"], turns=erased["turns"])
    query = _list_query(console, form.get("list", ""))
    return console.see_other(f"{LIST}{query}")


async def _turn(console: ConsoleRequest) -> dict[str, Any]:
    """Return the trace of the turn in the address.

    Raises:
        web.HTTPNotFound: There is no such turn, or the client may not see its chatbot.
        StoreUnavailable: Traces cannot be read.
    """
    try:
        trace = await find_turn(console)
    except NoTraces:
        raise StoreUnavailable from None
    if trace is None:
        raise web.HTTPNotFound
    return trace


async def _turn_to_delete(console: ConsoleRequest) -> dict[str, Any]:
    """Return the trace of the turn in the address, if the client may see all turns that would be deleted with it.

    Raises:
        Forbidden: A conversation with another chatbot has the same id.
        web.HTTPNotFound, StoreUnavailable: As `_turn`.
    """
    trace = await _turn(console)
    try:
        chatbots = await read_traces(console.service, chatbots_of, trace["conversation_id"])
    except NoTraces:
        raise StoreUnavailable from None
    if not all(map(console.access.may_ask, chatbots)):
        raise Forbidden(
            "The conversation cannot be deleted: a conversation with another chatbot has the same id, and both would be "
            "deleted. Use a key that has access to all chatbots."
        )
    return trace


def _address(trace: dict[str, Any]) -> str:
    return f"{LIST}/{quote(trace['turn_id'], safe='')}"


def _list_query(console: ConsoleRequest, query: str) -> str:
    """Return the query string of the turn list that the user came from, without fields that the list does not have."""
    return read_turn_query(dict(parse_qsl(query.removeprefix("?"), max_num_fields=100))).here


ROUTES = [
    web.post(LIST + "/{turn_id}/label", admit(label, "admin")),
    web.get(LIST + "/{turn_id}/scenario", admit(show_scenario, "admin")),
    web.get(LIST + "/{turn_id}/delete", admit(ask_to_delete, "admin")),
    web.post(LIST + "/{turn_id}/delete", admit(delete, "admin")),
]
