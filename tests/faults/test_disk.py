"""The disk of the traces and of the audit log is full while conversations go on."""

import os
import resource
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

import orjson
import pytest

from proxy.traces.sqlite import decode
from tests.cli.conftest import Ended
from tests.faults.driver_proxy import serving
from tests.faults.driver_talk import (
    Ear,
    Load,
    expect_counted,
    expect_no_wrong_delivery,
    expect_state_kept,
    expect_truth,
    settings,
)

SIZE = 4_000_000


class Disk:
    """A small disk: a file system in memory, which only root may mount. Else a limit on the files of the process plays one."""

    def __init__(self, folder: Path, *, mounted: bool) -> None:
        self.folder, self._mounted = folder, mounted
        self._filler = folder / "filler"

    def fill(self, pid: int) -> None:
        """Leave no byte free for that process."""
        if not self._mounted:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
            return
        with self._filler.open("wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(b"x" * 4096)

    def free(self, pid: int) -> None:
        if not self._mounted:
            resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
            return
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounting = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "none", str(folder)]
    mounted = os.getuid() == 0 and subprocess.run(mounting, capture_output=True).returncode == 0
    yield Disk(folder, mounted=mounted)
    if mounted:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


async def test_a_full_disk_costs_no_reply_and_both_logs_tell_what_they_lost(
    tmp_path: Path,
    up: Ear,
    disk: Disk,
    caf: Callable[..., Ended],
) -> None:
    """Traces and audit records are lost and counted; with room again both go on, and what they hold is whole."""
    path, folder = disk.folder / "traces.db", disk.folder / "audit"
    config = settings(
        up, privacy={"store": "redacted", "path": str(path)}, audit={"folder": str(folder), "sync": "turn"}
    )
    async with serving(tmp_path, config) as proxy:
        load = Load(proxy)
        async with load.running(8):
            await load.more(20)
            disk.fill(proxy.process.pid)
            traces = await proxy.counted("caf_traces_dropped")
            await proxy.told("traces_dropped")
            await proxy.told(folder=str(folder), level="error")
            await load.more(20)
            assert {reply.status for reply in load.answers} == {200}
            disk.free(proxy.process.pid)
            await proxy.told("traces_stored_again")
            await proxy.told(folder=str(folder), level="info")
            await load.more(20)
        assert await proxy.count("caf_traces_dropped") >= traces
        await expect_counted(load, proxy)
        lost, unwritten = await proxy.count("caf_traces_dropped"), await proxy.count("caf_audit_dropped")
        proxy.end()
    delivered = {reply.caf["turn_id"]: reply for talk in load.talks for reply in talk.replies}
    with closing(sqlite3.connect(path)) as link:
        assert link.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        kept = dict(link.execute("SELECT turn_id, body FROM turns"))
    assert kept.keys() <= delivered.keys()
    assert len(kept) + lost == len(delivered)
    for turn, body in kept.items():
        assert decode(body)["outcome"] == delivered[turn].outcome
    verified = caf("audit", "verify", folder)
    assert verified.code == 0, verified.err + verified.out
    records = [orjson.loads(line) for file in folder.iterdir() for line in file.read_bytes().splitlines()]
    turns = {record["turn"]: record["outcome"] for record in records if record["event"] == "turn"}
    told = sum(record["lost"] for record in records if record["event"] == "gap")
    assert told == unwritten
    assert len(turns) + told == len(delivered)
    assert turns.items() <= {turn: reply.outcome for turn, reply in delivered.items()}.items()
    expect_no_wrong_delivery(load, up)
    expect_state_kept(load.talks, up, proxy)
    expect_truth(load, proxy)
