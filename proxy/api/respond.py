"""Sends a reply, in one piece or as events; what is sent before the verdict is decided in turn/stream_gate.py."""

import asyncio
import time
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any

import orjson
from aiohttp import web

from models.engine import Body
from proxy.api import reply, stream
from proxy.api.dialect import Dialect
from proxy.api.middleware import to_api_error
from proxy.api.service import Service
from proxy.turn.inputs import Turn


async def respond(
    service: Service,
    request: web.Request,
    dialect: Dialect,
    work: Coroutine[Any, Any, Body],
    streamed: bool,
    turn: Turn | None = None,
) -> web.StreamResponse:
    """Run `work` and send its completion, in one piece or streamed; `turn.stream_gate` decides what is sent early."""
    if not streamed:
        body = orjson.dumps((await _settled(work, dialect))[1])
        return web.Response(body=body, content_type="application/json")
    server = service.config.server
    gate = None if turn is None else turn.stream_gate
    news = asyncio.Event() if gate is None else gate.news
    task = asyncio.create_task(_settled(work, dialect))
    task.add_done_callback(lambda _: news.set())
    try:
        await _until(news, server.header_wait_s)
        if task.done() and (error := task.exception()) is not None:
            raise error
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        await response.prepare(request)
        while not task.done():
            news.clear()
            await response.write(dialect.pieces(_pieces(turn)) or dialect.opening() or stream.KEEP_ALIVE)
            await _until(news, server.keep_alive_s)
        try:
            sent = stream.NOTHING if gate is None else gate.sent_chars
            events = b"".join(dialect.events(task.result()[0], turn is not None and turn.request.wants_usage, sent))
        except Exception as error:
            # The headers are gone: the stream says so itself, and ends without [DONE].
            events = dialect.failure(to_api_error(request, error))
        await response.write(events)
        await response.write_eof()
        return response
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        elif not task.cancelled():
            # No wait: a client that has got all, and closes its connection, would be counted as one that has left (499).
            task.exception()


async def _until(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, at most so many seconds."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _pieces(turn: Turn | None) -> Iterator[Body]:
    """Yield the chunks that can be sent before the turn is settled."""
    if turn is None or turn.stream_gate is None:
        return
    has_begun, pieces = bool(turn.stream_gate.sent_chars), turn.stream_gate.take_pieces()
    if pieces and not has_begun:
        turn.results.steps.append(("first_text", time.perf_counter() - turn.started))
    head = reply.head(turn, turn.stream_gate.head)
    for index, text, first in pieces:
        yield from stream.piece_chunks(head, index, text, first, turn.request.wants_usage)


async def _settled(work: Coroutine[Any, Any, Body], dialect: Dialect) -> tuple[Body, Body]:
    completion = await work
    return completion, await dialect.render(completion)
