"""Limits of keys: requests and tokens a minute, money a day, requests at a time.

Requests and tokens are token buckets: a minute's worth, which refills steadily, so there is no burst at each full minute. The
buckets are our own, because the library `limits` (5.8, measured) has no bucket that goes into debt: a turn's tokens are known only
at its end, and it does not count a turn of more tokens than are left. Its moving window in memory took 4 ms a request with 100 keys
and 41 ms with 1,000, in Redis 8 ms and 2 MB a key for 100,000 tokens, and both read the host's wall clock: one that was an hour
ahead for a moment locks a key out for that hour. Requests alone would be a second round trip, with a place to give back when it
refuses; the same bucket does both.

A turn's tokens and money are known only at its end. Until then an estimate of them is reserved, so that requests that come at once
do not all pass on what is left for one. A request passes while the rest is above zero: the last one may overshoot.
"""

import asyncio
import itertools
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from models.usage import Ledger
from proxy.auth.keys import KeyRecord
from proxy.protocol.errors import QuotaSpent, RateLimited

MINUTE_S = 60.0
DAY_S = 86_400

Limit = Literal["concurrency", "budget", "requests", "tokens", "reserved"]
DECAY = 0.1
"""By which share of the difference a smaller turn lowers the estimate for the next; a larger one raises it at once."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Tokens and money that a turn may use."""

    tokens: int = 0
    cost: float = 0.0
    seconds: float = 1.0
    """How long it may take."""


NOTHING = Reservation()


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a request may use, as far as the request and the configuration say."""

    name: str
    """The chatbot or model that is asked."""
    first: Reservation
    """For a key's first turn."""
    least: Reservation
    """For a later turn, which reserves more if recent ones used more."""


class Meter(ABC):
    """Counts the usage of keys. Tokens and money are known only after a request; until then an estimate is reserved."""

    failures: int = 0
    """Reads and writes that failed since the start."""

    def __init__(self) -> None:
        self._recent: dict[tuple[str, str], Reservation] = {}
        """About the largest of the recent turns in this process, by key id and name."""

    def admit(self, key: KeyRecord | None, ledger: Ledger, estimate: Estimate) -> "Admission":
        """Admit a request for the block if its key is within its limits, and count its calls.

        Raises:
            RateLimited: The key is over a limit; nothing is counted.
            StoreUnavailable: It has limits, and nobody knows what it has used.
        """
        return Admission(self, key if key is not None and key.limited else None, ledger, estimate)

    def estimate(self, key: KeyRecord, estimate: Estimate) -> Reservation:
        """Return what to reserve for a request: what the recent turns of its key used, and no less than its own estimate."""
        recent, least = self._recent.get((key.id, estimate.name)), estimate.least
        if recent is None:
            return estimate.first
        return Reservation(max(recent.tokens, least.tokens), max(recent.cost, least.cost), recent.seconds)

    def learn(self, key: KeyRecord, name: str, used: Reservation) -> None:
        """Take what a turn used into account for the next estimate."""
        old = self._recent.get((key.id, name), used)

        def smooth(old: float, new: float) -> float:
            return max(new, old + (new - old) * DECAY)

        self._recent[key.id, name] = Reservation(
            math.ceil(smooth(old.tokens, used.tokens)), smooth(old.cost, used.cost), smooth(old.seconds, used.seconds)
        )

    @abstractmethod
    async def begin(self, key: KeyRecord, reservation: Reservation = NOTHING) -> str:
        """Count the start of a request, reserve what it may use, and return its lease, for `end`."""

    @abstractmethod
    async def end(self, key: KeyRecord, lease: str, tokens: int, cost: float | None) -> None:
        """Count a request's usage in place of what was reserved for it, also after cancellation."""

    async def close(self) -> None:  # noqa: B027 - the one in this process holds nothing
        """Close connections."""


class Admission:
    """The block of a request, see `Meter.admit`."""

    __slots__ = ("_began", "_estimate", "_key", "_lease", "_ledger", "_meter")

    def __init__(self, meter: Meter, key: KeyRecord | None, ledger: Ledger, estimate: Estimate) -> None:
        self._meter, self._key, self._ledger, self._estimate, self._lease = meter, key, ledger, estimate, ""
        self._began = 0.0

    async def __aenter__(self) -> Ledger:
        if self._key is not None:
            self._lease = await self._meter.begin(self._key, self._meter.estimate(self._key, self._estimate))
            self._began = time.monotonic()
        return self._ledger

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._key is None:
            return
        tokens, cost = self._ledger.tokens, self._ledger.cost
        if tokens:
            used = Reservation(tokens, cost or 0.0, time.monotonic() - self._began)
            self._meter.learn(self._key, self._estimate.name, used)
        try:
            await self._meter.end(self._key, self._lease, tokens, cost)
        except asyncio.CancelledError:
            # The reply is settled: a client that leaves now has got its stream, and its turn was answered.
            if kind is not None or (task := asyncio.current_task()) is None:
                raise
            task.uncancel()


def limit_error(limit: Limit, key: KeyRecord, retry_after_s: float) -> RateLimited:
    """Return the error for a key that is over a limit."""
    if limit == "budget":
        return QuotaSpent("This key has spent its budget for today (UTC).", retry_after_s)
    messages = {
        "concurrency": f"This key may have {key.max_concurrent} requests under way at a time.",
        "requests": f"This key may make {key.requests_per_minute} requests a minute.",
        "tokens": f"This key may use {key.tokens_per_minute} tokens a minute.",
        "reserved": "What this key has left of its tokens or budget is reserved for its requests under way.",
    }
    return RateLimited(messages[limit], retry_after_s)


@dataclass(slots=True)
class KeyUsage:
    """A key's usage at a time."""

    requests: float
    """Requests left in its bucket."""
    tokens: float
    """Tokens left in its bucket; below 0 when it owes some."""
    updated_at: float
    day: int
    """Days since 1970 (UTC)."""
    spent: float = 0.0
    """Money, on that day."""
    running: int = 0
    reserved: dict[str, Reservation] = field(default_factory=dict)
    """For the requests under way, by lease."""


class ProcessMeter(Meter):
    """Counts in this process."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, wall_clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__()
        self._clock, self._wall_clock = clock, wall_clock
        self._usage: dict[str, KeyUsage] = {}
        self._leases = itertools.count(1)

    async def begin(self, key: KeyRecord, reservation: Reservation = NOTHING) -> str:
        usage = self._update(key)
        reserved = usage.reserved.values()
        if key.max_concurrent is not None and usage.running >= key.max_concurrent:
            raise limit_error("concurrency", key, 1)
        if key.daily_budget is not None and usage.spent >= key.daily_budget:
            raise limit_error("budget", key, DAY_S - self._wall_clock() % DAY_S)
        if key.requests_per_minute is not None and usage.requests < 1:
            raise limit_error("requests", key, (1 - usage.requests) * MINUTE_S / key.requests_per_minute)
        if key.tokens_per_minute is not None and usage.tokens <= 0:
            raise limit_error("tokens", key, (1 - usage.tokens) * MINUTE_S / key.tokens_per_minute)
        if (key.daily_budget is not None and usage.spent + sum(one.cost for one in reserved) >= key.daily_budget) or (
            key.tokens_per_minute is not None and usage.tokens <= sum(one.tokens for one in reserved)
        ):
            raise limit_error("reserved", key, reservation.seconds)
        if key.requests_per_minute is not None:
            usage.requests -= 1
        usage.running += 1
        if reservation is NOTHING:
            return ""
        lease = str(next(self._leases))
        usage.reserved[lease] = reservation
        return lease

    async def end(self, key: KeyRecord, lease: str, tokens: int, cost: float | None) -> None:
        usage = self._update(key)
        usage.running -= 1
        usage.reserved.pop(lease, None)
        if key.tokens_per_minute is not None:
            usage.tokens -= tokens
        usage.spent += cost or 0.0

    def _update(self, key: KeyRecord) -> KeyUsage:
        """Return a key's usage as of now: its buckets refilled, and its money that of today."""
        now, today = self._clock(), int(self._wall_clock() // DAY_S)
        # Without a limit a bucket holds 0: a limit that is set later must not find a debt.
        requests, tokens = key.requests_per_minute or 0, key.tokens_per_minute or 0
        usage = self._usage.get(key.id)
        if usage is None:
            usage = self._usage[key.id] = KeyUsage(requests, tokens, now, today)
        minutes = (now - usage.updated_at) / MINUTE_S
        usage.requests = min(requests, usage.requests + minutes * requests) if requests else 0
        usage.tokens = min(tokens, usage.tokens + minutes * tokens) if tokens else 0
        usage.updated_at = now
        if today > usage.day:  # a clock that was set back does not give a second budget
            usage.day, usage.spent = today, 0.0
        elif today < usage.day - 1:  # nor does a day that only a wrong clock has seen last until it comes
            usage.day = today
        return usage
