"""Limits of one key: requests and tokens a minute, money a day, requests at a time. What counts is kept here, in this process."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from models.usage import Ledger
from proxy.errors import QuotaSpent, RateLimited
from proxy.keys import KeyRecord

MINUTE_S = 60.0


@dataclass(slots=True)
class _Used:
    """What a key has used."""

    requests: float = 0.0
    """Left over from the bucket of requests: below 0 nothing may be asked."""
    tokens: float = 0.0
    filled: float = 0.0
    day: str = ""
    spent: float = 0.0
    running: int = 0


class Meter:
    """Counts what keys use, as token buckets that hold a minute's worth and refill steadily (so no burst at each full minute).

    Tokens and money are known only afterwards: what is over is waited off before the next request.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, wall: Callable[[], float] = time.time) -> None:
        self._clock, self._wall = clock, wall
        self._used: dict[str, _Used] = {}

    @contextmanager
    def admitted(self, key: KeyRecord | None, ledger: Ledger) -> Iterator[Ledger]:
        """Let a request pass if its key may, and count what its calls, which the ledger gets, have used.

        Raises:
            RateLimited: The key is over a limit.
        """
        if key is None:
            yield ledger
            return
        self.begin(key)
        try:
            yield ledger
        finally:
            usage = ledger.usage
            self.end(key, usage.prompt_tokens + usage.completion_tokens, ledger.cost)

    def begin(self, key: KeyRecord) -> None:
        """Count a request that begins.

        Raises:
            RateLimited: The key is over a limit; nothing is counted.
            QuotaSpent: Its money for today is spent.
        """
        used = self._filled(key)
        if key.max_concurrent is not None and used.running >= key.max_concurrent:
            raise RateLimited(f"This key may have {key.max_concurrent} requests under way at a time.", 1)
        if key.daily_budget is not None and used.spent >= key.daily_budget:
            raise QuotaSpent("This key has spent its budget for today (UTC).", self._until_midnight())
        if key.requests_per_minute is not None and used.requests < 1:
            wait = (1 - used.requests) * MINUTE_S / key.requests_per_minute
            raise RateLimited(f"This key may make {key.requests_per_minute} requests a minute.", wait)
        if key.tokens_per_minute is not None and used.tokens <= 0:
            wait = (1 - used.tokens) * MINUTE_S / key.tokens_per_minute
            raise RateLimited(f"This key may use {key.tokens_per_minute} tokens a minute.", wait)
        used.requests -= 1
        used.running += 1

    def end(self, key: KeyRecord, tokens: int, cost: float | None) -> None:
        """Count what a request used that `begin` let pass."""
        used = self._filled(key)
        used.running -= 1
        used.tokens -= tokens
        used.spent += cost or 0.0

    def _filled(self, key: KeyRecord) -> _Used:
        now, day = self._clock(), datetime.fromtimestamp(self._wall(), UTC).date().isoformat()
        used = self._used.get(key.id)
        if used is None:
            used = self._used[key.id] = _Used(
                float(key.requests_per_minute or 0), float(key.tokens_per_minute or 0), now, day
            )
        passed, used.filled = max(0.0, now - used.filled), now
        if key.requests_per_minute is not None:
            more = passed * key.requests_per_minute / MINUTE_S
            used.requests = min(float(key.requests_per_minute), used.requests + more)
        if key.tokens_per_minute is not None:
            used.tokens = min(float(key.tokens_per_minute), used.tokens + passed * key.tokens_per_minute / MINUTE_S)
        if day > used.day:  # a clock that was set back does not give a second budget
            used.day, used.spent = day, 0.0
        return used

    def _until_midnight(self) -> float:
        return 86_400 - self._wall() % 86_400
