"""Enforces the limits of API keys: requests and tokens per minute, money per day, concurrent requests.

Requests and tokens per minute are token buckets. A bucket holds the limit of one minute and refills steadily, so there is no burst
at each full minute. The tokens and the money of a turn are known only at its end. Until then, an estimate is reserved, so that
concurrent requests cannot all use the same remainder. A request is admitted while anything is left, so the last request may exceed
the limit.

The library `limits` (5.8, measured) was rejected. It has no bucket that goes into debt, so it does not count a turn that uses more
than what is left. Its moving window took 4 ms per request with 100 keys in memory, and 41 ms with 1,000. In Redis it took 8 ms,
and 2 MB per key for 100,000 tokens. Both read the host's wall clock: a clock that is briefly an hour ahead locks a key out for that
hour. Using the library for requests alone would add a second round trip, and its count must be undone when our bucket refuses.
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
"""A turn with less usage lowers the estimate by this share of the difference. A turn with more usage raises it at once."""


@dataclass(frozen=True, slots=True)
class Reservation:
    """Estimated usage that is reserved for a turn until its actual usage is known."""

    tokens: int = 0
    cost: float = 0.0
    """Money, in the currency of `models.<alias>.price`."""
    seconds: float = 1.0
    """Expected duration of the turn."""


NOTHING = Reservation()


@dataclass(frozen=True, slots=True)
class Estimate:
    """The expected usage of a request, computed from the request and the configuration."""

    name: str
    """The chatbot or model that the request names."""
    first: Reservation
    """The reservation for the first turn of a key with this chatbot or model."""
    least: Reservation
    """The minimum reservation for later turns. More is reserved if recent turns used more."""


class Meter(ABC):
    """Counts the usage of API keys and refuses requests of keys over a limit. Usage is estimated until a request has ended."""

    failures: int = 0
    """Number of failed reads and writes of stored usage since the start."""

    def __init__(self) -> None:
        self._recent: dict[tuple[str, str], Reservation] = {}
        """Usage of recent turns in this process, close to the largest, by (key id, chatbot or model name)."""

    def admit(self, key: KeyRecord | None, ledger: Ledger, estimate: Estimate) -> "Admission":
        """Return a context manager that admits a request within its key's limits and counts its calls.

        Raises (on entry):
            RateLimited: The key is over a limit. The request is not counted.
            StoreUnavailable: The key has limits, and its usage cannot be read.
        """
        return Admission(self, key if key is not None and key.limited else None, ledger, estimate)

    def estimate(self, key: KeyRecord, estimate: Estimate) -> Reservation:
        """Return the reservation for a request: the usage of the key's recent turns, but at least the request's estimate."""
        recent, least = self._recent.get((key.id, estimate.name)), estimate.least
        if recent is None:
            return estimate.first
        return Reservation(max(recent.tokens, least.tokens), max(recent.cost, least.cost), recent.seconds)

    def learn(self, key: KeyRecord, name: str, used: Reservation) -> None:
        """Update the estimate for the next turns with the actual usage of a turn."""
        old = self._recent.get((key.id, name), used)

        def smooth(old: float, new: float) -> float:
            return max(new, old + (new - old) * DECAY)

        self._recent[key.id, name] = Reservation(
            math.ceil(smooth(old.tokens, used.tokens)), smooth(old.cost, used.cost), smooth(old.seconds, used.seconds)
        )

    @abstractmethod
    async def begin(self, key: KeyRecord, reservation: Reservation = NOTHING) -> str:
        """Count the start of a request, reserve its estimated usage, and return a lease to pass to `end`.

        Raises:
            RateLimited: The key is over a limit.
            StoreUnavailable: The key's usage cannot be read.
        """

    @abstractmethod
    async def end(self, key: KeyRecord, lease: str, tokens: int, cost: float | None) -> None:
        """Replace the reservation of a request by its actual usage. Also called after a cancelled request."""

    async def close(self) -> None:  # noqa: B027 - ProcessMeter has nothing to close
        """Close connections."""


class Admission:
    """Context manager that reserves the usage of a request on entry, and records its actual usage on exit."""

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
            # The reply is complete: a client that leaves now has received its stream.
            if kind is not None or (task := asyncio.current_task()) is None:
                raise
            task.uncancel()


def limit_error(limit: Limit, key: KeyRecord, retry_after_s: float) -> RateLimited:
    """Return the error for a key that is over a limit."""
    if limit == "budget":
        return QuotaSpent("This key has spent its budget for today (UTC). Try again after midnight UTC.", retry_after_s)
    messages = {
        "concurrency": f"This key allows {key.max_concurrent} concurrent requests. Try again when one has ended.",
        "requests": f"This key allows {key.requests_per_minute} requests per minute. Try again later.",
        "tokens": f"This key allows {key.tokens_per_minute} tokens per minute. Try again later.",
        "reserved": "The rest of this key's tokens or budget is reserved for its running requests. Try again when one has ended.",
    }
    return RateLimited(messages[limit], retry_after_s)


@dataclass(slots=True)
class KeyUsage:
    """The usage of one API key."""

    requests: float
    """Requests left in the bucket."""
    tokens: float
    """Tokens left in the bucket; negative when in debt."""
    updated_at: float
    day: int
    """Days since 1970 (UTC)."""
    spent: float = 0.0
    """Money spent on that day."""
    running: int = 0
    reserved: dict[str, Reservation] = field(default_factory=dict)
    """Reservations of the running requests, by lease."""


class ProcessMeter(Meter):
    """Counts the usage of API keys in the memory of this process."""

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
        """Return a key's current usage: buckets refilled, `spent` reset on a new day."""
        now, today = self._clock(), int(self._wall_clock() // DAY_S)
        # The bucket of a key without a limit holds 0, so that a limit that is set later starts without debt.
        requests, tokens = key.requests_per_minute or 0, key.tokens_per_minute or 0
        usage = self._usage.get(key.id)
        if usage is None:
            usage = self._usage[key.id] = KeyUsage(requests, tokens, now, today)
        minutes = (now - usage.updated_at) / MINUTE_S
        usage.requests = min(requests, usage.requests + minutes * requests) if requests else 0
        usage.tokens = min(tokens, usage.tokens + minutes * tokens) if tokens else 0
        usage.updated_at = now
        if today > usage.day:  # `>`, not `!=`: setting the clock back must not renew the budget
            usage.day, usage.spent = today, 0.0
        elif today < usage.day - 1:  # a wrong clock was ahead: do not wait until that day comes
            usage.day = today
        return usage
