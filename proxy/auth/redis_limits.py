"""Enforces the limits of API keys across several processes and hosts, with counters in Redis.

This module is imported only if Redis is configured.
"""

import asyncio
import math
import uuid
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from proxy.auth.keys import KeyRecord
from proxy.auth.limits import NOTHING, Meter, ProcessMeter, Reservation, limit_error
from proxy.protocol.errors import StoreUnavailable

log = structlog.get_logger()

PREFIX = "caf:meter:"

# KEYS[1] is a hash: the usage of a key (`KeyUsage` in limits.py). KEYS[2] is a sorted set: the leases of its running requests,
# scored by expiry, so that the leases of a killed process expire. A lease ends with the tokens and the billionths of money that are
# reserved for its request, as in `ID:4000:20000000`: whole numbers, so their sum is exact. The hash holds the sum, because adding
# up 1,000 leases takes 7 ms. ARGV[1] and ARGV[2] are requests and tokens per minute, 0 without a limit. Each script is atomic: two
# processes cannot both take the last place. Redis' own clock counts, so that hosts whose clocks differ or jump agree.
_RELEASE = """
local freed_tokens, freed_cost = 0, 0
local function release(lease)
  if redis.call('ZREM', KEYS[2], lease) == 0 then return end
  local tokens, cost = string.match(lease, ':(%d+):(%d+)$')
  freed_tokens, freed_cost = freed_tokens + (tonumber(tokens) or 0), freed_cost + (tonumber(cost) or 0)
end
"""
_UPDATE = """
local time = redis.call('TIME')
local now = tonumber(time[1]) + tonumber(time[2]) / 1e6
local requests_per_minute, tokens_per_minute = tonumber(ARGV[1]), tonumber(ARGV[2])
local stored = redis.call('HMGET', KEYS[1], 'requests', 'tokens', 'filled', 'day', 'spent', 'reserved_tokens', 'reserved_cost')
local minutes = math.max(0, now - (tonumber(stored[3]) or now)) / 60
local function refill(level, per_minute)
  if per_minute == 0 then return 0 end  -- a limit that is set later must start without debt
  return math.min(per_minute, (tonumber(level) or per_minute) + minutes * per_minute)
end
local requests, tokens = refill(stored[1], requests_per_minute), refill(stored[2], tokens_per_minute)
local stored_day, spent = tonumber(stored[4]) or 0, tonumber(stored[5]) or 0
local today = math.floor(now / 86400)
if stored_day > today + 1 then stored_day = today end  -- a wrong clock was ahead: do not wait until that day comes
local day = math.max(stored_day, today)  -- a clock that was set back gives no second budget
if day > stored_day then spent = 0 end
local reserved_tokens, reserved_cost = tonumber(stored[6]) or 0, tonumber(stored[7]) or 0
"""
_SETTLE = """
reserved_tokens, reserved_cost = math.max(0, reserved_tokens - freed_tokens), math.max(0, reserved_cost - freed_cost)
if redis.call('EXISTS', KEYS[2]) == 0 then reserved_tokens, reserved_cost = 0, 0 end  -- all leases have expired
"""
_SAVE = """
redis.call('HSET', KEYS[1], 'requests', requests, 'tokens', tokens, 'filled', now, 'day', day, 'spent', spent,
  'reserved_tokens', reserved_tokens, 'reserved_cost', reserved_cost)
redis.call('EXPIRE', KEYS[1], 172800)
"""
# The first write needs memory, so a full Redis refuses the script before a model call costs money.
# If Redis' answer was lost, the client library sends the script again with the same lease, which must not be counted twice.
_BEGIN = f"""{_RELEASE}{_UPDATE}
redis.call('HSETNX', KEYS[1], 'filled', now)
local daily_budget, max_concurrent, lease, lease_s = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5], tonumber(ARGV[6])
release(lease)
for _, other in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now)) do release(other) end
for _, other in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], now + lease_s, '+inf')) do
  redis.call('ZADD', KEYS[2], now + lease_s, other)  -- granted while the clock was ahead
end
{_SETTLE}local limit, wait = '', 0
if max_concurrent > 0 and redis.call('ZCARD', KEYS[2]) >= max_concurrent then
  limit, wait = 'concurrency', 1
elseif daily_budget > 0 and spent >= daily_budget then
  limit, wait = 'budget', 86400 - now % 86400
elseif requests_per_minute > 0 and requests < 1 then
  limit, wait = 'requests', (1 - requests) * 60 / requests_per_minute
elseif tokens_per_minute > 0 and tokens <= 0 then
  limit, wait = 'tokens', (1 - tokens) * 60 / tokens_per_minute
elseif (daily_budget > 0 and spent + reserved_cost / 1e9 >= daily_budget)
    or (tokens_per_minute > 0 and tokens <= reserved_tokens) then
  limit = 'reserved'
else
  if requests_per_minute > 0 then requests = requests - 1 end
  local own_tokens, own_cost = tonumber(ARGV[7]), tonumber(ARGV[8])
  if max_concurrent > 0 or own_tokens > 0 or own_cost > 0 then
    reserved_tokens, reserved_cost = reserved_tokens + own_tokens, reserved_cost + own_cost
    redis.call('ZADD', KEYS[2], now + lease_s, lease)
    redis.call('EXPIRE', KEYS[2], math.ceil(lease_s) + 1)
  end
end
{_SAVE}
return {{limit, tostring(wait)}}
"""
# The first write frees memory, so that a full Redis lets the script finish.
_END = f"""{_RELEASE}
for i = 5, #ARGV do release(ARGV[i]) end
{_UPDATE}{_SETTLE}
if tokens_per_minute > 0 then tokens = tokens - tonumber(ARGV[3]) end
spent = spent + tonumber(ARGV[4])
{_SAVE}
"""

UNAVAILABLE = (RedisError, OSError, TimeoutError)
RETRY_S = 0.5
"""Seconds to wait before reports that Redis did not confirm are sent again."""
CLOSE_TIMEOUT_S = 1.0
"""Seconds that `close` waits for Redis: once for reports that are being sent, and once for deferred reports."""
MAX_DEFERRED_LEASES = 1_000
"""Maximum number of leases per key in a deferred report. Older leases expire by themselves."""


@dataclass(slots=True)
class _UsageReport:
    """Usage of a key's finished requests, to be sent to Redis."""

    tokens: int = 0
    cost: float = 0.0
    leases: list[str] = field(default_factory=list)


class RedisMeter(Meter):
    """Counts the usage of API keys in Redis.

    During an outage, the policy `closed` refuses requests of keys with limits, and `degrade` counts in this process. Tokens and
    money used during an outage are counted when Redis is back. If only Redis' answer was lost, they are counted twice, so the
    total is never too low.
    """

    def __init__(self, client: Redis, lease_s: float, *, degrade: bool) -> None:
        super().__init__()
        self._client = client
        self._lease_s = lease_s
        self._fallback = ProcessMeter() if degrade else None
        self._begin_script: Any = client.register_script(_BEGIN)
        self._end_script: Any = client.register_script(_END)
        self._sending: set[asyncio.Task[None]] = set()
        self._deferred: dict[str, tuple[KeyRecord, _UsageReport]] = {}
        """Reports that Redis did not confirm, by key id."""
        self._retrying: asyncio.Task[None] | None = None

    async def begin(self, key: KeyRecord, reservation: Reservation = NOTHING) -> str:
        reserved = [reservation.tokens, math.ceil(reservation.cost * 1e9)]
        lease = ":".join(map(str, (uuid.uuid4().hex, *reserved)))
        args = [*_rates(key), key.daily_budget or 0, key.max_concurrent or 0, lease, self._lease_s, *reserved]
        try:
            limit, wait_s = await self._begin_script(keys=_redis_keys(key), args=args)
        except BaseException as error:
            # Also after cancellation: Redis may have granted the lease, or may still do so.
            self._defer(key, _UsageReport(leases=[lease]))
            if not isinstance(error, UNAVAILABLE):
                raise
            self.failures += 1
            log.error(
                "limits unavailable", error=type(error).__name__, policy="degrade" if self._fallback else "closed"
            )
            if self._fallback is None:
                raise StoreUnavailable from None
            return await self._fallback.begin(key, reservation)
        if limit:
            limit = limit.decode()
            raise limit_error(limit, key, reservation.seconds if limit == "reserved" else float(wait_s))
        return lease

    async def end(self, key: KeyRecord, lease: str, tokens: int, cost: float | None) -> None:
        if ":" not in lease and self._fallback is not None:
            await self._fallback.end(key, lease, tokens, cost)
            self._defer(key, _UsageReport(tokens, cost or 0.0))
            return
        # In a separate task: many clients disconnect at the last byte, and their usage must still be counted.
        sending = asyncio.create_task(self._send_logged(key, _UsageReport(tokens, cost or 0.0, [lease])))
        self._sending.add(sending)
        sending.add_done_callback(self._sending.discard)
        await asyncio.shield(sending)

    async def close(self) -> None:
        if self._sending:
            await asyncio.wait(self._sending, timeout=CLOSE_TIMEOUT_S)
        await _cancel(self._sending)  # cancelled reports are deferred
        if self._retrying is not None:
            await _cancel([self._retrying])
        with suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_TIMEOUT_S):
                await self._send_deferred()
        if self._deferred:
            log.error("use of keys never counted", keys=sorted(self._deferred))
        await self._client.aclose()

    async def _send_logged(self, key: KeyRecord, report: _UsageReport) -> None:
        try:
            await self._send(key, report)
        except UNAVAILABLE as error:
            self.failures += 1
            log.error("use of a key not counted yet", key=key.id, error=type(error).__name__)

    async def _send(self, key: KeyRecord, report: _UsageReport) -> None:
        """Send a report to Redis; defer it if that fails or is cancelled."""
        try:
            args = [*_rates(key), report.tokens, report.cost, *report.leases]
            await self._end_script(keys=_redis_keys(key), args=args)
        except BaseException:
            self._defer(key, report)
            raise

    def _defer(self, key: KeyRecord, report: _UsageReport) -> None:
        _, deferred = self._deferred.setdefault(key.id, (key, _UsageReport()))
        deferred.tokens += report.tokens
        deferred.cost += report.cost
        deferred.leases = (deferred.leases + report.leases)[-MAX_DEFERRED_LEASES:]
        if self._retrying is None:
            self._retrying = asyncio.create_task(self._retry())

    async def _retry(self) -> None:
        """Send deferred reports until Redis accepts all of them."""
        while self._deferred:
            await asyncio.sleep(RETRY_S)
            await self._send_deferred()
        self._retrying = None

    async def _send_deferred(self) -> None:
        for key, report in list(self._deferred.values()):
            del self._deferred[key.id]  # requests that end meanwhile start a new deferred report
            with suppress(*UNAVAILABLE):
                await self._send(key, report)


async def _cancel(tasks: Iterable[asyncio.Task[None]]) -> None:
    cancelled = list(tasks)
    for task in cancelled:
        task.cancel()
    await asyncio.gather(*cancelled, return_exceptions=True)


def _rates(key: KeyRecord) -> list[int]:
    return [key.requests_per_minute or 0, key.tokens_per_minute or 0]


def _redis_keys(key: KeyRecord) -> list[str]:
    """Return the Redis keys of a key's usage and leases. The braces keep both on one node of a cluster."""
    return [f"{PREFIX}{{{key.id}}}", f"{PREFIX}{{{key.id}}}:running"]
