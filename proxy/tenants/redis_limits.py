"""Limits of keys counted in Redis, so that several processes and hosts share them. Imported only when it is configured."""

import asyncio
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from proxy.tenants.keys import KeyRecord
from proxy.tenants.limits import Meter, ProcessMeter, refuse
from proxy.wire.errors import StoreUnavailable

log = structlog.get_logger()

PREFIX = "caf:meter:"

# Redis' own clock counts, so that hosts whose clocks differ, or jump, agree. A request under way is a lease that runs out: a
# process that was killed gives its place back, also when the clock was set back meanwhile. That gives no second budget, but a day
# that only a wrong clock has seen must not last until it comes. One script is one step: two processes cannot both take the last
# place. Both scripts fill first, so that the later one also counts right if Redis has lost its data in between; and without a
# limit nothing is kept of it, for one that is set later is not to find a debt.
_FILL = """
local now = redis.call('TIME')
now = tonumber(now[1]) + tonumber(now[2]) / 1e6
local requests, tokens = tonumber(ARGV[1]), tonumber(ARGV[2])
local kept = redis.call('HMGET', KEYS[1], 'requests', 'tokens', 'filled', 'day', 'spent')
local passed = math.max(0, now - (tonumber(kept[3]) or now))
local function filled(held, limit)
  if limit == 0 then return 0 end
  return math.min(limit, (tonumber(held) or limit) + passed * limit / 60)
end
local left, words = filled(kept[1], requests), filled(kept[2], tokens)
local before, spent = tonumber(kept[4]) or 0, tonumber(kept[5]) or 0
local today = math.floor(now / 86400)
if before > today + 1 then before = today end
local day = math.max(before, today)
if day > before then spent = 0 end
"""
_KEEP = """
redis.call('HSET', KEYS[1], 'requests', left, 'tokens', words, 'filled', now, 'day', day, 'spent', spent)
redis.call('EXPIRE', KEYS[1], 172800)
"""
# A request whose first answer was lost asks a second time, with the same lease: that is not in its own way.
# Its first write is one that a full Redis refuses, before anything is paid for: what the turn leads to could not be kept either.
_BEGIN = f"""{_FILL}
redis.call('HSETNX', KEYS[1], 'filled', now)
local budget, at_once, lease, lease_s = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
redis.call('ZREM', KEYS[2], lease)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
for _, one in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], now + lease_s, '+inf')) do
  redis.call('ZADD', KEYS[2], now + lease_s, one)
end
local why, wait = '', 0
if at_once > 0 and redis.call('ZCARD', KEYS[2]) >= at_once then why, wait = 'at_once', 1
elseif budget > 0 and spent >= budget then why, wait = 'budget', 86400 - now % 86400
elseif requests > 0 and left < 1 then why, wait = 'requests', (1 - left) * 60 / requests
elseif tokens > 0 and words <= 0 then why, wait = 'tokens', (1 - words) * 60 / tokens
end
if why == '' then
  if requests > 0 then left = left - 1 end
  if at_once > 0 then
    redis.call('ZADD', KEYS[2], now + lease_s, lease)
    redis.call('EXPIRE', KEYS[2], math.ceil(lease_s) + 1)
  end
end
{_KEEP}
return {{why, tostring(wait)}}
"""
# Leases first: a full Redis refuses a script whose first write needs memory, and lets one finish that began by freeing some.
_END = f"""
for i = 5, #ARGV do redis.call('ZREM', KEYS[2], ARGV[i]) end
{_FILL}
if tokens > 0 then words = words - tonumber(ARGV[3]) end
spent = spent + tonumber(ARGV[4])
{_KEEP}
"""

AWAY = (RedisError, OSError, TimeoutError)
"""What tells that Redis cannot be asked."""
RETRY_S = 0.5
"""How often what could not be counted is tried again."""
LAST_TRY_S = 1.0
"""How long a meter that closes waits for Redis, twice: for what is being counted, and for what is owed."""
MOST_LEASES = 1_000
"""Places of a key that are given back late at most; older ones run out by themselves."""


@dataclass(slots=True)
class _Use:
    """What requests of a key have used that Redis has not been told yet."""

    tokens: int = 0
    cost: float = 0.0
    leases: list[str] = field(default_factory=list)


class RedisMeter(Meter):
    """Counts in Redis. Without it: `closed` lets no request pass that has a limit, `degrade` counts in this process.

    Tokens and money used meanwhile are counted when it is back. If only its answer was lost, that is twice: never too little.
    """

    def __init__(self, client: Redis, lease_s: float, *, degrade: bool) -> None:
        self._client = client
        self._lease_s = lease_s
        self._alone = ProcessMeter() if degrade else None
        self._begin: Any = client.register_script(_BEGIN)
        self._end: Any = client.register_script(_END)
        self._owed: dict[str, tuple[KeyRecord, _Use]] = {}
        self._counting: set[asyncio.Task[None]] = set()
        self._paying: asyncio.Task[None] | None = None

    async def begin(self, key: KeyRecord) -> str:
        lease = uuid.uuid4().hex
        limits = [
            key.requests_per_minute or 0,
            key.tokens_per_minute or 0,
            key.daily_budget or 0,
            key.max_concurrent or 0,
        ]
        try:
            why, wait = await self._begin(keys=_places(key), args=[*limits, lease, self._lease_s])
        except BaseException as error:
            # Also of one that hung, or whose client has left: the place may have been taken, or be taken yet.
            self._owe(key, _Use(leases=[lease]))
            if not isinstance(error, AWAY):
                raise
            self.failures += 1
            log.error("limits unavailable", error=type(error).__name__, policy="degrade" if self._alone else "closed")
            if self._alone is None:
                raise StoreUnavailable from None
            return await self._alone.begin(key)
        if why:
            raise refuse(why.decode(), key, float(wait))
        return lease

    async def end(self, key: KeyRecord, lease: str, tokens: int, cost: float | None) -> None:
        if not lease and self._alone is not None:
            await self._alone.end(key, lease, tokens, cost)
            self._owe(key, _Use(tokens, cost or 0.0))
            return
        # In a task of its own: many clients leave at the last byte, which is no reason to forget what they used.
        counting = asyncio.create_task(self._tell(key, _Use(tokens, cost or 0.0, [lease])))
        self._counting.add(counting)
        counting.add_done_callback(self._counting.discard)
        await asyncio.shield(counting)

    async def close(self) -> None:
        if self._counting:
            await asyncio.wait(self._counting, timeout=LAST_TRY_S)
        await _stop(self._counting)  # then it is owed
        if self._paying is not None:
            await _stop([self._paying])
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_TRY_S):
                await self._pay_once()
        if self._owed:
            log.error("use of keys never counted", keys=sorted(self._owed))
        await self._client.aclose()

    async def _tell(self, key: KeyRecord, use: _Use) -> None:
        try:
            await self._count(key, use)
        except AWAY as error:
            self.failures += 1
            log.error("use of a key not counted yet", key=key.id, error=type(error).__name__)

    async def _count(self, key: KeyRecord, use: _Use) -> None:
        """Tell Redis what requests have used, or owe it."""
        limits = [key.requests_per_minute or 0, key.tokens_per_minute or 0]
        try:
            await self._end(keys=_places(key), args=[*limits, use.tokens, use.cost, *use.leases])
        except BaseException:
            self._owe(key, use)
            raise

    def _owe(self, key: KeyRecord, use: _Use) -> None:
        owed = self._owed.setdefault(key.id, (key, _Use()))[1]
        owed.tokens, owed.cost = owed.tokens + use.tokens, owed.cost + use.cost
        owed.leases = (owed.leases + use.leases)[-MOST_LEASES:]
        if self._paying is None:
            self._paying = asyncio.create_task(self._pay())

    async def _pay(self) -> None:
        """Tell Redis what it was not told, as soon as it listens."""
        while self._owed:
            await asyncio.sleep(RETRY_S)
            await self._pay_once()
        self._paying = None

    async def _pay_once(self) -> None:
        for key, use in list(self._owed.values()):
            del self._owed[key.id]  # what ends meanwhile is owed anew
            with suppress(*AWAY):
                await self._count(key, use)


async def _stop(tasks: Iterable[asyncio.Task[None]]) -> None:
    stopped = list(tasks)
    for task in stopped:
        task.cancel()
    await asyncio.gather(*stopped, return_exceptions=True)


def _places(key: KeyRecord) -> list[str]:
    """Return where a key's use and its leases are; the braces keep them on one node of a cluster."""
    return [f"{PREFIX}{{{key.id}}}", f"{PREFIX}{{{key.id}}}:running"]
