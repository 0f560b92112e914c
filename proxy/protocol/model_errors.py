"""Converts failed model calls into the errors that clients get."""

import math

from models.errors import CircuitOpen, ModelError, Overloaded, UpstreamBusy, UpstreamRefused, UpstreamTimeout
from proxy.protocol.errors import ApiError, BadRequest, UpstreamError


def from_model_error(error: ModelError, *, with_cause: bool = False) -> ApiError:
    """Return the client's error for a failed model call.

    The error contains field names and OpenAI's codes from the upstream, but never its text. Status 400 means that the client must
    correct a request that the upstream refused for its content. Status 502 means that the operator must correct a refused API key
    or an unknown model.

    Args:
        error: The failed call.
        with_cause: Whether the message is the cause as in the log: what the upstream did, and which setting to check.
    """
    api_error = _classify(error)
    if with_cause:
        api_error.message = error.cause
    if error.retry_after is not None and "Retry-After" not in api_error.headers:
        api_error.headers["Retry-After"] = _whole_seconds(error.retry_after)
    return api_error


def _classify(error: ModelError) -> ApiError:
    if isinstance(error, UpstreamBusy):
        message = "The model behind this chatbot is busy. Please try again later."
        return _retry_later(UpstreamError(429, "upstream_busy", message), error)
    if isinstance(error, CircuitOpen):
        message = "The model behind this chatbot keeps failing, so calls to it are paused. Please try again later."
        return _retry_later(UpstreamError(503, "upstream_unavailable", message), error)
    if isinstance(error, Overloaded):
        message = "The proxy has reached its limit of requests to this chatbot's model. Please try again later."
        return _retry_later(UpstreamError(503, "overloaded", message), error)
    if isinstance(error, UpstreamTimeout):
        return UpstreamError(504, "upstream_timeout", "The model behind this chatbot did not answer in time.")
    if isinstance(error, UpstreamRefused) and error.status in (400, 413, 422):
        message = "The model behind this chatbot refused the request" + (f" ({error.code})." if error.code else ".")
        refused = BadRequest(message, param=error.param)
        refused.code = error.code or "upstream_refused"
        return refused
    return UpstreamError(502, "upstream_error", "The model behind this chatbot could not be reached.")


def _retry_later(api_error: ApiError, error: ModelError) -> ApiError:
    api_error.headers["Retry-After"] = _whole_seconds(error.retry_after or 1)
    return api_error


def _whole_seconds(seconds: float) -> str:
    return str(max(1, math.ceil(seconds)))
