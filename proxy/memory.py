"""Where conversations are remembered. One store for one process here; a shared one (redis_memory.py) has the same methods."""

import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Protocol

from proxy.conversation import Conversation


class Unknown(Exception):
    """The store does not answer, and a turn goes on without it."""


class Memory(Protocol):
    """A store of conversation states under opaque keys."""

    waits: bool
    """Whether it waits for anything when it reads and writes; one that does not cannot be interrupted."""
    failures: int
    """Reads and writes that failed since the start."""

    async def get(self, key: str) -> Conversation | None:
        """Return the state kept under a key, or None when there is none or it has expired.

        Raises:
            Unknown: Nobody can tell now: asking for further keys would only take time.
        """

    async def put(self, keys: Sequence[str], conversation: Conversation) -> None:
        """Keep a state under several keys. A key that is taken gets the new state."""

    async def forget(self, conversation_id: str) -> int:
        """Forget all states of a conversation, whoever it is of, and return under how many keys they were."""

    async def answers(self) -> bool:
        """Tell whether the store answers, or did so a moment ago; tell the log when it does not."""

    async def close(self) -> None:
        """Let go of what the store holds."""


class ProcessMemory:
    """Keeps states in this process, within a bound of age and number: the longest unused goes first."""

    waits = False

    def __init__(self, max_turns: int, max_age_s: float) -> None:
        self.limit(max_turns, max_age_s)
        self._states: OrderedDict[str, tuple[float, Conversation]] = OrderedDict()
        self.failures = 0

    def limit(self, max_turns: int, max_age_s: float) -> None:
        """Set the bounds; what is over them goes with the next state that comes."""
        self._max = max_turns * KEYS_PER_TURN
        self._max_age_s = max_age_s

    def __len__(self) -> int:
        return len(self._states)

    async def get(self, key: str) -> Conversation | None:
        kept = self._states.get(key)
        if kept is None or kept[0] < time.monotonic() - self._max_age_s:
            return None
        self._states[key] = (time.monotonic(), kept[1])
        self._states.move_to_end(key)
        return kept[1]

    async def put(self, keys: Sequence[str], conversation: Conversation) -> None:
        kept = (now := time.monotonic(), conversation)  # one for all keys
        for key in keys:
            self._states[key] = kept
            self._states.move_to_end(key)
        while len(self._states) > self._max or self._oldest() < now - self._max_age_s:
            self._states.popitem(last=False)

    async def forget(self, conversation_id: str) -> int:
        keys = [key for key, (_, state) in self._states.items() if state.id == conversation_id]
        for key in keys:
            del self._states[key]
        return len(keys)

    async def answers(self) -> bool:
        return True

    async def close(self) -> None:
        """Nothing to let go of."""

    def _oldest(self) -> float:
        return next(iter(self._states.values()))[0] if self._states else float("inf")


KEYS_PER_TURN = 3
"""A turn is kept under its history, its last exchange, and its conversation id."""
