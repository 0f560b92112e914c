"""PostgreSQL is gone while conversations go on: no reply waits for it, and what it never gets is counted and told."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from proxy.traces.sqlite import decode
from tests.faults.driver_proxy import Proxy, serving, until
from tests.faults.driver_talk import (
    Ear,
    Load,
    expect_counted,
    expect_no_wrong_delivery,
    expect_state_kept,
    expect_truth,
    settings,
)
from tests.postgres_server import PASSWORD, PASSWORD_ENV, PostgresServer


@pytest.fixture
def server(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that runs for the next test, whatever this one did to it."""
    yield postgres
    postgres.thaw()
    postgres.start()


def stored(url: str) -> dict[str, dict[str, Any]]:
    """Return the traces by turn, each decoded."""
    with psycopg.connect(url, password=PASSWORD) as link:
        rows = link.execute("SELECT turn_id, conversation_id, outcome, body FROM turns").fetchall()
    traces = {turn: decode(bytes(body)) for turn, _, _, body in rows}
    for turn, conversation, outcome, _ in rows:
        assert (traces[turn]["conversation_id"], traces[turn]["outcome"]) == (conversation, outcome)
    return traces


async def expect_stored(load: Load, proxy: Proxy, url: str, lost: float) -> None:
    """What is stored is what was delivered, whole, but for as many as were counted as lost."""
    delivered = {reply.caf["turn_id"]: reply for talk in load.talks for reply in talk.replies}
    await until(lambda: len(stored(url)) + lost >= len(delivered))
    kept = stored(url)
    assert len(kept) + lost == len(delivered)
    assert kept.keys() <= delivered.keys()
    for turn, trace in kept.items():
        assert trace["outcome"] == delivered[turn].outcome
        assert trace["replies"] == [delivered[turn].text]


async def test_stopped_under_load_no_reply_fails_and_what_is_lost_is_counted(
    tmp_path: Path, up: Ear, server: PostgresServer
) -> None:
    """It hangs, then crashes for so long that the queue is full, then starts again: the traces go on, none of them in part."""
    url = server.database()
    config = settings(up, privacy={"store": "full", "url": url, "password_env": PASSWORD_ENV})
    async with serving(tmp_path, config, {PASSWORD_ENV: PASSWORD}) as proxy:
        load = Load(proxy)
        async with load.running(16):
            await load.more(50)
            server.freeze()
            await load.more(60)  # while it says nothing: no reply waits for it
            server.thaw()
            await load.more(50)
            assert await proxy.count("caf_traces_dropped") == 0
            server.crash()
            await proxy.told("traces_wait")
            await proxy.counted("caf_traces_dropped", 50)
            assert {reply.status for reply in load.answers} == {200}
            server.start()
            await proxy.told("traces_stored_again")
            await load.more(50)
        lost = await proxy.count("caf_traces_dropped")
        await expect_stored(load, proxy, url, lost)
        assert await proxy.count("caf_traces_dropped") == lost
        await expect_counted(load, proxy)
        proxy.end()
    assert len(proxy.lines("traces_wait")) == len(proxy.lines("traces_dropped")) == 1
    assert PASSWORD not in "".join(proxy.said)
    expect_no_wrong_delivery(load, up)
    expect_state_kept(load.talks, up, proxy)
    expect_truth(load, proxy)
