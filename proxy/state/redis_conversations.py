"""Conversation states in Redis, so that several processes and hosts share them. Imported only when configured.

A state holds hashes, ids and rules, but no texts. A tool call holds the fields that its model needs back, such as its reasoning.
Acknowledged writes survive a restart of Redis only with `appendfsync always`.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Literal, TypeVar

import orjson
import structlog
from pydantic import TypeAdapter, ValidationError
from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import RedisError

from models.errors import ModelSettingsError
from proxy.config.settings import MemorySettings
from proxy.protocol.errors import StoreUnavailable
from proxy.state.conversation import Conversation
from proxy.state.conversation_store import StateUnknown
from proxy.state.danger_marks import MAX_MARKS
from proxy.state.delivered_calls import DeliveredCall

log = structlog.get_logger()

T = TypeVar("T")
PREFIX = "caf:state:"
CLAIMS = "caf:claim:"
DANGER_MARKS = "caf:heard:"
_STATE = TypeAdapter(Conversation)
_CALL = TypeAdapter(DeliveredCall)
MOST_CONNECTIONS = 10_000
"""Redis' own default limit. A connection is used for one command. With the library's default of 100, the 101st concurrent command
would fail as if Redis were down. `max_connections` in the URL overrides it."""
TELL_EVERY_S = 10.0
"""Minimum seconds between log lines of a continuing outage."""
ASK_EVERY_S = 1.0
"""Seconds for which the result of a ping is reused."""


class RedisConversations:
    """Stores states under their keys with a time to live. All keys of one state are set in one transaction."""

    waits = True

    def __init__(
        self, client: Redis, max_age_s: float, on_error: Literal["closed", "degrade"], timeout_s: float
    ) -> None:
        self._client = client
        self._max_age_s = max_age_s
        self._on_error = on_error
        self._timeout_s = timeout_s
        self._logged_at = float("-inf")
        self._asking = asyncio.Lock()
        self._answered_at, self._asked_at = False, float("-inf")
        self.failures = 0
        """Number of failed reads and writes since the start."""

    async def get(self, key: bytes) -> Conversation | None:
        """Raises: StoreUnavailable: Redis does not answer, and the policy is `closed`; StateUnknown: the same with `degrade`."""
        try:
            state = await self._client.get(PREFIX + key.hex())
        except (RedisError, OSError, TimeoutError) as error:
            self._handle_failure(error)
            raise StateUnknown from None
        return _read(_STATE, key, state)

    async def put(self, keys: Sequence[bytes], conversation: Conversation) -> None:
        """Raises: StoreUnavailable: Redis does not answer, and the policy is `closed`."""
        await self._put(dict.fromkeys(keys, orjson.dumps(conversation, default=bytes.hex)))

    async def _put(self, entries: Mapping[bytes, bytes]) -> None:
        age_ms = max(1, round(self._max_age_s * 1000))
        try:
            async with self._client.pipeline(transaction=True) as together:
                for key, data in entries.items():
                    together.set(PREFIX + key.hex(), data, px=age_ms)
                await together.execute()
        except (RedisError, OSError, TimeoutError) as error:
            self._handle_failure(error)

    async def get_calls(self, keys: Sequence[bytes]) -> Sequence[DeliveredCall | None]:
        """Raises: as `get`."""
        try:
            calls = await self._client.mget([PREFIX + key.hex() for key in keys])
        except (RedisError, OSError, TimeoutError) as error:
            self._handle_failure(error)
            raise StateUnknown from None
        return [_read(_CALL, key, call) for key, call in zip(keys, calls, strict=True)]

    async def put_calls(self, calls: Mapping[bytes, DeliveredCall]) -> None:
        """Raises: as `put`."""
        await self._put({key: orjson.dumps(call) for key, call in calls.items()})

    async def claim(self, key: bytes) -> bool:
        """Raises: StoreUnavailable: Redis does not answer, with either policy, so that no action can run twice."""
        age_ms = max(1, round(self._max_age_s * 1000))
        try:
            return bool(await self._client.set(CLAIMS + key.hex(), b"1", px=age_ms, nx=True))
        except (RedisError, OSError, TimeoutError):
            raise StoreUnavailable from None

    async def add_danger_marks(self, writer: bytes, marks: Sequence[str]) -> None:
        """Raises: StoreUnavailable: Redis does not answer, and the policy is `closed`."""
        key, age_ms = DANGER_MARKS + writer.hex(), max(1, round(self._max_age_s * 1000))
        try:
            async with self._client.pipeline(transaction=True) as together:
                together.rpush(key, *marks)
                together.ltrim(key, -MAX_MARKS, -1)
                together.pexpire(key, age_ms)
                await together.execute()
        except (RedisError, OSError, TimeoutError) as error:
            self._handle_failure(error)

    async def danger_marks(self, writer: bytes) -> Sequence[str]:
        """Raises: StoreUnavailable: Redis does not answer, and the policy is `closed`."""
        try:
            marks = await self._client.lrange(DANGER_MARKS + writer.hex(), 0, -1)
        except (RedisError, OSError, TimeoutError) as error:
            self._handle_failure(error)
            return ()
        return [mark.decode() if isinstance(mark, bytes) else mark for mark in marks]

    async def forget(self, conversation_id: str) -> int:
        """Raises: StoreUnavailable: Redis does not answer, with either policy."""
        deleted_count, cursor = 0, 0
        try:
            while True:  # scan all states: an index for this rare request would cost every turn a write
                cursor, keys = await self._client.scan(cursor, match=f"{PREFIX}*", count=500)
                states = await self._client.mget(keys) if keys else []
                of_it = [key for key, state in zip(keys, states, strict=True) if _is_of(state, conversation_id)]
                if of_it:
                    deleted_count += await self._client.delete(*of_it)
                if cursor == 0:
                    return deleted_count
        except (RedisError, OSError, TimeoutError):
            raise StoreUnavailable from None

    async def answers(self) -> bool:
        async with self._asking:  # clients may call this often; Redis is pinged at most once a second
            if time.monotonic() - self._asked_at > ASK_EVERY_S:
                try:
                    async with asyncio.timeout(self._timeout_s):
                        await self._client.ping()
                    self._answered_at = True
                except (RedisError, OSError, TimeoutError) as error:
                    self._answered_at = False
                    self._log_failure(error)
                self._asked_at = time.monotonic()
            return self._answered_at

    async def close(self) -> None:
        await self._client.aclose()

    def _handle_failure(self, error: Exception) -> None:
        self.failures += 1
        self._log_failure(error)
        if self._on_error == "closed":
            raise StoreUnavailable from None

    def _log_failure(self, error: Exception) -> None:
        if time.monotonic() - self._logged_at > TELL_EVERY_S:
            self._logged_at = time.monotonic()
            log.error(
                "state store unavailable", error=type(error).__name__, policy=self._on_error, failures=self.failures
            )


def _read(adapter: TypeAdapter[T], key: bytes, entry: bytes | str | None) -> T | None:
    if entry is None:
        return None
    try:
        return adapter.validate_json(entry)
    except ValidationError:  # written by another version
        log.warning("state cannot be read", key=key.hex()[:8])
        return None


def _is_of(state: bytes | str | None, conversation_id: str) -> bool:
    try:
        content = None if state is None else orjson.loads(state)
    except orjson.JSONDecodeError:
        return False
    return isinstance(content, dict) and content.get("id") == conversation_id


def open_redis(settings: MemorySettings, environ: Mapping[str, str]) -> RedisConversations:
    """Open the store; see `connect`."""
    return RedisConversations(connect(settings, environ), settings.max_age_s, settings.on_error, settings.timeout_s)


def connect(settings: MemorySettings, environ: Mapping[str, str]) -> Redis:
    """Prepare a client for Redis. It connects with the first command.

    Raises:
        ModelSettingsError: The environment variable with the password is not set.
    """
    password = None
    if settings.password_env is not None:
        password = environ.get(settings.password_env)
        if password is None:
            raise ModelSettingsError(
                f"memory.password_env: the environment variable {settings.password_env!r} is not set; export it before starting"
            )
    client: Redis = Redis.from_url(
        settings.url, password=password, socket_timeout=settings.timeout_s, socket_connect_timeout=settings.timeout_s,
        # After a restart of Redis, pooled connections are dead: the retry opens a new one. Writing a state twice is harmless.
        # A timeout is not retried, because the emergency text waits for the answer.
        retry=Retry(NoBackoff(), 1, (RedisConnectionError,)), max_connections=MOST_CONNECTIONS,
    )  # fmt: skip
    return client
