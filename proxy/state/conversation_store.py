"""Where conversations are remembered. One store for one process here; a shared one (redis_memory.py) has the same methods."""

import time
from collections import deque
from collections.abc import Sequence
from typing import Protocol

from proxy.state.conversation import Conversation
from proxy.state.generation import Generation


class Unknown(Exception):
    """The store does not answer, and a turn goes on without it."""


class Memory(Protocol):
    """A store of conversation states under opaque keys."""

    waits: bool
    """Whether it waits for anything when it reads and writes; one that does not cannot be interrupted."""
    failures: int
    """Reads and writes that failed since the start."""

    async def get(self, key: bytes) -> Conversation | None:
        """Return the state kept under a key, or None when there is none or it has expired.

        Raises:
            Unknown: Nobody can tell now: asking for further keys would only take time.
        """

    async def put(self, keys: Sequence[bytes], conversation: Conversation) -> None:
        """Keep a state under several keys. A key that is taken gets the new state."""

    async def forget(self, conversation_id: str) -> int:
        """Forget all states of a conversation, whoever it is of, and return under how many keys they were."""

    async def answers(self) -> bool:
        """Tell whether the store answers, or did so a moment ago; tell the log when it does not."""

    async def close(self) -> None:
        """Let go of what the store holds."""


KEYS_PER_TURN = 3
"""A turn is kept under its history, its last exchange, and its conversation id."""
GENERATIONS = 16


class ProcessMemory:
    """Keeps states in this process, within a bound of age and number: the longest unused go first.

    What is used goes to the newest of some generations. When that is full, or old, the next one begins, and what nobody has used
    meanwhile goes with the oldest. So no state has a time and a place in a row of its own, which would take more memory than
    the state. What this costs: the bound of age may come a sixteenth early, and of a large `max_turns` the last seven eighths
    are sure.
    """

    waits = False

    def __init__(self, max_turns: int, max_age_s: float) -> None:
        self.limit(max_turns, max_age_s)
        self._generations = deque([Generation(time.monotonic(), self._room)])
        """Oldest first."""
        self.failures = 0

    def limit(self, max_turns: int, max_age_s: float) -> None:
        """Set the bounds; what is over them goes as new states come."""
        self._most = max_turns * KEYS_PER_TURN
        self._room = max(1, max_turns // GENERATIONS) * KEYS_PER_TURN
        """Keys of one generation."""
        self._max_age_s = max_age_s

    def __len__(self) -> int:
        return sum(map(len, self._generations))

    async def get(self, key: bytes) -> Conversation | None:
        now = time.monotonic()
        for generation in reversed(self._generations):
            packed = generation.get(key)
            if packed is not None:
                if generation.began < now - self._max_age_s:
                    return None
                if generation is not self._newest(now, 0):
                    generation.drop(key)
                    self._newest(now, 1).put([key], packed)
                return Conversation.unpacked(packed)
        return None

    async def put(self, keys: Sequence[bytes], conversation: Conversation) -> None:
        self._newest(time.monotonic(), len(keys)).put(keys, conversation.packed())

    async def forget(self, conversation_id: str) -> int:
        named = conversation_id.encode(errors="surrogatepass")  # as it stands in what is packed

        def is_meant(packed: bytes) -> bool:
            return Conversation.unpacked(packed).id == conversation_id

        return len(set().union(*[generation.forget(named, is_meant) for generation in self._generations]))

    async def answers(self) -> bool:
        return True

    async def close(self) -> None:
        """Nothing to let go of."""

    def _newest(self, now: float, keys: int) -> Generation:
        """Return the newest generation, in which some keys have room; begin one if the last is full or old."""
        newest = self._generations[-1]
        if min(newest.room, self._room - len(newest)) < keys or newest.began < now - self._max_age_s / GENERATIONS:
            newest = Generation(now, self._room)
            kept = len(self)
            most = self._most // self._room + GENERATIONS  # what was put again, or went on to a newer one, leaves gaps
            while self._generations and (
                kept + self._room > self._most
                or len(self._generations) >= most
                or self._generations[0].began < now - self._max_age_s
            ):
                kept -= len(self._generations.popleft())
            self._generations.append(newest)
        return newest
