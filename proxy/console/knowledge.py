"""Knowledge: the sections of a chatbot's knowledge base, how often they are used, and the questions that found none."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from aiohttp import web

from knowledge_base.library import Library
from proxy.console.admission import admit
from proxy.console.journal import record_action
from proxy.console.period import PERIOD_LABELS, PERIODS
from proxy.console.section_table import ORDERS, SHOWN, describe_review, make_rows, missing_sections, select_rows
from proxy.console.trace_reading import NoTraces, read_traces
from proxy.console.visit import Visit
from proxy.traces.counts import SectionUse, count_sections
from proxy.traces.fact_query import TurnFilter
from proxy.traces.search import Page, search_turns

HOME = "/console/knowledge"
TURNS = 20
"""Turns of a page of them."""
ALL = "all"
NO_USE = SectionUse(0, {}, {})


@dataclass(frozen=True, slots=True)
class Choice:
    """What somebody wants to see."""

    chatbot: str
    period: str
    words: str
    shown: str
    order: str
    before: int | None = None

    @classmethod
    def of(cls, query: Mapping[str, str], chatbots: list[str]) -> "Choice":
        """Read a query; what is not one of the answers counts as not given."""
        given = {name: query.get(name, "") for name in ("chatbot", "period", "words", "shown", "order", "before")}
        return cls(
            chatbot=given["chatbot"] if given["chatbot"] in chatbots else chatbots[0],
            period=given["period"] if given["period"] in (*PERIODS, ALL) else "month",
            words=given["words"][:200],
            shown=given["shown"] if given["shown"] in SHOWN else "all",
            order=given["order"] if given["order"] in ORDERS else "cited",
            before=int(given["before"]) if given["before"].isdecimal() and len(given["before"]) < 20 else None,
        )

    @property
    def since(self) -> float:
        return 0.0 if self.period == ALL else time.time() - PERIODS[self.period].seconds

    def link(self, **changes: str) -> str:
        """Return the address of the list, with changes."""
        given = {name: getattr(self, name) for name in ("chatbot", "period", "words", "shown", "order")}
        return f"{HOME}?{urlencode({name: value for name, value in {**given, **changes}.items() if value})}"

    def section_link(self, section: str) -> str:
        """Return the address of a section's page."""
        return f"{HOME}/section?{urlencode({'chatbot': self.chatbot, 'id': section, 'period': self.period})}"


async def show_knowledge(visit: Visit) -> web.Response:
    """Show the sections of a chatbot, and the questions that found none."""
    libraries = _libraries(visit)
    if not libraries:
        return visit.render("knowledge/none.html")
    choice = Choice.of(visit.request.query, [*libraries])
    library = libraries[choice.chatbot]
    use, trouble = NO_USE, None
    questions: Page | None = None
    try:
        use = await read_traces(visit.service, count_sections, choice.chatbot, since=choice.since)
        no_source = TurnFilter(chatbots=frozenset({choice.chatbot}), no_source=True, since=choice.since)
        questions = await _read_turns(visit, no_source, choice.before)
    except NoTraces as error:
        trouble = error
    rows = make_rows(library, use)
    return visit.render(
        "knowledge/index.html",
        choice=choice, libraries=libraries, library=library, use=use, rows=rows, questions=questions, trouble=trouble,
        selected=select_rows(rows, words=choice.words, shown=choice.shown, order=choice.order),
        missing=missing_sections(library, use), most=max([row.chosen for row in rows] + [row.cited for row in rows], default=0),
        shown=SHOWN, periods={**PERIOD_LABELS, ALL: "time that is kept"},
    )  # fmt: skip


async def show_section(visit: Visit) -> web.Response:
    """Show one section, and the turns whose replies cite it."""
    libraries = _libraries(visit)
    library = libraries.get(visit.request.query.get("chatbot", ""))
    section = library.get(visit.request.query.get("id", "")) if library else None
    if library is None or section is None:
        raise web.HTTPNotFound
    choice = Choice.of(visit.request.query, [*libraries])
    turns: Page | None = None
    use, trouble = NO_USE, None
    try:
        use = await read_traces(visit.service, count_sections, choice.chatbot, since=choice.since)
        citing = TurnFilter(chatbots=frozenset({choice.chatbot}), cited=section.id, since=choice.since)
        turns = await _read_turns(visit, citing, choice.before)
    except NoTraces as error:
        trouble = error
    ids = [source.id for source in library.sources]
    at = ids.index(section.id)
    return visit.render(
        "knowledge/section.html",
        choice=choice, section=section, review=describe_review(section), use=use, turns=turns, trouble=trouble,
        periods=PERIOD_LABELS, previous=ids[at - 1] if at else None, next=ids[at + 1] if at + 1 < len(ids) else None,
    )  # fmt: skip


async def _read_turns(visit: Visit, wanted: TurnFilter, before: int | None) -> Page:
    texts = visit.may("trace")
    page = await read_traces(visit.service, search_turns, wanted, before=before, limit=TURNS, texts=texts)
    if texts and page.turns:
        turns = [one.line.turn_id for one in page.turns]
        record_action(visit.service, "console_read", visit.access.key, screen="knowledge", turns=turns)
    return page


def _libraries(visit: Visit) -> dict[str, Library]:
    return {bot.name: bot.library for bot in visit.bots if bot.library is not None}


ROUTES = [
    web.get(HOME, admit(show_knowledge)),
    web.get(f"{HOME}/section", admit(show_section)),
]
