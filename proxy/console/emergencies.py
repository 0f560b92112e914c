"""The emergencies page: an inbox of turns in which a person may be in danger, which people review."""

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import hdrs, web
from cachetools import TTLCache

from proxy.console.admission import admit
from proxy.console.alarm_cards import LAYERS, UNKNOWN_LAYER, AlarmCard, make_card
from proxy.console.console_request import ConsoleRequest
from proxy.console.form import read_form
from proxy.console.journal import record_action
from proxy.console.list_query import ListQuery, read_query
from proxy.console.period import PERIOD_LABELS, PERIODS
from proxy.console.trace_reading import NoTraces, read_traces
from proxy.console.words import DANGERS
from proxy.protocol.errors import BadRequest, StoreUnavailable
from proxy.traces.emergencies import EMERGENCY_JUDGE, AlarmCount, Inbox, count_alarms, count_open, search_emergencies
from proxy.traces.fact_query import Labelling, TurnFilter
from proxy.traces.labels import Label, RightVerdict, add, withdraw
from proxy.traces.search import read_turn

PAGE = 30
FRESH_S = 5.0
"""Seconds for which the number of open alarms is cached. Every console page requests it."""
OPEN_COUNTS = web.AppKey("console_open_counts", TTLCache[frozenset[str], int])
STATES = {"all": "All", "open": "Open", "done": "Reviewed", "false": "False alarms"}
ALARMS = {"any": "All", "emergency": "Emergencies", "concern": "Concerns"}
VERDICTS: Mapping[str, Mapping[str, RightVerdict]] = {
    "emergency": {"right": "reject", "false": "accept"},
    "concern": {"right": "warn", "emergency": "reject", "false": "accept"},
}
"""The correct verdict of the emergency judge that each review button stores, by kind of alarm."""


def read_inbox_query(fields: Mapping[str, str], chatbots: Collection[str]) -> ListQuery:
    """Return the query of the inbox.

    Raises:
        BadRequest: The page does not exist.
    """
    answers = {"chatbot": chatbots, "kind": DANGERS, "alarm": ALARMS, "state": STATES, "period": PERIODS}
    return read_query(fields, answers, {"alarm": "any", "state": "all"})


def to_filter(query: ListQuery, chatbots: Collection[str], now: float) -> TurnFilter:
    """Return the filter of turns for a query. The query's status (open, reviewed ...) is not part of it."""
    chatbot, kind, alarm, period = (query.get(name) for name in ("chatbot", "kind", "alarm", "period"))
    return TurnFilter(
        chatbots=frozenset([chatbot] if chatbot else chatbots),
        danger=kind or None,
        alarm=alarm,  # type: ignore[arg-type]  # one of ALARMS
        since=now - PERIODS[period].seconds if period else None,
    )


@dataclass(frozen=True, slots=True)
class Part:
    """A section of the inbox: open alarms, reviewed alarms or false alarms."""

    name: str
    inbox: Inbox
    cards: list[AlarmCard]


async def show_emergencies(console: ConsoleRequest) -> web.Response:
    """Show the inbox: open alarms first, newest first."""
    query = read_inbox_query(console.request.query, console.chatbots)
    turn_filter = to_filter(query, console.chatbots, time.time())
    parts: list[Part] = []
    counts: list[AlarmCount] = []
    trouble: NoTraces | None = None
    try:
        parts = await _read_parts(console, query, turn_filter)
        counts = await read_traces(console.service, count_alarms, turn_filter)
    except NoTraces as error:
        trouble = error
    _record_reading(console, [card for part in parts for card in part.cards])
    return console.render(
        "emergencies/index.html",
        status=503 if trouble and trouble.failed else 200,
        query=query, parts=parts, counts=counts, trouble=trouble, has_cards=any(part.cards for part in parts),
        to_index=parts[0].inbox.to_index if parts else 0,
        kinds=DANGERS, layers=LAYERS, unknown_layer=UNKNOWN_LAYER, alarms=ALARMS, states=STATES, periods=PERIOD_LABELS,
    )  # fmt: skip


async def _read_parts(console: ConsoleRequest, query: ListQuery, turn_filter: TurnFilter) -> list[Part]:
    parts, state = [], query.get("state")
    if state in ("all", "open"):
        parts.append(await _read_part(console, "Open", turn_filter, only_open=True, before=query.before))
    if state in ("done", "false") or (state == "all" and parts[0].inbox.next is None):
        labelling: Labelling = "false_alarm" if state == "false" else "labelled"
        of_judge = replace(turn_filter, labelling=labelling, labelled_judge=EMERGENCY_JUDGE)
        name = "False alarms" if state == "false" else "Reviewed"
        parts.append(await _read_part(console, name, of_judge, before=None if state == "all" else query.before))
    return parts


async def _read_part(
    console: ConsoleRequest, name: str, turn_filter: TurnFilter, *, only_open: bool = False, before: int | None = None
) -> Part:
    texts = console.may("trace")
    inbox = await read_traces(
        console.service, search_emergencies, turn_filter, only_open=only_open, before=before, limit=PAGE, texts=texts
    )
    contacts = {
        bot.name: list(bot.settings.emergency.contact.values()) if bot.settings.emergency else []
        for bot in console.bots
    }
    cards = [make_card(one, contacts.get(one.turn.line.chatbot, [])) for one in inbox.emergencies]
    return Part(name, inbox, cards)


async def show_item(console: ConsoleRequest) -> web.Response:
    """Show one item of the inbox."""
    turn_id = console.request.query.get("turn", "")
    turn_filter = TurnFilter(chatbots=frozenset(console.chatbots), id_begins=turn_id)
    try:
        cards = (await _read_part(console, "", turn_filter)).cards if turn_id else []
    except NoTraces:
        cards = []
    card = next((one for one in cards if one.turn_id == turn_id), None)
    if card is None:
        raise web.HTTPNotFound
    _record_reading(console, [card])
    return console.render("emergencies/_item.html", card=card, query=ListQuery())


async def count_open_ones(console: ConsoleRequest) -> web.Response:
    """Answer with the number of open alarms."""
    return web.json_response({"count": await _count_open(console)}, headers={"Cache-Control": "no-store"})


async def label_item(console: ConsoleRequest) -> web.Response:
    """Store the review of an alarm as a label of the emergency judge."""
    form = await read_form(console.request)
    trace = await _find_turn(console, form)
    choice = str(form.get("said", ""))
    alarm = "emergency" if "emergency" in (trace["outcome"], trace.get("would")) else "concern"
    verdict = VERDICTS[alarm].get(choice)
    if verdict is None:
        raise BadRequest(
            f"Invalid review {choice[:40]!r} in the field `said`: expected one of {', '.join(VERDICTS[alarm])}.",
            param="said",
        )
    label = Label(EMERGENCY_JUDGE, verdict, labelled=time.time())
    try:
        await read_traces(console.service, add, trace["turn_id"], label)
    except NoTraces as error:
        raise StoreUnavailable from error
    return _changed(console, form, trace["turn_id"], verdict)


async def undo_item(console: ConsoleRequest) -> web.Response:
    """Remove the last review of an alarm."""
    form = await read_form(console.request)
    trace = await _find_turn(console, form)
    try:
        await read_traces(console.service, withdraw, trace["turn_id"], EMERGENCY_JUDGE)
    except NoTraces as error:
        raise StoreUnavailable from error
    return _changed(console, form, trace["turn_id"], "none")


async def _find_turn(console: ConsoleRequest, form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the trace of the turn that a form names.

    Raises:
        web.HTTPNotFound: The client may see no such turn, or the emergency judge did not judge it.
        StoreUnavailable: The traces cannot be read.
    """
    try:
        trace = await read_traces(console.service, read_turn, str(form.get("turn", "")), console.chatbots)
    except NoTraces as error:
        raise StoreUnavailable from error
    if trace is None or not trace["emergency"]:
        raise web.HTTPNotFound
    return trace


def _changed(console: ConsoleRequest, form: Mapping[str, Any], turn_id: str, verdict: str) -> web.Response:
    record_action(
        console.service, "console_label", console.access.key, turn=turn_id, judge=EMERGENCY_JUDGE, verdict=verdict
    )
    console.request.app[OPEN_COUNTS].clear()
    if "text/html" not in console.request.headers.get(hdrs.ACCEPT, "text/html"):
        return web.Response(status=204)
    query = read_inbox_query(dict(parse_qsl(str(form.get("list", "")).removeprefix("?"))), console.chatbots)
    return console.see_other(f"/console/emergencies{query.address()}")


def _record_reading(console: ConsoleRequest, cards: list[AlarmCard]) -> None:
    read = [card.turn_id for card in cards if card.message or card.delivery.reply or card.delivery.key_text]
    if console.may("trace") and read:
        record_action(console.service, "console_read", console.access.key, screen="emergencies", turns=read)


async def _count_open(console: ConsoleRequest) -> int:
    counts, chatbots = console.request.app[OPEN_COUNTS], frozenset(console.chatbots)
    if chatbots not in counts:
        try:
            counts[chatbots] = await read_traces(console.service, count_open, chatbots)
        except NoTraces:
            counts[chatbots] = 0
    return counts[chatbots]


ROUTES = [
    web.get("/console/emergencies", admit(show_emergencies)),
    web.get("/console/emergencies/item", admit(show_item)),
    web.get("/console/emergencies/open", admit(count_open_ones)),
    web.post("/console/emergencies/label", admit(label_item, "admin")),
    web.post("/console/emergencies/undo", admit(undo_item, "admin")),
]
