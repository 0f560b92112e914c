"""An upstream that misbehaves, down to single bytes and segments: no HTTP library would write what it writes."""

import asyncio
import json
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]

HELLO = "[[cite: no_claims]]\nGood morning. What would you like to know?"
REJECTED = "[[cite: no_claims]]\nTake four grams of magnesium tonight."
REWRITTEN = "[[cite: no_claims]]\nPlease ask your doctor about that."
NEVER = ("magnesium", "UPSTREAMS-OWN-WORDS")
"""What no reply and no log line may hold: of the rejected text, and of what an upstream says of itself."""
OWN_WORDS = {"error": {"message": "UPSTREAMS-OWN-WORDS", "type": "x", "param": None, "code": "some_code"}}


@dataclass(slots=True)
class Asked:
    """One request to the upstream; a behaviour answers it, or does not."""

    model: str
    body: Body
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    keep_alive: bool
    left: bool = False
    """The proxy has closed the connection before there was an answer."""

    @property
    def said(self) -> str:
        """The last message's text."""
        return str(self.body["messages"][-1]["content"])

    async def says(self, text: object, **message: object) -> None:
        """Answer as a chat completion."""
        await self.json(completion(text, **message))

    async def json(self, data: object, status: int = 200, **headers: str) -> None:
        raw = data if isinstance(data, bytes) else json.dumps(data).encode()
        await self.answer(raw, status, {"Content-Type": "application/json", **headers})

    async def answer(self, raw: bytes, status: int = 200, headers: Mapping[str, str] = {}) -> None:
        lasting = {"Content-Length": str(len(raw)), **headers}
        await self.raw(head(status, lasting, keep_alive=self.keep_alive) + raw)

    async def raw(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def events(self, *events: bytes) -> None:
        """Begin a stream, and send the events in chunks of their own."""
        await self.raw(head(200, {"Content-Type": "text/event-stream", "Transfer-Encoding": "chunked"}))
        await self.more(*events)

    async def more(self, *events: bytes) -> None:
        for event in events:
            await self.raw(b"%x\r\n%b\r\n" % (len(event), event))

    def reset(self) -> None:
        """Break the connection, so that the proxy gets a reset and not an end."""
        link = self.writer.get_extra_info("socket")
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()

    async def hangs(self) -> None:
        """Say nothing until the proxy leaves."""
        await self.reader.read()
        self.left = True


Act = Callable[[Asked], Awaitable[None]]


def head(status: int, headers: Mapping[str, str], *, keep_alive: bool = False) -> bytes:
    connection = "keep-alive" if keep_alive else "close"
    lines = [f"HTTP/1.1 {status} Whatever", f"Connection: {connection}", *(f"{n}: {v}" for n, v in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def completion(text: object, **message: object) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


def says(text: object) -> Act:
    return lambda asked: asked.says(text)


def verdict(what: str) -> str:
    return json.dumps({"verdict": what, "reason": "It speaks of magnesium."})


async def hangs(asked: Asked) -> None:
    await asked.hangs()


WELL_BEHAVED: dict[str, Act] = {
    "up-retriever": says(json.dumps({"parts": [{"part": "sleep", "ids": ["sleep"]}], "reason": "asked"})),
    "up-swift": says(verdict("accept")),
    "up-chief": says(verdict("accept")),
    "up-refiner": says(REWRITTEN),
}
"""What a model says when a test does not mind; those not listed greet."""


@dataclass
class Upstream:
    """Listens in a test's own event loop, on a port that outlives the test: the proxy's configuration names it."""

    acts: dict[str, Act] = field(default_factory=dict)
    """By model: what it does in place of `WELL_BEHAVED`."""
    keep_alive: bool = False
    """A connection serves request after request. Only for a proxy that no next test asks: it would meet dead connections."""
    asked: list[Asked] = field(default_factory=list)
    _answering: dict[asyncio.Task[Any], asyncio.StreamWriter] = field(default_factory=dict)

    @asynccontextmanager
    async def listening(self, bound: socket.socket) -> AsyncIterator["Upstream"]:
        server = await asyncio.start_server(self._handle, sock=bound.dup())
        try:
            yield self
        finally:
            server.close()
            for task, writer in self._answering.items():
                writer.transport.abort()
                task.cancel()  # it may wait for what is to come no more
            await asyncio.gather(*self._answering, return_exceptions=True)

    def of(self, model: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.model == model]

    async def _handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._answering[task] = writer
        try:
            await self._answer(reader, writer)
            while self.keep_alive:
                await self._answer(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the proxy has left, which tests see elsewhere
        finally:
            writer.close()
            del self._answering[task]

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line.partition(":")[2]) for line in lines if line.startswith("content-length:"))
        body = json.loads(await reader.readexactly(length))
        asked = Asked(body["model"], body, reader, writer, self.keep_alive)
        self.asked.append(asked)
        act = self.acts.get(asked.model) or WELL_BEHAVED.get(asked.model) or says(HELLO)
        await act(asked)


def bound_socket() -> socket.socket:
    """Return a socket on a free port of loopback, for `listening`."""
    bound = socket.create_server(("127.0.0.1", 0))
    bound.setblocking(False)
    return bound
