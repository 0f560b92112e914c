"""The errors of calls to language models.

    Exception
    +-- ModelError               alias, step, reason
    |   +-- UpstreamRefused      a redirect, or a 4xx that is not retried: status, code, param
    |   +-- UpstreamBusy         429, after the retries: retry_after
    |   +-- UpstreamUnavailable  5xx, 408, 409, or a failed or interrupted connection: status, retry_after
    |   +-- UpstreamTimeout      no complete answer within models.<alias>.timeout_s
    |   |   +-- OutOfTime        the deadline of the turn has passed
    |   +-- UpstreamGarbled      the answer is not a chat completion
    |   +-- EmptyAnswer          a chat completion without text, where the caller needs text
    |   +-- CircuitOpen          not sent: the circuit breaker is open: retry_after
    |   +-- Overloaded           not sent: no slot is free, and the queue is full: retry_after
    |   +-- UnreadableAnswer     the answer does not fit the requested schema, even after a repair request: raw
    |   +-- AssistantFailed      an assistant (`engine: assistant`) could not answer or perform an action
    +-- ValueError
        +-- ModelSettingsError   the configuration is invalid, for example a missing secret or an unregistered engine

No message quotes an upstream or a user, because an upstream's error text may contain prompts and keys.
Engines raise these errors without alias and step. `Models` sets both.
"""

from typing import ClassVar, Self


class ModelError(Exception):
    """A call to a model failed, or its answer was not usable."""

    retryable: ClassVar[bool] = False
    """Whether a retry of the same request at the same upstream may succeed."""
    outage: ClassVar[bool] = False
    """Whether the upstream is at fault. The circuit breaker counts these errors."""
    elsewhere: ClassVar[bool] = False
    """Whether to ask the aliases in `fallback`, because another model may still answer."""
    subject: ClassVar[str] = "the model's server"
    """Who failed: the grammatical subject of `reason` in messages."""
    hint: ClassVar[str] = "see the log of the upstream"
    """The next step for the operator. `advice` replaces `<alias>` with the alias."""
    usual_reason: ClassVar[str] = ""
    """The default of `reason`."""
    retry_after: float | None = None
    """Seconds to wait before a retry. None: the upstream gave no value."""
    alias = step = ""

    def __init__(self, reason: str = "") -> None:
        """Args: reason: predicate for `subject`, such as `refused the key`. It must not contain secrets, or text of an upstream
        or user."""
        self.reason = reason or self.usual_reason
        super().__init__(self.reason)

    def at(self, alias: str, step: str) -> Self:
        """Set the alias and the step of the failed call, and return this error."""
        self.alias, self.step = alias, step
        return self

    @property
    def kind(self) -> str:
        """The class name, which ledgers, logs and metrics use."""
        return type(self).__name__

    def description(self) -> str:
        return self.reason or self.kind

    @property
    def advice(self) -> str:
        """`hint` with the name of the alias."""
        return self.hint.replace("<alias>", repr(self.alias) if self.alias else "<alias>")

    @property
    def cause(self) -> str:
        """The failure and the next step in one sentence, for logs and for clients on the proxy's machine."""
        return f"{self.subject} {self.description()}: {self.advice}"

    def __str__(self) -> str:
        where = f"model {self.alias!r}, step {self.step!r}: " if self.alias else ""
        return f"{where}{self.subject} {self.description()}; {self.advice}"


_REFUSALS = {
    401: ("refused the key", "check api_key_env of the alias <alias>"),
    402: ("requires payment", "check the account of the key in api_key_env of the alias <alias>"),
    403: ("refused access", "check the rights of the key in api_key_env of the alias <alias>"),
    404: ("does not know the path or the model", "check base_url and model of the alias <alias>"),
    405: ("does not accept POST on this path", "check base_url of the alias <alias>"),
    413: ("refused the request as too large", "send less, or lower the token budget of the chatbot"),
}
"""By HTTP status, the description and the advice of an UpstreamRefused error."""


class UpstreamRefused(ModelError):
    """The upstream refused the request (a redirect or a 4xx). A retry would get the same response."""

    hint = "check base_url and model of the alias <alias>, and the fields of the request"

    def __init__(self, status: int = 400, code: str | None = None, param: str | None = None, reason: str = "") -> None:
        """Args: code, param: the error code and the field at fault, from CAF itself or from `refusal.read_refusal`."""
        super().__init__(reason)
        self.status = status
        self.code = code
        self.param = param

    def description(self) -> str:
        named = {"code": self.code, "param": self.param}
        details = "".join(f", {name} {value!r}" for name, value in named.items() if value)
        what = self.reason or (_REFUSALS[self.status][0] if self.status in _REFUSALS else "refused the request")
        return f"{what} ({self.status}{details})"

    @property
    def advice(self) -> str:
        hint = _REFUSALS[self.status][1] if self.status in _REFUSALS and not self.reason else self.hint
        return hint.replace("<alias>", repr(self.alias) if self.alias else "<alias>")


class UpstreamBusy(ModelError):
    """The upstream answered 429 Too Many Requests, even after the retries."""

    retryable = True
    elsewhere = True
    hint = "wait, raise the server's rate limit, or raise max_attempts of the alias <alias>"
    usual_reason = "is busy (429)"

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__()
        self.retry_after = retry_after


class UpstreamUnavailable(ModelError):
    """The upstream failed (5xx, 408, 409), or the connection to it failed. The problem may be temporary."""

    retryable = True
    outage = True
    elsewhere = True
    hint = "check base_url of the alias <alias>, and that its server runs"

    def __init__(self, reason: str = "", *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(reason or f"failed ({status or 'unknown cause'})")
        self.status = status
        self.retry_after = retry_after


class UpstreamTimeout(ModelError):
    """The upstream did not answer within the timeout. No retry follows, because the user has already waited for the timeout."""

    outage = True
    elsewhere = True
    hint = "raise timeout_s of the alias <alias>, or use a faster model"
    usual_reason = "did not answer within the timeout"


class OutOfTime(UpstreamTimeout):
    """The deadline of the turn has passed. The upstream is not at fault."""

    outage = False
    elsewhere = False
    subject = "the turn"
    hint = "raise server.turn_timeout_s or use faster models"
    usual_reason = "has no time left for this step"


class UpstreamGarbled(ModelError):
    """The upstream sent an answer that is not a chat completion."""

    retryable = True
    outage = True
    elsewhere = True
    hint = "check that base_url of the alias <alias> is an OpenAI-compatible API, usually ending in /v1"
    usual_reason = "sent an answer that is not a chat completion"


class EmptyAnswer(ModelError):
    """The upstream sent a chat completion without text, tool calls and refusal."""

    hint = "check model of the alias <alias>, and raise its max_tokens if the model thinks before it answers"
    usual_reason = "answered without text"


class CircuitOpen(ModelError):
    """The circuit breaker pauses calls to the upstream after too many failures. The request was not sent."""

    elsewhere = True
    subject = "the proxy"
    hint = "see in the log why the earlier calls failed, or change breaker of the alias <alias>"
    usual_reason = "pauses calls to the model's server after too many failures in a row"

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__()
        self.retry_after = retry_after


class Overloaded(ModelError):
    """The alias has reached its limits `max_concurrent` and `queue`. The request was not sent."""

    elsewhere = True
    retry_after = 1.0
    subject = "the proxy"
    hint = "raise max_concurrent or queue of the alias <alias>, or serve fewer clients"
    usual_reason = "has no free slot for a call to the model's server"


class UnreadableAnswer(ModelError):
    """The answer does not fit the requested schema, even after a repair request that named the problem."""

    subject = "the model"
    hint = "use a stronger model for this step, or raise its max_tokens"
    usual_reason = "gave an answer without the requested structure"

    def __init__(self, raw: str = "", reason: str = "") -> None:
        super().__init__(reason)
        self.raw = raw
        """The last answer, unchanged. Only the trace may store it."""


class AssistantFailed(ModelError):
    """An assistant could not answer, or could not perform an action."""

    subject = "the assistant failed:"
    hint = "see the assistant's page in docs/, and the turn in `caf trace show`"

    @property
    def cause(self) -> str:
        """The cause without the assistant's message, which may quote a user."""
        return f"the assistant failed ({self.kind}): {self.advice}"


class ModelSettingsError(ValueError):
    """The configuration of a model is invalid. The message names the setting and the remedy."""


def error_for_status(
    status: int, *, retry_after: float | None = None, code: str | None = None, param: str | None = None
) -> ModelError:
    """Return the error for an HTTP status other than 2xx.

    Args:
        status: The HTTP status.
        retry_after: Seconds from the Retry-After header, or None.
        code: Error code, as `refusal.read_refusal` returns it.
        param: Field at fault, as `refusal.read_refusal` returns it.
    """
    if status == 429:
        return UpstreamBusy(retry_after)
    if status in (408, 409) or status >= 500:
        return UpstreamUnavailable(status=status, retry_after=retry_after)
    if status < 400:
        return UpstreamRefused(status, reason="redirected the request, which the proxy does not follow")
    return UpstreamRefused(status, code, param)
