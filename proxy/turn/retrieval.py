"""Which sections a turn works with: those that the chatbot is given, and those that its reply is held against."""

from collections.abc import Mapping, Sequence
from typing import Literal

from judges.case import Case
from knowledge_base.evidence import Evidence, find_by_quotes, find_evidence
from knowledge_base.library import Library
from knowledge_base.selection import Selection, select
from proxy.traces.trace import SelectedSource
from proxy.turn.cases import history
from proxy.turn.inputs import Turn
from proxy.turn.results import Retrieval


async def retrieve(turn: Turn) -> Retrieval | None:
    """Select the sections that a guarded chatbot is given. A wrapped one is given none: None."""
    bot, settings = turn.bot, turn.bot.settings.retrieval
    if bot.library is None or bot.settings.kind == "wrapped":
        return None
    in_use = {
        source: last
        for source, last in turn.conversation.sources.items()
        if source in bot.sections and turn.number - last <= settings.uncited_turns
    }
    if settings.selector == "lexical":
        chosen = bot.library.index.choose(turn.user_message, _exchange_before(turn), settings.max_requests)
        return _retrieval(turn, in_use, [SelectedSource(c.id, "lexical", c.reason) for c in chosen])
    selection = await _ask_selector(turn, bot.library)
    by: Literal["model", "lexical"] = "lexical" if selection.fallback else "model"
    note = f"fell back to words: {selection.fallback}" if selection.fallback else selection.reason
    return _retrieval(
        turn, in_use, [SelectedSource(c.id, by, c.reason) for c in selection.choices], note, selection.invalid
    )


def retrieve_requested(turn: Turn, sources: Sequence[str]) -> Retrieval:
    """Put into use what the chatbot has asked for."""
    return _retrieval(
        turn, turn.in_use or {}, [SelectedSource(s, "chatbot", "asked for in its reply") for s in sources]
    )


def _retrieval(
    turn: Turn, before: Mapping[str, int], selected: Sequence[SelectedSource], note: str = "", invalid_ids: int = 0
) -> Retrieval:
    """Put sources into use one by one; past the limit, the one longest uncited goes."""
    in_use, max_sources = dict(before), turn.bot.settings.retrieval.max_sources
    for source in (one.id for one in selected):
        # It counts as uncited from this turn on, until a reply cites it.
        in_use[source] = max(in_use.get(source, 0), turn.number - 1)
        while len(in_use) > max_sources:
            in_use.pop(min((s for s in in_use if s != source), key=in_use.__getitem__))
    while len(in_use) > max_sources:  # those that the last reply came to cite without having been given them
        in_use.pop(min(in_use, key=in_use.__getitem__))
    return Retrieval(in_use, selected, note, invalid_ids)


async def add_evidence(turn: Turn, draft: str) -> Turn:
    """Return the turn with the sections that a draft is held against. A model that selects sections sees the draft of a wrapped
    chatbot, which has been given none."""
    library, settings = turn.bot.library, turn.bot.settings.retrieval
    if library is None or not draft:
        return turn
    selection, wrapped = Selection(()), turn.bot.settings.kind == "wrapped"
    if wrapped and settings.selector != "lexical" and library.tokens > settings.evidence_tokens:
        with turn.step("select"):
            selection = await _ask_selector(turn, library, draft)
    before, budget = _exchange_before(turn), settings.evidence_tokens
    evidence = find_evidence(library, draft, turn.user_message, before, budget, selection.choices, fill=wrapped)
    return turn.with_evidence(evidence)


def look_up_quotes(turn: Turn, case: Case, quotes: Sequence[str]) -> list[Evidence]:
    """Return sections for what a judge flagged that are not in view yet."""
    if turn.bot.library is None:
        return []
    seen = {source.id for source in case.sources}
    return find_by_quotes(turn.bot.library, quotes, seen, turn.bot.settings.retrieval.evidence_tokens)


async def _ask_selector(turn: Turn, library: Library, draft: str = "") -> Selection:
    settings = turn.bot.settings.retrieval
    messages = [{"role": s.speaker, "content": s.text} for s in history(turn)]
    return await select(
        turn.bot.models, settings.selector, turn.user_message, messages, library.index, settings.max_requests, turn.ledger,
        draft=draft,
    )  # fmt: skip


def _exchange_before(turn: Turn) -> str:
    """Return the last user message and the reply to it; empty in the first turn."""
    return "\n".join(message.text for message in history(turn)[-2:])
