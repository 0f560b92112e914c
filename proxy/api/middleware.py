"""Wraps every request: errors become OpenAI bodies, and each request is logged in one line."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable

import aiohttp
import structlog
from aiohttp import HttpVersion11, hdrs, web

from models.errors import ModelError
from proxy.api.request_body import CONTINUE, EXPECT
from proxy.api.service import SERVICE
from proxy.protocol.errors import ApiError, BadRequest, HttpError, InternalError, TooLarge
from proxy.protocol.model_errors import from_model_error
from proxy.telemetry.logs import FIELDS
from proxy.telemetry.metrics import Metrics

log = structlog.get_logger()

METRICS = web.AppKey("metrics", Metrics)
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def boundary(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Answer every request, even after an unexpected exception, and log and count the request once."""
    started = time.perf_counter()
    fields = request[FIELDS] = {}
    status = 499  # the client disconnected
    try:
        response = await _respond(request, handler)
        status = response.status
        return response
    finally:
        route = request.match_info.route.resource
        path = route.canonical if route is not None else "unknown"
        request.app[METRICS].count_request(path, status)
        ms = round((time.perf_counter() - started) * 1000, 2)
        log.info("request", method=request.method, path=path, status=status, ms=ms, **fields)


async def _respond(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        _check_head(request)
        return await handler(request)
    except aiohttp.ClientConnectionResetError:  # the client disconnected during the reply
        raise asyncio.CancelledError from None
    except Exception as error:
        return to_api_error(request, error).response()


def _check_head(request: web.Request) -> None:
    """Refuse headers that a server in front of this proxy may interpret differently (request smuggling).

    Raises:
        BadRequest: HTTP/1.0 with Transfer-Encoding, or several Authorization headers.
        web.HTTPExpectationFailed: The header `Expect` has an unsupported value.
    """
    if request.get(EXPECT, CONTINUE).lower() != CONTINUE:
        raise web.HTTPExpectationFailed(reason=f"Unsupported Expect header; expected {CONTINUE}")
    if request.version < HttpVersion11 and hdrs.TRANSFER_ENCODING in request.headers:
        fault = BadRequest(
            "Transfer-Encoding: the header is not allowed in HTTP/1.0. Send Content-Length instead, or use HTTP/1.1."
        )
    elif len(request.headers.getall(hdrs.AUTHORIZATION, ())) > 1:
        fault = BadRequest(
            "Authorization: the request contains this header several times; send it once.", param=hdrs.AUTHORIZATION
        )
    else:
        return
    fault.closes = True
    raise fault


def to_api_error(request: web.Request, error: Exception) -> ApiError:
    """Convert an exception into the error that the client gets, and add its fields to the log line of the request.

    The cause of a failed model call is for the operator. It is logged, but sent only to local clients of a proxy without keys.
    """
    fields = request[FIELDS]
    if isinstance(error, ModelError):
        fields.update(error=error.kind, cause=error.cause, model=error.alias, step=error.step)
        return from_model_error(error, with_cause=request.app[SERVICE].is_local(request))
    if isinstance(error, web.HTTPRequestEntityTooLarge):
        limit = request.client_max_size
        error = TooLarge(f"The request body is larger than {limit} bytes, the proxy's limit (server.max_body_bytes).")
    elif isinstance(error, web.HTTPException):
        error = HttpError(error, request.method, request.path)
    elif not isinstance(error, ApiError):
        # Log frames only: values and the message may contain a user's text.
        log.error("request failed", error=type(error).__name__, frames=traceback.format_tb(error.__traceback__))
        error = InternalError()
    fields["error"] = error.code or type(error).__name__
    return error
