"""Stores responses in Redis, which several processes and hosts can share. This module is imported only if Redis is configured.

Unlike a conversation state, a response contains the text of its turn. It is stored under the id of its API key and a hash of its
own id. Each operation is one script, so that the stored responses and the counted bytes always agree.
"""

import hashlib
import time
from typing import Any, Literal

import structlog
from redis.asyncio import Redis
from redis.exceptions import RedisError

from proxy.api.responses.store import MAX_BYTES, ProcessResponses, StoredResponse
from proxy.protocol.errors import StoreUnavailable

log = structlog.get_logger()

PREFIX = "caf:response:"
INDEX = "caf:responses:"
OVERHEAD = 500
"""Estimated bytes that Redis needs for a stored response, in addition to its text."""
TELL_EVERY_S = 10.0
"""Minimum seconds between log lines of a continuing outage."""

# KEYS[1]: the response. KEYS[2]: the API key's index of responses by last use. KEYS[3]: the API key's sum of bytes. Each entry of
# the index ends with the size of its response, so that an expired response can still be subtracted from the sum.
_COMMON = """
local function now()
  local t = redis.call('TIME')
  return tonumber(t[1]) * 1000 + math.floor(tonumber(t[2]) / 1000)
end
local function touch(name, age)
  redis.call('ZADD', KEYS[2], now(), name)
  for _, key in ipairs(KEYS) do redis.call('PEXPIRE', key, age) end
end
local function drop(name)
  if redis.call('ZREM', KEYS[2], name) == 1 then
    redis.call('DECRBY', KEYS[3], string.match(name, ':(%d+)$'))
  end
end
"""
_GET = f"""{_COMMON}
local kept = redis.call('HMGET', KEYS[1], 'user', 'previous', 'messages', 'body', 'conversation', 'name')
if kept[6] then touch(kept[6], ARGV[1]) end
return kept
"""
_PUT = f"""{_COMMON}
local age, most, prefix, name = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3], ARGV[4]
local before = redis.call('HGET', KEYS[1], 'name')
if before then drop(before) end
redis.call('HSET', KEYS[1], 'name', name, 'user', ARGV[6], 'previous', ARGV[7], 'messages', ARGV[8], 'body', ARGV[9],
  'conversation', ARGV[10])
redis.call('INCRBY', KEYS[3], ARGV[5])
touch(name, age)
for _, gone in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now() - age, 'LIMIT', 0, 100)) do drop(gone) end
while tonumber(redis.call('GET', KEYS[3])) > most do
  local gone = redis.call('ZRANGE', KEYS[2], 0, 0)[1]
  if not gone then break end
  redis.call('DEL', prefix .. string.match(gone, '^(%x+)'))
  drop(gone)
end
"""
_DELETE = f"""{_COMMON}
local name = redis.call('HGET', KEYS[1], 'name')
if not name then return 0 end
drop(name)
return redis.call('DEL', KEYS[1])
"""


class RedisResponses:
    """Stores responses in Redis, within a time to live and a limit of bytes for each API key.

    The least recently used responses are dropped first. While Redis does not answer, the policy `closed` refuses reads and writes,
    and the policy `degrade` stores new responses in this process.
    """

    def __init__(
        self,
        client: Redis,
        max_responses: int,
        max_age_s: float,
        on_error: Literal["closed", "degrade"],
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._client = client
        self._age_ms = max(1, round(max_age_s * 1000))
        self._max_bytes = max_bytes
        self._alone = ProcessResponses(max_responses, max_age_s) if on_error == "degrade" else None
        self._get: Any = client.register_script(_GET)
        self._put: Any = client.register_script(_PUT)
        self._delete: Any = client.register_script(_DELETE)
        self._logged_at = float("-inf")
        self.failures = 0

    async def get(self, key_id: str, response_id: str) -> StoredResponse | None:
        """Return a response, or None if it is unknown or expired.

        Raises:
            StoreUnavailable: Redis does not answer, and the response is not stored in this process.
        """
        alone = None if self._alone is None else await self._alone.get(key_id, response_id)
        if alone is not None:
            return alone
        try:
            fields = await self._get(keys=_places(key_id, _name(response_id)), args=[self._age_ms])
        except (RedisError, OSError, TimeoutError) as error:
            self._handle_failure(error)
            raise StoreUnavailable from None
        user, previous, messages, body, conversation, name = fields
        if name is None:
            return None
        return StoredResponse(
            response_id, user.decode(), previous.decode() or None, messages, body, conversation.decode()
        )

    async def put(self, key_id: str, stored: StoredResponse) -> None:
        """Store a response.

        Raises:
            StoreUnavailable: Redis does not answer, and the policy is `closed`.
        """
        name, size = _name(stored.id), stored.size + OVERHEAD
        value, *index = _places(key_id, name)
        fields = [stored.user, stored.previous or "", stored.messages, stored.body, _digest(stored.conversation)]
        settings = [self._age_ms, self._max_bytes, value.removesuffix(name), f"{name}:{size}", size]
        try:
            await self._put(keys=[value, *index], args=[*settings, *fields])
        except (RedisError, OSError, TimeoutError) as error:
            self._handle_failure(error)
            if self._alone is None:
                raise StoreUnavailable from None
            await self._alone.put(key_id, stored)

    async def delete(self, key_id: str, response_id: str) -> bool:
        """Delete a response, and return whether it was stored.

        Raises:
            StoreUnavailable: Redis does not answer, under either policy.
        """
        alone = self._alone is not None and await self._alone.delete(key_id, response_id)
        try:
            gone = await self._delete(keys=_places(key_id, _name(response_id)))
        except (RedisError, OSError, TimeoutError) as error:
            self._handle_failure(error)
            raise StoreUnavailable from None
        return bool(gone) or alone

    async def forget(self, conversation_id: str) -> int:
        """Delete the responses of a conversation, of all keys, and return their number.

        Raises:
            StoreUnavailable: Redis does not answer, under either policy.
        """
        gone = 0 if self._alone is None else await self._alone.forget(conversation_id)
        wanted, cursor = _digest(conversation_id).encode(), 0
        try:
            while True:  # scan all responses, without reading their texts
                cursor, batch = await self._client.scan(cursor, match=f"{PREFIX}*", count=500)
                keys = [key if isinstance(key, str) else key.decode() for key in batch]
                async with self._client.pipeline(transaction=False) as together:
                    for key in keys:
                        together.hget(key, "conversation")
                    conversations = await together.execute()
                for key, conversation in zip(keys, conversations, strict=True):
                    if conversation == wanted:
                        owner, _, name = key.removeprefix(PREFIX + "{").partition("}:")
                        gone += await self._delete(keys=_places(owner, name))
                if cursor == 0:
                    return gone
        except (RedisError, OSError, TimeoutError) as error:
            self._handle_failure(error)
            raise StoreUnavailable from None

    async def close(self) -> None:
        await self._client.aclose()

    def _handle_failure(self, error: Exception) -> None:
        self.failures += 1
        if time.monotonic() - self._logged_at > TELL_EVERY_S:
            self._logged_at = time.monotonic()
            policy = "closed" if self._alone is None else "degrade"
            log.error("response store unavailable", error=type(error).__name__, policy=policy, failures=self.failures)


def _places(key_id: str, name: str) -> list[str]:
    """Return the Redis keys of a response, and of its API key's index and sum. The braces keep all on one cluster node."""
    return [f"{PREFIX}{{{key_id}}}:{name}", f"{INDEX}{{{key_id}}}", f"{INDEX}{{{key_id}}}:bytes"]


def _name(response_id: str) -> str:
    """Return the hash of a response id, to use in Redis keys. Clients may send any text as an id."""
    return hashlib.blake2b(response_id.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _digest(conversation_id: str) -> str:
    """Return the hash of a conversation id; an empty string for an empty id."""
    return _name(conversation_id) if conversation_id else ""
