"""Breaker, a circuit breaker: it pauses calls to an upstream after consecutive failures. Pure, except for the clock."""

import time
from collections.abc import Callable

import structlog

from models.errors import CircuitOpen, ModelError, UpstreamBusy, UpstreamRefused
from models.settings import BreakerSettings

log = structlog.get_logger(__name__)


class Breaker:
    """Counts the consecutive failures of one alias, and refuses its calls while too many have failed.

    closed ── `failures` failures ──> open ── after `open_s` ──> one probe ── success ──> closed
                                       └────────── failure ──────────┘

    No method awaits, so no lock is needed within one event loop.
    """

    def __init__(self, alias: str, settings: BreakerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._alias = alias
        self._settings = settings
        self._clock = clock
        self._open_until: float | None = None
        self._probing = False
        self.failures = 0
        """Number of consecutive failures."""
        self.refused_calls = 0
        """Number of calls refused since the start of the process because the breaker was open."""

    @property
    def open(self) -> bool:
        """Whether the breaker is open. It stays open while the probe is running."""
        return self._open_until is not None

    def check(self) -> None:
        """Refuse a call while the breaker is open.

        Raises:
            CircuitOpen: Calls to the upstream are paused.
        """
        if self._open_until is None:
            return
        remaining_s = self._open_until - self._clock()
        if remaining_s > 0 or self._probing:
            self.refused_calls += 1
            raise CircuitOpen(max(remaining_s, 1.0))

    def admit(self) -> bool:
        """Admit a call. Return whether the call is the probe of an open breaker.

        Raises:
            CircuitOpen: Calls to the upstream are paused.
        """
        self.check()
        self._probing = self.open
        return self._probing

    def record_end(self, probe: bool, error: BaseException | None) -> None:
        """Record the result of an admitted call.

        If the call began before the breaker opened, its result is ignored, so that it neither extends nor ends the pause.

        Args:
            probe: The result of `admit`.
            error: The call's error; None if the call succeeded.
        """
        if self.open and not probe:
            return
        self._probing = False
        # Any answer, even a refusal or "too many requests", shows that the upstream works.
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
