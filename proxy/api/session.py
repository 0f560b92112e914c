"""Recall and remember: how a turn finds the state of its conversation, and leaves a new one."""

import asyncio

import structlog

from proxy.api.reply import shown
from proxy.state.conversation import Conversation, Identity
from proxy.state.conversation_store import ConversationStore, StateUnknown
from proxy.traces.trace import HowFound
from proxy.turn.delivery import Answer, Delivery, Turn
from proxy.wire.canonical import digest, fold

log = structlog.get_logger()


async def recall(
    store: ConversationStore, identity: Identity, *, urgent: bool = False
) -> tuple[Conversation | None, HowFound]:
    """Find what is remembered of a conversation, and say how it was found.

    Args:
        urgent: The emergency text is sent whatever else fails: a store that does not answer has nothing.
    """
    for key in identity.lookups():
        try:
            found = await store.get(key)
        except StateUnknown:
            return None, "missed"
        except Exception as error:
            if not urgent:
                raise
            log.error("state of an emergency not found", error=type(error).__name__)
            return None, "missed"
        if found is not None and (identity.how(key) != "pair" or identity.may_be(found)):
            return found, identity.how(key)
    new = identity.history_key is None or identity.explicit is not None
    return None, "fresh" if new else "missed"


async def remember(store: ConversationStore, turn: Turn, identity: Identity, answer: Answer) -> None:
    """Keep the state that each choice leads to, also when the client leaves meanwhile."""
    keeping = _keep(store, turn, identity, answer)
    await (asyncio.shield(keeping) if store.waits else keeping)


async def _keep(store: ConversationStore, turn: Turn, identity: Identity, answer: Answer) -> None:
    """Keep the state that each choice leads to. Mere tool calls lead to none: the turn goes on with their results."""
    for delivery in answer.deliveries:
        if delivery.text is None and not delivery.refused:
            continue
        text = shown(turn, delivery)
        said = None if text is None else digest(fold(text))
        after = state_after(turn, identity, delivery, said)
        try:
            await store.put(identity.keys_after(said, after.id), after)
        except Exception as error:
            if delivery.outcome != "emergency":
                raise
            # The emergency text is sent whatever else fails.
            log.error("state of an emergency not kept", error=type(error).__name__)


def state_after(turn: Turn, identity: Identity, delivery: Delivery, said: str | None) -> Conversation:
    """Return the state of the conversation after a delivery.

    Args:
        said: The hash of its text.
    """
    before, settings = turn.conversation, turn.bot.settings
    lasts = settings.warning_turns
    if delivery.outcome == "emergency" and settings.emergency is not None:
        lasts = settings.emergency.remember_turns
    warnings = before.warned(delivery.warnings, turn.number, lasts)
    fresh = dict(delivery.warnings)
    turn.trace.warnings_added += [w.shown(settings.role) for w in warnings if w.rule in fresh]
    in_use = turn.in_use if turn.selected else before.sources
    sources = {s: turn.number if s in delivery.citations else last for s, last in in_use.items()}
    after = Conversation(before.id, turn.number, warnings, sources, before.delivered, before.pairs)
    if said is None:
        return after
    return after.after(turn.number, said, delivery.citations, identity.pair_after(said))
