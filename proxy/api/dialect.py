"""Dialects: the forms of requests and replies. A request is parsed into a chat request, a reply is rendered from a completion.

All dialects share the one path through the filter, in `chat.py`. They only translate at both ends.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from models.engine import Body
from proxy.api import stream
from proxy.protocol.errors import ApiError


class Dialect(Protocol):
    """The form of one request and its reply. Each request has its own instance."""

    verbatim: bool
    """Whether upstreams accept this form, so that a passthrough chatbot forwards the bytes unchanged."""
    conversation_id: str
    """The conversation's id, once recognised. Stored responses are erased by this id, even if no reply shows it."""

    def parse_leniently(self, data: Body) -> Body:
        """Return an invalid request as a chat request, with the texts that the emergency judge can read."""

    async def parse(self, data: Body, key_id: str) -> tuple[Body, Body, Exception | None]:
        """Return the request as a chat request, the same for the emergency judge, and the request's error or None.

        The emergency judge may also read texts that a chat request has no field for. With an error, both requests are its form.
        """

    async def render(self, completion: Body) -> Body:
        """Return the reply's body for a completion, and store a response that the client may continue or read again."""

    def opening(self) -> bytes:
        """Return the first events of a stream, which are sent before the verdict."""

    def pieces(self, chunks: Iterable[Body]) -> bytes:
        """Encode chunks of a completion before its verdict."""

    def events(self, completion: Body, include_usage: bool, sent: Mapping[int, int]) -> Iterator[bytes]:
        """Yield the remaining events of a stream for a settled completion. Args: sent: as in `stream.chunks`."""

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
