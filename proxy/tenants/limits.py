"""Limits of keys: requests and tokens a minute, money a day, requests at a time."""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

from models.usage import Ledger
from proxy.tenants.keys import KeyRecord
from proxy.wire.errors import QuotaSpent, RateLimited

MINUTE_S = 60.0
DAY_S = 86_400


class Meter(ABC):
    """Counts what keys use, as token buckets that hold a minute's worth and refill steadily (so no burst at each full minute).

    Tokens and money are known only afterwards: what is over is waited off before the next request.
    """

    failures: int = 0
    """Reads and writes that failed since the start."""

    def admitted(self, key: KeyRecord | None, ledger: Ledger) -> "Admission":
        """Let a request pass for the block if its key may, and count what its calls, which the ledger gets, have used.

        Raises:
            RateLimited: The key is over a limit; nothing is counted.
            StoreUnavailable: It has limits, and nobody knows what it has used.
        """
        return Admission(self, key if key is not None and key.limited else None, ledger)

    @abstractmethod
    async def begin(self, key: KeyRecord) -> str:
        """Count a request that begins; return what `end` is to be told."""

    @abstractmethod
    async def end(self, key: KeyRecord, lease: str, tokens: int, cost: float | None) -> None:
        """Count what a request used that `begin` let pass; also if it is cancelled."""

    async def close(self) -> None:  # noqa: B027 - the one in this process holds nothing
        """Let go of what it holds."""


class Admission:
    """A request that its key's meter knows of within the block. A class, since a generator would cost four times as much."""

    __slots__ = ("_key", "_lease", "_ledger", "_meter")

    def __init__(self, meter: Meter, key: KeyRecord | None, ledger: Ledger) -> None:
        self._meter, self._key, self._ledger = meter, key, ledger

    async def __aenter__(self) -> Ledger:
        if self._key is not None:
            self._lease = await self._meter.begin(self._key)
        return self._ledger

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._key is None:
            return
        try:
            await self._meter.end(self._key, self._lease, self._ledger.tokens, self._ledger.cost)
        except asyncio.CancelledError:
            if kind is not None:
                raise
            # The reply is settled: a client that leaves now has got its stream, and its turn was answered.
            if (task := asyncio.current_task()) is not None:
                task.uncancel()


def refuse(why: str, key: KeyRecord, retry_after_s: float) -> RateLimited:
    """Return the error for a limit, by its short name."""
    if why == "budget":
        return QuotaSpent("This key has spent its budget for today (UTC).", retry_after_s)
    messages = {
        "at_once": f"This key may have {key.max_concurrent} requests under way at a time.",
        "requests": f"This key may make {key.requests_per_minute} requests a minute.",
        "tokens": f"This key may use {key.tokens_per_minute} tokens a minute.",
    }
    return RateLimited(messages[why], retry_after_s)


@dataclass(slots=True)
class _Used:
    """What a key has used."""

    requests: float
    """Requests that it may still make at once."""
    tokens: float
    filled: float
    day: int
    """Days since 1970 (UTC)."""
    spent: float = 0.0
    running: int = 0


class ProcessMeter(Meter):
    """Counts in this process."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._clock, self._wall = clock, wall
        self._used: dict[str, _Used] = {}

    async def begin(self, key: KeyRecord) -> str:
        used = self._filled(key)
        if key.max_concurrent is not None and used.running >= key.max_concurrent:
            raise refuse("at_once", key, 1)
        if key.daily_budget is not None and used.spent >= key.daily_budget:
            raise refuse("budget", key, DAY_S - self._wall() % DAY_S)
        if key.requests_per_minute is not None and used.requests < 1:
            raise refuse("requests", key, (1 - used.requests) * MINUTE_S / key.requests_per_minute)
        if key.tokens_per_minute is not None and used.tokens <= 0:
            raise refuse("tokens", key, (1 - used.tokens) * MINUTE_S / key.tokens_per_minute)
        if key.requests_per_minute is not None:
            used.requests -= 1
        used.running += 1
        return ""

    async def end(self, key: KeyRecord, lease: str, tokens: int, cost: float | None) -> None:
        used = self._filled(key)
        used.running -= 1
        if key.tokens_per_minute is not None:
            used.tokens -= tokens
        used.spent += cost or 0.0

    def _filled(self, key: KeyRecord) -> _Used:
        now, day = self._clock(), int(self._wall() // DAY_S)
        # Without a limit a bucket holds 0: for a limit that is set later is not to find a debt.
        requests, tokens = key.requests_per_minute or 0, key.tokens_per_minute or 0
        used = self._used.get(key.id)
        if used is None:
            used = self._used[key.id] = _Used(requests, tokens, now, day)
        minutes, used.filled = max(0.0, now - used.filled) / MINUTE_S, now
        used.requests = min(requests, used.requests + minutes * requests) if requests else 0.0
        used.tokens = min(tokens, used.tokens + minutes * tokens) if tokens else 0.0
        if day > used.day:  # a clock that was set back does not give a second budget
            used.day, used.spent = day, 0.0
        elif day < used.day - 1:  # nor does a day that only a wrong clock has seen last until it comes
            used.day = day
        return used
