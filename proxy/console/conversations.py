"""The conversations page: the list of turns, with search and filters. `turn_page.py` shows one turn."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from aiohttp import web

from judges.rules import RULES
from proxy.console import words
from proxy.console.admission import admit
from proxy.console.console_request import ConsoleRequest
from proxy.console.journal import record_action
from proxy.console.list_query import ListQuery
from proxy.console.trace_reading import NoTraces, read_traces
from proxy.console.turn_list_query import AGES, read_turn_query, to_filter
from proxy.protocol.errors import BadRequest
from proxy.traces.search import ListedTurn, Page, search_turns

PAGE = 50
"""Turns per page."""
EMPTY = Page([], None, 0, False, 0)


@dataclass(frozen=True, slots=True)
class Conversation:
    """The turns of one conversation on a page."""

    conversation_id: str
    turns: list[ListedTurn]
    """The newest first."""


async def show_conversations(console: ConsoleRequest) -> web.Response:
    """Show the list of turns."""
    texts = console.may("trace")
    trouble: NoTraces | None = None
    page, problem = EMPTY, ""
    query = ListQuery()
    try:
        query = read_turn_query(console.request.query)
        turn_filter = to_filter(query, console.chatbots, time.time(), words=texts)
        page = await read_traces(
            console.service, search_turns, turn_filter, before=query.before, limit=PAGE, texts=texts
        )
    except NoTraces as error:
        trouble = error
    except BadRequest as error:
        problem = error.message
    if texts and page.turns:
        record_action(console.service, "console_read", console.access.key, turns=len(page.turns))
    return console.render(
        "conversations/index.html",
        status=503 if trouble and trouble.failed else 400 if problem else 200,
        query=query,
        page=page,
        conversations=group_by_conversation(page.turns) if query.get("view") == "conversations" else [],
        trouble=trouble,
        problem=problem,
        texts=texts,
        judges=judge_names(console),
        rules=RULES,
        ages={name: period.label for name, period in AGES.items()},
        outcomes=words.OUTCOMES,
        words=words,
    )


def group_by_conversation(turns: Sequence[ListedTurn]) -> list[Conversation]:
    """Return the turns by their conversations, the one with the newest turn first."""
    conversations: dict[str, Conversation] = {}
    for turn in turns:
        name = turn.line.conversation_id
        conversations.setdefault(name, Conversation(name, [])).turns.append(turn)
    return list(conversations.values())


def judge_names(console: ConsoleRequest) -> list[str]:
    """Return the judges of the chatbots that the client may see."""
    return list(dict.fromkeys(name for bot in console.bots for name in bot.judges))


ROUTES = [web.get("/console/conversations", admit(show_conversations))]
