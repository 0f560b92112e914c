"""Engine, the interface of all backends that answer chat completion requests, and Forwarded, an answer to relay."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

import orjson

from models.errors import UpstreamRefused

Body = dict[str, Any]
"""An OpenAI chat completion request or response."""

WORDS = re.compile(r"\s*\S+|\s+")
"""Matches a word with the white space before it. Finished answers are streamed in these pieces."""


class Engine(Protocol):
    """A backend that answers chat completion requests, such as an OpenAI-compatible server.

    An engine does not change the request, does not retry, and raises only ModelError. Subclasses must define `complete`; the
    default `forward` calls `complete`.
    """

    async def complete(self, body: Body) -> Body:
        """Return the chat completion for a request, without streaming."""

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> "Forwarded":
        """Forward the body of a request unchanged, and relay the response, even a 4xx.

        Args:
            headers: The client's headers. The engine chooses which to forward.
        """
        return await forward_by_completing(self.complete, raw)

    async def close(self) -> None:
        """Release the engine's resources."""
        return


@runtime_checkable
class ActingEngine(Engine, Protocol):
    """An engine that proposes actions, such as a booking, and performs an action after the user has confirmed it."""

    async def act(self, action: Body) -> str:
        """Perform a confirmed action. Return the text that tells the user the result.

        Args:
            action: The field `action` of the message that proposed the action.

        Raises:
            ModelError: The action was not performed.
        """


@runtime_checkable
class ErasingEngine(Engine, Protocol):
    """An engine that stores data about conversations, which must be deletable."""

    async def erase(self, conversation_ids: Collection[str] | None) -> int:
        """Delete the stored data of conversations. Return the number of deleted entries.

        Args:
            conversation_ids: The conversations. None: all conversations.

        Raises:
            ModelError: The data could not be deleted.
        """


class Forwarded:
    """An upstream's response to relay to the client: either a complete `body`, or a stream of `chunks`.

    Use a response with `chunks` in `async with`, or call `close()`. An early exit closes the upstream connection, so that the
    upstream stops generating tokens. A response with a `body` need not be closed. Iteration over `chunks` raises ModelError if
    the connection to the upstream fails.
    """

    __slots__ = ("_close", "alias", "body", "chunks", "headers", "status")

    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        body: bytes | None = None,
        chunks: AsyncIterator[bytes] | None = None,
        close: Callable[[], None] | None = None,
    ) -> None:
        self.status = status
        self.headers = headers
        self.body = body
        self.chunks = chunks
        self._close = close
        self.alias = ""
        """Alias of the model that answered."""

    def when_closed(self, done: Callable[[], None]) -> None:
        """Register a function to call once, when the response is closed."""
        close: list[Callable[[], None]] = [done] if self._close is None else [self._close, done]

        def close_once() -> None:
            while close:
                close.pop(0)()

        self._close = close_once

    async def close(self) -> None:
        """Release the connection to the upstream. Repeated calls have no effect."""
        if self._close is not None:
            self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def forward_by_completing(complete: Callable[[Body], Awaitable[Body]], raw: bytes) -> Forwarded:
    """Implement `Engine.forward` with `complete`. If the request asks for a stream, the finished answer is sent word by word."""
    body = decode_body(raw)
    streamed, options = body.pop("stream", None), body.pop("stream_options", None)
    answer = await complete(body)
    if not streamed:
        return Forwarded(200, {"Content-Type": "application/json"}, orjson.dumps(answer))
    with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    return Forwarded(200, {"Content-Type": "text/event-stream"}, chunks=_send_events(stream_events(answer, with_usage)))


def decode_body(raw: bytes) -> Body:
    """Decode the body of a chat completion request.

    Raises:
        UpstreamRefused: The body is not a JSON object (400, `invalid_json`).
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        raise UpstreamRefused(400, "invalid_json")
    return body


def stream_events(answer: Body, with_usage: bool) -> Iterator[bytes]:
    """Encode a chat completion as the server-sent events of a streamed answer.

    Args:
        with_usage: Whether to send an event with the usage before `[DONE]`.
    """
    head: Body = {name: value for name, value in answer.items() if name in ("id", "created", "model")}
    head["object"] = "chat.completion.chunk"

    def event(choices: list[Body], **more: object) -> bytes:
        return b"data: " + orjson.dumps(head | {"choices": choices} | more) + b"\n\n"

    def delta(choice: Body, part: Body, finish: str | None = None) -> bytes:
        return event([{"index": choice.get("index", 0), "delta": part, "finish_reason": finish}])

    for choice in answer["choices"]:
        message = choice["message"]
        yield delta(choice, {"role": "assistant", "content": ""})
        for word in WORDS.findall(message.get("content") or ""):
            yield delta(choice, {"content": word})
        if calls := message.get("tool_calls"):
            yield delta(choice, {"tool_calls": [{"index": i, **call} for i, call in enumerate(calls)]})
        yield delta(choice, {}, choice.get("finish_reason") or "stop")
    if with_usage:
        yield event([], usage=answer.get("usage"))
    yield b"data: [DONE]\n\n"


async def _send_events(events: Iterator[bytes]) -> AsyncIterator[bytes]:
    for event in events:
        yield event
