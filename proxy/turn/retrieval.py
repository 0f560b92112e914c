"""Which sources are in use: those long uncited go, those the question needs come, and those the chatbot asks for."""

from typing import Literal

from knowledge_base.selection import select
from proxy.traces.trace import SelectedSource
from proxy.turn.cases import history
from proxy.turn.delivery import Turn


async def retrieve(turn: Turn) -> None:
    """Bring the sources in use up to date: those long uncited go, those this question needs come."""
    bot, settings = turn.bot, turn.bot.settings.retrieval
    if bot.library is None or bot.lexical is None:
        return
    if bot.settings.kind == "wrapped" and turn.filter == "off":
        return  # the sources are evidence for judges alone
    turn.selected = True
    turn.in_use = {
        s: last
        for s, last in turn.conversation.sources.items()
        if s in bot.sections and turn.number - last <= settings.uncited_turns
    }
    if settings.selector == "lexical":
        chosen = bot.lexical.choose(turn.user_message, turn.earlier[-2:], settings.max_requests)
        turn.trace.selected = [SelectedSource(c.id, "lexical", c.reason) for c in chosen]
    else:
        said = [{"role": s.speaker, "content": s.text} for s in history(turn)]
        picked = await select(
            bot.models, settings.selector, turn.user_message, said, bot.lexical, settings.max_requests, turn.ledger
        )
        by: Literal["model", "lexical"] = "lexical" if picked.fallback else "model"
        turn.trace.selected = [SelectedSource(c.id, by, c.reason) for c in picked.choices]
        turn.trace.selection_note = f"fell back to words: {picked.fallback}" if picked.fallback else picked.reason
        turn.trace.invalid_ids = picked.invalid
    for source in turn.trace.selected:
        put_in(turn, source.id)


def put_in(turn: Turn, source: str) -> None:
    """Put a source into use; past the limit, the one longest uncited goes."""
    # It counts as uncited from this turn on, until a reply cites it.
    turn.in_use[source] = max(turn.in_use.get(source, 0), turn.number - 1)
    while len(turn.in_use) > turn.bot.settings.retrieval.max_sources:
        turn.in_use.pop(min((s for s in turn.in_use if s != source), key=turn.in_use.__getitem__))
