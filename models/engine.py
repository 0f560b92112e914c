"""Engine, a way to reach a model; Forwarded, a relayed answer; and forwarding for engines that only complete."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping
from types import TracebackType
from typing import Any, Protocol, Self, runtime_checkable

import orjson

from models.errors import UpstreamRefused

Body = dict[str, Any]
"""An OpenAI chat completion request or response."""

WORDS = re.compile(r"\s*\S+|\s+")


class Engine(Protocol):
    """A way to reach a model. It does not change the request, tries once, and raises only ModelError.

    A subclass needs only `complete`: `forward` then calls it.
    """

    async def complete(self, body: Body) -> Body:
        """Answer a chat completion request in one piece."""

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> "Forwarded":
        """Send a request's bytes unchanged and relay the answer, even if it is an error."""
        return await forward_by_completing(self.complete, raw)

    async def close(self) -> None:
        """Release the engine's resources."""
        return


@runtime_checkable
class ActingEngine(Engine, Protocol):
    """An engine that acts outside after a user has confirmed its proposal."""

    async def act(self, action: Body) -> str:
        """Perform an action, and return the text for the user.

        Args:
            action: The message's `action`.

        Raises:
            ModelError: The action was not performed.
        """


@runtime_checkable
class ErasingEngine(Engine, Protocol):
    """An engine that keeps something of conversations."""

    async def erase(self, conversation_ids: Collection[str] | None) -> int:
        """Delete what is kept of conversations, None: of all; return the number of entries. Raises ModelError."""


class Forwarded:
    """An upstream's answer on its way to the client: a complete `body`, or else `chunks`.

    With `chunks`, use `async with` or call `close()`. Leaving early then closes the upstream connection, so that unread
    tokens cost nothing. Without `chunks`, there is nothing to close. Iteration raises ModelError if the upstream cuts
    the connection.
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
        """The alias of the model that answered."""

    def when_closed(self, done: Callable[[], None]) -> None:
        """Call a function once when the answer is closed."""
        close: list[Callable[[], None]] = [done] if self._close is None else [self._close, done]

        def close_once() -> None:
            while close:
                close.pop(0)()

        self._close = close_once

    async def close(self) -> None:
        """Release the connection to the upstream. May be called repeatedly and at any time."""
        if self._close is not None:
            self._close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


async def forward_by_completing(complete: Callable[[Body], Awaitable[Body]], raw: bytes) -> Forwarded:
    """Forward to an engine that only completes: decode the request, answer it, and encode JSON or a stream of words."""
    body = decode_body(raw)
    streamed, options = body.pop("stream", None), body.pop("stream_options", None)
    answer = await complete(body)
    if not streamed:
        return Forwarded(200, {"Content-Type": "application/json"}, orjson.dumps(answer))
    with_usage = isinstance(options, dict) and bool(options.get("include_usage"))
    return Forwarded(200, {"Content-Type": "text/event-stream"}, chunks=_send_events(stream_events(answer, with_usage)))


def decode_body(raw: bytes) -> Body:
    """Decode the body of a request.

    Raises:
        UpstreamRefused: The body is not a JSON object.
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        raise UpstreamRefused(400, "invalid_json")
    return body


def stream_events(answer: Body, with_usage: bool) -> Iterator[bytes]:
    """Split a chat completion into the server-sent events of a streamed answer."""
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
