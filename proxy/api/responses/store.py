"""Stores responses, which later requests continue with `previous_response_id`, in this process. `redis_store.py`: in Redis."""

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

import orjson

from models.engine import Body
from proxy.protocol.errors import ResponseNotFound

MAX_BYTES = 32 * 2**20
"""Limit of all stored responses. Needed because texts and images, unlike conversation states, have no size limit."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A stored response, with the messages of its turn."""

    id: str
    user: str
    """Its user, if one key serves several users."""
    previous: str | None
    """The response that it continues."""
    messages: bytes
    """JSON: the messages of its input, and the reply."""
    body: bytes
    """JSON: the response object."""
    conversation: str = ""
    """Id of its conversation, or the id's hash when read from Redis; empty: none."""

    @property
    def size(self) -> int:
        return len(self.messages) + len(self.body)


class ResponseStore(Protocol):
    """A store of responses, by the API key that created them and their id."""

    failures: int
    """Number of failed reads and writes since the start."""

    async def get(self, key_id: str, response_id: str) -> StoredResponse | None:
        """Return a response, or None if it is unknown or expired."""

    async def put(self, key_id: str, stored: StoredResponse) -> None:
        """Store a response."""

    async def delete(self, key_id: str, response_id: str) -> bool:
        """Delete a response. Return whether it was stored."""

    async def forget(self, conversation_id: str) -> int:
        """Delete a conversation's responses, of all keys. Return their number."""

    async def close(self) -> None:
        """Close connections."""


async def messages_before(
    store: ResponseStore, key_id: str, user: str | None, response_id: str
) -> tuple[list[Body], str]:
    """Return the messages up to and including a response, oldest first, and their user.

    Raises:
        ResponseNotFound: The response, or one that it continues, is unknown, expired, or another user's.
    """
    turns: list[bytes] = []
    wanted: str | None = response_id
    while wanted is not None:
        response = await store.get(key_id, wanted)
        if response is None or (user is not None and response.user != user):
            raise ResponseNotFound(response_id, previous=True)
        user, wanted = response.user, response.previous
        turns.append(response.messages)
    return [message for turn in reversed(turns) for message in orjson.loads(turn)], user or ""


class ProcessResponses:
    """Keeps responses in this process, within limits of age, number and bytes. The least recently used is dropped first."""

    def __init__(self, max_responses: int, max_age_s: float, max_bytes: int = MAX_BYTES) -> None:
        self.limit(max_responses, max_age_s)
        self._max_bytes = max_bytes
        self._responses: OrderedDict[tuple[str, str], tuple[float, StoredResponse]] = OrderedDict()
        self.bytes = 0
        self.failures = 0

    def limit(self, max_responses: int, max_age_s: float) -> None:
        """Set the limits. Responses above them are dropped when the next response is stored."""
        self._max, self._max_age_s = max_responses, max_age_s

    def __len__(self) -> int:
        return len(self._responses)

    async def get(self, key_id: str, response_id: str) -> StoredResponse | None:
        entry = self._responses.get((key_id, response_id))
        if entry is None or entry[0] < time.monotonic() - self._max_age_s:
            return None
        self._responses[key_id, response_id] = (time.monotonic(), entry[1])
        self._responses.move_to_end((key_id, response_id))
        return entry[1]

    async def put(self, key_id: str, stored: StoredResponse) -> None:
        await self.delete(key_id, stored.id)
        now = time.monotonic()
        self._responses[key_id, stored.id] = (now, stored)
        self.bytes += stored.size
        while (
            len(self._responses) > self._max or self.bytes > self._max_bytes or self._oldest() < now - self._max_age_s
        ):
            _, (_, dropped) = self._responses.popitem(last=False)
            self.bytes -= dropped.size

    async def delete(self, key_id: str, response_id: str) -> bool:
        entry = self._responses.pop((key_id, response_id), None)
        if entry is not None:
            self.bytes -= entry[1].size
        return entry is not None

    async def forget(self, conversation_id: str) -> int:
        of_it = [key for key, (_, stored) in self._responses.items() if stored.conversation == conversation_id != ""]
        for key_id, response_id in of_it:
            await self.delete(key_id, response_id)
        return len(of_it)

    async def close(self) -> None:
        """Nothing to close."""

    def _oldest(self) -> float:
        return next(iter(self._responses.values()))[0] if self._responses else float("inf")
