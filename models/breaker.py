"""A circuit breaker: nothing is sent for a while to an upstream that keeps failing. Pure but for its clock."""

import time
from collections.abc import Callable

import structlog

from models.errors import CircuitOpen, ModelError, UpstreamBusy, UpstreamRefused
from models.settings import BreakerSettings

log = structlog.get_logger(__name__)


class Breaker:
    """Counts the failures in a row of one engine.

    closed ── so many failures in a row ──> open ── open_s later ──> one probe ── an answer ──> closed
                                             └──────────── it failed ────┘

    Everything happens between two awaits of one event loop, so nothing needs a lock.
    """

    def __init__(self, alias: str, settings: BreakerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._alias = alias
        self._settings = settings
        self._clock = clock
        self._open_until: float | None = None
        self._probing = False
        self.failures = 0
        """In a row."""
        self.refused_calls = 0
        """Calls that were not sent since the start."""

    @property
    def open(self) -> bool:
        """Whether it is open, or a probe is under way."""
        return self._open_until is not None

    def check(self) -> None:
        """Raises: CircuitOpen: The upstream is to be left alone."""
        if self._open_until is None:
            return
        remaining_s = self._open_until - self._clock()
        if remaining_s > 0 or self._probing:
            self.refused_calls += 1
            raise CircuitOpen(max(remaining_s, 1.0))

    def admit(self) -> bool:
        """Let a call through, and tell whether it is the probe.

        Raises:
            CircuitOpen: The upstream is to be left alone.
        """
        self.check()
        self._probing = self.open
        return self._probing

    def record_end(self, probe: bool, error: BaseException | None) -> None:
        """Record how an admitted call has ended.

        Calls that began before it opened are ignored: a late failure must not lengthen the wait, nor a late success end it.
        """
        if self.open and not probe:
            return
        self._probing = False
        # Any answer, also a refusal or "too many requests", shows that the upstream lives.
        if error is None or isinstance(error, UpstreamRefused | UpstreamBusy):
            if self.open:
                log.warning("circuit closed", alias=self._alias)
            self.failures, self._open_until = 0, None
        elif isinstance(error, ModelError) and error.outage:
            self.failures += 1
            if probe or self.failures >= self._settings.failures:
                self._open(error)

    def _open(self, error: ModelError) -> None:
        self._open_until = self._clock() + self._settings.open_s
        log.error(
            "circuit opened", alias=self._alias, failures=self.failures, open_s=self._settings.open_s, error=error.kind
        )
