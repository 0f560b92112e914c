"""A chain of the audit log: JSON lines in one file, each with the hash of the previous line. Pure.

A line is canonical JSON: sorted keys, no white space, so each record has exactly one form. The JSON holds the record, its number
`seq` and the previous line's hash `prev`. The line's `hash` is the SHA-256 of that JSON without `hash`. To change, remove, insert
or move a line, somebody must therefore rewrite all later lines. A later hash saved elsewhere (`caf audit head`) reveals that.

The first line names the chain and the last lines of earlier chains. The next chain thus reveals when an earlier one is truncated
or missing. A chain alone cannot reveal a cut at its end, which looks like a crash of the process.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

GENESIS = "0" * 64
"""The `prev` of a first line."""
FORMAT = 1
SUFFIX = ".jsonl"
_HASH = re.compile(r"[0-9a-f]{64}")
_CHAIN = re.compile(r"[0-9a-f]{32}")
_AT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")

Ending = Literal["closed", "unclosed", "torn"]
"""closed: with its closing record. unclosed: after a crash, still being written, or cut by somebody. torn: likewise, within a
line."""


class Fault(Exception):
    """A chain was damaged or changed.

    Attributes:
        line: Number of the first faulty line, from 1; 0 means the whole file.
        problem: A sentence about the line.
    """

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(problem)
        self.line, self.problem = line, problem


@dataclass(frozen=True, slots=True)
class Head:
    """A reference to a line of a chain: usually its last line when the chain was read."""

    name: str
    """Name of the chain's file."""
    seq: int
    hash: str


@dataclass(frozen=True, slots=True)
class Chain:
    """A valid chain."""

    head: Head
    ending: Ending
    lost: int = 0
    """Lost records, as counted by its `gap` records."""
    hashes: Mapping[int, str] = field(default_factory=dict)
    """Hashes of the requested lines, by `seq`."""

    @property
    def name(self) -> str:
        """Name of the chain's file."""
        return self.head.name


def write_line(record: Mapping[str, Any], seq: int, prev: str) -> tuple[bytes, str]:
    """Return the line of a record and the line's hash.

    Raises:
        TypeError: The record holds a value that JSON cannot encode (orjson.JSONEncodeError).
    """
    body = {**record, "seq": seq, "prev": prev}
    digest = hashlib.sha256(_canonical(body)).hexdigest()
    return _canonical({**body, "hash": digest}) + b"\n", digest


def _canonical(body: Mapping[str, Any]) -> bytes:
    return orjson.dumps(body, option=orjson.OPT_SORT_KEYS)


def check_chain(lines: Iterable[bytes], numbers: Iterable[int] = ()) -> Chain:
    """Check the lines of a chain.

    Args:
        lines: The lines with their line ends.
        numbers: `seq` numbers of the lines whose hashes are returned.

    Raises:
        Fault: A line was damaged or changed. The error names the first one.
    """
    vouched, hashes = frozenset(numbers), {}
    seq, prev, lost, name = 0, GENESIS, 0, ""
    ending: Ending = "unclosed"
    for line in lines:
        if ending != "unclosed":
            raise Fault(seq + 1, "the line follows the end of the chain: lines were added")
        if not line.endswith(b"\n"):
            ending = "torn"
            continue
        record = read_line(line, seq, prev)
        event, prev = record["event"], record["hash"]
        if (event == "start") != (seq == 0):
            raise Fault(
                seq + 1,
                "the line is not the `start` record of the chain"
                if seq == 0
                else "the line is a second `start` record",
            )
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
        raise Fault(1, "the line is missing or incomplete: the chain has no `start` record")
    return Chain(Head(name, seq - 1, prev), ending, lost, hashes)


def read_line(line: bytes, seq: int, prev: str) -> dict[str, Any]:
    """Return the record of a line.

    Args:
        seq: The number that the record must have.
        prev: The hash of the previous line, which the record must name.

    Raises:
        Fault: The line was damaged or changed, or has another number or previous line.
    """
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise Fault(seq + 1, "the line is not JSON") from None
    if not isinstance(record, dict) or _canonical(record) + b"\n" != line:
        raise Fault(seq + 1, "the line is not canonical JSON, as `caf` writes it")
    own = record.get("hash")
    body = {key: value for key, value in record.items() if key != "hash"}
    if own != hashlib.sha256(_canonical(body)).hexdigest():
        raise Fault(seq + 1, "the line does not match its hash: it was changed")
    if record.get("prev") != prev:
        raise Fault(seq + 1, "the line does not follow the previous line: lines were removed, inserted or moved")
    if record.get("seq") != seq:
        raise Fault(seq + 1, f"the line has the number {record.get('seq')!r} (expected {seq})")
    if not _is_record(record):
        raise Fault(seq + 1, "the line is not a record of an audit log")
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
    """Return the file name of a chain. The names sort by start time."""
    return f"{at.replace('-', '').replace(':', '')}-{chain}{SUFFIX}"


def head_line(head: Head) -> str:
    """Format a head as one line, `NAME NUMBER HASH`, to be stored elsewhere."""
    return f"{head.name} {head.seq} {head.hash}"


def read_heads(text: str) -> list[Head]:
    """Read lines written by `head_line`. Empty lines and lines that begin with # are skipped.

    Raises:
        ValueError: A line has another form.
    """
    heads = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match line.split():
            case [name, seq, digest] if seq.isascii() and seq.isdecimal() and len(seq) < 19 and _matches(_HASH, digest):
                heads.append(Head(name, int(seq), digest))
            case _:
                raise ValueError(f"line {number}: expected NAME NUMBER HASH, as `caf audit head` prints them")
    return heads
