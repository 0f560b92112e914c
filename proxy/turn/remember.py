"""What a turn leaves behind in the state of its conversation."""

import asyncio
from itertools import takewhile

import structlog

from proxy.protocol.canonical import digest, fold
from proxy.state.conversation import CarriedWarning, Conversation, Identity
from proxy.state.conversation_store import ConversationStore
from proxy.state.delivered_calls import DeliveredCall, delivered_call
from proxy.state.heard import mark_message, writer_key
from proxy.turn.delivered_text import delivered_text
from proxy.turn.inputs import Turn
from proxy.turn.results import Answer, Delivery

log = structlog.get_logger()


async def remember(store: ConversationStore, turn: Turn, identity: Identity, answer: Answer) -> list[CarriedWarning]:
    """Keep the state that each choice leads to, also when the client leaves meanwhile; return the warnings that arose."""
    keeping = _keep(store, turn, identity, answer)
    return await (asyncio.shield(keeping) if store.waits else keeping)


async def _keep(store: ConversationStore, turn: Turn, identity: Identity, answer: Answer) -> list[CarriedWarning]:
    """Keep the state that each choice leads to. Mere tool calls lead to none: the turn goes on with their results."""
    added: list[CarriedWarning] = []
    if calls := _delivered_calls(turn, identity, answer):
        await store.put_calls(calls)
    for delivery in answer.deliveries:
        if delivery.text is None and not delivery.refused:
            continue
        text = delivered_text(turn, delivery)
        reply = None if text is None else digest(fold(text))
        after = state_after(turn, identity, delivery, reply)
        rules = dict(delivery.warnings)
        added += [warning for warning in after.warnings if warning.rule in rules]
        try:
            await store.put(identity.keys_after(reply, after.id), after)
        except Exception as error:
            if delivery.outcome != "emergency":
                raise
            # The emergency text is sent whatever else fails.
            log.error("state of an emergency not kept", error=type(error).__name__)
    return added


async def remember_danger(store: ConversationStore, turn: Turn) -> None:
    """Keep marks of what the user said, if danger was heard in it: a chat application may quote it in a prompt of its own."""
    if turn.task is not None or not turn.results.emergency.alarms:
        return
    writer = writer_key(turn.principal.key_id, turn.principal.user)
    messages = takewhile(lambda message: not message.is_reply, reversed(turn.request.messages))
    said = dict.fromkeys((turn.user_message, *(message.text for message in messages if message.role == "user")))
    try:
        await store.add_heard(writer, [mark for text in said if (mark := mark_message(writer, text)) is not None])
    except Exception as error:
        # The emergency text is sent whatever else fails; without its mark a quoted message is a concern.
        log.error("marks of an emergency not kept", error=type(error).__name__)


def _delivered_calls(turn: Turn, identity: Identity, answer: Answer) -> dict[bytes, DeliveredCall]:
    """Return what to keep of the tool calls that leave; of their message's fields, with the first of its calls."""
    kept: dict[bytes, DeliveredCall] = {}
    for delivery in answer.deliveries:
        message = delivery.message
        for call in delivery.calls:
            if call.id:
                known = delivered_call(turn.conversation.id, call.name, call.arguments, call.upstream, message)
                kept[identity.call_key(call.id)], message = known, {}
    return kept


def state_after(turn: Turn, identity: Identity, delivery: Delivery, reply: str | None) -> Conversation:
    """Return the state of the conversation after a delivery.

    Args:
        turn: The turn.
        identity: What the conversation is recognised by.
        delivery: What was delivered.
        reply: The hash of its text; None: it has none.
    """
    before, settings = turn.conversation, turn.bot.settings
    lasts = settings.warning_turns
    if delivery.outcome == "emergency" and settings.emergency is not None:
        lasts = settings.emergency.remember_turns
    warnings = before.add_warnings(delivery.warnings, turn.number, lasts)
    in_use = before.sources if delivery.in_use is None else delivery.in_use
    cited = delivery.citations if turn.cites else ()  # also what the refiner was shown and the chatbot was not
    sources = {**in_use, **{source: turn.number for source in cited if source in turn.bot.sections}}
    after = Conversation(before.id, turn.number, warnings, sources, before.delivered, before.pairs)
    if reply is None:
        return after
    return after.after_reply(turn.number, reply, tuple(delivery.citations), identity.pair_after(reply))
