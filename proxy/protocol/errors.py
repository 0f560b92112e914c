"""The errors that clients get: each class has an HTTP status and is sent as an OpenAI error body.

    Exception
    +-- ApiError             status, type, code, param, headers
        +-- BadRequest       400  malformed, or an invalid field
        +-- Unauthorized     401  no valid key
        +-- Forbidden        403  the key lacks a permission
        +-- ModelNotFound    404  no chatbot with this name
        +-- ResponseNotFound 404  no response with this id
        +-- BodyTimeout      408  the body did not arrive within server.body_timeout_s
        +-- TooLarge         413  the body is larger than server.max_body_bytes
        +-- NotJson          415  no keys configured, and a Content-Type that any web page may send
        +-- RateLimited      429  the key is over a limit
            +-- TooManyFailures  429  the address sent too many requests without a valid key
            +-- QuotaSpent   429  the key is over its budget for today
        +-- StoreUnavailable 503  the state of conversations cannot be read or stored
        +-- TooManyConnections   503  the proxy is at its limit of connections
        +-- TurnTimeout      504  the turn took longer than server.turn_timeout_s
        +-- InternalError    500  a fault of the proxy
        +-- HttpError        404, 405 ...  refused by aiohttp
        +-- UpstreamError    429, 502, 503, 504  made from a ModelError by model_errors.py

No message contains a draft, a key or text of an upstream.
"""

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import orjson
from aiohttp import web

from proxy.protocol.missing_routes import advise


class ApiError(Exception):
    """Base class of errors that end a request with an OpenAI error body."""

    status: int = 500
    type: ClassVar[str] = "server_error"
    code: str | None = None
    closes: bool = False
    """Whether the connection is closed after the response."""

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
    """The request has no valid key."""

    status = 401
    type = "invalid_request_error"  # OpenAI's type; `code` identifies the error
    code = "invalid_api_key"

    def __init__(self) -> None:
        super().__init__("The API key is missing or invalid. Send it as `Authorization: Bearer KEY`.")
        self.headers["WWW-Authenticate"] = "Bearer"


class Forbidden(ApiError):
    """The key lacks a permission."""

    status = 403
    type = "permission_error"
    code = "permission_denied"


class ModelNotFound(ApiError):
    """`model` is not the name of a chatbot that the client may use."""

    status = 404
    type = "invalid_request_error"
    code = "model_not_found"

    @classmethod
    def of_chatbot(cls, name: str, visible: Sequence[str]) -> "ModelNotFound":
        """Return the error for an unknown chatbot. `visible` are the chatbots that the client may use."""
        expected = (
            f"expected one of: {', '.join(visible)}"
            if visible
            else "this API key gives access to no configured chatbot; the operator can add one to its `chatbots`"
        )
        return cls(f"model: unknown chatbot {name[:64]!r}; {expected}.", param="model")


class ResponseNotFound(ApiError):
    """The client's key has no stored response with the id in `previous_response_id` or in the path."""

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
    """The body is over the size limit."""

    status = 413
    type = "invalid_request_error"
    code = "request_too_large"


class NotJson(ApiError):
    """The Content-Type is one that HTML forms use. Without keys it is refused, because any web page may send forms to loopback."""

    status = 415
    type = "invalid_request_error"
    code = "unsupported_content_type"

    def __init__(self) -> None:
        super().__init__("Send the request body with the header `Content-Type: application/json`.")


class RateLimited(ApiError):
    """The key is over a limit. The header `Retry-After` has the seconds until the next attempt."""

    status = 429
    type = "rate_limit_error"
    code = "rate_limit_exceeded"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.headers["Retry-After"] = str(max(1, math.ceil(retry_after_s)))


class TooManyFailures(RateLimited):
    """The address sent too many requests without a valid key. Requests with a valid key are still served."""

    closes = True

    def __init__(self, retry_after_s: float) -> None:
        super().__init__(
            "Too many requests without a valid API key. Send a valid key or try again later.", retry_after_s
        )
        self.headers["x-should-retry"] = "false"  # OpenAI's clients would retry with the same key


class QuotaSpent(RateLimited):
    """The key has spent its budget for today."""

    type = "insufficient_quota"
    code = "insufficient_quota"


class StoreUnavailable(ApiError):
    """The state of conversations cannot be read or stored, and the configuration allows no reply without it."""

    status = 503
    code = "state_unavailable"

    def __init__(self) -> None:
        super().__init__("The proxy cannot reach its state store. Please try again later.")
        self.headers["Retry-After"] = "2"


class TooManyConnections(ApiError):
    """The proxy is at its limit of connections."""

    status = 503
    code = "too_many_connections"
    closes = True

    def __init__(self) -> None:
        super().__init__("The proxy is at its limit of connections. Please try again later.")
        self.headers["Retry-After"] = "1"


class TurnTimeout(ApiError):
    """The turn was cancelled because it took too long."""

    status = 504
    type = "timeout_error"
    code = "turn_timeout"


class InternalError(ApiError):
    """A fault of the proxy. Only the log has the details."""

    code = "internal"

    def __init__(self) -> None:
        super().__init__("The proxy failed because of an internal error. The operator can find the details in its log.")


class UpstreamError(ApiError):
    """The model behind the chatbot failed, timed out or refused the request."""

    type = "upstream_error"

    def __init__(self, status: int, code: str, message: str, *, param: str | None = None) -> None:
        super().__init__(message, param=param)
        self.status = status
        self.code = code


class HttpError(ApiError):
    """An error of aiohttp: an unknown path, a wrong method."""

    type = "invalid_request_error"

    def __init__(self, error: web.HTTPException, method: str, path: str) -> None:
        hint = f" {advise(path)}" if error.status == 404 else ""
        super().__init__(f"{method} {path}: {error.reason}.{hint}")
        self.status = error.status
        self.code = f"http_{error.status}"
        self.headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}
