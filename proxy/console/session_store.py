"""Stores the sessions of signed-in users, in this process or in Redis.

The store has only a hash of each token, so a leaked store gives nobody access.
"""

import hashlib
import hmac
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import structlog
from cachetools import TTLCache

from proxy.config.settings import MemorySettings
from proxy.protocol.errors import StoreUnavailable

if TYPE_CHECKING:
    from redis.asyncio import Redis

log = structlog.get_logger()

SESSION_S = 8 * 3600
"""Seconds that a session lasts."""
MOST_SESSIONS = 10_000
"""Maximum number of sessions of a process. The oldest session ends first."""
PREFIX = "caf:console:"


class SessionStore(Protocol):
    """A store that maps session tokens to the ids of API keys."""

    async def begin(self, key_id: str) -> str:
        """Begin a session for a key and return the session token."""
        ...

    async def find(self, token: str) -> str | None:
        """Return the key id of the session with this token; None: no session, or it has ended."""
        ...

    async def end(self, token: str) -> None:
        """End a session, if there is one."""
        ...

    def take_over(self, earlier: "SessionStore") -> None:
        """Take over the sessions of the store that this one replaces after a reload."""
        ...

    async def close(self) -> None:
        """Close the connections to the store."""
        ...


class ProcessSessions:
    """Sessions in this process."""

    def __init__(self) -> None:
        self._keys: TTLCache[str, str] = TTLCache(MOST_SESSIONS, SESSION_S, time.monotonic)

    async def begin(self, key_id: str) -> str:
        token = secrets.token_urlsafe(32)
        self._keys[_name(token)] = key_id
        return token

    async def find(self, token: str) -> str | None:
        return self._keys.get(_name(token))

    async def end(self, token: str) -> None:
        self._keys.pop(_name(token), None)

    def take_over(self, earlier: SessionStore) -> None:
        if isinstance(earlier, ProcessSessions):
            self._keys = earlier._keys

    async def close(self) -> None:
        """Do nothing: there are no connections."""


class RedisSessions:
    """Sessions that several processes share.

    Raises (begin, find, end): StoreUnavailable: Redis does not answer.
    """

    def __init__(self, client: "Redis") -> None:
        self._client = client

    async def begin(self, key_id: str) -> str:
        token = secrets.token_urlsafe(32)
        with _must_answer():
            await self._client.set(PREFIX + _name(token), key_id, ex=SESSION_S)
        return token

    async def find(self, token: str) -> str | None:
        with _must_answer():
            value = await self._client.get(PREFIX + _name(token))
        return value.decode() if isinstance(value, bytes) else value

    async def end(self, token: str) -> None:
        with _must_answer():
            await self._client.delete(PREFIX + _name(token))

    def take_over(self, earlier: SessionStore) -> None:
        """Do nothing: the sessions stay in Redis."""

    async def close(self) -> None:
        await self._client.aclose()


@contextmanager
def _must_answer() -> Iterator[None]:
    from redis.exceptions import RedisError  # a library that most proxies do without

    try:
        yield
    except (RedisError, OSError, TimeoutError) as error:
        log.error("sessions not reached", error=type(error).__name__)
        raise StoreUnavailable from None


def open_sessions(settings: MemorySettings, environ: Mapping[str, str]) -> SessionStore:
    """Open the store of sessions, in the same place as conversation states.

    Raises:
        ModelSettingsError: The environment variable with the password of Redis is not set.
    """
    if settings.store == "process":
        return ProcessSessions()
    from proxy.state.redis_conversations import connect  # a library that most proxies do without

    return RedisSessions(connect(settings, environ))


def csrf_token(token: str) -> str:
    """Return the CSRF token of a session, derived from its token."""
    return hmac.new(token.encode(), b"csrf", hashlib.sha256).hexdigest()


def _name(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
