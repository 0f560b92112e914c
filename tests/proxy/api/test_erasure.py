"""Erasing a conversation on request."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from proxy.api.service import SERVICE
from proxy.auth.keys import create, save
from proxy.traces import query
from tests.proxy.conftest import Body, Proxy, Start, dialogue, text_of, warnings_in
from tests.redis_server import INSTALLED, RedisServer

ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night."


async def erased(proxy: Proxy, ident: str, key: str = "") -> tuple[int, Body]:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with proxy.session.delete(f"{proxy.url}/admin/conversations/{ident}", headers=headers) as response:
        return response.status, await response.json()


def told(body: Body) -> dict[str, int]:
    return {name: body[name] for name in ("states", "responses", "turns")}


async def test_conversation_is_gone_from_state_and_traces(start: Start, tmp_path: Path) -> None:
    """Its warnings are gone, the trace file holds no byte of it, and other conversations are kept."""
    path = tmp_path / "traces.db"
    proxy = await start(config={"privacy": {"store": "full", "path": str(path)}})
    proxy.upstream.answer = lambda body: ADVICE
    other = await proxy.say("ANOTHERWORD")
    first = await proxy.say("WORDOFUSER: which supplements?")
    reply, ident = text_of(first), first["caf"]["conversation_id"]
    await proxy.say("WORDOFUSER: which supplements?", reply, "And WORDOFUSER?")
    status, body = await erased(proxy, ident)
    assert (status, body["id"], body["deleted"], body["turns"]) == (200, ident, True, 2)
    assert body["states"] > 0
    raw = b"".join(file.read_bytes() for file in tmp_path.glob("traces.db*"))  # noqa: ASYNC240
    assert b"WORDOFUSER" not in raw
    proxy.upstream.requests.clear()
    again = await proxy.say("WORDOFUSER: which supplements?", reply, "And?")
    assert again["caf"]["conversation_id"] != ident
    assert not any(warnings_in(body) for body in proxy.upstream.requests)
    assert told((await erased(proxy, ident))[1]) == {"states": 0, "responses": 0, "turns": 0}
    assert (await erased(proxy, other["caf"]["conversation_id"]))[1]["turns"] == 1


async def test_what_is_written_afterwards_goes_too(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may still write its traces. Turns that begin after the erasure are kept."""
    monkeypatch.setattr("proxy.api.erasure.WRITTEN_S", 0.4)
    place = tmp_path / "traces.db"
    proxy = await start(config={"privacy": {"store": "full", "path": str(place)}})
    traces, late = proxy.app[SERVICE].traces, []
    record = traces.record
    monkeypatch.setattr(traces, "record", late.append)
    await proxy.say("Hi", headers={"X-Conversation-Id": "abc"})
    assert told(body := (await erased(proxy, "abc"))[1])["turns"] == 0, body
    monkeypatch.undo()
    record(late[0])
    await proxy.say("Hello again", headers={"X-Conversation-Id": "abc"})

    def written() -> list[str]:
        with query.open_backend(place, "ro") as connection:
            return [ident for (ident,) in connection.execute("SELECT turn_id FROM turns")]

    async with asyncio.timeout(10):
        while not place.exists() or late[0].turn_id not in written():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
        while late[0].turn_id in written():  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    assert len(written()) == 1


async def test_beginning_of_an_id_erases_nothing(start: Start, tmp_path: Path) -> None:
    """A client may choose an id that another id starts with. Unlike the command line, the route needs the exact id."""
    proxy = await start(config={"privacy": {"store": "full", "path": str(tmp_path / "traces.db")}})
    await proxy.say("Hi", headers={"X-Conversation-Id": "abcdef"})
    assert told((await erased(proxy, "abc"))[1]) == {"states": 0, "responses": 0, "turns": 0}
    assert (await erased(proxy, "abcdef"))[1]["turns"] == 1


@pytest.mark.parametrize("expose", ["caf", "none"])
async def test_kept_responses_of_a_conversation_are_gone(start: Start, expose: str) -> None:
    """They hold texts, also if replies do not show their conversation."""
    proxy = await start(config={"expose": expose})
    headers, body = {"X-Conversation-Id": "c1"}, {"model": "bot", "input": "Hi"}
    async with proxy.session.post(f"{proxy.url}/v1/responses", json=body, headers=headers) as response:
        kept = await response.json()
    assert told((await erased(proxy, "c1"))[1])["responses"] == 1
    assert (await proxy.get(f"/v1/responses/{kept['id']}"))[0] == 404


async def test_erasing_needs_the_admin_permission(start: Start, tmp_path: Path) -> None:
    """A key that may only chat can neither erase conversations nor learn which exist."""
    clinic, admin = create("clinic"), create("admin", permissions=("admin",))
    save([clinic.record, admin.record], tmp_path / "keys.json")
    proxy = await start(config={"keys": {"file": "keys.json"}})
    headers = {"Authorization": f"Bearer {clinic.text}"}
    status, body = await proxy.post({"model": "bot", "messages": dialogue("Hi")}, headers)
    assert status == 200
    ident = body["caf"]["conversation_id"]
    assert [(await erased(proxy, ident, key))[0] for key in ("", clinic.text, admin.text)] == [401, 403, 200]


async def test_traces_that_cannot_be_erased_are_not_said_to_be(start: Start, tmp_path: Path) -> None:
    """The status must not be 200."""
    path = tmp_path / "traces.db"
    proxy = await start(config={"privacy": {"store": "none", "path": str(path)}})
    path.write_bytes(b"this is no database, but somebody put it here" * 50)
    assert (await erased(proxy, "abc"))[0] == 503


@pytest.mark.skipif(not INSTALLED, reason="needs redis-server: apt-get install redis-server")
class TestRedis:
    """States shared by several processes."""

    @pytest.fixture
    def redis(self, tmp_path: Path) -> Iterator[RedisServer]:
        (tmp_path / "redis").mkdir()
        server = RedisServer(tmp_path / "redis")
        yield server
        server.kill()

    async def test_states_in_redis_are_gone_for_every_process(self, start: Start, redis: RedisServer) -> None:
        """Any process can erase them. States of other conversations are kept."""
        config = {"memory": {"store": "redis", "url": redis.url}}
        one, other = await start(config=config), await start(config=config)
        ident = (await one.say("Hi"))["caf"]["conversation_id"]
        stays = (await one.say("Hello"))["caf"]["conversation_id"]
        assert (await erased(other, ident))[1]["states"] > 0
        assert await one.app[SERVICE].conversations.forget(ident) == 0
        assert await one.app[SERVICE].conversations.forget(stays) > 0

    async def test_lost_redis_is_not_taken_for_an_empty_one(self, start: Start, redis: RedisServer) -> None:
        """Also with `degrade`, where turns are served without it."""
        memory = {"store": "redis", "url": redis.url, "on_error": "degrade", "timeout_s": 0.3}
        proxy = await start(config={"memory": memory})
        redis.kill()
        assert (await erased(proxy, "abc"))[0] == 503
