"""Cross-origin requests (CORS): decides which web pages may call /v1/* from a browser (`server.cors_origins`).

aiohttp-cors is not used, because it works route by route. Errors without a route (404, 405) get no headers from it, and look like
failed connections to the page.
"""

from collections.abc import Collection
from typing import Final

from aiohttp import hdrs, web

from proxy.api.middleware import Handler

ANY_ORIGIN: Final = "*"
PATHS = "/v1/"
"""Prefix of the paths that other origins may call. They may not call /metrics, /admin and the console."""
METHODS = "GET, POST, DELETE"
REQUEST_HEADERS = (
    "Authorization", "Content-Type", "X-CAF-Filter", "X-Conversation-Id", "Idempotency-Key", "OpenAI-Beta",
    "OpenAI-Organization", "OpenAI-Project", "User-Agent", "X-Client-Request-Id", "X-Request-Id", "traceparent", "tracestate",
)  # fmt: skip
SDK_HEADERS = "x-stainless-"
"""Prefix of the headers that OpenAI's client libraries add. New versions add more of these headers."""
RESPONSE_HEADERS = "Retry-After, Retry-After-Ms, X-Request-Id, X-Should-Retry"
MAX_AGE_S = 600
"""Seconds for which a browser may cache the answer to a preflight."""


def allow_origins(app: web.Application, origins: Collection[str]) -> None:
    """Allow web pages of these origins to call /v1/*. Every answer gets the CORS headers, including errors and streams."""

    def allowed_origin(request: web.BaseRequest) -> str | None:
        if ANY_ORIGIN in origins:
            return ANY_ORIGIN
        origin = request.headers.get(hdrs.ORIGIN)
        return origin if origin in origins else None

    @web.middleware
    async def answer_preflight(request: web.Request, handler: Handler) -> web.StreamResponse:
        preflight = request.method == hdrs.METH_OPTIONS and hdrs.ACCESS_CONTROL_REQUEST_METHOD in request.headers
        if not (preflight and request.path.startswith(PATHS) and allowed_origin(request)):
            return await handler(request)
        names = [name.strip() for name in request.headers.get(hdrs.ACCESS_CONTROL_REQUEST_HEADERS, "").split(",")]
        of_sdk = [name for name in names if name.lower().startswith(SDK_HEADERS)]
        headers = {
            hdrs.ACCESS_CONTROL_ALLOW_METHODS: METHODS,
            hdrs.ACCESS_CONTROL_ALLOW_HEADERS: ", ".join([*REQUEST_HEADERS, *of_sdk]),
            hdrs.ACCESS_CONTROL_MAX_AGE: str(MAX_AGE_S),
        }
        return web.Response(status=204, headers=headers)

    async def add_headers(request: web.Request, response: web.StreamResponse) -> None:
        if not request.path.startswith(PATHS):
            return
        origin = allowed_origin(request)
        if origin != ANY_ORIGIN:
            response.headers.add(hdrs.VARY, hdrs.ORIGIN)  # else a cache would return one origin's answer to another
        if origin is not None:
            response.headers[hdrs.ACCESS_CONTROL_ALLOW_ORIGIN] = origin
            response.headers[hdrs.ACCESS_CONTROL_EXPOSE_HEADERS] = RESPONSE_HEADERS

    app.middlewares.append(answer_preflight)
    app.on_response_prepare.append(add_headers)
