"""Where states of conversations are stored, and how a request finds its own.

`LocalConversations` is the store of one process; redis_conversations.py that of several.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import structlog
from cachetools import TTLCache

from proxy.state.conversation import Conversation, Identity
from proxy.state.danger_marks import MAX_MARKS
from proxy.state.delivered_calls import DeliveredCall
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

    async def get_calls(self, keys: Sequence[bytes]) -> Sequence[DeliveredCall | None]:
        """Return the tool calls kept under some keys. Raises: as `get`."""

    async def put_calls(self, calls: Mapping[bytes, DeliveredCall]) -> None:
        """Store tool calls by their keys."""

    async def claim(self, key: bytes) -> bool:
        """Claim something that is to be done once; False when it has been claimed already.

        Raises:
            Exception: Nobody can tell now; it is not to be done.
        """

    async def add_danger_marks(self, writer: bytes, marks: Sequence[str]) -> None:
        """Keep the marks of messages in which danger was heard (danger_marks.py), the newest of a writer."""

    async def danger_marks(self, writer: bytes) -> Sequence[str]:
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


async def recall_calls(
    store: ConversationStore, identity: Identity, *, urgent: bool = False
) -> Mapping[str, DeliveredCall]:
    """Return the tool calls of a request that this proxy delivered, by their ids. Args: urgent: as in `recall`."""
    if not identity.calls:
        return {}
    try:
        calls = await store.get_calls([*identity.calls.values()])
    except StateUnknown:
        return {}
    except Exception as error:
        if not urgent:
            raise
        log.error("tool calls of an emergency not found", error=type(error).__name__)
        return {}
    known = {ident: call for ident, call in zip(identity.calls, calls, strict=True) if call is not None}
    if len(known) < len(calls):
        log.info(
            "tool calls go upstream as the client sent them: their state is not known", calls=len(calls) - len(known)
        )
    return known


KEYS_PER_TURN = 3
"""A turn is stored under its history, its last exchange, and its conversation id."""


class LocalConversations:
    """Stores states in this process, within bounds of number and age: the longest unused go first."""

    waits = False

    def __init__(self, max_turns: int, max_age_s: float) -> None:
        self._states: TTLCache[bytes, Conversation] = _cache(max_turns, max_age_s)
        self._claims: TTLCache[bytes, bool] = _cache(max_turns, max_age_s)
        self._danger_marks: TTLCache[bytes, list[str]] = _cache(max_turns, max_age_s)
        self._calls = _call_cache(max_age_s)
        self.failures = 0

    def limit(self, max_turns: int, max_age_s: float) -> None:
        """Set the bounds: what is over them goes. If they differ from those before, the ages of states begin anew."""
        states, claims, marks = (_cache(max_turns, max_age_s) for _ in range(3))
        if (states.maxsize, states.ttl) != (self._states.maxsize, self._states.ttl):
            states.update(self._states)  # the longest unused first
            claims.update(self._claims)
            marks.update(self._danger_marks)
            calls = _call_cache(max_age_s)
            calls.update(self._calls)
            self._states, self._claims, self._danger_marks, self._calls = states, claims, marks, calls

    def __len__(self) -> int:
        return len(self._states)

    async def get(self, key: bytes) -> Conversation | None:
        state = self._states.get(key)
        if state is not None:
            self._states[key] = state  # its age counts from its last use
        return state

    async def put(self, keys: Sequence[bytes], conversation: Conversation) -> None:
        self._states.update(dict.fromkeys(keys, conversation))

    async def get_calls(self, keys: Sequence[bytes]) -> Sequence[DeliveredCall | None]:
        calls = [self._calls.get(key) for key in keys]
        self._calls.update({key: call for key, call in zip(keys, calls, strict=True) if call is not None})
        return calls

    async def put_calls(self, calls: Mapping[bytes, DeliveredCall]) -> None:
        self._calls.update(calls)

    async def claim(self, key: bytes) -> bool:
        first = key not in self._claims
        self._claims[key] = True
        return first

    async def add_danger_marks(self, writer: bytes, marks: Sequence[str]) -> None:
        self._danger_marks[writer] = [*dict.fromkeys((*self._danger_marks.get(writer, ()), *marks))][-MAX_MARKS:]

    async def danger_marks(self, writer: bytes) -> Sequence[str]:
        return self._danger_marks.get(writer, ())

    async def forget(self, conversation_id: str) -> int:
        entries = 0
        for kept in (self._states, self._calls):
            keys = [key for key, entry in kept.items() if entry.id == conversation_id]
            for key in keys:
                kept.pop(key, None)
            entries += len(keys)
        return entries

    async def answers(self) -> bool:
        return True

    async def close(self) -> None:
        """Nothing to close."""


MAX_CALL_BYTES = 64 * 2**20
"""What all tool calls of a process may take; the longest unused go first."""
CALL_OVERHEAD = 1_000
"""Bytes that a tool call takes besides what its model wants back."""


def _call_cache(max_age_s: float) -> TTLCache[bytes, DeliveredCall]:
    return TTLCache(MAX_CALL_BYTES, max_age_s, time.monotonic, lambda call: CALL_OVERHEAD + call.size)


def _cache(max_turns: int, max_age_s: float) -> TTLCache[bytes, Any]:
    return TTLCache(max_turns * KEYS_PER_TURN, max_age_s, time.monotonic)
