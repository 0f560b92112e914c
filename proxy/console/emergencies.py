"""Emergencies: an inbox of turns in which somebody may be in danger, and what people say of each."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from aiohttp import hdrs, web
from cachetools import TTLCache

from proxy.console.admission import admit
from proxy.console.alarm_cards import LAYERS, UNKNOWN_LAYER, AlarmCard, make_card
from proxy.console.form import read_form
from proxy.console.journal import record_action
from proxy.console.period import PERIOD_LABELS, PERIODS
from proxy.console.trace_reading import NoTraces, read_traces
from proxy.console.visit import Visit
from proxy.console.words import DANGERS
from proxy.traces.alarm_counts import AlarmCount, count_alarms, count_open
from proxy.traces.emergencies import EMERGENCY_JUDGE, Inbox, search_emergencies
from proxy.traces.fact_query import Labelling, TurnFilter
from proxy.traces.labels import Label, RightVerdict, add, withdraw
from proxy.traces.search import read_turn
from proxy.wire.errors import BadRequest, StoreUnavailable

PAGE = 30
FRESH_S = 5.0
"""How long a number of open ones is good for: every page of the console asks for it."""
OPEN_COUNTS = web.AppKey("console_open_counts", TTLCache[frozenset[str], int])
STATES = {"all": "open, then done", "open": "open", "done": "done", "false": "false alarms"}
ALARMS = {"any": "either", "emergency": "emergencies", "concern": "concerns"}
VERDICTS: Mapping[str, Mapping[str, RightVerdict]] = {
    "emergency": {"right": "reject", "false": "accept"},
    "concern": {"right": "warn", "emergency": "reject", "false": "accept"},
}
"""What a button means as a label of the judge, by what the judge had raised."""


@dataclass(frozen=True, slots=True)
class Choice:
    """What somebody wants to see."""

    chatbot: str = ""
    kind: str = ""
    alarm: str = "any"
    state: str = "all"
    period: str = ""
    before: int | None = None

    @classmethod
    def of(cls, query: Mapping[str, str], chatbots: list[str]) -> "Choice":
        """Read a query; what is not one of the answers counts as not given."""

        def one_of(name: str, answers: Any, default: str = "") -> str:
            value = query.get(name, default)
            return value if value in answers else default

        before = query.get("before", "")
        return cls(
            one_of("chatbot", chatbots), one_of("kind", DANGERS), one_of("alarm", ALARMS, "any"), one_of("state", STATES, "all"),
            one_of("period", PERIODS), int(before) if before.isdecimal() and len(before) < 20 else None,
        )  # fmt: skip

    def turns(self, chatbots: list[str], now: float) -> TurnFilter:
        """Return the turns that it means, whatever their state."""
        return TurnFilter(
            chatbots=frozenset([self.chatbot] if self.chatbot else chatbots),
            emergencies=frozenset([self.kind] if self.kind and self.alarm != "concern" else []),
            concerns=frozenset([self.kind] if self.kind and self.alarm != "emergency" else []),
            alarm=self.alarm,  # type: ignore[arg-type]  # one of ALARMS
            since=now - PERIODS[self.period].seconds if self.period else None,
        )

    def query(self, **changes: str) -> str:
        """Return it as a query, with changes."""
        given = {name: getattr(self, name) for name in ("chatbot", "kind", "alarm", "state", "period")}
        defaults = {"alarm": "any", "state": "all"}
        return urlencode(
            {name: value for name, value in {**given, **changes}.items() if value != defaults.get(name, "")}
        )

    @property
    def is_default(self) -> bool:
        return replace(self, before=None) == Choice()


@dataclass(frozen=True, slots=True)
class Part:
    """Some items of the inbox under a heading."""

    name: str
    inbox: Inbox
    cards: list[AlarmCard]


async def show_emergencies(visit: Visit) -> web.Response:
    """Show the inbox: open ones first, each part the newest first."""
    choice = Choice.of(visit.request.query, visit.chatbots)
    wanted = choice.turns(visit.chatbots, time.time())
    parts: list[Part] = []
    counts: list[AlarmCount] = []
    trouble: NoTraces | None = None
    try:
        parts = await _read_parts(visit, choice, wanted)
        counts = await read_traces(visit.service, count_alarms, wanted)
    except NoTraces as error:
        trouble = error
    _record_reading(visit, [card for part in parts for card in part.cards])
    return visit.render(
        "emergencies/index.html",
        status=503 if trouble and trouble.failed else 200,
        choice=choice, parts=parts, counts=counts, trouble=trouble, has_cards=any(part.cards for part in parts),
        to_index=parts[0].inbox.to_index if parts else 0,
        kinds=DANGERS, layers=LAYERS, unknown_layer=UNKNOWN_LAYER, alarms=ALARMS, states=STATES, periods=PERIOD_LABELS,
    )  # fmt: skip


async def _read_parts(visit: Visit, choice: Choice, wanted: TurnFilter) -> list[Part]:
    parts = []
    if choice.state in ("all", "open"):
        parts.append(await _read_part(visit, "Open", wanted, only_open=True, before=choice.before))
    if choice.state in ("done", "false") or (choice.state == "all" and parts[0].inbox.next is None):
        labelling: Labelling = "false_alarm" if choice.state == "false" else "labelled"
        of_judge = replace(wanted, labelling=labelling, labelled_judge=EMERGENCY_JUDGE)
        name = "False alarms" if choice.state == "false" else "Done"
        parts.append(await _read_part(visit, name, of_judge, before=None if choice.state == "all" else choice.before))
    return parts


async def _read_part(
    visit: Visit, name: str, wanted: TurnFilter, *, only_open: bool = False, before: int | None = None
) -> Part:
    texts = visit.may("trace")
    inbox = await read_traces(
        visit.service, search_emergencies, wanted, only_open=only_open, before=before, limit=PAGE, texts=texts
    )
    contacts = {
        bot.name: list(bot.settings.emergency.contact.values()) if bot.settings.emergency else [] for bot in visit.bots
    }
    cards = [make_card(one, contacts.get(one.turn.line.chatbot, [])) for one in inbox.emergencies]
    return Part(name, inbox, cards)


async def show_item(visit: Visit) -> web.Response:
    """Show one item of the inbox."""
    turn_id = visit.request.query.get("turn", "")
    wanted = TurnFilter(chatbots=frozenset(visit.chatbots), id_begins=turn_id)
    try:
        cards = (await _read_part(visit, "", wanted)).cards if turn_id else []
    except NoTraces:
        cards = []
    card = next((one for one in cards if one.turn_id == turn_id), None)
    if card is None:
        raise web.HTTPNotFound
    _record_reading(visit, [card])
    return visit.render("emergencies/_item.html", card=card, choice=Choice())


async def count_open_ones(visit: Visit) -> web.Response:
    """Answer with the number of open ones, which every page shows."""
    return web.json_response({"count": await _count_open(visit)}, headers={"Cache-Control": "no-store"})


async def label_item(visit: Visit) -> web.Response:
    """Write down what a person says of an alarm, as a label of the judge."""
    form = await read_form(visit.request)
    trace = await _find_turn(visit, form)
    said = str(form.get("said", ""))
    alarm = "emergency" if "emergency" in (trace["outcome"], trace.get("would")) else "concern"
    verdict = VERDICTS[alarm].get(said)
    if verdict is None:
        raise BadRequest(f"An answer is one of {', '.join(VERDICTS[alarm])}.", param="said")
    label = Label(EMERGENCY_JUDGE, verdict, labelled=time.time())
    try:
        await read_traces(visit.service, add, trace["turn_id"], label)
    except NoTraces as error:
        raise StoreUnavailable from error
    return _changed(visit, form, trace["turn_id"], verdict)


async def undo_item(visit: Visit) -> web.Response:
    """Take a label back."""
    form = await read_form(visit.request)
    trace = await _find_turn(visit, form)
    try:
        await read_traces(visit.service, withdraw, trace["turn_id"], EMERGENCY_JUDGE)
    except NoTraces as error:
        raise StoreUnavailable from error
    return _changed(visit, form, trace["turn_id"], "none")


async def _find_turn(visit: Visit, form: Mapping[str, Any]) -> dict[str, Any]:
    """Return the turn that a form is about.

    Raises:
        web.HTTPNotFound: The visitor may see no such turn, or the emergency judge did not judge it.
        StoreUnavailable: The traces cannot be read.
    """
    try:
        trace = await read_traces(visit.service, read_turn, str(form.get("turn", "")), visit.chatbots)
    except NoTraces as error:
        raise StoreUnavailable from error
    if trace is None or not trace["emergency"]:
        raise web.HTTPNotFound
    return trace


def _changed(visit: Visit, form: Mapping[str, Any], turn_id: str, verdict: str) -> web.Response:
    record_action(
        visit.service, "console_label", visit.access.key, turn=turn_id, judge=EMERGENCY_JUDGE, verdict=verdict
    )
    visit.request.app[OPEN_COUNTS].clear()
    if "text/html" not in visit.request.headers.get(hdrs.ACCEPT, "text/html"):
        return web.Response(status=204)
    where = Choice.of(dict(parse_qsl(str(form.get("list", "")))), visit.chatbots)
    return visit.see_other(f"/console/emergencies?{where.query()}")


def _record_reading(visit: Visit, cards: list[AlarmCard]) -> None:
    read = [card.turn_id for card in cards if card.message or card.delivery.reply or card.delivery.key_text]
    if visit.may("trace") and read:
        record_action(visit.service, "console_read", visit.access.key, screen="emergencies", turns=read)


async def _count_open(visit: Visit) -> int:
    counts, chatbots = visit.request.app[OPEN_COUNTS], frozenset(visit.chatbots)
    if chatbots not in counts:
        try:
            counts[chatbots] = await read_traces(visit.service, count_open, chatbots)
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
