"""Failed model calls as errors of ours."""

import math

from models.errors import CircuitOpen, ModelError, Overloaded, UpstreamBusy, UpstreamRefused, UpstreamTimeout
from proxy.protocol.errors import ApiError, BadRequest, UpstreamError


def from_model_error(error: ModelError) -> ApiError:
    """Return the client's error for a failed model call. Field names and codes are passed on, texts are not.

    A request that the upstream refuses for its content is the client's to mend (400); a refused key or an unknown model
    is the operator's (502).
    """
    if isinstance(error, UpstreamBusy):
        busy = UpstreamError(429, "upstream_busy", "The model behind this chatbot is busy. Please try again later.")
        busy.headers["Retry-After"] = str(max(1, round(error.retry_after or 1)))
        return busy
    if isinstance(error, CircuitOpen | Overloaded):
        message = (
            "The model behind this chatbot is left alone for a while, since it keeps failing. Please try again later."
            if isinstance(error, CircuitOpen)
            else "The proxy has as many requests to this chatbot's model as it may. Please try again later."
        )
        full = UpstreamError(503, "upstream_unavailable" if isinstance(error, CircuitOpen) else "overloaded", message)
        full.headers["Retry-After"] = str(max(1, math.ceil(error.retry_after or 1)))
        return full
    if isinstance(error, UpstreamTimeout):
        return UpstreamError(504, "upstream_timeout", "The model behind this chatbot did not answer in time.")
    if isinstance(error, UpstreamRefused) and error.status in (400, 413, 422):
        message = "The model behind this chatbot refused the request" + (f" ({error.code})." if error.code else ".")
        refused = BadRequest(message, param=error.param)
        refused.code = error.code or "upstream_refused"
        return refused
    lost = UpstreamError(502, "upstream_error", "The model behind this chatbot could not be reached.")
    if error.retry_after is not None:
        lost.headers["Retry-After"] = str(max(1, math.ceil(error.retry_after)))
    return lost
