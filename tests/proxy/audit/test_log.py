"""The audit log on a real disk: what it cannot keep it tells, and what is taken away shows."""

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from proxy.audit import log as module
from proxy.audit.folder import Report, chain_files, last_heads, verify
from proxy.audit.log import AuditLog
from proxy.config.config import ConfigError

ROOT = Path(__file__).parents[3]


def until(holds: Callable[[], Any], seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)


def written(folder: Path, count: int = 3, *, closed: bool = True) -> Path:
    """Write a chain with some turns; return its file."""
    log = AuditLog(folder, "second")
    before = set(chain_files(folder)) if folder.exists() else set()
    log.start()
    for number in range(count):
        log.record("turn", turn=f"{number}", outcome="accepted")
    if closed:
        log.close()
    else:
        until(lambda: len(lines(folder)) > count)
    (path,) = set(chain_files(folder)) - before
    return path


def lines(folder: Path) -> list[dict[str, Any]]:
    """Return the records of the newest chain."""
    raw = chain_files(folder)[-1].read_bytes()
    return [
        orjson.loads(line) for line in raw.splitlines(keepends=True) if line.endswith(b"\n")
    ]  # it may be being written


def endings(report: Report) -> list[str]:
    return [chain.ending for chain in report.chains]


def test_records_are_kept_in_order_until_the_closing_one(tmp_path: Path) -> None:
    """A clean stop loses nothing."""
    log = AuditLog(tmp_path, "second")
    log.start()
    for number in range(2_500):
        log.record("turn", turn=f"{number}", outcome="accepted")
    log.close()
    found = lines(tmp_path)
    assert [one["event"] for one in found] == ["start", *["turn"] * 2_500, "close"]
    assert [one["turn"] for one in found[1:-1]] == [f"{number}" for number in range(2_500)]
    report = verify(tmp_path)
    assert (endings(report), report.faults, report.notes, log.dropped) == (["closed"], [], [], 0)


def test_the_files_are_for_the_owner_alone(tmp_path: Path) -> None:
    """Outcomes by time are nobody else's business."""
    path = written(tmp_path / "audit")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_a_folder_that_cannot_be_used_stops_the_start(tmp_path: Path) -> None:
    """Better no proxy than one that only seems to be audited."""
    (tmp_path / "taken").write_text("")
    with pytest.raises(ConfigError, match=r"audit\.folder: .*taken cannot be used"):
        AuditLog(tmp_path / "taken", "second").start()


def test_a_chain_that_goes_on_is_told_from_one_that_crashed(tmp_path: Path) -> None:
    """As long as its process lives it holds a lock."""
    log = AuditLog(tmp_path, "second")
    log.start()
    report = verify(tmp_path)
    assert (endings(report), len(report.open_chains)) == (["unclosed"], 1)
    log.close()
    assert not verify(tmp_path).open_chains


SCRIPT = """
import sys, time, resource
from pathlib import Path
from proxy.audit import log as audit
from proxy.audit.log import AuditLog
from proxy.telemetry.logs import configure_logs
configure_logs()
log = AuditLog(Path(sys.argv[1]), sys.argv[2])
log.start()
def until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.01)
"""


def run(code: str, folder: Path, sync: str = "second") -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", SCRIPT + code, str(folder), sync]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.parametrize("sync", ["turn", "second"])
def test_a_killed_process_leaves_a_chain_that_stands(tmp_path: Path, sync: str) -> None:
    """Without its closing record, which is told."""
    process = run(
        "for n in range(1000): log.record('turn', turn=str(n))\nprint('x', flush=True)\ntime.sleep(60)", tmp_path, sync
    )
    assert process.stdout
    assert process.stderr
    process.stdout.readline()
    until(lambda: len(lines(tmp_path)) == 1_001)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    report = verify(tmp_path)
    assert (endings(report), report.faults, report.open_chains) == (["unclosed"], [], frozenset())
    written(tmp_path)
    assert endings(verify(tmp_path)) == ["unclosed", "closed"]


FULL = """
audit.RETRY_S, audit.MAX_QUEUED = 0.05, 50
file = next(Path(sys.argv[1]).glob("*.jsonl"))
log.record("turn", turn="before")
until(lambda: b"before" in file.read_bytes())
sent = 0
for gaps in (1, 2):
    resource.setrlimit(resource.RLIMIT_FSIZE, (file.stat().st_size + 300, resource.RLIM_INFINITY))
    while log.dropped < 25 * gaps:
        log.record("turn", turn=f"full {sent}")
        sent += 1
        time.sleep(0.001)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    until(lambda: file.read_bytes().count(b'"gap"') == gaps)
log.record("turn", turn="after")
log.close()
print(log.dropped, sent)
"""


def test_a_full_disk_is_counted_and_told_in_the_chain(tmp_path: Path) -> None:
    """What waits is written later, what was lost stands there as a number; half a line is taken back."""
    process = run(FULL, tmp_path)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, err.decode()
    dropped, sent = map(int, out.splitlines()[-1].split())
    report = verify(tmp_path)
    assert (endings(report), report.faults) == (["closed"], [])
    assert report.chains[0].lost == dropped >= 50
    kept = [one["turn"] for one in lines(tmp_path) if one["event"] == "turn"]
    assert kept[0] == "before"
    assert kept[-1] == "after"
    assert len(kept) == 2 + sent - dropped
    logged = [(line["level"], line["folder"]) for line in map(orjson.loads, err.splitlines())]
    outage = [("error", str(tmp_path)), ("info", str(tmp_path))]
    assert logged == outage * (len(logged) // 2) != []


def test_an_end_on_a_full_disk_is_told(tmp_path: Path) -> None:
    """What could not be written at all is counted; the chain has no closing record, and no half line."""
    code = """
size = next(Path(sys.argv[1]).glob("*.jsonl")).stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, resource.RLIM_INFINITY))
for n in range(20): log.record("turn", turn=str(n))
log.close()
print(log.dropped)
"""
    out, err = run(code, tmp_path).communicate(timeout=60)
    assert out.split()[-1:] == [b"20"], err.decode()
    assert (
        orjson.loads(err.splitlines()[-1]).items() >= {"level": "error", "folder": str(tmp_path), "dropped": 20}.items()
    )
    report = verify(tmp_path)
    assert (endings(report), report.faults) == (["unclosed"], [])


def test_a_full_queue_is_counted_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory must not fill, and nothing is lost silently."""
    monkeypatch.setattr(module, "MAX_QUEUED", 10)
    log = AuditLog(tmp_path, "second")
    log.start()
    for number in range(1_000):  # faster than the writer, which waits for others to come
        log.record("turn", turn=f"{number}")
    log.close()
    (chain,) = verify(tmp_path).chains
    assert chain.lost == log.dropped > 0
    assert sum(one["event"] == "turn" for one in lines(tmp_path)) == 1_000 - log.dropped


def test_a_deleted_file_is_missed_at_once(tmp_path: Path) -> None:
    """The log goes on in a new chain, which says how many lines went with the old one."""
    log = AuditLog(tmp_path, "second")
    log.start()
    log.record("turn", turn="gone")
    until(lambda: len(lines(tmp_path)) == 2)
    chain_files(tmp_path)[0].unlink()
    log.record("turn", turn="kept")
    log.close()
    assert [(one["event"], one.get("lost")) for one in lines(tmp_path)[1:]] == [
        ("turn", None),
        ("gap", 2),
        ("close", None),
    ]
    assert log.dropped == 2


def test_a_record_that_cannot_be_written_costs_no_other(tmp_path: Path) -> None:
    """It is a fault of ours; the chain goes on, and counts it."""
    log = AuditLog(tmp_path, "second")
    log.start()
    log.record("turn", turn=object())
    until(lambda: log.dropped)
    log.record("turn", turn="good")
    log.close()
    assert [one["event"] for one in lines(tmp_path)] == ["start", "turn", "gap", "close"]


# What is taken away


def test_a_later_chain_misses_the_end_of_an_earlier_one(tmp_path: Path) -> None:
    """Cut short, a chain looks like a crash; but the next one has kept its last hash."""
    first = written(tmp_path)
    assert verify(tmp_path).faults == []
    first.write_bytes(b"".join(first.read_bytes().splitlines(keepends=True)[:-2]))
    assert endings(verify(tmp_path)) == ["unclosed"]
    assert verify(tmp_path).faults == []
    first.unlink()
    first, second = written(tmp_path), written(tmp_path)
    kept = first.read_bytes()
    first.write_bytes(b"".join(kept.splitlines(keepends=True)[:-2]))
    (fault,) = verify(tmp_path).faults
    assert fault == f"{first}:3: the chain ends here, but line 5 is named by {second.name}: the end was cut off"
    first.write_bytes(kept)
    assert verify(tmp_path).faults == []


def test_a_chain_that_is_gone_is_missed(tmp_path: Path) -> None:
    """From between others it is a fault; with all older ones it was tidied away, which is told."""
    first = written(tmp_path)
    time.sleep(0.002)
    second = written(tmp_path)
    time.sleep(0.002)
    third = written(tmp_path)
    text = second.read_bytes()
    second.unlink()
    assert verify(tmp_path).faults == [f"{second}:0: the chain is missing; it is named by {third.name}"]
    first.unlink()
    report = verify(tmp_path)
    assert report.faults == []
    assert report.notes == [
        f"{one}: the chain is missing, like every older chain; it is named by {third.name}" for one in (first, second)
    ]
    second.write_bytes(text)
    assert len(verify(tmp_path).notes) == 1


@pytest.mark.parametrize("gone", [0, 1])
def test_of_chains_begun_together_any_may_be_the_oldest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: int
) -> None:
    """Workers start in the same millisecond, and their chains are tidied away one by one: that is no fault."""
    monkeypatch.setattr(module, "utc_timestamp", lambda seconds: "2001-01-01T00:00:00.000Z")
    two = sorted([written(tmp_path), written(tmp_path)])
    monkeypatch.undo()
    written(tmp_path)
    two[gone].unlink()
    report = verify(tmp_path)
    assert report.faults == []
    assert any(note.startswith(f"{two[gone]}: the chain is missing, like every older chain") for note in report.notes)


def test_a_renamed_or_copied_chain_is_found(tmp_path: Path) -> None:
    """Its first line says what it is called."""
    path = written(tmp_path)
    copy = tmp_path / path.name.replace("-", "-f", 1)
    copy.write_bytes(path.read_bytes())
    (fault,) = verify(tmp_path).faults
    assert fault.startswith(f"{copy}:1: the line belongs to the chain {path.name}")


def test_a_chain_that_went_on_still_has_the_head_that_was_kept(tmp_path: Path) -> None:
    """Heads are of any time, not only of the end."""
    log = AuditLog(tmp_path, "second")
    log.start()
    kept = last_heads(tmp_path)
    log.record("turn")
    log.close()
    assert verify(tmp_path, kept).faults == []
    chain_files(tmp_path)[0].unlink()
    (fault,) = verify(tmp_path, kept).faults
    assert fault == f"{tmp_path / kept[0].name}:0: the chain is missing; it is kept elsewhere"


def test_processes_write_side_by_side(tmp_path: Path) -> None:
    """One chain each; none disturbs another."""
    code = "for n in range(500): log.record('turn', turn=str(n))\nlog.close()"
    processes = [run(code, tmp_path) for _ in range(3)]
    for process in processes:
        process.communicate(timeout=60)
    report = verify(tmp_path)
    assert [chain.head.seq for chain in report.chains] == [501] * 3
    assert (report.faults, len(os.listdir(tmp_path))) == ([], 3)
