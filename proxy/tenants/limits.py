"""Limits of keys: requests and tokens a minute, money a day, requests at a time."""

import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from models.usage import Ledger
from proxy.errors import QuotaSpent, RateLimited
from proxy.tenants.keys import KeyRecord

MINUTE_S = 60.0


class Meter(ABC):
    """Counts what keys use, as token buckets that hold a minute's worth and refill steadily (so no burst at each full minute).

    Tokens and money are known only afterwards: what is over is waited off before the next request.
    """

    @asynccontextmanager
    async def admitted(self, key: KeyRecord | None, ledger: Ledger) -> AsyncIterator[Ledger]:
        """Let a request pass if its key may, and count what its calls, which the ledger gets, have used.

        Raises:
            RateLimited: The key is over a limit; nothing is counted.
            StoreUnavailable: It has limits, and nobody knows what it has used.
        """
        if key is None or not key.limited:
            yield ledger
            return
        lease = await self.begin(key)
        try:
            yield ledger
        finally:
            usage = ledger.usage
            await self.end(key, lease, usage.prompt_tokens + usage.completion_tokens, ledger.cost)

    @abstractmethod
    async def begin(self, key: KeyRecord) -> str:
        """Count a request that begins; return what `end` is to be told."""

    @abstractmethod
    async def end(self, key: KeyRecord, lease: str, tokens: int, cost: float | None) -> None:
        """Count what a request used that `begin` let pass."""

    async def close(self) -> None:  # noqa: B027 - the one in this process holds nothing
        """Let go of what it holds."""


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
    day: str
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
            raise refuse("budget", key, 86_400 - self._wall() % 86_400)
        if key.requests_per_minute is not None and used.requests < 1:
            raise refuse("requests", key, (1 - used.requests) * MINUTE_S / key.requests_per_minute)
        if key.tokens_per_minute is not None and used.tokens <= 0:
            raise refuse("tokens", key, (1 - used.tokens) * MINUTE_S / key.tokens_per_minute)
        used.requests -= 1
        used.running += 1
        return ""

    async def end(self, key: KeyRecord, lease: str, tokens: int, cost: float | None) -> None:
        used = self._filled(key)
        used.running -= 1
        used.tokens -= tokens
        used.spent += cost or 0.0

    def _filled(self, key: KeyRecord) -> _Used:
        now, day = self._clock(), datetime.fromtimestamp(self._wall(), UTC).date().isoformat()
        requests, tokens = float(key.requests_per_minute or 0), float(key.tokens_per_minute or 0)
        used = self._used.setdefault(key.id, _Used(requests, tokens, now, day))
        passed, used.filled = max(0.0, now - used.filled), now
        used.requests = min(requests, used.requests + passed * requests / MINUTE_S)
        used.tokens = min(tokens, used.tokens + passed * tokens / MINUTE_S)
        if day > used.day:  # a clock that was set back does not give a second budget
            used.day, used.spent = day, 0.0
        return used
