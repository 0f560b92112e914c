"""Engine, a way to reach a model; Forwarded, an answer that is relayed; and forwarding without bytes to relay."""

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
    """A way to reach a model. It leaves the request as it is, tries once, and raises only ModelError.

    One that derives from this class need only complete; what it forwards is completed, too.
    """

    async def complete(self, body: Body) -> Body:
        """Answer a chat completion request in one piece."""

    async def forward(self, raw: bytes, headers: Mapping[str, str]) -> "Forwarded":
        """Send a request's bytes as they are and relay what comes, also an error."""
        return await forward_by_completing(self.complete, raw)

    async def close(self) -> None:
        """Let go of what the engine holds."""
        return


@runtime_checkable
class ActingEngine(Engine, Protocol):
    """An engine that acts outside when a user has confirmed what it proposed."""

    async def act(self, action: Body) -> str:
        """Do it, and return what to tell the user.

        Args:
            action: The message's `action`.

        Raises:
            ModelError: It was not done.
        """


@runtime_checkable
class ErasingEngine(Engine, Protocol):
    """An engine that keeps something of conversations."""

    async def erase(self, conversation_ids: Collection[str] | None) -> int:
        """Delete what is kept of conversations, None: of all; return the number of entries. Raises ModelError."""


class Forwarded:
    """An upstream's answer on its way to the client: `body` if it is there as a whole, else `chunks`.

    With `chunks`, use it as `async with` or call `close()`: leaving early then closes the upstream connection, so
    that nobody pays for tokens that no one reads. Without, there is nothing to close. Iterating raises ModelError when
    the upstream breaks off.
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
        """Which model answered."""

    def when_closed(self, done: Callable[[], None]) -> None:
        """Call a function, once, when the answer is closed."""
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
    """Forward to an engine that only completes: decode the request, answer it, encode JSON or a stream of words."""
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
        UpstreamRefused: It is no JSON object.
    """
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        raise UpstreamRefused(400, "invalid_json")
    return body


def stream_events(answer: Body, with_usage: bool) -> Iterator[bytes]:
    """Cut a chat completion into the server-sent events that a streaming upstream would have sent."""
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
