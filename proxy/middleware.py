"""Around every request: errors become OpenAI bodies, and one log line tells what happened."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import structlog
from aiohttp import web

from models.errors import ModelError
from proxy.errors import ApiError, HttpFault, Internal, TooLarge, from_model_error
from proxy.telemetry.logs import tell_request
from proxy.telemetry.metrics import Metrics

log = structlog.get_logger()

METRICS = web.AppKey("metrics", Metrics)
FIELDS = web.RequestKey("fields", dict[str, Any])
"""What the canonical log line of a request will say, bound as it becomes known."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def boundary(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every request with a response, whatever is raised, and log and count it once."""
    started = time.perf_counter()
    fields = request[FIELDS] = {}
    status = 499  # the client has gone
    try:
        response = await _answered(request, handler)
        status = response.status
        return response
    finally:
        route = request.match_info.route.resource
        path = route.canonical if route is not None else "unknown"
        request.app[METRICS].answered(path, status)
        ms = round((time.perf_counter() - started) * 1000, 2)
        tell_request({"method": request.method, "path": path, "status": status, "ms": ms, **fields})


async def _answered(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except aiohttp.ClientConnectionResetError:  # the client has gone while it was written to
        raise asyncio.CancelledError from None
    except Exception as error:
        return told(request, error).response()


def told(request: web.Request, error: Exception) -> ApiError:
    """Return what the client is told of an error, and bind what the log line says of it."""
    fields = request[FIELDS]
    if isinstance(error, ModelError):
        fields.update(error=error.kind, model=error.alias, step=error.step)
        return from_model_error(error)
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        limit = request.client_max_size
        error = TooLarge(f"The request body is larger than {limit} bytes, the proxy's limit (server.max_body_bytes).")
    elif isinstance(error, web.HTTPException):
        error = HttpFault(error, f"{request.method} {request.path}")
    elif not isinstance(error, ApiError):
        # The frames without values or message: these may hold what somebody wrote.
        log.error("request failed", error=type(error).__name__, frames=traceback.format_tb(error.__traceback__))
        error = Internal()
    fields["error"] = error.code or type(error).__name__
    return error
