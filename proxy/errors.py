"""What a client is told when a request cannot be served: OpenAI error bodies with the right status.

    Exception
    +-- ApiError             status, type, code, param, headers
        +-- BadRequest       400  malformed, or a field that is not right
        +-- Unauthorized     401  no key, or none that is valid
        +-- Forbidden        403  the key lacks a permission
        +-- ModelNotFound    404  no chatbot of that name
        +-- TooLarge         413  the body is larger than server.max_body_bytes
        +-- RateLimited      429  the key has used up what it may for now
            +-- QuotaSpent   429  its money for today
        +-- TurnTimeout      504  the turn took longer than server.turn_timeout_s
        +-- Internal         500  a fault of the proxy
        +-- HttpFault        404, 405 ...  what aiohttp refuses by itself
        +-- Upstream         400, 429, 502, 504  made from a ModelError by `from_model_error`

No message here holds a draft, a key, or what an upstream wrote.
"""

import math
from typing import Any, ClassVar

import orjson
from aiohttp import web

from models.errors import ModelError, UpstreamBusy, UpstreamRefused, UpstreamTimeout


class ApiError(Exception):
    """A request that ends in an error body."""

    status: int = 500
    type: ClassVar[str] = "server_error"
    code: str | None = None

    def __init__(self, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.param = param
        self.headers: dict[str, str] = {}

    def body(self) -> dict[str, Any]:
        """Return the OpenAI error body."""
        return {"error": {"message": self.message, "type": self.type, "param": self.param, "code": self.code}}

    def response(self) -> web.Response:
        return web.Response(
            status=self.status, headers=self.headers, body=orjson.dumps(self.body()), content_type="application/json"
        )


class BadRequest(ApiError):
    """The request is malformed; `param` names the field."""

    status = 400
    type = "invalid_request_error"


class Unauthorized(ApiError):
    """No key, or none that is valid."""

    status = 401
    type = "authentication_error"
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


class TooLarge(ApiError):
    """More bytes than are taken."""

    status = 413
    type = "invalid_request_error"
    code = "request_too_large"


class RateLimited(ApiError):
    """The key has used up what it may for now; `Retry-After` says when to try again."""

    status = 429
    type = "rate_limit_error"
    code = "rate_limit_exceeded"

    def __init__(self, message: str, retry_after_s: float) -> None:
        super().__init__(message)
        self.headers["Retry-After"] = str(max(1, math.ceil(retry_after_s)))


class QuotaSpent(RateLimited):
    """The key has spent its money for today."""

    type = "insufficient_quota"
    code = "insufficient_quota"


class TurnTimeout(ApiError):
    """The turn was cancelled because it took too long."""

    status = 504
    type = "timeout_error"
    code = "turn_timeout"


class Internal(ApiError):
    """A fault of the proxy: the client learns nothing of it, the log everything but conversations."""

    code = "internal"

    def __init__(self) -> None:
        super().__init__("The proxy failed; the operator's log has the details.")


class Upstream(ApiError):
    """The model behind the chatbot did not do its part."""

    type = "upstream_error"

    def __init__(self, status: int, code: str, message: str, *, param: str | None = None) -> None:
        super().__init__(message, param=param)
        self.status = status
        self.code = code


class HttpFault(ApiError):
    """What aiohttp refuses by itself: an unknown path, a wrong method."""

    type = "invalid_request_error"

    def __init__(self, error: web.HTTPException, where: str) -> None:
        super().__init__(f"{where}: {error.reason}.")
        self.status = error.status
        self.code = f"http_{error.status}"
        self.headers = {"Allow": error.headers["Allow"]} if "Allow" in error.headers else {}


def from_model_error(error: ModelError) -> ApiError:
    """Return what a client is told of a model that could not be asked: names of fields and codes go through, texts do not.

    A request that the upstream refuses for its content is the client's to mend (400); a refused key or an unknown model
    is the operator's (502).
    """
    if isinstance(error, UpstreamBusy):
        busy = Upstream(429, "upstream_busy", "The model behind this chatbot is busy. Please try again later.")
        busy.headers["Retry-After"] = str(max(1, round(error.retry_after or 1)))
        return busy
    if isinstance(error, UpstreamTimeout):
        return Upstream(504, "upstream_timeout", "The model behind this chatbot did not answer in time.")
    if isinstance(error, UpstreamRefused) and error.status in (400, 413, 422):
        message = "The model behind this chatbot refused the request" + (f" ({error.code})." if error.code else ".")
        return Upstream(400, error.code or "upstream_refused", message, param=error.param)
    return Upstream(502, "upstream_error", "The model behind this chatbot could not be reached.")
