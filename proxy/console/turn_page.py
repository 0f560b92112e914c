"""The page of one turn: its story, its durations, and other turns of the conversation."""

import asyncio
import time
from collections.abc import Collection
from typing import Any
from urllib.parse import quote

from aiohttp import web

from proxy.console import words
from proxy.console.admission import admit
from proxy.console.console_request import ConsoleRequest
from proxy.console.journal import record_action
from proxy.console.list_query import ListQuery
from proxy.console.trace_reading import NoTraces, read_traces
from proxy.console.turn_list_query import read_turn_query, to_filter
from proxy.console.turn_story import tell_story
from proxy.console.waterfall import draw_waterfall
from proxy.protocol.errors import BadRequest
from proxy.traces.fact_query import TurnFilter
from proxy.traces.judged_draft import judgements_of
from proxy.traces.redaction import hide_texts, is_redacted
from proxy.traces.search import Neighbours, find_neighbours, read_turn, search_turns

BESIDE = 60
"""Maximum number of listed turns of the same conversation; the newest are listed."""
LIST = "/console/conversations"


async def show_turn(console: ConsoleRequest) -> web.Response:
    """Show one turn."""
    query, texts = read_turn_query(console.request.query), console.may("trace")
    try:
        trace = await find_turn(console)
        if trace is None:
            return await _find_by_beginning(console, query)
        turn_id, own = trace["turn_id"], frozenset(console.chatbots)
        turn_filter = _filter(query, own, texts)
        beside = (
            await read_traces(console.service, find_neighbours, turn_filter, turn_id)
            if turn_filter
            else Neighbours(None, None)
        )
        same = TurnFilter(chatbots=own, conversation=trace["conversation_id"])
        talk = await read_traces(console.service, search_turns, same, limit=BESIDE, texts=texts)
    except NoTraces as trouble:
        return console.render("conversations/none.html", status=503 if trouble.failed else 404, trouble=trouble)
    if texts:
        record_action(console.service, "console_read", console.access.key, turn=turn_id)
    labels = next((one.labels for one in talk.turns if one.line.turn_id == turn_id), ())
    return console.render(
        "conversations/turn.html",
        story=await asyncio.to_thread(tell_story, trace if texts else hide_texts(trace)),
        waterfall=draw_waterfall(trace),
        redacted=texts and is_redacted(trace),
        texts=texts,
        labels=labels,
        judges=judges_of(console, trace),
        beside=beside,
        talk=talk.turns[::-1],
        query=query,
        back=f"{LIST}{query.here}",
        words=words,
    )


async def find_turn(console: ConsoleRequest) -> dict[str, Any] | None:
    """Return the trace of the turn in the address; None: no such turn, or the client may not see its chatbot."""
    return await read_traces(console.service, read_turn, console.request.match_info["turn_id"], console.chatbots)


def judges_of(console: ConsoleRequest, trace: dict[str, Any]) -> list[str]:
    """Return the judges that can be labelled: those that judged the turn, and those of its chatbot now."""
    bot = console.service.chatbots.get(trace["chatbot"])
    return list(dict.fromkeys([*(one["judge"] for one in judgements_of(trace)), *(bot.judges if bot else ())]))


async def _find_by_beginning(console: ConsoleRequest, query: ListQuery) -> web.Response:
    """Redirect to the only turn whose id begins with the given text, or to a list of the matching turns."""
    begins = console.request.match_info["turn_id"]
    turn_filter = TurnFilter(chatbots=frozenset(console.chatbots), id_begins=begins)
    page = await read_traces(console.service, search_turns, turn_filter, limit=2)
    if not page.turns:
        raise NoTraces(
            "No such turn",
            "The turn may have been deleted, be older than `privacy.days`, or belong to a chatbot that your key cannot access.",
        )
    if len(page.turns) == 1:
        return console.see_other(f"{LIST}/{quote(page.turns[0].line.turn_id, safe='')}{query.here}")
    return console.see_other(f"{LIST}{ListQuery({'id': begins}).here}")


def _filter(query: ListQuery, chatbots: Collection[str], texts: bool) -> TurnFilter | None:
    try:
        return to_filter(query, chatbots, time.time(), words=texts)
    except BadRequest:  # a truncated address does not prevent showing the turn
        return None


ROUTES = [web.get(LIST + "/{turn_id}", admit(show_turn))]
