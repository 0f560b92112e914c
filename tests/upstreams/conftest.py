"""A proxy whose chatbots ask one upstream, which gives the answer of a test: streamed, whole, or the other way round."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from aiohttp import web

from tests.proxy.conftest import Body, Proxy, Start, Upstream, start, upstream

__all__ = ["start", "upstream"]

FORWARDED = "direct"
JUDGED = ("wrapped", "guarded", "wrapped-observe", "guarded-observe")
"""`observe` asks for a stream also where its client does not."""
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("get_weather", "get_time", "get_date")
]
EMERGENCY = {"judges": [{"name": "emergency", "stages": ["local"]}], "emergency": {"contact": "Call 112."}}
BOT = {"model": "chatbot", "role": "A library desk.", "refiner": None, **EMERGENCY}
BOTS: Body = {
    FORWARDED: {"kind": "passthrough", "model": "chatbot"},
    **{
        name: {**BOT, "kind": name.split("-")[0], "streaming": name.partition("-")[2] or "hold"}
        | {"trusted_tools": [tool["function"]["name"] for tool in TOOLS]}
        for name in JUDGED
    },
}


def chunk(delta: Body, finish: Any = None, **more: Any) -> Body:
    choice = {"index": 0, "delta": delta, "finish_reason": finish, **more}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def completion(message: Body, finish: Any = "stop", **more: Any) -> Body:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, **more}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


@dataclass
class Answer:
    """What the upstream answers."""

    whole: Body | bytes = b""
    events: list[Body | bytes] = field(default_factory=list)
    done: bool = True
    label: str = "application/json"
    stream_label: str = "text/event-stream"
    always: str = ""
    """`whole` or `events`: given whatever was asked for."""
    between: Callable[[], Awaitable[Any]] | None = None
    """Awaited after each event."""

    async def give(self, request: web.Request) -> web.StreamResponse:
        streamed = (await request.json()).get("stream") is True
        if not (self.always == "events" or (streamed and self.always != "whole")):
            return web.Response(body=encode(self.whole), headers={"Content-Type": self.label})
        response = web.StreamResponse(headers={"Content-Type": self.stream_label} if self.stream_label else {})
        await response.prepare(request)
        for event in self.events:
            await response.write(b"data: " + encode(event) + b"\n\n")
            if self.between is not None:
                await self.between()
        if self.done:
            await response.write(b"data: [DONE]\n\n")
        return response


def encode(value: Body | bytes) -> bytes:
    return value if isinstance(value, bytes) else json.dumps(value).encode()


def says(*pieces: Any, finish: Any = "stop") -> Answer:
    """Answer with a text in pieces, each a text or a list of parts."""
    joined = "".join(pieces) if isinstance(pieces[0], str) else [part for piece in pieces for part in piece]
    events: list[Body | bytes] = [*(chunk({"content": piece}) for piece in pieces), chunk({}, finish)]
    return Answer(completion({"content": joined}, finish), events)


@dataclass
class Got:
    """What a client got."""

    status: int
    raw: bytes
    text: str = ""
    calls: list[tuple[str, Any]] = field(default_factory=list)
    finish: str | None = None
    error: Any = None

    @property
    def failed(self) -> bool:
        return self.status != 200 or self.error is not None


def read(status: int, raw: bytes) -> Got:
    """Read a body or a stream of events, as OpenAI's clients do."""
    got = Got(status, raw)
    bodies = (
        [json.loads(raw)]
        if raw.startswith(b"{")
        else [json.loads(line[6:]) for line in raw.split(b"\n") if line.startswith(b"data: {")]
    )
    for body in bodies:
        got.error = got.error or body.get("error")
        for choice in body.get("choices") or ():
            said = choice.get("message") or choice.get("delta") or {}
            got.text += said.get("content") or ""
            got.calls += [
                (call["function"]["name"], json.loads(call["function"]["arguments"]))
                for call in said.get("tool_calls") or ()
            ]
            got.finish = choice.get("finish_reason") or got.finish
    return got


class Asking:
    """Asks chatbots of one proxy, before an upstream that answers as it is told."""

    def __init__(self, proxy: Proxy, upstream: Upstream) -> None:
        self.proxy, self.upstream = proxy, upstream

    def answers(self, *answers: Answer) -> None:
        """Have the upstream give these answers in turn, the last one again and again."""
        left = list(answers)

        async def respond(request: web.Request) -> web.StreamResponse:
            return await (left.pop(0) if len(left) > 1 else left[0]).give(request)

        self.upstream.respond = respond

    async def ask(self, bot: str, stream: bool, **more: Any) -> Got:
        message = {"role": "user", "content": "When does the reading room open?"}
        body = {"model": bot, "messages": [message], "stream": stream, **more}
        async with self.proxy.session.post(f"{self.proxy.url}/v1/chat/completions", json=body) as response:
            return read(response.status, await response.read())


@pytest.fixture
async def asking(start: Start, upstream: Upstream) -> Asking:
    return Asking(await start(chatbots=BOTS), upstream)


ways = pytest.mark.parametrize(("bot", "stream"), [(bot, stream) for bot in JUDGED for stream in (False, True)])
"""Every kind of chatbot whose replies are judged, asked in both ways."""
