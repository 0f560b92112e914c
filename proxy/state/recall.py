"""How a request finds the state of its conversation."""

import structlog

from proxy.state.conversation import Conversation, Identity
from proxy.state.conversation_store import ConversationStore, StateUnknown
from proxy.traces.trace import Recognition

log = structlog.get_logger()


async def recall(
    store: ConversationStore, identity: Identity, *, urgent: bool = False
) -> tuple[Conversation | None, Recognition]:
    """Return the state of a conversation, and how it was recognised.

    Args:
        urgent: In an emergency, a store that fails counts as one without a state.
    """
    for key in identity.lookups():
        try:
            conversation = await store.get(key)
        except StateUnknown:
            return None, "missed"
        except Exception as error:
            if not urgent:
                raise
            log.error("state of an emergency not found", error=type(error).__name__)
            return None, "missed"
        if conversation is not None and (identity.recognition(key) != "pair" or identity.matches(conversation)):
            return conversation, identity.recognition(key)
    new = identity.history_key is None or identity.explicit is not None
    return None, "fresh" if new else "missed"
