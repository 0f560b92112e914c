"""Dialects translate an API's requests into chat requests, and completions into the API's replies.

All dialects use the same path through the filter, in `chat.py`.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Protocol

from models.engine import Body
from proxy.api import stream
from proxy.protocol.errors import ApiError


class Dialect(Protocol):
    """Translates one request and its reply. A new instance is created for each request."""

    verbatim: bool
    """Whether upstreams accept this form, so that a passthrough chatbot forwards the bytes unchanged."""
    conversation_id: str
    """The id of the conversation, once recognised. Stored responses are erased by this id, even if no reply shows it."""

    def parse_leniently(self, data: Body) -> Body:
        """Translate an invalid request into a chat request that contains the texts for the emergency judge."""

    async def parse(self, data: Body, key_id: str) -> tuple[Body, Body, Exception | None]:
        """Translate a request into a chat request.

        Args:
            data: The decoded body of the request.
            key_id: The id of the client's key.

        Returns:
            The chat request; a chat request for the emergency judge, which may contain more texts; the error in the request or
            None. With an error, both chat requests are the one for the emergency judge.
        """

    async def render(self, completion: Body) -> Body:
        """Translate a completion into the body of the reply. Store a response that the client may read or continue later."""

    def opening(self) -> bytes:
        """Return the first events of a stream, which are sent before the verdict."""

    def pieces(self, chunks: Iterable[Body]) -> bytes:
        """Encode chunks of a completion before its verdict."""

    def events(self, completion: Body, include_usage: bool, sent: Mapping[int, int]) -> Iterator[bytes]:
        """Yield the remaining events of a stream for a finished completion. `sent` is as for `stream.events`."""

    def failure(self, error: ApiError) -> bytes:
        """Return the last event of a stream that failed after its start."""


class ChatDialect:
    """The dialect of /v1/chat/completions, which needs no translation."""

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
