"""Where states of conversations are stored, and how a request finds its own.

`LocalConversations` is the store of one process; redis_conversations.py that of several.
"""

import time
from collections.abc import Sequence
from typing import Any, Protocol

import structlog
from cachetools import TTLCache

from proxy.state.conversation import Conversation, Identity
from proxy.state.heard import MAX_MARKS
from proxy.traces.trace import Recognition

log = structlog.get_logger()


class StateUnknown(Exception):
    """The store does not answer, and a turn goes on without it."""


class ConversationStore(Protocol):
    """A store of conversation states under opaque keys."""

    waits: bool
    """Whether it waits for anything when it reads and writes; one that does not cannot be interrupted."""
    failures: int
    """Reads and writes that failed since the start."""

    async def get(self, key: bytes) -> Conversation | None:
        """Return the state stored under a key, or None when there is none or it has expired.

        Raises:
            StateUnknown: The store fails; do not ask for further keys.
        """

    async def put(self, keys: Sequence[bytes], conversation: Conversation) -> None:
        """Store a state under several keys. A key that is taken gets the new state."""

    async def claim(self, key: bytes) -> bool:
        """Claim something that is to be done once; False when it has been claimed already.

        Raises:
            Exception: Nobody can tell now; it is not to be done.
        """

    async def add_heard(self, writer: bytes, marks: Sequence[str]) -> None:
        """Keep the marks of messages in which danger was heard (heard.py), the newest of a writer."""

    async def heard(self, writer: bytes) -> Sequence[str]:
        """Return the marks of a writer's messages in which danger was heard."""

    async def forget(self, conversation_id: str) -> int:
        """Delete a conversation's states, of any key; return the number of entries."""

    async def answers(self) -> bool:
        """Return whether the store answers, or did so a moment ago; log when it does not."""

    async def close(self) -> None:
        """Close connections."""


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


KEYS_PER_TURN = 3
"""A turn is stored under its history, its last exchange, and its conversation id."""


class LocalConversations:
    """Stores states in this process, within bounds of number and age: the longest unused go first."""

    waits = False

    def __init__(self, max_turns: int, max_age_s: float) -> None:
        self._states: TTLCache[bytes, Conversation] = _cache(max_turns, max_age_s)
        self._claims: TTLCache[bytes, bool] = _cache(max_turns, max_age_s)
        self._heard: TTLCache[bytes, list[str]] = _cache(max_turns, max_age_s)
        self.failures = 0

    def limit(self, max_turns: int, max_age_s: float) -> None:
        """Set the bounds: what is over them goes. If they differ from those before, the ages of states begin anew."""
        states, claims, heard = (_cache(max_turns, max_age_s) for _ in range(3))
        if (states.maxsize, states.ttl) != (self._states.maxsize, self._states.ttl):
            states.update(self._states)  # the longest unused first
            claims.update(self._claims)
            heard.update(self._heard)
            self._states, self._claims, self._heard = states, claims, heard

    def __len__(self) -> int:
        return len(self._states)

    async def get(self, key: bytes) -> Conversation | None:
        state = self._states.get(key)
        if state is not None:
            self._states[key] = state  # its age counts from its last use
        return state

    async def put(self, keys: Sequence[bytes], conversation: Conversation) -> None:
        self._states.update(dict.fromkeys(keys, conversation))

    async def claim(self, key: bytes) -> bool:
        first = key not in self._claims
        self._claims[key] = True
        return first

    async def add_heard(self, writer: bytes, marks: Sequence[str]) -> None:
        self._heard[writer] = [*dict.fromkeys((*self._heard.get(writer, ()), *marks))][-MAX_MARKS:]

    async def heard(self, writer: bytes) -> Sequence[str]:
        return self._heard.get(writer, ())

    async def forget(self, conversation_id: str) -> int:
        keys = [key for key, state in self._states.items() if state.id == conversation_id]
        for key in keys:
            self._states.pop(key, None)
        return len(keys)

    async def answers(self) -> bool:
        return True

    async def close(self) -> None:
        """Nothing to close."""


def _cache(max_turns: int, max_age_s: float) -> TTLCache[bytes, Any]:
    return TTLCache(max_turns * KEYS_PER_TURN, max_age_s, time.monotonic)
