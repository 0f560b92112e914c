"""The case that a reply makes for its judges."""

from collections.abc import Sequence
from dataclasses import dataclass

from judges.case import Case, HistoryMessage, Mode, modes_of, run_in_thread_if_long
from knowledge_base import citations
from knowledge_base.library import Source
from proxy.protocol.canonical import without_citation_lines
from proxy.traces.trace import Attempt
from proxy.turn.inputs import Turn
from proxy.turn.json_text import json_text

ASKED = 3
"""Sections that a question is taken to be about."""
HISTORY_FOR_JUDGES = 6
"""Earlier messages that a judge sees."""


@dataclass(frozen=True, slots=True)
class ReplyCase:
    """What a reply gives its judges."""

    case: Case
    citations: tuple[str, ...]
    """What it validly cites."""
    modes: frozenset[Mode]
    """The modes of judges that it calls for."""


def reply_case(turn: Turn, attempt: Attempt) -> ReplyCase:
    """Return what an attempt gives its judges."""
    sources, classes = _cited(turn, attempt)
    cited_ids = {source.id for source in sources}
    evidence = {one.source.id: one for one in turn.evidence}
    in_view = (*[one.source for one in evidence.values()], *turn.documents)
    settings, library = turn.bot.settings, turn.bot.library
    whole = library is not None and library.tokens <= settings.retrieval.evidence_tokens
    case = Case(
        turn.user_message,
        json_text(attempt.text).text if turn.request.wants_json and attempt.kind != "tool_calls" else attempt.text,
        history=history(turn),
        cited=sources,
        uncited=tuple(source for source in in_view if source.id not in cited_ids),
        by_own_words=_found_by_own_words(turn) - (cited_ids if turn.cites else frozenset()),
        screens_uncited=whole or bool(classes) or not sources,
        role=settings.role,
        topics=turn.bot.topics,
    )
    if settings.kind == "wrapped":  # it cites nothing itself: named are the sections that its words were found in
        sources = tuple(one for one in sources if one.is_document or evidence[one.id].by in ("model", "draft"))
    return ReplyCase(case, _named(sources, classes), modes_of(case, classes))


def _found_by_own_words(turn: Turn) -> frozenset[str]:
    """Return the sections in view that the question would not have found."""
    if turn.bot.library is None or not turn.bot.topics:
        return frozenset()
    before = "\n".join(message.text for message in history(turn)[-2:])
    by_question = {one.id for one in turn.bot.library.index.choose(turn.user_message, before, ASKED)}
    return frozenset(one.source.id for one in turn.evidence if one.by != "model") - by_question


async def read_case(turn: Turn, attempt: Attempt) -> ReplyCase:
    """Return what a whole reply gives its judges; of a long one, without keeping everybody waiting meanwhile."""
    return await run_in_thread_if_long(Case(turn.user_message, attempt.text), reply_case, turn, attempt)


def valid_citations(turn: Turn, attempt: Attempt) -> tuple[str, ...]:
    """Return what an attempt validly cites."""
    return _named(*_cited(turn, attempt))


def _cited(turn: Turn, attempt: Attempt) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """Return the sections and the classes that an attempt cites.

    Where there is no place for citations, as in tool calls or for a wrapped chatbot, all that it was given counts as cited.
    """
    if not turn.cites or attempt.kind == "tool_calls":
        return turn.sources, ()
    sources, classes, _ = citations.split(attempt.citations, turn.citable, turn.source_ids)
    return sources, classes


def _named(sources: Sequence[Source], classes: tuple[str, ...]) -> tuple[str, ...]:
    return (*[source.id for source in sources], *classes)


def history(turn: Turn) -> tuple[HistoryMessage, ...]:
    """Return the messages before the user's newest, as judges see them."""
    newest: list[HistoryMessage] = []
    for message in reversed(turn.request.messages):
        if message.is_reply:
            verified = turn.conversation.find_delivered(message) is not None
            newest.append(
                HistoryMessage(
                    "assistant", without_citation_lines(message.text) if verified else message.text, verified=verified
                )
            )
        elif message.role == "user" and newest:
            newest.append(HistoryMessage("user", message.text))
        if len(newest) == HISTORY_FOR_JUDGES:
            break
    return tuple(reversed(newest))
