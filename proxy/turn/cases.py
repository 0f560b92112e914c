"""The case that a reply makes for its judges."""

from dataclasses import dataclass

from judges import offload
from judges.case import Case, HistoryMessage
from judges.modes import Mode, modes_of
from judges.phrases import admits
from judges.sentences import normalise, sentences
from knowledge_base import citations
from knowledge_base.library import Source
from proxy.traces.trace import Attempt
from proxy.turn.inputs import Turn
from proxy.turn.json_text import json_text
from proxy.wire.canonical import without_citation_lines

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
    silent = "not_in_sources" in classes or _says_silent(attempt.text)
    case = Case(
        turn.user_message,
        json_text(attempt.text).text if turn.request.wants_json and attempt.kind != "tool_calls" else attempt.text,
        history=history(turn),
        cited=sources,
        uncited=tuple(s for s in turn.sources if s not in sources) if silent else (),
        role=turn.bot.settings.role,
        topics=turn.bot.topics,
    )
    return ReplyCase(case, _named(sources, classes), modes_of(case, classes))


def _says_silent(text: str) -> bool:
    """Tell whether a reply says that its sources do not cover something: those that it does not cite may tell otherwise."""
    return any(admits(sentence.text.lower()) == "clear" for sentence in sentences(normalise(text)))


async def read_case(turn: Turn, attempt: Attempt) -> ReplyCase:
    """Return what a whole reply gives its judges; of a long one, without keeping everybody waiting meanwhile."""
    return await offload.run_in_thread_if_long(Case(turn.user_message, attempt.text), reply_case, turn, attempt)


def valid_citations(turn: Turn, attempt: Attempt) -> tuple[str, ...]:
    """Return what an attempt validly cites."""
    return _named(*_cited(turn, attempt))


def _cited(turn: Turn, attempt: Attempt) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """Return the sections and the classes that an attempt cites.

    Where there is no place for citations, as in tool calls, the sections in use count as cited.
    """
    if not turn.cites or attempt.kind == "tool_calls":
        return turn.sources, ()
    sources, classes, _ = citations.split(attempt.citations, turn.citable, turn.source_ids)
    return sources, classes


def _named(sources: tuple[Source, ...], classes: tuple[str, ...]) -> tuple[str, ...]:
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
