"""The knowledge pages: sections and question-answer pairs of a knowledge base, and questions without a source."""

import time
from collections.abc import Mapping

from aiohttp import web

from knowledge_base.library import Library
from proxy.console.admission import admit
from proxy.console.console_request import ConsoleRequest
from proxy.console.journal import record_action
from proxy.console.list_query import ListQuery, read_query
from proxy.console.pair_table import STATE_LABELS, STATES, PairTable, read_pair_table, select_pairs
from proxy.console.period import PERIOD_LABELS, PERIODS
from proxy.console.section_table import ORDERS, SHOWN, describe_review, make_rows, missing_sections, select_rows
from proxy.console.trace_reading import NoTraces, read_traces, run_query
from proxy.traces.counts import SectionUse, count_sections
from proxy.traces.fact_query import TurnFilter
from proxy.traces.search import Page, search_turns

HOME = "/console/knowledge"
TURNS, PAIRS = 20, 50
"""Turns or pairs per page."""
ALL = "all"
NO_USE = SectionUse(0, {}, {})


async def show_knowledge(console: ConsoleRequest) -> web.Response:
    """Show the sections of a chatbot and the questions without a source."""
    libraries = _libraries(console)
    if not libraries:
        return console.render("knowledge/none.html")
    query = _read_query(console, libraries)
    chatbot, since = query.get("chatbot"), _since(query)
    library = libraries[chatbot]
    use, trouble = NO_USE, None
    questions: Page | None = None
    try:
        use = await read_traces(console.service, count_sections, chatbot, since=since)
        no_source = TurnFilter(chatbots=frozenset({chatbot}), no_source=True, since=since)
        questions = await _read_turns(console, no_source, query.before)
    except NoTraces as error:
        trouble = error
    rows = make_rows(library, use)
    return console.render(
        "knowledge/index.html",
        query=query, libraries=libraries, library=library, use=use, rows=rows, questions=questions, trouble=trouble,
        selected=select_rows(rows, words=query.get("words"), shown=query.get("shown"), order=query.get("order")),
        missing=missing_sections(library, use), most=max([row.chosen for row in rows] + [row.cited for row in rows], default=0),
        shown=SHOWN, periods={**PERIOD_LABELS, ALL: "All time"}, pairs=await _read_pairs(console, chatbot),
    )  # fmt: skip


async def show_section(console: ConsoleRequest) -> web.Response:
    """Show a section and the turns whose replies cite it."""
    libraries = _libraries(console)
    query = _read_query(console, libraries)
    chatbot = console.request.query.get("chatbot", query.get("chatbot"))  # not one of another chatbot
    library = libraries.get(chatbot)
    section = library.get(console.request.query.get("id", "")) if library else None
    if library is None or section is None:
        raise web.HTTPNotFound
    turns: Page | None = None
    use, trouble = NO_USE, None
    try:
        use = await read_traces(console.service, count_sections, chatbot, since=_since(query))
        citing = TurnFilter(chatbots=frozenset({chatbot}), cited=section.id, since=_since(query))
        turns = await _read_turns(console, citing, query.before)
    except NoTraces as error:
        trouble = error
    ids = [source.id for source in library.sources]
    at = ids.index(section.id)
    return console.render(
        "knowledge/section.html",
        query=query, section=section, review=describe_review(section), use=use, turns=turns, trouble=trouble,
        periods=PERIOD_LABELS, previous=ids[at - 1] if at else None, next=ids[at + 1] if at + 1 < len(ids) else None,
    )  # fmt: skip


async def show_pairs(console: ConsoleRequest) -> web.Response:
    """Show the question-answer pairs of a chatbot's knowledge base."""
    libraries = _libraries(console)
    default = next(iter(libraries), "")
    chatbot = console.request.query.get("chatbot", default)  # not one of another chatbot
    table = await _read_pairs(console, chatbot) if chatbot in libraries else None
    if table is None:
        raise web.HTTPNotFound
    answers = {"chatbot": libraries, "words": None, "focus": table.foci, "state": STATES}
    query = read_query(console.request.query, answers, {"chatbot": default})
    selected = select_pairs(table.rows, words=query.get("words"), focus=query.get("focus"), state=query.get("state"))
    start = query.before or 0
    return console.render(
        "knowledge/pairs.html",
        query=query, table=table, selected=selected, page=selected[start : start + PAIRS], start=start, states=STATE_LABELS,
        library=libraries[chatbot], next=start + PAIRS if start + PAIRS < len(selected) else None,
    )  # fmt: skip


async def _read_pairs(console: ConsoleRequest, chatbot: str) -> PairTable | None:
    folder = console.service.chatbots[chatbot].settings.knowledge_base
    return None if folder is None else await run_query(read_pair_table, folder)


async def _read_turns(console: ConsoleRequest, turn_filter: TurnFilter, before: int | None) -> Page:
    texts = console.may("trace")
    page = await read_traces(console.service, search_turns, turn_filter, before=before, limit=TURNS, texts=texts)
    if texts and page.turns:
        turns = [one.line.turn_id for one in page.turns]
        record_action(console.service, "console_read", console.access.key, screen="knowledge", turns=turns)
    return page


def _read_query(console: ConsoleRequest, libraries: Mapping[str, Library]) -> ListQuery:
    """Return the query of the list of sections. Raises: BadRequest: the page of the list does not exist."""
    answers = {"chatbot": libraries, "period": (*PERIODS, ALL), "words": None, "shown": SHOWN, "order": ORDERS}
    defaults = {"chatbot": next(iter(libraries), ""), "period": "month", "shown": "all", "order": "cited"}
    return read_query(console.request.query, answers, defaults)


def _since(query: ListQuery) -> float:
    period = query.get("period")
    return 0.0 if period == ALL else time.time() - PERIODS[period].seconds


def _libraries(console: ConsoleRequest) -> dict[str, Library]:
    return {bot.name: bot.library for bot in console.bots if bot.library is not None}


ROUTES = [
    web.get(HOME, admit(show_knowledge)),
    web.get(f"{HOME}/section", admit(show_section)),
    web.get(f"{HOME}/pairs", admit(show_pairs)),
]
