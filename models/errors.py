"""What can go wrong when a language model is asked.

    Exception
    +-- ModelError               alias, step, reason
    |   +-- UpstreamRefused      a redirect, or a 4xx that asking again would not change: status, code, param
    |   +-- UpstreamBusy         429, after the retries: retry_after
    |   +-- UpstreamUnavailable  5xx, 408, 409, no connection, a cut connection: status, retry_after
    |   +-- UpstreamTimeout      no whole answer within models.<alias>.timeout_s
    |   |   +-- OutOfTime        the turn has no time left for this step
    |   +-- UpstreamGarbled      an answer that is no chat completion
    |   +-- CircuitOpen          not asked: it failed too often just now: retry_after
    |   +-- Overloaded           not asked: no place is free, and the queue is full: retry_after
    |   +-- UnreadableAnswer     not the structure that was asked for, even after the repair round: raw
    |   +-- AssistantFailed      an assistant of `engine: assistant` could not answer, or did not act
    +-- ValueError
        +-- ModelSettingsError   found at start-up: a missing secret, an engine that nobody registered

No message holds text that an upstream or a user wrote: an upstream's error may quote prompts and keys.
Engines raise these without alias and step, which `Models` fills in.
"""

from typing import ClassVar, Self


class ModelError(Exception):
    """A model could not be asked, or did not answer usefully."""

    retryable: ClassVar[bool] = False
    """Asking the same upstream again may help."""
    outage: ClassVar[bool] = False
    """The upstream is at fault: a circuit breaker counts it."""
    elsewhere: ClassVar[bool] = False
    """Another model may still answer: `fallback` is tried."""
    hint: ClassVar[str] = "see the log of the upstream"
    usual_reason: ClassVar[str] = ""
    """What happened, where it is not said more exactly."""
    retry_after: float | None = None
    """Seconds after which the upstream wants to be asked again, if it said so."""
    alias = step = ""

    def __init__(self, reason: str = "") -> None:
        """Args: reason: what happened, in our own words, free of secrets and of anybody's text."""
        self.reason = reason or self.usual_reason
        super().__init__(self.reason)

    def at(self, alias: str, step: str) -> Self:
        """Say where it happened, and return the same error."""
        self.alias, self.step = alias, step
        return self

    @property
    def kind(self) -> str:
        """The error's name in ledgers, logs and metrics."""
        return type(self).__name__

    def description(self) -> str:
        return self.reason or self.kind

    @property
    def cause(self) -> str:
        """What happened, for logs."""
        return self.description()

    def __str__(self) -> str:
        where = f"model {self.alias!r}, step {self.step!r}: " if self.alias else ""
        return f"{where}{self.description()}; {self.hint}"


class UpstreamRefused(ModelError):
    """The upstream will not take this request, however often it is asked."""

    hint = "check the model's name, the key's rights and the request's fields"

    def __init__(self, status: int = 400, code: str | None = None, param: str | None = None, reason: str = "") -> None:
        """Args: code, param: ours, or an upstream's that refusal.py lets through."""
        super().__init__(reason)
        self.status = status
        self.code = code
        self.param = param

    def description(self) -> str:
        named = {"code": self.code, "param": self.param}
        details = "".join(f", {name} {value!r}" for name, value in named.items() if value)
        return f"refused with status {self.status}{details}" + (f" ({self.reason})" if self.reason else "")


class UpstreamBusy(ModelError):
    """The upstream asks for fewer requests."""

    retryable = True
    elsewhere = True
    hint = "wait, or raise the upstream's rate limit or models.<alias>.max_attempts"
    usual_reason = "rate limited (status 429)"

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__()
        self.retry_after = retry_after


class UpstreamUnavailable(ModelError):
    """The upstream, or the way to it, is broken for the moment."""

    retryable = True
    outage = True
    elsewhere = True
    hint = "check that models.<alias>.base_url is reachable and its server healthy"

    def __init__(self, reason: str = "", *, status: int | None = None, retry_after: float | None = None) -> None:
        super().__init__(reason or f"unavailable (status {status})")
        self.status = status
        self.retry_after = retry_after


class UpstreamTimeout(ModelError):
    """The upstream took too long. Not tried again: the user has waited that long already."""

    outage = True
    elsewhere = True
    hint = "raise models.<alias>.timeout_s or use a faster model"
    usual_reason = "no answer in time"


class OutOfTime(UpstreamTimeout):
    """The turn has no time left for this step, which says nothing about the upstream."""

    outage = False
    elsewhere = False
    hint = "raise server.turn_timeout_s or use faster models"
    usual_reason = "no time is left for it"


class UpstreamGarbled(ModelError):
    """The upstream answered with something that is no chat completion."""

    retryable = True
    outage = True
    elsewhere = True
    hint = "check that models.<alias>.base_url speaks the OpenAI protocol"


class CircuitOpen(ModelError):
    """The upstream has failed so often that it is left alone for a while; nothing was sent."""

    elsewhere = True
    hint = "see why the calls before it failed, or change models.<alias>.breaker"
    usual_reason = "left alone after too many failures in a row"

    def __init__(self, retry_after: float | None = None) -> None:
        super().__init__()
        self.retry_after = retry_after


class Overloaded(ModelError):
    """This proxy has as many calls under way and waiting as it may; nothing was sent."""

    elsewhere = True
    retry_after = 1.0
    hint = "raise models.<alias>.max_concurrent or queue, or serve fewer clients"


class UnreadableAnswer(ModelError):
    """A structured answer could not be read, even after the model was told what was wrong."""

    hint = "use a stronger model for this step, or raise its max_tokens"
    usual_reason = "its answer does not have the structure asked for"

    def __init__(self, raw: str = "", reason: str = "") -> None:
        super().__init__(reason)
        self.raw = raw
        """The last answer as it came, for the trace only."""


class AssistantFailed(ModelError):
    """An assistant could not answer, or did not act."""

    hint = "see the assistant's page in docs/, and the log"

    @property
    def cause(self) -> str:
        """Return nothing of the assistant's own words, which may quote somebody."""
        return self.kind


class ModelSettingsError(ValueError):
    """The models cannot be opened as they are configured."""


def error_for_status(
    status: int, *, retry_after: float | None = None, code: str | None = None, param: str | None = None
) -> ModelError:
    """Return the error that an HTTP status other than 2xx stands for."""
    if status == 429:
        return UpstreamBusy(retry_after)
    if status in (408, 409) or status >= 500:
        return UpstreamUnavailable(status=status, retry_after=retry_after)
    if status < 400:
        return UpstreamRefused(status, reason="a redirect, not followed: set base_url to the final address")
    return UpstreamRefused(status, code, param)
