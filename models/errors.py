"""The errors of calls to language models.

    Exception
    +-- ModelError               alias, step, reason
    |   +-- UpstreamRefused      a redirect, or a 4xx that a retry would not change: status, code, param
    |   +-- UpstreamBusy         429, after the retries: retry_after
    |   +-- UpstreamUnavailable  5xx, 408, 409, no connection, a cut connection: status, retry_after
    |   +-- UpstreamTimeout      no complete answer within models.<alias>.timeout_s
    |   |   +-- OutOfTime        the turn has no time left for this step
    |   +-- UpstreamGarbled      an answer other than a chat completion
    |   +-- EmptyAnswer          a chat completion without text, where text is needed
    |   +-- CircuitOpen          not sent, after too many recent failures: retry_after
    |   +-- Overloaded           not sent: no slot is free, and the queue is full: retry_after
    |   +-- UnreadableAnswer     an answer without the requested structure, even after the repair round: raw
    |   +-- AssistantFailed      an assistant of `engine: assistant` could not answer, or did not act
    +-- ValueError
        +-- ModelSettingsError   found at start-up: a missing secret, an unregistered engine

No message quotes text of an upstream or a user, because an upstream's error may quote prompts and keys.
Engines raise these without alias and step, which `Models` fills in.
"""

from typing import ClassVar, Self


class ModelError(Exception):
    """A call to a model failed, or its answer was not usable."""

    retryable: ClassVar[bool] = False
    """A retry at the same upstream may help."""
    outage: ClassVar[bool] = False
    """The upstream is at fault: a circuit breaker counts it."""
    elsewhere: ClassVar[bool] = False
    """Another model may still answer: `fallback` is tried."""
    subject: ClassVar[str] = "the model's server"
    """The subject of the sentence in `cause`."""
    hint: ClassVar[str] = "see the log of the upstream"
    """What to try. `<alias>` is replaced with the alias."""
    usual_reason: ClassVar[str] = ""
    """What happened, unless `reason` is more specific."""
    retry_after: float | None = None
    """Seconds to wait before a retry, if the upstream set them."""
    alias = step = ""

    def __init__(self, reason: str = "") -> None:
        """Args: reason: what `subject` did, in our own words. It must hold no secret and no text of an upstream or user."""
        self.reason = reason or self.usual_reason
        super().__init__(self.reason)

    def at(self, alias: str, step: str) -> Self:
        """Set the alias and step, and return the same error."""
        self.alias, self.step = alias, step
        return self

    @property
    def kind(self) -> str:
        """The error's name in ledgers, logs and metrics."""
        return type(self).__name__

    def description(self) -> str:
        return self.reason or self.kind

    @property
    def advice(self) -> str:
        """What to try, with the name of the alias."""
        return self.hint.replace("<alias>", repr(self.alias) if self.alias else "<alias>")

    @property
    def cause(self) -> str:
        """What happened and what to try, as a sentence for the operator: for logs, and for clients on the proxy's machine."""
        return f"{self.subject} {self.description()}: {self.advice}"

    def __str__(self) -> str:
        where = f"model {self.alias!r}, step {self.step!r}: " if self.alias else ""
        return f"{where}{self.description()}; {self.advice}"


_REFUSALS = {
    401: ("refused the key", "check api_key_env of the alias <alias>"),
    402: ("requires payment", "check the account of the key in api_key_env of the alias <alias>"),
    403: ("refused access", "check the rights of the key in api_key_env of the alias <alias>"),
    404: ("does not know the path or the model", "check base_url and model of the alias <alias>"),
    405: ("does not accept POST on this path", "check base_url of the alias <alias>"),
    413: ("refused the request as too large", "send less, or lower the token budget of the chatbot"),
}
"""By HTTP status: what the server did, and what to try."""


class UpstreamRefused(ModelError):
    """The upstream refuses this request, and a retry would not change that."""

    hint = "check base_url and model of the alias <alias>, and the fields of the request"

    def __init__(self, status: int = 400, code: str | None = None, param: str | None = None, reason: str = "") -> None:
        """Args: code, param: ours, or values of an upstream that refusal.py allows."""
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
    """The upstream asks for fewer requests."""

    retryable = True
    elsewhere = True
    hint = "wait, raise the server's rate limit, or raise max_attempts of the alias <alias>"
    usual_reason = "is busy (429)"

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__()
        self.retry_after = retry_after


class UpstreamUnavailable(ModelError):
    """The upstream, or the connection to it, is temporarily broken."""

    retryable = True
    outage = True
    elsewhere = True
    hint = "check base_url of the alias <alias>, and that its server runs"

    def __init__(self, reason: str = "", *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(reason or f"failed ({status or 'unknown cause'})")
        self.status = status
        self.retry_after = retry_after


class UpstreamTimeout(ModelError):
    """The upstream took too long. There is no retry, because the user has already waited that long."""

    outage = True
    elsewhere = True
    hint = "raise timeout_s of the alias <alias>, or use a faster model"
    usual_reason = "did not answer in time"


class OutOfTime(UpstreamTimeout):
    """The turn has no time left for this step, which says nothing about the upstream."""

    outage = False
    elsewhere = False
    subject = "the turn"
    hint = "raise server.turn_timeout_s or use faster models"
    usual_reason = "has no time left for this step"


class UpstreamGarbled(ModelError):
    """The upstream answered with something other than a chat completion."""

    retryable = True
    outage = True
    elsewhere = True
    hint = "check that base_url of the alias <alias> is an OpenAI-compatible API, usually ending in /v1"
    usual_reason = "answered with something other than a chat completion"


class EmptyAnswer(ModelError):
    """The upstream answered with neither text nor tool calls nor a refusal."""

    hint = "check model of the alias <alias>, and raise its max_tokens if the model thinks before it answers"
    usual_reason = "answered without text"


class CircuitOpen(ModelError):
    """Calls to the upstream are paused after too many failures. Nothing was sent."""

    elsewhere = True
    subject = "the proxy"
    hint = "see in the log why the earlier calls failed, or change breaker of the alias <alias>"
    usual_reason = "pauses calls to the model's server after too many failures in a row"

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__()
        self.retry_after = retry_after


class Overloaded(ModelError):
    """The proxy has reached its limit of running and waiting calls. Nothing was sent."""

    elsewhere = True
    retry_after = 1.0
    subject = "the proxy"
    hint = "raise max_concurrent or queue of the alias <alias>, or serve fewer clients"
    usual_reason = "has no free slot for a call to the model's server"


class UnreadableAnswer(ModelError):
    """A structured answer could not be read, even after a repair request named the problem."""

    subject = "the model"
    hint = "use a stronger model for this step, or raise its max_tokens"
    usual_reason = "gave an answer without the requested structure"

    def __init__(self, raw: str = "", reason: str = "") -> None:
        super().__init__(reason)
        self.raw = raw
        """The last answer, unchanged, for the trace only."""


class AssistantFailed(ModelError):
    """An assistant could not answer, or did not act."""

    hint = "see the assistant's page in docs/, and the log"

    @property
    def cause(self) -> str:
        """The cause without the assistant's own text, which may quote a user."""
        return f"the assistant failed ({self.kind}): {self.advice}"


class ModelSettingsError(ValueError):
    """The configuration of the models is invalid."""


def error_for_status(
    status: int, *, retry_after: float | None = None, code: str | None = None, param: str | None = None
) -> ModelError:
    """Return the error for an HTTP status other than 2xx."""
    if status == 429:
        return UpstreamBusy(retry_after)
    if status in (408, 409) or status >= 500:
        return UpstreamUnavailable(status=status, retry_after=retry_after)
    if status < 400:
        return UpstreamRefused(status, reason="redirected the request, which the proxy does not follow")
    return UpstreamRefused(status, code, param)
