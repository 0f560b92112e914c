"""`privacy.sync: turn`: the trace of a reply is on the disk before the reply ends, whatever becomes of the process then."""

import json
from pathlib import Path
from typing import Any

import aiohttp
import psycopg
import pytest

from proxy.traces.backend import Database, TraceBackend
from proxy.traces.query import list_turns
from proxy.traces.search import read_turn
from tests.faults.driver_proxy import CHAT, Proxy, request, serving
from tests.faults.driver_talk import CONTACT, CRISIS, Ear, settings
from tests.postgres_server import PASSWORD, PASSWORD_ENV, PostgresServer

TURNS = {
    "accepted": ("bot", "Hello"),
    "fallback": ("bot", "Please advise me"),
    "emergency": ("bot", CRISIS),
    "unfiltered": ("shadowed", "Hello"),
    "error": ("bot", "break"),
}
"""What is asked, by what becomes of it."""


def configured(up: Ear, **privacy: Any) -> dict[str, Any]:
    config = settings(up, privacy={"store": "full", "sync": "turn", **privacy})
    config["chatbots"]["shadowed"] = config["chatbots"]["bot"] | {"filter": "shadow"}
    return config


async def ask_and_kill(proxy: Proxy, chatbot: str, said: str, *, stream: bool) -> bytes:
    """Ask, and kill the proxy with the last byte of the reply."""
    async with (
        aiohttp.ClientSession() as session,
        session.post(proxy.url + CHAT, json=request(chatbot, said, stream=stream)) as response,
    ):
        raw = b""
        while b"[DONE]" not in raw if stream and response.status == 200 else not response.content.at_eof():
            raw += await response.content.readany()
        proxy.process.kill()
    return raw


def turn_of(raw: bytes) -> str:
    """Return the id of the turn that a reply is of, streamed or not."""
    bodies = [json.loads(line.removeprefix(b"data: ")) for line in raw.splitlines() if b'"caf"' in line]
    turn: str = bodies[-1]["caf"]["turn_id"]
    return turn


async def expect_traced(proxy: Proxy, place: TraceBackend, outcome: str, raw: bytes) -> None:
    proxy.kill()
    if outcome == "error":
        assert b'"error"' in raw
        [turn] = list_turns(place)
        assert turn.error == "UpstreamUnavailable"
        return
    trace = read_turn(place, turn_of(raw))
    assert trace is not None, "the process was killed after the reply, and its trace is lost"
    assert trace["outcome"] == outcome
    assert (CONTACT in trace["replies"][0]) == (outcome in ("emergency", "fallback"))


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("outcome", TURNS)
async def test_killed_at_the_last_byte_the_trace_is_in_the_file(
    tmp_path: Path, up: Ear, outcome: str, stream: bool
) -> None:
    """Whatever became of the turn; of one that is judged in shadow, without that."""
    async with serving(tmp_path, configured(up, path="traces.db")) as proxy:
        raw = await ask_and_kill(proxy, *TURNS[outcome], stream=stream)
        await expect_traced(proxy, tmp_path / "traces.db", outcome, raw)


@pytest.mark.parametrize("stream", [False, True])
async def test_killed_at_the_last_byte_the_trace_is_in_the_database(
    tmp_path: Path, up: Ear, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, stream: bool
) -> None:
    """The same where the database server crashes too, at once, and its role does not ask the disk to confirm."""
    monkeypatch.setenv(PASSWORD_ENV, PASSWORD)
    url = postgres.database()
    with psycopg.connect(url, password=PASSWORD, autocommit=True) as link:
        link.execute("ALTER ROLE CURRENT_USER SET synchronous_commit = off")
    config = configured(up, url=url, password_env=PASSWORD_ENV)
    async with serving(tmp_path, config, {PASSWORD_ENV: PASSWORD}) as proxy:
        raw = await ask_and_kill(proxy, *TURNS["accepted"], stream=stream)
        postgres.crash()
        postgres.start()
        await expect_traced(proxy, Database(url, PASSWORD_ENV), "accepted", raw)
    with psycopg.connect(url, password=PASSWORD, autocommit=True) as link:
        link.execute("ALTER ROLE CURRENT_USER RESET synchronous_commit")
