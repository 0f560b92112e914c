"""The form of requests and replies: each is parsed into a chat request and rendered from a completion.

There is one way through the filter, that of `chat.py`; a dialect only translates at both ends of it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from models.engine import Body
from proxy.api import stream
from proxy.protocol.errors import ApiError


class Dialect(Protocol):
    """The form of one request and of its reply; each request has its own."""

    verbatim: bool
    """Whether it is what upstreams speak, so that a passthrough chatbot forwards the bytes."""
    conversation_id: str
    """The conversation, as soon as it is known: what is kept of the reply is erased with it, also where no reply names it."""

    def parse_leniently(self, data: Body) -> Body:
        """Return a chat request with as much of an invalid request as the emergency judge can read."""

    async def parse(self, data: Body, key_id: str) -> tuple[Body, Body, Exception | None]:
        """Return the request as a chat request, the same as the emergency judge reads it, and the fault of the request.

        The emergency judge may also read texts that a chat request has no field for. If there is a fault, both are what it reads.
        """

    async def render(self, completion: Body) -> Body:
        """Return the body of the reply to a completion, and store what the client may ask for again."""

    def opening(self) -> bytes:
        """Return the events that a stream begins with, before the verdict."""

    def pieces(self, chunks: Iterable[Body]) -> bytes:
        """Encode chunks of a completion whose verdict is still open."""

    def events(self, completion: Body, include_usage: bool, sent: Mapping[int, int]) -> Iterator[bytes]:
        """Yield the rest of a stream that delivers a settled completion. Args: sent: as in `stream.chunks`."""

    def failure(self, error: ApiError) -> bytes:
        """Return the event that ends a stream that failed after its start."""


class ChatDialect:
    """Chat completions: nothing to translate."""

    verbatim = True
    conversation_id = ""

    def parse_leniently(self, data: Body) -> Body:
        return data

    async def parse(self, data: Body, key_id: str) -> tuple[Body, Body, Exception | None]:
        return data, data, None

    async def render(self, completion: Body) -> Body:
        return completion

    def opening(self) -> bytes:
        return b""

    def pieces(self, chunks: Iterable[Body]) -> bytes:
        return b"".join(map(stream.event, chunks))

    def events(self, completion: Body, include_usage: bool, sent: Mapping[int, int]) -> Iterator[bytes]:
        return stream.events(completion, include_usage, sent)

    def failure(self, error: ApiError) -> bytes:
        return stream.event(error.body())
