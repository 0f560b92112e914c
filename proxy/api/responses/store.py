"""Stores responses, which later requests can continue with `previous_response_id`. `redis_store.py` stores them in Redis."""

import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

import orjson

from models.engine import Body
from proxy.protocol.errors import ResponseNotFound

MAX_BYTES = 32 * 2**20
"""Maximum bytes of all stored responses. Texts and images, unlike conversation states, have no other limit of size."""


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A stored response, with the messages of its turn."""

    id: str
    user: str
    """The field `user` of the request, if one key serves several users; else empty."""
    previous: str | None
    """The id of the response that this response continues."""
    messages: bytes
    """JSON list: the messages of the request's input, and the reply."""
    body: bytes
    """JSON: the response object."""
    conversation: str = ""
    """The id of the conversation, or its hash if the response was read from Redis. Empty: no conversation is known."""

    @property
    def size(self) -> int:
        return len(self.messages) + len(self.body)


class ResponseStore(Protocol):
    """A store of responses. A response is found by its id and the id of the API key that created it."""

    failures: int
    """Number of failed reads and writes since the start."""

    async def get(self, key_id: str, response_id: str) -> StoredResponse | None:
        """Return a response, or None if it is unknown or expired."""

    async def put(self, key_id: str, stored: StoredResponse) -> None:
        """Store a response."""

    async def delete(self, key_id: str, response_id: str) -> bool:
        """Delete a response, and return whether it was stored."""

    async def forget(self, conversation_id: str) -> int:
        """Delete the responses of a conversation, of all keys, and return their number."""

    async def close(self) -> None:
        """Close connections."""


async def messages_before(
    store: ResponseStore, key_id: str, user: str | None, response_id: str
) -> tuple[list[Body], str]:
    """Return the messages of the conversation up to and including a response.

    Args:
        store: The store of responses.
        key_id: The id of the client's API key.
        user: The field `user` of the request; None: the request does not name a user.
        response_id: The id of the response to continue.

    Returns:
        The messages, oldest first; the user who sent them.

    Raises:
        ResponseNotFound: The response or an earlier one is unknown or expired, or belongs to another user.
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
    """Stores responses in this process, within limits of age, number and bytes. The least recently used is dropped first."""

    def __init__(self, max_responses: int, max_age_s: float, max_bytes: int = MAX_BYTES) -> None:
        self.limit(max_responses, max_age_s)
        self._max_bytes = max_bytes
        self._responses: OrderedDict[tuple[str, str], tuple[float, StoredResponse]] = OrderedDict()
        self.bytes = 0
        self.failures = 0

    def limit(self, max_responses: int, max_age_s: float) -> None:
        """Set the limits. Responses that exceed the limits are dropped when the next response is stored."""
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
        """Do nothing, because this store has no connections."""

    def _oldest(self) -> float:
        return next(iter(self._responses.values()))[0] if self._responses else float("inf")
