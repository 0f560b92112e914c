"""Sends a reply, in one piece or as server-sent events. turn/stream.py decides which text is sent before the verdict."""

import asyncio
import time
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import Any

import orjson
from aiohttp import web

from models.engine import Body
from proxy.api import stream
from proxy.api.completion import head
from proxy.api.dialect import Dialect
from proxy.api.middleware import to_api_error
from proxy.api.service import Service
from proxy.turn.turn import TurnRun


async def respond(
    service: Service,
    request: web.Request,
    dialect: Dialect,
    work: Coroutine[Any, Any, Body],
    streamed: bool,
    run: TurnRun | None = None,
) -> web.StreamResponse:
    """Run a coroutine and send the completion that it returns, in one piece or as a stream.

    Args:
        service: The objects that handlers share.
        request: The request to answer.
        dialect: Translates the completion.
        work: The coroutine.
        streamed: Whether the client asked for a stream.
        run: The turn, whose gate holds the text that may be sent before the verdict. None: nothing is sent early.
    """
    if not streamed:
        body = orjson.dumps((await _settled(work, dialect))[1])
        return web.Response(body=body, content_type="application/json")
    server = service.config.server
    gate = None if run is None else run.gate
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
            await response.write(dialect.pieces(_pieces(run)) or dialect.opening() or stream.KEEP_ALIVE)
            await _until(news, server.keep_alive_s)
        try:
            sent = stream.NOTHING if gate is None else gate.sent_chars
            events = b"".join(dialect.events(task.result()[0], run is not None and run.turn.request.wants_usage, sent))
        except Exception as error:
            # The headers are sent already, so the stream ends with an error event and without [DONE].
            events = dialect.failure(to_api_error(request, error))
        await response.write(events)
        await response.write_eof()
        return response
    finally:
        if not task.done():
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        elif not task.cancelled():
            # Do not wait: a client that closes its connection after the last byte would be counted as disconnected (499).
            task.exception()


async def _until(event: asyncio.Event, seconds: float) -> None:
    """Wait for an event, but at most `seconds`."""
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await event.wait()


def _pieces(run: TurnRun | None) -> Iterator[Body]:
    """Yield the chunks that may be sent before the turn has ended."""
    if run is None or run.gate is None:
        return
    has_begun, pieces = bool(run.gate.sent_chars), run.gate.take_pieces()
    if pieces and not has_begun:
        run.steps.append(("first_text", time.perf_counter() - run.turn.started))
    base = head(run.turn, run.gate.head)
    for index, text, first in pieces:
        yield from stream.piece_chunks(base, index, text, first, run.turn.request.wants_usage)


async def _settled(work: Coroutine[Any, Any, Body], dialect: Dialect) -> tuple[Body, Body]:
    completion = await work
    return completion, await dialect.render(completion)
