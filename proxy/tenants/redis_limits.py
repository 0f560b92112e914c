"""Limits of keys counted in Redis, so that several processes and hosts share them. Imported only when it is configured."""

import uuid
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from proxy.errors import StoreUnavailable
from proxy.tenants.keys import KeyRecord
from proxy.tenants.limits import Meter, ProcessMeter, refuse

log = structlog.get_logger()

PREFIX = "caf:meter:"

# Redis' own clock counts, so that hosts whose clocks differ, or jump, agree. A request under way is a lease that runs out: a
# process that was killed gives its place back. One script is one step: two processes cannot both take the last place.
_BEGIN = """
local now = redis.call('TIME')
now = tonumber(now[1]) + tonumber(now[2]) / 1e6
local requests, tokens, budget = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local at_once, lease, lease_s = tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
local kept = redis.call('HMGET', KEYS[1], 'requests', 'tokens', 'filled', 'day', 'spent')
local passed = math.max(0, now - (tonumber(kept[3]) or now))
local left = math.min(requests, (tonumber(kept[1]) or requests) + passed * requests / 60)
local words = math.min(tokens, (tonumber(kept[2]) or tokens) + passed * tokens / 60)
local before, spent = tonumber(kept[4]) or 0, tonumber(kept[5]) or 0
local day = math.max(before, math.floor(now / 86400))
if day > before then spent = 0 end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local why, wait = '', 0
if at_once > 0 and redis.call('ZCARD', KEYS[2]) >= at_once then why, wait = 'at_once', 1
elseif budget > 0 and spent >= budget then why, wait = 'budget', 86400 - now % 86400
elseif requests > 0 and left < 1 then why, wait = 'requests', (1 - left) * 60 / requests
elseif tokens > 0 and words <= 0 then why, wait = 'tokens', (1 - words) * 60 / tokens
end
if why == '' then
  left = left - 1
  if at_once > 0 then
    redis.call('ZADD', KEYS[2], now + lease_s, lease)
    redis.call('EXPIRE', KEYS[2], math.ceil(lease_s) + 1)
  end
end
redis.call('HSET', KEYS[1], 'requests', left, 'tokens', words, 'filled', now, 'day', day, 'spent', spent)
redis.call('EXPIRE', KEYS[1], 172800)
return {why, tostring(wait)}
"""
_END = """
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('HINCRBYFLOAT', KEYS[1], 'tokens', -tonumber(ARGV[2]))
redis.call('HINCRBYFLOAT', KEYS[1], 'spent', tonumber(ARGV[3]))
"""


class RedisMeter(Meter):
    """Counts in Redis. Without it: `closed` lets no request pass that has a limit, `degrade` counts in this process."""

    def __init__(self, client: Redis, lease_s: float, *, degrade: bool) -> None:
        self._client = client
        self._lease_s = lease_s
        self._alone = ProcessMeter() if degrade else None
        self._begin: Any = client.register_script(_BEGIN)
        self._end: Any = client.register_script(_END)

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
        except (RedisError, OSError, TimeoutError) as error:
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
            return
        try:
            await self._end(keys=_places(key), args=[lease, tokens, cost or 0.0])
        except (RedisError, OSError, TimeoutError) as error:
            log.error("use of a key not counted", key=key.id, error=type(error).__name__)

    async def close(self) -> None:
        await self._client.aclose()


def _places(key: KeyRecord) -> list[str]:
    """Return where a key's use and its leases are; the braces keep them on one node of a cluster."""
    return [f"{PREFIX}{{{key.id}}}", f"{PREFIX}{{{key.id}}}:running"]
