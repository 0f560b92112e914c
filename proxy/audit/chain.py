"""A chain of the audit log: JSON lines in one file, each bound to the one before it by its hash. Pure.

A line is canonical JSON: keys sorted, no white space, and so only one way to write it. Its `hash` is the SHA-256 of that JSON
without `hash`, in which `prev`, the hash of the line before, stands with `seq` and the record. So nobody can change, take out, put
in or move a line without writing all later ones anew, and who has kept a later hash elsewhere (`caf audit head`) sees that.

The first line names the chain and the last lines of the chains before it, so that a chain that is cut short or taken away is
missed by the next one. What no chain can tell by itself is a cut at its end: it looks like the crash of the process.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

GENESIS = "0" * 64
"""What stands as `prev` in a first line."""
FORMAT = 1
SUFFIX = ".jsonl"
_HASH = re.compile(r"[0-9a-f]{64}")
_CHAIN = re.compile(r"[0-9a-f]{32}")
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

Ending = Literal["closed", "unclosed", "torn"]
"""closed: by its closing record. unclosed: by a crash, or it is still written, or somebody cut it. torn: the same, in a line."""


class Fault(Exception):
    """A chain is not as it was written. `line` counts from 1; 0 stands for the file as a whole."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


@dataclass(frozen=True, slots=True)
class Head:
    """A line of a chain: the last one, when it was looked at."""

    name: str
    """Of the file."""
    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain that was checked."""

    head: Head
    ending: Ending
    lost: int = 0
    """Records that its gap records tell of."""
    hashes: Mapping[int, str] = field(default_factory=dict)
    """Of the lines that were asked for, by `seq`."""

    @property
    def name(self) -> str:
        """Of the file."""
        return self.head.name


def write_line(record: Mapping[str, Any], seq: int, prev: str) -> tuple[bytes, str]:
    """Return the line of a record, and its hash.

    Raises:
        TypeError: The record holds what JSON has not (orjson.JSONEncodeError).
    """
    body = {**record, "seq": seq, "prev": prev}
    digest = hashlib.sha256(_canonical(body)).hexdigest()
    return _canonical({**body, "hash": digest}) + b"\n", digest


def _canonical(body: Mapping[str, Any]) -> bytes:
    return orjson.dumps(body, option=orjson.OPT_SORT_KEYS)


def check_chain(lines: Iterable[bytes], numbers: Iterable[int] = ()) -> Chain:
    """Check the lines of a chain, each with its line end.

    Args:
        numbers: `seq` numbers whose hashes are returned.

    Raises:
        Fault: The first line that is not as it was written.
    """
    vouched, hashes = frozenset(numbers), {}
    seq, prev, lost, name = 0, GENESIS, 0, ""
    ending: Ending = "unclosed"
    for line in lines:
        if ending != "unclosed":
            raise Fault(seq + 1, "stands after the end of the chain")
        if not line.endswith(b"\n"):
            ending = "torn"
            continue
        record = read_line(line, seq, prev)
        event, prev = record["event"], record["hash"]
        if (event == "start") != (seq == 0):
            raise Fault(seq + 1, "a chain begins with its `start` record" if seq == 0 else "a second `start` record")
        if seq == 0:
            name = chain_file_name(record["at"], record["chain"])
        if seq in vouched:
            hashes[seq] = prev
        if event == "gap":
            lost += record["lost"]
        if event == "close":
            ending = "closed"
        seq += 1
    if not name:
        raise Fault(1, "the chain has no first line")
    return Chain(Head(name, seq - 1, prev), ending, lost, hashes)


def read_line(line: bytes, seq: int, prev: str) -> dict[str, Any]:
    """Return the record of a line that is to have this number and follow the line with this hash.

    Raises:
        Fault: It is not as it was written, or does not.
    """
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise Fault(seq + 1, "is no JSON") from None
    if not isinstance(record, dict) or _canonical(record) + b"\n" != line:
        raise Fault(seq + 1, "is not written as `caf` writes it")
    own = record.get("hash")
    body = {key: value for key, value in record.items() if key != "hash"}
    if own != hashlib.sha256(_canonical(body)).hexdigest():
        raise Fault(seq + 1, "does not have its hash: it has been changed")
    if record.get("prev") != prev:
        raise Fault(seq + 1, "does not follow the line before it: lines were taken out, put in or moved")
    if record.get("seq") != seq:
        raise Fault(seq + 1, f"has the number {record.get('seq')!r}, not {seq}")
    if not _is_record(record):
        raise Fault(seq + 1, "is no record of an audit log")
    return record


def _is_record(record: Mapping[str, Any]) -> bool:
    if not isinstance(record.get("event"), str) or not _matches(_AT, record.get("at")):
        return False
    if record["event"] == "gap":
        return type(record.get("lost")) is int
    if record["event"] == "start":
        before = record.get("before")
        return _matches(_CHAIN, record.get("chain")) and isinstance(before, list) and all(map(_is_head, before))
    return True


def _is_head(value: object) -> bool:
    if not isinstance(value, dict) or set(value) != {"name", "seq", "hash"}:
        return False
    return isinstance(value["name"], str) and type(value["seq"]) is int and _matches(_HASH, value["hash"])


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def chain_file_name(at: str, chain: str) -> str:
    """Return the file name of a chain: sorted by name, chains are sorted by their start."""
    return f"{at.replace('-', '').replace(':', '')}-{chain}{SUFFIX}"


def head_line(head: Head) -> str:
    """Format a head for safekeeping elsewhere."""
    return f"{head.name} {head.seq} {head.hash}"


def read_heads(text: str) -> list[Head]:
    """Read what `head_line` wrote, a line each; empty lines and those that begin with # are skipped.

    Raises:
        ValueError: A line is something else.
    """
    heads = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match line.split():
            case [name, seq, digest] if seq.isascii() and seq.isdecimal() and len(seq) < 19 and _matches(_HASH, digest):
                heads.append(Head(name, int(seq), digest))
            case _:
                raise ValueError(f"line {number} is not NAME NUMBER HASH, as `caf audit head` writes them")
    return heads
