"""Traces: nothing gets lost on the way to the file, nothing purged stays in it, and no text gets in where none may."""

import dataclasses
import itertools
import os
import sqlite3
import string
import subprocess
import sys
import threading
import time
import typing
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from judges.observation import Assertion, Claims, Crisis, Sign
from judges.verdict import Judgement
from models.usage import Call, Usage
from proxy.traces import sqlite as trace_file
from proxy.traces import store as trace_store
from proxy.traces.backend import Row, TraceBackend, TraceError, Unreachable, Writer
from proxy.traces.postgresql import DatabaseWriter
from proxy.traces.query import list_turns, purge, show
from proxy.traces.redaction import redact
from proxy.traces.sqlite import FileWriter, decode, encode
from proxy.traces.store import TraceStore
from proxy.traces.trace import Attempt, SelectedSource, ShownWarning, Trace

SECRET = "Quetiapine frightens grandmother"


def trace(turn_id: str = "turn-1", conversation_id: str = "conv-1", **changes: object) -> Trace:
    claims = Claims(
        assertions=[Assertion(text=SECRET, support="unsupported", source_id=None, quote=None, topic="medication")],
        admits_not_from_sources="no",
        asks_to_verify="no",
    )
    judged = Judgement("transparency", "local", "reject", "sensitive_topic", SECRET, 0.4, 0.9, claims)
    crisis = Crisis(signs=[Sign(kind="self_harm", quote=SECRET, who="user", when="past")])
    whole = Trace(
        turn_id=turn_id,
        conversation_id=conversation_id,
        key_id="loopback",
        chatbot="info",
        filter="on",
        started=time.time(),
        user_message=SECRET,
        selected=[SelectedSource("causes", "model", SECRET)],
        selection_note=SECRET,
        sources_in_use=["causes"],
        warnings_shown=[ShownWarning("role", SECRET, 1, 5)],
        emergency=[Judgement("emergency", "local", "accept", observation=crisis)],
        attempts=[Attempt("draft", 0, SECRET, ["causes", SECRET], 2.0, [SECRET], ["source"], [judged])],
        warnings_added=[ShownWarning("sensitive_topic", SECRET, 2, 6)],
        replies=[SECRET, None],
        outcome="refined",
        calls=[Call("draft", "embedded", 1.5, Usage(100, 20), None, None)],
        ms=9.0,
    )
    return dataclasses.replace(whole, **changes)  # type: ignore[arg-type]


def stored(
    place: TraceBackend, *traces: Trace, store: typing.Literal["full", "redacted", "none"] = "full"
) -> TraceStore:
    """Run a store for some traces, from start to close."""
    kept = TraceStore(place, store, days=30)
    kept.start()
    for one in traces:
        kept.record(one)
    kept.close()
    return kept


def bytes_of(path: Path) -> bytes:
    """Everything the disk holds: the file, its log and its index of the log."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.iterdir()))


def test_a_recorded_trace_can_be_shown_with_its_evidence(place: TraceBackend) -> None:
    """Every field of the trace comes back, the judges' observations and their quotes too."""
    stored(place, trace())
    shown = show(place, "turn-1")
    assert set(shown) == {field.name for field in dataclasses.fields(Trace)}
    assertion = shown["attempts"][0]["judgements"][0]["observation"]["assertions"][0]
    assert assertion == {
        "text": SECRET,
        "support": "unsupported",
        "source_id": None,
        "quote": None,
        "topic": "medication",
    }
    assert shown["calls"][0]["usage"]["prompt_tokens"] == 100


def test_a_long_trace_is_compressed_and_still_whole() -> None:
    """Compression is not seen from outside."""
    long = trace(user_message="word " * 5_000)
    assert len(encode(long)) < 2_000
    assert decode(encode(long))["user_message"] == "word " * 5_000
    assert decode(encode(trace()))["user_message"] == SECRET


def test_a_lone_surrogate_costs_a_character_not_the_trace(place: TraceBackend) -> None:
    """A model may write what UTF-8 cannot hold."""
    store = stored(place, trace(user_message="a\ud800b"))
    assert show(place, "turn-1")["user_message"] == "a?b"
    assert store.dropped == 0


def test_the_file_and_its_folder_are_for_the_owner_alone(path: Path) -> None:
    """Traces hold people's crises; also an older file with laxer rights is closed, and so is the log beside it."""
    path.parent.mkdir()
    path.touch(0o666)
    path.chmod(0o666)
    store = TraceStore(path, "full", 30)
    store.start()
    store.record(trace())
    wait_for(lambda: path.with_name("traces.db-wal").stat().st_size)
    modes = {one.name: one.stat().st_mode & 0o777 for one in path.parent.iterdir()}
    store.close()
    assert modes == {"traces.db": 0o600, "traces.db-wal": 0o600, "traces.db-shm": 0o600}
    other = path.parent / "new" / "traces.db"
    stored(other, trace())
    assert other.parent.stat().st_mode & 0o777 == 0o700


def wait_for(condition: typing.Callable[[], object], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


def test_traces_can_be_read_while_the_proxy_runs(place: TraceBackend) -> None:
    """A turn is listed without waiting for the store to close."""
    store = TraceStore(place, "full", 30)
    store.start()
    store.record(trace())
    wait_for(lambda: list_turns(place))
    store.record(trace("turn-2"))
    wait_for(lambda: len(list_turns(place)) == 2)
    store.close()


def test_a_reader_takes_no_log_away_that_a_store_still_writes(path: Path) -> None:
    """Also when the same process has opened the file a second time, as it does when its configuration is exchanged."""
    first, second = (TraceStore(path, "full", 30) for _ in range(2))
    first.start()
    first.record(trace())
    wait_for(lambda: list_turns(path))
    second.start()
    read = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1]); c.execute('select * from turns').fetchall(); c.close()"
    )
    subprocess.run([sys.executable, "-c", read, str(path)], check=True)
    assert path.with_name(f"{path.name}-wal").exists()
    first.close()
    second.close()


def test_the_list_is_the_newest_first_and_can_be_narrowed(place: TraceBackend) -> None:
    """By chatbot, outcome, conversation and time, and to so many."""
    now = time.time()
    stored(
        place,
        trace("a", "c1", started=now - 300, chatbot="one"),
        trace("b", "c2", started=now - 200, outcome="accepted"),
        trace("c", "c2", started=now - 100, error="upstream_timeout"),
    )
    ids = lambda **narrowed: "".join(line.turn_id for line in list_turns(place, **narrowed))  # noqa: E731
    assert ids() == "cba"
    assert ids(limit=2) == "cb"
    assert ids(chatbot="one") == "a"
    assert ids(outcome="accepted") == "b"
    assert ids(conversation="c2") == "cb"
    assert ids(since=now - 150) == "c"
    line = list_turns(place, limit=1)[0]
    assert (line.error, line.prompt_tokens, line.completion_tokens, line.ms) == ("upstream_timeout", 100, 20, 9.0)
    assert [(v.judge, v.stage, v.verdict) for v in line.verdicts] == [
        ("emergency", "local", "accept"),
        ("transparency", "local", "reject"),
    ]


def test_an_id_may_be_shortened_while_it_is_unique(place: TraceBackend) -> None:
    """As with git; a whole id wins over longer ones that begin with it."""
    stored(
        place, trace("abc1"), trace("abd2"), trace("abd"), trace("ABC1")
    )  # the last is another, whatever the language
    assert show(place, "abc")["turn_id"] == "abc1"
    assert show(place, "abd")["turn_id"] == "abd"
    with pytest.raises(TraceError, match="the turn id 'ab' is ambiguous: it matches abc1, abd"):
        show(place, "ab")
    with pytest.raises(TraceError, match="no turn has the id 'x'"):
        show(place, "x")
    with pytest.raises(TraceError, match="no turn has the id '%'"):
        show(place, "%")


# --- purging ---


@pytest.mark.parametrize("running", [True, False], ids=["while the proxy runs", "with the proxy stopped"])
@pytest.mark.parametrize("length", [1, 300], ids=["short", "over many pages"])
def test_purged_text_is_gone_from_every_file(
    path: Path, running: bool, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only from the table: no byte of it stays in the file, the write-ahead log or its index."""
    monkeypatch.setattr(trace_file, "COMPRESS_FROM", 10**9)  # so that the text stands there to be found
    store = TraceStore(path, "full", 30)
    store.start()
    for n in range(20):
        store.record(trace(f"gone-{n}", "gone", user_message="Forgetmenot " * length))
        store.record(trace(f"kept-{n}", "kept", user_message="Rosemary " * length))
    wait_for(lambda: len(list_turns(path, limit=99)) == 40)
    if not running:
        store.close()
    assert b"Forgetmenot" in bytes_of(path)
    assert purge(path, conversation="gone") == 20
    assert b"forgetmenot" not in bytes_of(path).lower()
    assert b"Rosemary" in bytes_of(path)
    if running:
        store.record(trace("later"))
        store.close()
    assert b"forgetmenot" not in bytes_of(path).lower()
    assert len(list_turns(path, limit=99)) == (21 if running else 20)


def test_purging_gives_the_space_back(path: Path) -> None:
    """A file that held a month of traces is small again when they are gone."""
    stored(path, *(trace(f"t{n}", user_message=os.urandom(2_000).hex()) for n in range(200)))
    before = path.stat().st_size
    assert purge(path, everything=True) == 200
    assert path.stat().st_size < before / 20


def test_purge_takes_what_it_is_told_and_nothing_else(place: TraceBackend) -> None:
    """One turn, one conversation, what is older, or all; the count is what went."""
    now = time.time()
    stored(place, *(trace(f"t{n}", f"c{n % 2}", started=now - n * 86_400) for n in range(6)))
    assert purge(place, turn="t5") == 1
    assert purge(place, older_than_days=2.5) == 2
    assert purge(place, conversation="c1") == 1
    assert [line.turn_id for line in list_turns(place)] == ["t0", "t2"]
    assert purge(place, everything=True) == 2
    assert purge(place, everything=True) == 0


def test_purge_says_when_a_reader_keeps_the_text_alive(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A purge that could not empty the log must not be taken for one that did."""
    monkeypatch.setattr(trace_file, "BUSY_S", 0.1)
    stored(path, trace())
    writer = trace_file.create(path)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM turns").fetchall()
    with pytest.raises(TraceError, match="1 turns are deleted, but their text is still"):
        purge(path, everything=True)
    reader.close()
    assert purge(path, everything=True) == 0
    assert SECRET.encode() not in bytes_of(path)
    writer.close()


def test_old_traces_go_when_the_store_starts_and_every_hour(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`privacy.days` holds for a proxy that runs for months, and for its text on disk."""
    monkeypatch.setattr(trace_store, "PURGE_EVERY_S", 0.1)
    monkeypatch.setattr(trace_file, "COMPRESS_FROM", 10**9)
    old = trace("old", started=time.time() - 40 * 86_400)
    stored(path, old, trace("new"))
    store = TraceStore(path, "full", days=30)
    store.start()
    wait_for(lambda: [line.turn_id for line in list_turns(path)] == ["new"])
    store.record(trace("again", started=time.time() - 30 * 86_400 + 1, user_message="Forgetmenot"))
    wait_for(lambda: b"Forgetmenot" in bytes_of(path))
    wait_for(lambda: b"forgetmenot" not in bytes_of(path).lower())
    store.close()


# --- what is stored ---


def test_none_stores_nothing_and_makes_no_file(path: Path) -> None:
    """Not even an empty one."""
    store = stored(path, trace(), store="none")
    assert not path.exists()
    assert store.dropped == 0


def test_none_still_lets_older_traces_age_out(place: TraceBackend) -> None:
    """Switching storage off is no reason to keep for ever what was stored before."""
    stored(place, trace("old", started=time.time() - 40 * 86_400), trace("new"))
    store = TraceStore(place, "none", days=30)
    store.start()
    store.record(trace("never"))
    wait_for(lambda: [line.turn_id for line in list_turns(place)] == ["new"])
    store.close()
    assert [line.turn_id for line in list_turns(place)] == ["new"]


def test_redacted_traces_hold_no_text_on_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are not in the file; verdicts, rules, citations, tokens and lengths are."""
    monkeypatch.setattr(trace_file, "COMPRESS_FROM", 10**9)
    stored(path, trace(), store="redacted")
    assert not any(word.lower().encode() in bytes_of(path).lower() for word in SECRET.split())
    shown = show(path, "turn-1")
    assert shown["user_message"] == f"[{len(SECRET)} characters]"
    attempt = shown["attempts"][0]
    assert attempt["citations"] == ["causes", f"[{len(SECRET)} characters]"]
    assert attempt["judgements"][0]["rule"] == "sensitive_topic"
    assert attempt["judgements"][0]["observation"] is None
    assert shown["replies"] == [f"[{len(SECRET)} characters]", None]
    assert list_turns(path)[0].prompt_tokens == 100


# Fields that are ids, names or words of our own. Whoever adds a text field to a trace and forgets to redact it, sees
# the test below fail; whoever adds an id, adds it here.
OURS = {
    "Trace": {
        "turn_id",
        "conversation_id",
        "key_id",
        "chatbot",
        "filter",
        "memory",
        "outcome",
        "error",
        "sources_in_use",
    },
    "SelectedSource": {"id", "by"},
    "TracedDocument": {"id"},
    "ShownWarning": {"rule"},
    "Attempt": {"kind", "modes"},
    "Judgement": {"judge", "stage", "verdict", "rule"},
    "Exchange": {"model", "prompt_hash"},
    "Call": {"step", "alias", "error", "cause"},
}


def filled(kind: typing.Any, words: typing.Iterator[str], ours: bool = False) -> typing.Any:
    """Make a value of a type; every string in it is secret words, unless the field is one of ours."""
    origin, inner = typing.get_origin(kind), typing.get_args(kind)
    if kind is str:
        return "ours" if ours else next(words)
    if origin in (list, Sequence):
        return [filled(inner[0], words, ours) for _ in range(2)]
    if origin is typing.Literal:
        return inner[0]
    if type(None) in inner:
        return filled(next(one for one in inner if one is not type(None)), words, ours)
    if origin is typing.Union:
        return filled(inner[0], words, ours)
    if kind is BaseModel:
        return filled(Claims, words)
    if dataclasses.is_dataclass(kind) or issubclass(kind, BaseModel):
        kept = OURS.get(kind.__name__, set())
        return kind(**{name: filled(hint, words, name in kept) for name, hint in fields_of(kind).items()})
    return kind(1)


def fields_of(kind: typing.Any) -> dict[str, typing.Any]:
    if issubclass(kind, BaseModel):
        return {name: field.annotation for name, field in kind.model_fields.items()}
    return typing.get_type_hints(kind)


@settings(deadline=None)
@given(st.lists(st.text(string.ascii_letters + " .,-_:", min_size=1).map(lambda text: f"Zq{text}"), min_size=1))
def test_no_word_of_any_text_survives_redaction(texts: list[str]) -> None:
    """Whatever field it stood in: every string of a trace that is not ours is gone afterwards."""
    whole = filled(Trace, itertools.cycle(texts))
    before, after = decode(encode(whole)), decode(encode(redact(whole)))
    assert orjson.dumps(before).count(b"Zq") > 30
    assert b"Zq" not in orjson.dumps(after)


def test_all_but_text_survives_redaction() -> None:
    """Every number, id and verdict is where it was: a field forgotten in `redact` shows here."""

    def skeleton(value: object) -> object:
        if isinstance(value, dict):
            return {key: skeleton(one) for key, one in value.items() if key != "observation"}
        if isinstance(value, list):
            return [skeleton(one) for one in value]
        return "text" if isinstance(value, str) and (value == "secret" or value.endswith("characters]")) else value

    whole = filled(Trace, itertools.repeat("secret"))
    before = encode(whole)
    assert skeleton(decode(encode(redact(whole)))) == skeleton(decode(before))
    assert encode(whole) == before


# --- when things go wrong ---


def test_a_full_queue_drops_and_counts_and_logs_once(
    place: TraceBackend, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A disk that hangs costs traces, not requests or memory."""
    monkeypatch.setattr(trace_store, "MOST_WAITING", 5)
    monkeypatch.setattr(trace_store, "BATCH_S", 0.5)
    store = TraceStore(place, "full", 30)
    store.start()
    for n in range(12):
        store.record(trace(f"t{n}"))
    assert store.dropped == 7
    store.close()
    assert len(list_turns(place)) == 5
    assert capsys.readouterr().out.count("traces_dropped") == 1


def test_what_a_trace_repeats_is_stored_once() -> None:
    """Drafts of a turn are much alike, and may be long."""
    draft = " ".join(f"{n * 7919 % 10_007:x}" for n in range(2_500))
    assert len(encode(trace(user_message=draft * 3))) < 1.1 * len(encode(trace(user_message=draft)))


def test_enough_traces_are_encoded_at_once_and_written_together(
    place: TraceBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As rows they take little memory; small commits would write the same pages again and again."""
    monkeypatch.setattr(trace_store, "BATCH_S", 60)
    writer = FileWriter if isinstance(place, Path) else DatabaseWriter
    commits, encoded = list[int](), list[Trace]()
    write = writer.write

    def counted(self: Writer, rows: list[Row]) -> int:
        commits.append(len(rows))
        return write(self, rows)

    monkeypatch.setattr(writer, "write", counted)
    monkeypatch.setattr(trace_file, "encode", lambda one: encoded.append(one) or encode(one))
    store = TraceStore(place, "full", 30)
    store.start()
    for so_far in (0, trace_store.ENOUGH):
        for n in range(trace_store.ENOUGH):
            store.record(trace(f"t{so_far + n}"))
        wait_for(lambda so_far=so_far: len(encoded) == so_far + trace_store.ENOUGH)
    store.record(trace("last", conversation_id="another"))
    assert store.waits_for("conv-1")
    assert store.waits_for("another")
    assert commits == []
    start = time.monotonic()
    store.close()
    assert time.monotonic() - start < 3
    assert commits == [2 * trace_store.ENOUGH + 1]
    assert len(list_turns(place, limit=100)) == commits[0]
    assert store.dropped == 0


def test_an_outage_is_asked_about_once_in_a_while_however_many_wait(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A database that is away is not asked again for each turn, and what is encoded meanwhile counts as waiting."""
    monkeypatch.setattr(trace_store, "MOST_WAITING", 3 * trace_store.ENOUGH)
    monkeypatch.setattr(trace_store, "BATCH_S", 0.01)
    monkeypatch.setattr(trace_store, "RETRY_S", 0.1)
    store = TraceStore(path, "full", 30)
    store.start()
    tries: list[float] = []
    opened = FileWriter.open

    def away(self: FileWriter) -> None:
        tries.append(time.monotonic())
        raise Unreachable("away")

    monkeypatch.setattr(FileWriter, "open", away)
    start = time.monotonic()
    for n in range(4 * trace_store.ENOUGH):
        store.record(trace(f"t{n}"))
        time.sleep(0.01)
    time.sleep(0.3)  # nobody comes, and it is asked all the same
    assert 3 <= len(tries) <= 1 + (time.monotonic() - start) / 0.1
    assert store.dropped == trace_store.ENOUGH
    monkeypatch.setattr(FileWriter, "open", opened)
    wait_for(lambda: len(list_turns(path, limit=100)) == 3 * trace_store.ENOUGH)
    store.close()


def test_long_texts_fill_the_queue_sooner(place: TraceBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is on memory, not only on a count; what is written makes room."""
    monkeypatch.setattr(trace_store, "MOST_CHARACTERS", 10_000)
    store = TraceStore(place, "full", 30)
    store.start()
    for n in range(3):
        store.record(trace(f"t{n}", user_message=os.urandom(2_000).hex()))
    assert store.dropped == 1
    for n in range(3, 7):
        wait_for(lambda: not store.waits_for("conv-1"))
        store.record(trace(f"t{n}", user_message=os.urandom(2_000).hex()))
    store.close()
    assert store.dropped == 1


def test_a_failing_disk_drops_and_the_store_recovers(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While another program holds the file, turns are lost and counted; later they are kept again; both are said."""
    monkeypatch.setattr(trace_file, "BUSY_S", 0.05)
    monkeypatch.setattr(trace_store, "BATCH_S", 0.01)
    store = TraceStore(path, "full", 30)
    store.start()
    store.record(trace("first"))
    wait_for(lambda: list_turns(path))
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    for n in range(3):
        store.record(trace(f"lost{n}"))
        wait_for(lambda n=n: store.dropped == n + 1)
    other.execute("ROLLBACK")
    other.close()
    store.record(trace("kept"))
    wait_for(lambda: len(list_turns(path)) == 2)
    store.close()
    out = capsys.readouterr().out
    assert out.count("traces_dropped") == 1
    assert "traces_stored_again" in out
    assert SECRET not in out


def test_a_file_deleted_under_the_proxy_is_made_anew(path: Path) -> None:
    """Writes to a deleted file would vanish without a word."""
    store = TraceStore(path, "full", 30)
    store.start()
    store.record(trace("before"))
    wait_for(lambda: list_turns(path))
    for one in path.parent.iterdir():
        one.unlink()
    store.record(trace("after"))
    store.close()
    assert [line.turn_id for line in list_turns(path)] == ["after"]


def test_a_trace_that_cannot_be_encoded_costs_only_itself(place: TraceBackend) -> None:
    """Others of its batch are stored."""
    odd = replace(trace("odd"), replies=[{(1, 2): 3}])  # type: ignore[list-item]
    store = stored(place, odd, trace("fine"))
    assert [line.turn_id for line in list_turns(place)] == ["fine"]
    assert store.dropped == 1


def test_closing_writes_what_waits_and_ends_the_thread(path: Path) -> None:
    """A proxy that is told to stop loses no turn; what comes later is dropped, not raised."""
    store = stored(path, *(trace(f"t{n}") for n in range(500)))
    assert [one.name for one in path.parent.iterdir()] == ["traces.db"]
    assert len(list_turns(path, limit=1_000)) == 500
    assert not any(thread.name == "traces" for thread in threading.enumerate())
    store.record(trace("late"))
    assert store.dropped == 1


def test_recording_takes_microseconds(place: TraceBackend) -> None:
    """The request place hands over and goes on; 20 us are allowed, 2 were measured."""
    store = TraceStore(place, "full", 30)
    store.start()
    traces = [trace(f"t{n}") for n in range(500)]
    begin = time.thread_time()
    for one in traces:
        store.record(one)
    took = (time.thread_time() - begin) / len(traces)
    store.close()
    assert took < 20e-6


def refusals() -> typing.Iterator[tuple[str, typing.Callable[[Path], None], str]]:
    def other_program(path: Path) -> None:
        with closing(sqlite3.connect(path)) as theirs:
            theirs.executescript("CREATE TABLE theirs (a)")

    def later(path: Path) -> None:
        with closing(sqlite3.connect(path)) as theirs:
            theirs.executescript("PRAGMA user_version = 99; CREATE TABLE turns (a)")

    yield "no database", lambda path: path.write_text("hello " * 1_000) and None, "privacy.path cannot be used"
    yield "folder", lambda path: path.mkdir(), "privacy.path cannot be used"
    yield "other program", other_program, "is an SQLite database of another program"
    yield "later version", later, "was written by a later version of caf"


@pytest.mark.parametrize(("make", "said"), [pytest.param(make, said, id=name) for name, make, said in refusals()])
def test_a_file_that_is_not_ours_is_refused_at_the_start(
    tmp_path: Path, make: typing.Callable[[Path], None], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The proxy does not start on it, and does not touch it, nor hold it open; the message names the file."""
    path = tmp_path / "traces.db"
    make(path)
    connect, opened = sqlite3.connect, list[sqlite3.Connection]()

    def kept(*args: typing.Any, **options: typing.Any) -> sqlite3.Connection:
        opened.append(connect(*args, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", kept)
    with pytest.raises(TraceError, match=said) as caught:
        TraceStore(path, "full", 30).start()
    assert str(path) in str(caught.value)
    for connection in opened:
        with pytest.raises(sqlite3.ProgrammingError, match="closed"):
            connection.execute("SELECT 1")


def test_a_missing_or_empty_file_is_a_sentence_to_readers(path: Path) -> None:
    """Before the first turn there is nothing to read, which is not a crash; reading makes no file."""
    for read in (list_turns, lambda p: show(p, "x"), lambda p: purge(p, everything=True)):
        with pytest.raises(TraceError, match="no traces found"):
            read(path)
    assert not path.exists()
    path.parent.mkdir()
    path.touch()
    with pytest.raises(TraceError, match="the file is empty"):
        list_turns(path)


def test_two_proxies_may_share_a_place(place: TraceBackend) -> None:
    """Both keep everything, however their commits interleave."""
    stores = [TraceStore(place, "full", 30) for _ in range(2)]
    for store in stores:
        store.start()
    for n, store in itertools.product(range(50), stores):
        store.record(trace(f"{n}-{id(store)}"))
        time.sleep(0.005)
    for store in stores:
        store.close()
    assert len(list_turns(place, limit=1_000)) == 100
    assert [store.dropped for store in stores] == [0, 0]
