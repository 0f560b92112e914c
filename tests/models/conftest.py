"""A local server with the OpenAI protocol that can simulate every kind of failure of an upstream."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import aiohttp
import orjson
import pytest
from aiohttp import web

from models.client import Models, open_models
from models.openai_engine import make_session
from models.settings import ModelSettings

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]
KEY = "sk-secret-of-the-proxy"


class Upstream:
    """Answers with its `replies` in order and repeats the last. It stores the requests in `seen`."""

    def __init__(self) -> None:
        self.url = ""
        self.replies: list[Reply] = [say("Hello.")]
        self.seen: list[dict[str, Any]] = []
        self.headers: list[Any] = []
        self.queries: list[dict[str, str]] = []
        self.raw: list[bytes] = []
        self.left = asyncio.Event()
        """Set when a client closes the connection while a reply is being made."""

    async def handle(self, request: web.Request) -> web.StreamResponse:
        raw = await request.read()
        self.raw.append(raw)
        self.seen.append(orjson.loads(raw) if raw.startswith(b"{") else {})
        self.headers.append(request.headers)
        self.queries.append(dict(request.query))
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        try:
            return await reply(request)
        except (asyncio.CancelledError, ConnectionResetError):
            self.left.set()
            raise


def completion(content: Any, **more: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return {"id": "c-1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage} | more


def give(body: bytes | dict[str, Any], status: int = 200, **headers: str) -> Reply:
    raw = body if isinstance(body, bytes) else orjson.dumps(body)
    kind = headers.pop("content_type", "application/json")

    async def reply(request: web.Request) -> web.StreamResponse:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.Response(body=raw, status=status, content_type=kind, headers=names)

    return reply


def say(content: Any, **more: Any) -> Reply:
    return give(completion(content, **more))


def refuse(status: int, code: Any = None, param: Any = None, message: str = "no", **headers: str) -> Reply:
    return give({"error": {"message": message, "type": "t", "code": code, "param": param}}, status, **headers)


async def until(holds: Callable[[], object]) -> None:
    """Wait until a condition is true."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def hang(request: web.Request) -> web.StreamResponse:
    await asyncio.sleep(30)
    return web.Response()


async def drip(request: web.Request) -> web.StreamResponse:
    """Send one byte at a time, so that no single read takes long."""
    response = web.StreamResponse()
    await response.prepare(request)
    for _ in range(600):
        await response.write(b" ")
        await asyncio.sleep(0.05)
    return response


async def cut(request: web.Request) -> web.StreamResponse:
    """Announce more bytes than are sent, then abort the connection."""
    response = web.StreamResponse(headers={"Content-Length": "1000", "Content-Type": "application/json"})
    await response.prepare(request)
    await response.write(b'{"choices": [')
    assert request.transport is not None
    request.transport.abort()
    return response


def stream(*events: bytes, then: Reply | None = None) -> Reply:
    async def reply(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
        await response.prepare(request)
        for event in events:
            await response.write(event)
        if then is not None:
            await then(request)
        return response

    return reply


@pytest.fixture
async def upstream() -> AsyncIterator[Upstream]:
    one = Upstream()
    app = web.Application(client_max_size=2**26)
    app.router.add_post("/v1/chat/completions", one.handle)
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    one.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    yield one
    await runner.cleanup()


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with make_session() as one:
        yield one


@pytest.fixture
def models_at(session: aiohttp.ClientSession, upstream: Upstream) -> Callable[..., Models]:
    """Open models with one alias, `judge`, at the upstream. Keyword arguments are settings of the alias."""

    def make(*, first_pause_s: float = 0.01, **more: Any) -> Models:
        fields = {"engine": "openai", "base_url": upstream.url, "api_key_env": "KEY", "model": "m"} | more
        settings = {"judge": ModelSettings.model_validate(fields)}
        secrets = {"KEY": KEY, "AZURE": "azure-secret"}
        return open_models(settings, session, {}, secrets, first_pause_s=first_pause_s)

    return make


@pytest.fixture
def models(session: aiohttp.ClientSession, upstream: Upstream) -> Callable[..., Models]:
    """Open several aliases whose model names equal the aliases. The arguments are their settings."""

    def make(**aliases: dict[str, Any]) -> Models:
        fields = {"engine": "openai", "base_url": upstream.url, "max_attempts": 1, "timeout_s": 0.3}
        settings = {name: ModelSettings.model_validate(fields | more) for name, more in aliases.items()}
        return open_models(settings, session, {}, {}, first_pause_s=0.01)

    return make
