"""Reads and checks the folder of the audit log, which has one file per chain. `log.py` writes them."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

import orjson

from proxy.audit.chain import GENESIS, SUFFIX, Chain, Fault, Head, check_chain, read_line

MAX_LINE_BYTES = 1_000_000
"""Longest line that is read. `caf` writes none so long, and a longer one must not fill the memory."""
ELSEWHERE = "kept elsewhere"
Claims = dict[str, list[tuple[str, Head]]]
"""By file name: the heads that the file must contain, each with the place that names it."""


@dataclass(frozen=True, slots=True)
class Report:
    """The result of checking a folder."""

    chains: list[Chain] = field(default_factory=list)
    """The valid chains, oldest first."""
    faults: list[str] = field(default_factory=list)
    """The first fault of each invalid chain, with file and line."""
    notes: list[str] = field(default_factory=list)
    """Observations that are not faults."""
    open_chains: frozenset[str] = frozenset()
    """Names of the chains that a process is writing now."""


class FolderFault(Exception):
    """A chain of the folder was damaged or changed. The message names file and line."""


def verify(folder: Path, anchors: Iterable[Head] = ()) -> Report:
    """Check all chains of a folder: each alone, and against the heads that later chains name.

    Args:
        anchors: Heads stored elsewhere, to check against as well.

    Raises:
        OSError: A file cannot be read.
    """
    files = chain_files(folder)
    claims: Claims = defaultdict(list)
    for head in anchors:
        claims[head.name].append((ELSEWHERE, head))
    for path in files:
        for head in _claimed_heads(path):
            claims[head.name].append((f"named by {path.name}", head))
    report = Report(open_chains=frozenset(path.name for path in files if is_being_written(path)))
    for path in files:
        try:
            chain = _check_file(path, (head.seq for _, head in claims[path.name]))
        except Fault as fault:
            report.faults.append(f"{path}:{fault.line}: {fault.problem}")
        else:
            report.chains.append(chain)
            report.faults.extend(_broken_claims(path, chain, claims[path.name]))
    _report_missing(folder, {path.name for path in files}, claims, report)
    return report


def _check_file(path: Path, numbers: Iterable[int]) -> Chain:
    with path.open("rb") as file:
        chain = check_chain(_lines(file), numbers)
    if chain.name != path.name:
        raise Fault(1, f"the line belongs to the chain {chain.name}: the file was renamed or copied")
    return chain


def _broken_claims(path: Path, chain: Chain, claims: Iterable[tuple[str, Head]]) -> Iterator[str]:
    for witness, head in claims:
        if head.seq > chain.head.seq:
            yield f"{path}:{chain.head.seq + 1}: the chain ends here, but line {head.seq + 1} is {witness}: the end was cut off"
        elif chain.hashes[head.seq] != head.hash:
            yield f"{path}:{head.seq + 1}: the line does not match the hash that is {witness}: the chain was rewritten"


def _start_time(name: str) -> str:
    """Return the start of a chain, to the millisecond. Processes that start together may share one."""
    return name.partition("-")[0]


def _report_missing(folder: Path, names_found: Collection[str], claims: Claims, report: Report) -> None:
    """Report missing chains: a fault, unless no older chain is left and only chains name them, as after a clean-up."""
    for name in sorted(claims.keys() - names_found):
        witness = claims[name][0][0]
        if witness != ELSEWHERE and _start_time(name) <= _start_time(min(names_found)):
            report.notes.append(f"{folder / name}: the chain is missing, like every older chain; it is {witness}")
        else:
            report.faults.append(f"{folder / name}:0: the chain is missing; it is {witness}")


def _claimed_heads(path: Path) -> list[Head]:
    """Return the heads that a chain's first line names; empty if the line is invalid, which `_check_file` reports."""
    with suppress(Fault), path.open("rb") as file:
        first = read_line(file.readline(MAX_LINE_BYTES), 0, GENESIS)
        return [Head(**one) for one in first["before"]] if first["event"] == "start" else []
    return []


def last_heads(folder: Path) -> list[Head]:
    """Return the last line of each chain in a folder, oldest first.

    Raises:
        OSError: A file cannot be read.
        FolderFault: A chain was damaged or changed.
    """
    heads = []
    for path in chain_files(folder):
        try:
            heads.append(_check_file(path, ()).head)
        except Fault as fault:
            raise FolderFault(f"{path}:{fault.line}: {fault.problem}") from None
    return heads


def last_head(path: Path) -> Head | None:
    """Return the last complete line of a chain without checking the others; None if no line can be read."""
    with suppress(OSError, ValueError, KeyError, TypeError), path.open("rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - MAX_LINE_BYTES))
        *_, last = (line for line in file.readlines() if line.endswith(b"\n"))
        record = orjson.loads(last)
        return Head(path.name, int(record["seq"]), str(record["hash"]))
    return None


def chain_files(folder: Path) -> list[Path]:
    """Return the files of the chains, oldest first.

    Raises:
        OSError: The folder does not exist or cannot be read.
    """
    return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))


def _lines(file: BinaryIO) -> Iterator[bytes]:
    return iter(lambda: file.readline(MAX_LINE_BYTES), b"")


def is_being_written(path: Path) -> bool:
    """Return whether a process is writing the chain: it holds a lock while it lives."""
    try:
        import fcntl
    except ImportError:  # Windows
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
    return False
