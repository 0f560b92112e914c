"""Waiting for traces to be on the disk."""

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog

from proxy.traces import sqlite as trace_file
from proxy.traces.backend import Row, Unreachable
from proxy.traces.search import read_turn
from proxy.traces.store import TraceStore
from tests.proxy.traces.test_store import trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traces.db"


def started(path: Path, write: Callable[[list[Row]], int] | None = None, **more: Any) -> TraceStore:
    """Open a store; args: write: what its writer does in place of writing."""
    store = TraceStore(path, more.pop("store", "full"), 30, **{"sync": True} | more)
    if write is not None:
        store._writer.write = write  # type: ignore[method-assign]
    store.start()
    return store


async def test_what_was_recorded_is_there(path: Path) -> None:
    """At once, and also where the writer was about to sleep."""
    store = started(path)
    for n in range(20):
        store.record(trace(turn_id=f"turn-{n}"))
        await store.flush()
        assert read_turn(path, f"turn-{n}") is not None
    await store.flush()
    store.close()


async def test_turns_that_end_at_once_share_a_commit(path: Path) -> None:
    """While the disk confirms one commit, the next one gathers."""
    store = started(path)
    written, commits = store._writer.write, []

    def write(rows: list[Row]) -> int:
        commits.append(len(rows))
        time.sleep(0.05)
        return written(rows)

    store._writer.write = write  # type: ignore[method-assign]

    async def turn(n: int) -> None:
        store.record(trace(turn_id=f"turn-{n}"))
        await store.flush()
        assert read_turn(path, f"turn-{n}") is not None

    await asyncio.gather(*(turn(n) for n in range(50)))
    assert sum(commits) == 50
    assert len(commits) <= 4
    store.close()


async def test_a_writer_that_hangs_holds_a_reply_for_a_while(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it leaves, and the log says so."""
    monkeypatch.setattr("proxy.traces.store.FLUSH_S", 0.2)
    hanging = threading.Event()
    store = started(path, lambda _: int(not hanging.wait(10)))
    store.record(trace())
    with structlog.testing.capture_logs() as logs:
        async with asyncio.timeout(2):
            await store.flush()
    assert [line["event"] for line in logs] == ["reply_before_its_trace"]
    hanging.set()
    store.close()


@pytest.mark.parametrize("error", [OSError("no space"), Unreachable("refused")])
async def test_a_place_that_fails_holds_no_reply(path: Path, error: Exception) -> None:
    """One try is waited for; while the place is known to be away, none."""

    def write(rows: list[Row]) -> int:
        raise error

    store = started(path, write)
    store.record(trace())
    async with asyncio.timeout(2):
        await store.flush()
        began = time.monotonic()
        for n in range(20):
            store.record(trace(turn_id=f"turn-{n}"))
            await store.flush()
    assert time.monotonic() - began < 1
    store.close()
    assert store.dropped == 21


async def test_a_store_that_is_closed_or_keeps_nothing_holds_no_reply(path: Path) -> None:
    """Neither does one that writes in batches."""
    for store in (started(path), started(path, store="none"), started(path, sync=False)):
        if store.sync:
            store.close()
        store.record(trace())
        async with asyncio.timeout(0.1):
            await store.flush()
        store.close()


async def test_a_client_that_leaves_while_it_waits_keeps_its_trace(path: Path) -> None:
    """And the writer goes on."""
    store = started(path)
    store.record(trace())
    flushing = asyncio.create_task(store.flush())
    await asyncio.sleep(0)
    flushing.cancel()
    await asyncio.wait([flushing])
    await store.flush()
    assert read_turn(path, "turn-1") is not None
    store.close()


@pytest.mark.parametrize(("sync", "level"), [(False, 1), (True, 2)])
def test_the_disk_confirms_a_commit_where_that_is_asked_for(path: Path, sync: bool, level: int) -> None:
    """SQLite calls it FULL; NORMAL leaves the last commits to the system."""
    connection = trace_file.create(path, sync=sync)
    assert connection.execute("PRAGMA synchronous").fetchone() == (level,)
    connection.close()
