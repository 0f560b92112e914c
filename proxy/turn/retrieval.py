"""Which sources are in use: those long uncited go, those the question needs come, and those the chatbot asks for."""

from collections.abc import Mapping, Sequence
from typing import Literal

from knowledge_base.selection import select
from proxy.traces.trace import SelectedSource
from proxy.turn.cases import history
from proxy.turn.inputs import Turn
from proxy.turn.results import Retrieval


async def retrieve(turn: Turn) -> Retrieval | None:
    """Select the sources that a question needs; None where the turn uses none."""
    bot, settings = turn.bot, turn.bot.settings.retrieval
    if bot.library is None or bot.lexical is None:
        return None
    if bot.settings.kind == "wrapped" and turn.filter == "off":
        return None  # the sources are evidence for judges alone
    in_use = {
        source: last
        for source, last in turn.conversation.sources.items()
        if source in bot.sections and turn.number - last <= settings.uncited_turns
    }
    if settings.selector == "lexical":
        chosen = bot.lexical.choose(turn.user_message, turn.earlier[-2:], settings.max_requests)
        return _retrieval(turn, in_use, [SelectedSource(c.id, "lexical", c.reason) for c in chosen])
    messages = [{"role": s.speaker, "content": s.text} for s in history(turn)]
    selection = await select(
        bot.models, settings.selector, turn.user_message, messages, bot.lexical, settings.max_requests, turn.ledger
    )
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
    in_use = dict(before)
    for source in (one.id for one in selected):
        # It counts as uncited from this turn on, until a reply cites it.
        in_use[source] = max(in_use.get(source, 0), turn.number - 1)
        while len(in_use) > turn.bot.settings.retrieval.max_sources:
            in_use.pop(min((s for s in in_use if s != source), key=in_use.__getitem__))
    return Retrieval(in_use, selected, note, invalid_ids)
