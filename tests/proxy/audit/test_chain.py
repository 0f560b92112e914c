"""A chain of the audit log: whatever is changed in it shows, and where."""

import io
import itertools
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proxy.audit.chain import (
    GENESIS,
    Chain,
    Fault,
    Head,
    chain_file_name,
    check_chain,
    head_line,
    read_heads,
    write_line,
)

AT = "2026-01-31T14:00:00.000Z"
START = {"event": "start", "at": AT, "chain": "0" * 32, "before": []}
records = st.lists(
    st.fixed_dictionaries(
        {"event": st.just("turn"), "at": st.just(AT), "outcome": st.sampled_from(["accepted", "refined", None])},
        optional={"ms": st.integers(0, 9), "turn": st.text("0123456789abcdef", min_size=1, max_size=4)},
    ),
    max_size=6,
)


def chain(turns: list[dict[str, Any]], *, closed: bool = True) -> list[bytes]:
    lines, prev = [], GENESIS
    end = [{"event": "close", "at": AT}] if closed else []
    for seq, record in enumerate([START, *turns, *end]):
        line, prev = write_line(record, seq, prev)
        lines.append(line)
    return lines


def split(raw: bytes) -> list[bytes]:
    """Cut bytes into lines as reading a file does."""
    return io.BytesIO(raw).readlines()


def faulty_line(lines: list[bytes]) -> int:
    with pytest.raises(Fault) as caught:
        check_chain(lines)
    return caught.value.line


def noticed(lines: list[bytes], whole: Chain) -> bool:
    """Return whether a change shows: as a fault, or as an end that is not the closing record; and always to who kept the head."""
    try:
        found = check_chain(lines, [whole.head.seq])
    except Fault:
        return True
    assert found.hashes.get(whole.head.seq) != whole.head.hash
    return found.ending != "closed"


@settings(deadline=None)
@given(records)
def test_a_chain_as_written_is_whole(turns: list[dict[str, Any]]) -> None:
    """Each record comes in its place, and the last hash is the head."""
    lines = chain(turns)
    found = check_chain(lines, range(len(lines)))
    assert (found.ending, found.head.seq) == ("closed", len(turns) + 1)
    assert found.head.hash == orjson.loads(lines[-1])["hash"] == found.hashes[found.head.seq]
    assert check_chain(chain(turns, closed=False)).ending == "unclosed"


@settings(deadline=None, max_examples=400)
@given(records, st.data())
def test_any_changed_byte_is_found(turns: list[dict[str, Any]], data: st.DataObject) -> None:
    """Changed, taken out or put in; in all but the last line end, the fault names the line."""
    lines = chain(turns)
    raw, whole = b"".join(lines), check_chain(lines)
    at = data.draw(st.integers(0, len(raw) - 1))
    bytes_ = st.sampled_from([b" ", b"\n", b"\r", b"0", b'"', b"{"]) | st.binary(min_size=1, max_size=1)
    new = data.draw(bytes_.filter(lambda byte: byte != raw[at : at + 1]))
    kind = data.draw(st.sampled_from(["change", "delete", "insert"]))
    changed = raw[:at] + {"change": new, "delete": b"", "insert": new}[kind] + raw[at + (kind != "insert") :]
    if changed == raw:
        return
    assert noticed(split(changed), whole)
    if at < len(raw) - 1:
        assert faulty_line(split(changed)) == raw[:at].count(b"\n") + 1


@settings(deadline=None)
@given(records, st.data())
def test_any_line_taken_out_is_found(turns: list[dict[str, Any]], data: st.DataObject) -> None:
    """In the middle it is a fault; at the end the closing record is missing."""
    lines = chain(turns)
    first = data.draw(st.integers(0, len(lines) - 1))
    count = data.draw(st.integers(1, len(lines)))
    rest = lines[:first] + lines[first + count :]
    assert noticed(rest, check_chain(lines))
    if first + count < len(lines) or first == 0:
        assert faulty_line(rest) == first + 1


@settings(deadline=None)
@given(records, st.data())
def test_any_line_put_in_or_moved_is_found(turns: list[dict[str, Any]], data: st.DataObject) -> None:
    """A line of this chain or of another one, forged lines with a right hash of their own, any other order."""
    lines = chain(turns)
    at = data.draw(st.integers(0, len(lines)))
    forged, _ = write_line(
        {"event": "turn", "at": AT, "outcome": "accepted"}, at, data.draw(st.sampled_from([GENESIS, "1" * 64]))
    )
    line = data.draw(st.sampled_from([*lines, forged, b"\n", b"{}\n"]))
    assert faulty_line([*lines[:at], line, *lines[at:]]) in (at + 1, at + 2)
    moved = data.draw(st.permutations(lines))
    if moved != lines:
        first = next(i for i, (one, other) in enumerate(zip(lines, moved, strict=True)) if one != other)
        assert faulty_line(moved) == first + 1


def test_a_space_or_another_spelling_is_found_wherever_it_stands() -> None:
    """JSON may be written in many ways; a line only in one."""
    lines = chain([{"event": "turn", "at": AT, "outcome": None}])
    for at in range(len(lines[1]) - 1):
        assert faulty_line([lines[0], lines[1][:at] + b" " + lines[1][at:], lines[2]]) == 2
    for other in (
        lines[1].replace(b"\n", b"\r\n"), lines[1].replace(b"turn", b"\\u0074urn"), lines[1].replace(b"{", b'{"at":"",', 1),
    ):  # fmt: skip
        assert other != lines[1]
        assert faulty_line([lines[0], other, lines[2]]) == 2


@settings(deadline=None)
@given(records.filter(len), st.data())
def test_a_line_replaced_by_a_forged_one_is_found(turns: list[dict[str, Any]], data: st.DataObject) -> None:
    """It has its number, a right hash of its own, and even the right line before it."""
    lines = chain(turns)
    at = data.draw(st.integers(1, len(lines) - 2))
    right = orjson.loads(lines[at])["prev"]
    forged, _ = write_line(
        {"event": "turn", "at": AT, "outcome": "forged"}, at, data.draw(st.sampled_from([right, "1" * 64]))
    )
    assert faulty_line([*lines[:at], forged, *lines[at + 1 :]]) in (at + 1, at + 2)


@settings(deadline=None)
@given(records)
def test_nothing_stands_after_the_closing_record(turns: list[dict[str, Any]]) -> None:
    """Also when it is bound to it as it should be."""
    lines = chain(turns)
    more, _ = write_line({"event": "turn", "at": AT}, len(lines), check_chain(lines).head.hash)
    assert faulty_line([*lines, more]) == len(lines) + 1


@settings(deadline=None)
@given(records, st.data())
def test_a_chain_written_anew_is_found_by_who_kept_its_head(turns: list[dict[str, Any]], data: st.DataObject) -> None:
    """Who can write the file can forge a whole chain; not one that has the hash that somebody keeps elsewhere."""
    whole = check_chain(chain(turns))
    forged = [*turns, {"event": "turn", "at": AT, "outcome": "refined"}]
    forged = data.draw(st.permutations(forged))
    found = check_chain(chain(forged), [whole.head.seq])
    assert found.hashes[whole.head.seq] != whole.head.hash


@pytest.mark.parametrize(
    "record",
    [
        {"event": "start", "at": AT, "chain": "x", "before": []},
        {"event": "start", "at": AT, "chain": "0" * 32, "before": [{"name": 1, "seq": 0, "hash": GENESIS}]},
        {"event": "start", "at": "yesterday", "chain": "0" * 32, "before": []},
        {"event": "turn", "at": AT},
        {"event": 1, "at": AT},
        {},
    ],
)
def test_a_first_line_that_names_no_chain_is_refused(record: dict[str, Any]) -> None:
    """Also with a right hash."""
    assert faulty_line([write_line(record, 0, GENESIS)[0]]) == 1


def test_an_empty_file_is_no_chain() -> None:
    """A chain has its first line from the beginning."""
    assert faulty_line([]) == 1


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_garbage_is_a_fault_and_nothing_else(raw: bytes) -> None:
    """No bytes make the check fail in another way."""
    assert faulty_line(split(raw)) >= 1


@settings(deadline=None)
@given(
    st.recursive(st.none() | st.integers(-3, 3) | st.text(max_size=3), lambda inner: st.lists(inner, max_size=2)),
    st.data(),
)
def test_hashed_garbage_is_a_fault_and_nothing_else(value: Any, data: st.DataObject) -> None:
    """Also when somebody has given it the right hash."""
    field = data.draw(st.sampled_from(["at", "chain", "before", "event", "seq", "prev"]))
    line, _ = write_line({**START, field: value}, 0, GENESIS)
    if check_fails([line]):
        return
    assert field in ("seq", "prev") or (field, value) == ("before", [])  # the first two are what `write` sets


def check_fails(lines: list[bytes]) -> bool:
    try:
        check_chain(lines)
    except Fault:
        return True
    return False


def test_chains_are_sorted_by_their_start() -> None:
    """That is what their names are for."""
    times = ["2025-12-31T23:59:59.999Z", AT, "2026-01-31T14:00:01.000Z", "2026-10-01T00:00:00.000Z"]
    names = [chain_file_name(at, f"{9 - i}" * 32) for i, at in enumerate(times)]
    assert names == sorted(names)
    assert all(one < other for one, other in itertools.pairwise(names))


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Head, st.just("a.jsonl"), st.integers(0, 10**9), st.text("0123456789abcdef", min_size=64, max_size=64)
        )
    )
)
def test_heads_are_read_as_they_were_written(heads: list[Head]) -> None:
    """With comments and empty lines between."""
    assert read_heads("# kept\n\n" + "\n".join(map(head_line, heads)) + "\n") == heads


@settings(deadline=None)
@given(st.text())
def test_what_is_no_head_is_refused_with_its_line(text: str) -> None:
    """Never with anything but ValueError."""
    if any(line.strip() and not line.startswith("#") for line in text.splitlines()):
        with pytest.raises(ValueError, match="line "):
            read_heads(text)
