"""A circuit breaker: it pauses calls to an upstream that keeps failing. Pure except for its clock."""

import time
from collections.abc import Callable

import structlog

from models.errors import CircuitOpen, ModelError, UpstreamBusy, UpstreamRefused
from models.settings import BreakerSettings

log = structlog.get_logger(__name__)


class Breaker:
    """Counts the consecutive failures of one engine.

    closed ── `failures` in a row ──> open ── `open_s` later ──> one probe ── an answer ──> closed
                                       └───────────── it failed ─────┘

    No method awaits, so one event loop needs no lock.
    """

    def __init__(self, alias: str, settings: BreakerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._alias = alias
        self._settings = settings
        self._clock = clock
        self._open_until: float | None = None
        self._probing = False
        self.failures = 0
        """Consecutive failures."""
        self.refused_calls = 0
        """Calls that the open breaker has refused since the start."""

    @property
    def open(self) -> bool:
        """Whether the breaker is open or a probe is running."""
        return self._open_until is not None

    def check(self) -> None:
        """Raises: CircuitOpen: calls to the upstream are paused."""
        if self._open_until is None:
            return
        remaining_s = self._open_until - self._clock()
        if remaining_s > 0 or self._probing:
            self.refused_calls += 1
            raise CircuitOpen(max(remaining_s, 1.0))

    def admit(self) -> bool:
        """Let a call through, and return whether it is the probe.

        Raises:
            CircuitOpen: Calls to the upstream are paused.
        """
        self.check()
        self._probing = self.open
        return self._probing

    def record_end(self, probe: bool, error: BaseException | None) -> None:
        """Record how an admitted call ended.

        Calls that began before the breaker opened are ignored. Their late result must neither extend nor end the pause.
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
