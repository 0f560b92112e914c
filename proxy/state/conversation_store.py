"""Stores conversation states, and finds the state of a request.

`LocalConversations` is the store of one process, redis_conversations.py the store for several.
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
    """The store does not answer. The turn continues without a state."""


class ConversationStore(Protocol):
    """A store of conversation states under opaque keys."""

    waits: bool
    """Whether reads and writes wait for I/O. Without waiting they cannot be interrupted."""
    failures: int
    """Number of failed reads and writes since the start."""

    async def get(self, key: bytes) -> Conversation | None:
        """Return the state stored under a key, or None if it is unknown or expired.

        Raises:
            StateUnknown: The store fails; do not look up further keys.
        """

    async def put(self, keys: Sequence[bytes], conversation: Conversation) -> None:
        """Store a state under several keys. An existing key gets the new state."""

    async def get_calls(self, keys: Sequence[bytes]) -> Sequence[DeliveredCall | None]:
        """Return the tool call stored under each key, or None.

        Raises:
            StateUnknown: The store fails.
        """

    async def put_calls(self, calls: Mapping[bytes, DeliveredCall]) -> None:
        """Store tool calls by their keys."""

    async def claim(self, key: bytes) -> bool:
        """Claim an action that must run only once. Return False if it was claimed before.

        Raises:
            Exception: The store does not answer. Do not run the action.
        """

    async def add_danger_marks(self, writer: bytes, marks: Sequence[str]) -> None:
        """Store marks of messages that mention danger (danger_marks.py). Only a writer's newest marks are kept."""

    async def danger_marks(self, writer: bytes) -> Sequence[str]:
        """Return the marks of a writer's messages that mention danger."""

    async def forget(self, conversation_id: str) -> int:
        """Delete all states and tool calls of a conversation. Return the number of deleted entries."""

    async def answers(self) -> bool:
        """Return whether the store answered within the last second. Log an outage."""

    async def close(self) -> None:
        """Close connections."""


async def recall(
    store: ConversationStore, identity: Identity, *, urgent: bool = False
) -> tuple[Conversation | None, Recognition]:
    """Return the stored state of a request's conversation (None: no state) and how it was found.

    Args:
        store: The store of states.
        identity: The keys of the request's conversation.
        urgent: Whether the request is an emergency. A failing store is then treated as a store without the state.

    Raises:
        Exception: The store fails, and `urgent` is false.
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
    """Return the stored records of the tool calls in a request, by the client's ids. Unknown calls are left out.

    Args:
        store: The store of states.
        identity: The keys of the request's conversation.
        urgent: As in `recall`.
    """
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
"""A state is stored under its history, its last exchange, and its conversation id."""


class LocalConversations:
    """Stores states in this process, within limits of number and age. The least recently used are dropped first."""

    waits = False

    def __init__(self, max_turns: int, max_age_s: float) -> None:
        self._states: TTLCache[bytes, Conversation] = _cache(max_turns, max_age_s)
        self._claims: TTLCache[bytes, bool] = _cache(max_turns, max_age_s)
        self._danger_marks: TTLCache[bytes, list[str]] = _cache(max_turns, max_age_s)
        self._calls = _call_cache(max_age_s)
        self.failures = 0

    def limit(self, max_turns: int, max_age_s: float) -> None:
        """Set the limits and drop entries above them. If the limits change, the age of each entry restarts."""
        states, claims, marks = (_cache(max_turns, max_age_s) for _ in range(3))
        if (states.maxsize, states.ttl) != (self._states.maxsize, self._states.ttl):
            states.update(self._states)  # the least recently used first
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
            self._states[key] = state  # restart its age at each use
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
"""Maximum size of all tool calls of a process. The least recently used are dropped first."""
CALL_OVERHEAD = 1_000
"""Estimated bytes of a stored tool call besides the fields that its model needs back."""


def _call_cache(max_age_s: float) -> TTLCache[bytes, DeliveredCall]:
    return TTLCache(MAX_CALL_BYTES, max_age_s, time.monotonic, lambda call: CALL_OVERHEAD + call.size)


def _cache(max_turns: int, max_age_s: float) -> TTLCache[bytes, Any]:
    return TTLCache(max_turns * KEYS_PER_TURN, max_age_s, time.monotonic)
