"""How a request finds the state of its conversation."""

import structlog

from proxy.state.conversation import Conversation, Identity
from proxy.state.conversation_store import ConversationStore, StateUnknown
from proxy.traces.trace import HowFound

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
