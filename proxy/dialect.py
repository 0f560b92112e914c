"""How a client speaks: what it sends means a chat request, and what a turn comes to is told in its own form.

There is one way through the filter, that of `chat.py`; a dialect only translates at both ends of it.
"""

from collections.abc import Iterator
from typing import Protocol

from models.client import Body
from proxy import stream
from proxy.errors import ApiError


class Dialect(Protocol):
    """The form of one request and of its reply; each request has its own."""

    verbatim: bool
    """Whether it is what upstreams speak, so that a passthrough chatbot forwards the bytes."""

    def heard(self, data: Body) -> Body:
        """Return as much of a request that nobody has validated as the emergency judge can hear, as a chat request."""

    async def understood(self, data: Body, key_id: str) -> tuple[Body, Exception | None]:
        """Return the chat request that a request means, or, with what is wrong with it, what can be heard of it."""

    async def settled(self, completion: Body) -> Body:
        """Take what the turn came to, keep what is to be kept of it, and return the body of the reply."""

    def opening(self) -> bytes:
        """Return what a stream says before there is a verdict."""

    def events(self, completion: Body, include_usage: bool) -> Iterator[bytes]:
        """Yield the rest of a stream that delivers a settled completion."""

    def failure(self, error: ApiError) -> bytes:
        """Return what ends a stream that failed after it had begun."""


class ChatDialect:
    """Chat completions: nothing to translate."""

    verbatim = True

    def heard(self, data: Body) -> Body:
        return data

    async def understood(self, data: Body, key_id: str) -> tuple[Body, Exception | None]:
        return data, None

    async def settled(self, completion: Body) -> Body:
        return completion

    def opening(self) -> bytes:
        return b""

    def events(self, completion: Body, include_usage: bool) -> Iterator[bytes]:
        return stream.events(completion, include_usage)

    def failure(self, error: ApiError) -> bytes:
        return stream.event(error.body())
