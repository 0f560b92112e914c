"""Errors that end a request, as OpenAI error bodies with their status.

    Exception
    +-- ApiError             status, type, code, param, headers
        +-- BadRequest       400  malformed, or a field that is not right
        +-- Unauthorized     401  no key, or none that is valid
        +-- Forbidden        403  the key lacks a permission
        +-- ModelNotFound    404  no chatbot of that name
        +-- ResponseNotFound 404  no response of that id
        +-- BodyTimeout      408  the body did not arrive within server.body_timeout_s
        +-- TooLarge         413  the body is larger than server.max_body_bytes
        +-- NotJson          415  no keys, and a Content-Type that any web page may send
        +-- RateLimited      429  the key has used up what it may for now
            +-- TooManyFailures  429  the address sent too many requests without a valid key
            +-- QuotaSpent   429  its money for today
        +-- StoreUnavailable 503  the state of conversations cannot be read or kept
        +-- TooManyConnections   503  as many connections as the proxy may have
        +-- TurnTimeout      504  the turn took longer than server.turn_timeout_s
        +-- InternalError    500  a fault of the proxy
        +-- HttpError        404, 405 ...  what aiohttp refuses by itself
        +-- UpstreamError    429, 502, 503, 504  made from a ModelError by model_errors.py

No message here holds a draft, a key, or what an upstream wrote.
"""

import math
from typing import Any, ClassVar

import orjson
from aiohttp import web

from proxy.protocol.missing_routes import advise


class ApiError(Exception):
    """A request that ends in an error body."""

    status: int = 500
    type: ClassVar[str] = "server_error"
    code: str | None = None
    closes: bool = False
    """Whether the connection is closed behind the answer."""

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.headers: dict[str, str] = {}

    def body(self) -> dict[str, Any]:
        """Return the OpenAI error body."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}

    def response(self) -> web.Response:
        response = web.Response(
            status=self.status, headers=self.headers, body=orjson.dumps(self.body()), content_type="application/json"
        )
        if self.closes:
            response.force_close()
        return response


class BadRequest(ApiError):
    """The request is malformed; `param` names the field."""

    status = 400
    type = "invalid_request_error"


class Unauthorized(ApiError):
    """No key, or none that is valid."""

    status = 401
    type = "invalid_request_error"  # as OpenAI says it; the code tells what it is
    code = "invalid_api_key"

    def __init__(self) -> None:
        super().__init__("The API key is missing or not valid; send it as `Authorization: Bearer KEY`.")
        self.headers["WWW-Authenticate"] = "Bearer"


class Forbidden(ApiError):
    """The key may not do that."""

    status = 403
    type = "permission_error"
    code = "permission_denied"


class ModelNotFound(ApiError):
    """`model` names no chatbot."""

    status = 404
    type = "invalid_request_error"
    code = "model_not_found"


class ResponseNotFound(ApiError):
    """`previous_response_id`, or a path, names no response of this key."""

    status = 404
    type = "invalid_request_error"

    def __init__(self, response_id: str, *, previous: bool = False) -> None:
        noun = "Previous response" if previous else "Response"
        param = "previous_response_id" if previous else None
        super().__init__(f"{noun} with id {response_id[:64]!r} not found.", param=param)
        self.code = "previous_response_not_found" if previous else "response_not_found"


class BodyTimeout(ApiError):
    """The body took too long to arrive."""

    status = 408
    type = "timeout_error"
    code = "request_timeout"
    closes = True

    def __init__(self, seconds: float) -> None:
        super().__init__(
            f"The request body did not arrive within {seconds:g} s, the proxy's limit (server.body_timeout_s)."
        )


class TooLarge(ApiError):
    """More bytes than are taken."""

    status = 413
    type = "invalid_request_error"
    code = "request_too_large"


class NotJson(ApiError):
    """The body's Content-Type is one of forms, which any web page may send to a proxy on loopback unasked."""

    status = 415
    type = "invalid_request_error"
    code = "unsupported_content_type"

    def __init__(self) -> None:
        super().__init__("Send the request body with the header `Content-Type: application/json`.")


class RateLimited(ApiError):
    """The key has used up what it may for now; `Retry-After` says when to try again."""

    status = 429
    type = "rate_limit_error"
    code = "rate_limit_exceeded"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.headers["Retry-After"] = str(max(1, math.ceil(retry_after_s)))


class TooManyFailures(RateLimited):
    """The address sent too many requests without a valid key; one with a valid key is served all the same."""

    closes = True

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(
            "Too many requests without a valid API key; send a valid one, or try again later.", retry_after_s
        )
        self.headers["x-should-retry"] = "false"  # OpenAI's clients would wait and send the same key again


class QuotaSpent(RateLimited):
    """The key has spent its money for today."""

    type = "insufficient_quota"
    code = "insufficient_quota"


class StoreUnavailable(ApiError):
    """The state of conversations cannot be read or kept, and the operator wants no reply without it."""

    status = 503
    code = "state_unavailable"

    def __init__(self) -> None:
        super().__init__("The proxy cannot reach its state right now. Please try again later.")
        self.headers["Retry-After"] = "2"


class TooManyConnections(ApiError):
    """There are as many connections as the proxy may have."""

    status = 503
    code = "too_many_connections"
    closes = True

    def __init__(self) -> None:
        super().__init__("The proxy has as many connections as it may. Please try again later.")
        self.headers["Retry-After"] = "1"


class TurnTimeout(ApiError):
    """The turn was cancelled because it took too long."""

    status = 504
    type = "timeout_error"
    code = "turn_timeout"


class InternalError(ApiError):
    """A fault of the proxy. Details go to the log only."""

    code = "internal"

    def __init__(self) -> None:
        super().__init__("The proxy failed; the operator's log has the details.")


class UpstreamError(ApiError):
    """The model behind the chatbot failed, timed out or refused."""

    type = "upstream_error"

    def __init__(self, status: int, code: str, message: str, *, param: str | None = None) -> None:
        super().__init__(message, param=param)
        self.status = status
        self.code = code


class HttpError(ApiError):
    """An error that aiohttp itself raises: an unknown path, a wrong method."""

    type = "invalid_request_error"

    def __init__(self, error: web.HTTPException, method: str, path: str) -> None:
        hint = f" {advise(path)}" if error.status == 404 else ""
        super().__init__(f"{method} {path}: {error.reason}.{hint}")
        self.status = error.status
        self.code = f"http_{error.status}"
        self.headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
