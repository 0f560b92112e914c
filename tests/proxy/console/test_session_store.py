"""Sessions: in one process, shared by several through Redis, and kept when the configuration is exchanged."""

from pathlib import Path

import pytest
from aiohttp import web

from proxy.app import create_app
from proxy.config.config import parse_config
from proxy.config.settings import MemorySettings
from proxy.console import session_store
from proxy.console.admission import SESSIONS
from proxy.console.session_store import PREFIX, ProcessSessions, csrf_token, open_sessions
from proxy.protocol.errors import StoreUnavailable
from tests.proxy.console.conftest import console_config
from tests.redis_server import RedisServer


async def test_a_session_is_found_until_it_ends() -> None:
    """By its token alone; tokens and what stands for them in forms differ."""
    sessions = ProcessSessions()
    first, second = await sessions.begin("one"), await sessions.begin("two")
    assert (await sessions.find(first), await sessions.find(second)) == ("one", "two")
    assert len({first, second, csrf_token(first), csrf_token(second)}) == 4
    await sessions.end(first)
    assert (await sessions.find(first), await sessions.find(second)) == (None, "two")
    assert await sessions.find("") is None


async def test_workers_share_sessions_through_redis(redis: RedisServer) -> None:
    """Redis holds no token, so that who reads it is not signed in, and forgets a session when its time is up."""
    settings = MemorySettings(store="redis", url=redis.url)
    one, other = open_sessions(settings, {}), open_sessions(settings, {})
    try:
        token = await one.begin("key")
        assert await other.find(token) == "key"
        client = one._client  # type: ignore[attr-defined]
        (name,) = await client.keys(f"{PREFIX}*")
        assert token.encode() not in name
        assert 0 < await client.ttl(name) <= session_store.SESSION_S
        await other.end(token)
        assert await one.find(token) is None
    finally:
        await one.close()
        await other.close()


async def test_a_redis_that_is_away_is_no_failure_of_the_proxy(redis: RedisServer) -> None:
    """The API says the same of its state: 503, and when to ask again."""
    sessions = open_sessions(MemorySettings(store="redis", url=redis.url, timeout_s=0.2), {})
    try:
        token = await sessions.begin("key")
        redis.kill()
        for attempt in (sessions.begin("key"), sessions.find(token), sessions.end(token)):
            with pytest.raises(StoreUnavailable):
                await attempt
    finally:
        await sessions.close()


async def test_a_reload_keeps_who_is_signed_in(tmp_path: Path) -> None:
    """The new configuration knows the sessions of the old one."""
    config = parse_config(console_config(tmp_path), tmp_path / "config.yaml")
    old = web.AppRunner(create_app(config))
    await old.setup()
    token = await old.app[SESSIONS].begin("key")
    new = web.AppRunner(create_app(config, after=old.app))
    await new.setup()
    assert await new.app[SESSIONS].find(token) == "key"
    await new.cleanup()
    await old.cleanup()
