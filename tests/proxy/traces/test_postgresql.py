"""Traces in PostgreSQL: its tables are brought up to date, and its absence costs traces at most. What holds of a file as well
is in `test_store.py`."""

import re
import threading
import time
import typing
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import structlog

from proxy.config.config import ConfigError, parse_config
from proxy.traces import migration
from proxy.traces import store as trace_store
from proxy.traces.backend import Database, Row, TraceError, Unreachable
from proxy.traces.labels import Label, add, labels
from proxy.traces.postgresql import DatabaseWriter
from proxy.traces.query import iterate_traces, list_turns, purge, show
from proxy.traces.store import TraceStore
from tests.postgres_server import PASSWORD, PASSWORD_ENV, PostgresServer
from tests.proxy.conftest import Start
from tests.proxy.traces.test_store import SECRET, stored, trace, wait_for


def ask(database: Database, statement: str) -> list[tuple[typing.Any, ...]]:
    with psycopg.connect(database.url, password=PASSWORD, autocommit=True) as link:
        found = link.execute(statement.encode())
        return found.fetchall() if found.description else []


@pytest.fixture
def up_again(postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A server that runs for the next test, whatever this one did to it."""
    yield postgres
    postgres.start()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_store, "RETRY_S", 0.05)
    monkeypatch.setattr(trace_store, "BATCH_S", 0.02)


def ids(database: Database) -> list[str]:
    return sorted(line.turn_id for line in list_turns(database, limit=10_000))


# --- the tables ---


def test_workers_that_start_at_once_make_the_tables_once(
    database: Database, capsys: pytest.CaptureFixture[str]
) -> None:
    """Eight at the same time: all serve, no step is taken twice, and none stumbles over another."""
    stores = [TraceStore(database, "full", 30) for _ in range(8)]
    failed: list[BaseException] = []

    def start(store: TraceStore) -> None:
        try:
            store.start()
            store.record(trace(f"turn-{id(store)}"))
            store.close()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=start, args=(store,)) for store in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert "traces_wait" not in capsys.readouterr().out
    assert ask(database, "SELECT version FROM caf_schema") == [(migration.VERSION,)]
    assert len(ids(database)) == 8


def test_an_older_database_is_brought_up_to_date(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its traces stay; until a proxy has started, readers say what is to be done."""
    with monkeypatch.context() as before:
        before.setattr(migration, "STEPS", migration.STEPS[:1])
        before.setattr(migration, "VERSION", 1)
        before.setattr(trace_store, "derive_facts", None)
        stored(database, trace("old"))
    with pytest.raises(TraceError, match="earlier version of caf: schema 1 \\(expected 3\\); start `caf serve`"):
        list_turns(database)
    stored(database, trace("new"))
    add(database, "old", Label("role", "accept"))
    assert ids(database) == ["new", "old"]
    assert list(labels(database)) == ["old"]


def test_steps_that_fail_leave_the_database_as_it_was(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """All or none: a half-made table would stand in the way for ever."""
    with monkeypatch.context() as broken:
        broken.setattr(migration, "STEPS", [migration.STEPS[0], ["CREATE TABLE labels (nonsense)"]])
        with pytest.raises(Unreachable, match="syntax error"):
            DatabaseWriter(database).open()
    assert ask(database, "SELECT to_regclass('turns'), to_regclass('caf_schema')") == [(None, None)]
    stored(database, trace())
    assert ids(database) == ["turn-1"]


def test_a_database_of_a_later_version_is_refused(database: Database) -> None:
    """By the proxy at its start and by readers; nothing in it is changed."""
    stored(database, trace())
    ask(database, "UPDATE caf_schema SET version = 99")
    for use in (lambda: TraceStore(database, "full", 30).start(), lambda: list_turns(database)):
        with pytest.raises(TraceError, match="later version of caf: schema 99 \\(expected 3\\)"):
            use()
    assert ask(database, "SELECT version FROM caf_schema") == [(99,)]


def test_tables_of_another_program_are_refused(database: Database) -> None:
    """Traces do not go into somebody else's table, even if its columns would fit."""
    ask(database, "CREATE TABLE turns (a text)")
    with pytest.raises(TraceError, match="has a table `turns` of another program") as caught:
        TraceStore(database, "full", 30).start()
    assert database.url in str(caught.value)


def test_none_makes_no_tables(database: Database) -> None:
    """Not even empty ones."""
    assert stored(database, trace(), store="none").dropped == 0
    assert ask(database, "SELECT to_regclass('turns')") == [(None,)]
    with pytest.raises(TraceError, match="no traces found"):
        list_turns(database)


# --- what is kept ---


def test_a_row_that_is_written_twice_is_kept_once(database: Database) -> None:
    """When the connection breaks during a commit nobody knows whether it went through; the writer tries again."""
    writer = DatabaseWriter(database)
    row = Row("turn-1", "conv-1", 1.0, "info", "accepted", b"{}")
    assert writer.write([row, row]) == 0
    assert writer.write([row]) == 0
    writer.close()
    assert ask(database, "SELECT turn_id, conversation_id FROM turns") == [("turn-1", "conv-1")]


@pytest.mark.parametrize("id", ["zero\x00byte", "x\ud800", "long" * 10_000 + "".join(map(chr, range(300, 9_000)))])
def test_what_the_database_cannot_hold_costs_only_itself(database: Database, id: str) -> None:
    """An odd id must not stop the traces of others, now or for ever."""
    store = stored(database, trace("a"), trace("odd", id), trace("b"))
    assert ids(database) == ["a", "b"]
    assert store.dropped == 1


def test_labels_go_with_their_turn(database: Database) -> None:
    """Whoever deletes the turn: what was said of it is gone too."""
    stored(database, trace("a", "c1"), trace("b", "c2"))
    add(database, "a", Label("role", "accept", note="one"))
    add(database, "a", Label("role", "warn", note="two"))
    add(database, "b", Label("role", "reject"))
    assert [label.verdict for label in labels(database)["a"]] == ["warn"]
    assert purge(database, conversation="c1") == 1
    assert list(labels(database)) == ["b"]
    assert ask(database, "SELECT turn_id FROM labels") == [("b",)]


def test_redacted_traces_hold_no_text_in_any_column(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a file."""
    monkeypatch.setattr("proxy.traces.sqlite.COMPRESS_FROM", 10**9)
    stored(database, trace(), store="redacted")
    kept = repr(ask(database, "SELECT *, convert_from(body, 'UTF8') FROM turns"))
    assert "sensitive_topic" in kept
    assert not any(word in kept for word in SECRET.split())


def test_traces_can_be_read_from_any_host_in_order(database: Database) -> None:
    """Those of one conversation, oldest first, are what a scenario is made of."""
    stored(database, *(trace(f"t{n}", started=float(n), chatbot="ab"[n % 2]) for n in range(4)))
    assert [one["turn_id"] for one in iterate_traces(database)] == ["t0", "t1", "t2", "t3"]
    assert [one["turn_id"] for one in iterate_traces(database, chatbot="b", since=2)] == ["t3"]
    assert [line.turn_id for line in list_turns(database, turns=["t1", "t2", "x"])] == ["t2", "t1"]


# --- when it is not there ---


def test_a_server_that_is_killed_and_restarted_in_mid_load_costs_no_trace(
    database: Database, up_again: PostgresServer, quick: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those that come meanwhile wait; each is kept once; the outage is one line in the log, and its end another."""
    store = TraceStore(database, "full", 30)
    store.start()
    for n in range(600):
        store.record(trace(f"t{n:03}"))
        if n == 200:
            wait_for(lambda: len(ids(database)) > 50)
            up_again.crash()
        if n == 400:
            up_again.start()
        time.sleep(0.001)
    wait_for(lambda: len(ids(database)) == 600, 20)
    store.close()
    assert ids(database) == [f"t{n:03}" for n in range(600)]
    assert store.dropped == 0
    out = capsys.readouterr().out
    assert (out.count("traces_wait"), out.count("traces_stored_again")) == (1, 1)
    assert SECRET not in out
    assert PASSWORD not in out


def test_in_a_lasting_outage_the_queue_fills_and_the_rest_is_counted(
    database: Database, up_again: PostgresServer, quick: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The memory stays bounded; what fitted into the queue is kept when the server is back."""
    monkeypatch.setattr(trace_store, "MOST_WAITING", 50)
    store = TraceStore(database, "full", 30)
    store.start()
    up_again.crash()
    for n in range(80):
        store.record(trace(f"t{n:02}"))
        time.sleep(0.005)  # across several attempts to write
    assert store.dropped == 30
    up_again.start()
    wait_for(lambda: len(ids(database)) == 50)
    store.record(trace("later"))
    store.close()
    assert ids(database) == ["later", *(f"t{n:02}" for n in range(50))]
    assert store.dropped == 30


def test_a_proxy_starts_while_the_database_is_away(database: Database, up_again: PostgresServer, quick: None) -> None:
    """A worker that is restarted during an outage serves; it makes the tables when they can be made."""
    up_again.crash()
    store = TraceStore(database, "full", 30)
    store.start()
    store.record(trace())
    time.sleep(0.2)
    up_again.start()
    wait_for(lambda: ask(database, "SELECT to_regclass('turns')") != [(None,)])
    wait_for(lambda: ids(database) == ["turn-1"])
    store.close()


def test_a_proxy_that_stops_during_an_outage_counts_what_waits(
    database: Database, up_again: PostgresServer, quick: None
) -> None:
    """It does not wait for the server to come back."""
    store = TraceStore(database, "full", 30)
    store.start()
    up_again.crash()
    for n in range(5):
        store.record(trace(f"t{n}"))
    store.close()
    assert store.dropped == 5
    assert not any(thread.name == "traces" for thread in threading.enumerate())


def test_a_server_that_hangs_holds_up_neither_requests_nor_the_end(
    database: Database, postgres: PostgresServer, quick: None
) -> None:
    """It takes connections and answers nothing; handing over a trace does not notice."""
    store = TraceStore(database, "full", 30)
    store.start()
    postgres.freeze()
    try:
        begin = time.thread_time()
        for n in range(100):
            store.record(trace(f"t{n}"))
        store.close(timeout_s=0.3)
        assert time.thread_time() - begin < 0.5
        assert store.dropped == 100
    finally:
        postgres.thaw()


def test_a_connection_that_somebody_ends_is_opened_again(database: Database, quick: None) -> None:
    """An administrator, a pooler or a firewall may do so at any time; no trace is lost."""
    store = TraceStore(database, "full", 30)
    store.start()
    for n in range(5):
        store.record(trace(f"t{n}"))
        wait_for(lambda n=n: len(ids(database)) == n + 1)
        ask(database, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'caf'")
    store.close()
    assert store.dropped == 0


def test_tables_that_somebody_drops_are_made_anew(database: Database, quick: None) -> None:
    """As a file that somebody deletes."""
    store = TraceStore(database, "full", 30)
    store.start()
    store.record(trace("before"))
    wait_for(lambda: ids(database) == ["before"])
    ask(database, "DROP TABLE labels, turns, caf_schema CASCADE")
    store.record(trace("after"))
    wait_for(lambda: ask(database, "SELECT to_regclass('turns')") != [(None,)] and ids(database) == ["after"])
    store.close()


def test_old_traces_go_at_the_start_and_every_hour(
    database: Database, monkeypatch: pytest.MonkeyPatch, up_again: PostgresServer
) -> None:
    """Also where the first attempt fell into an outage."""
    monkeypatch.setattr(trace_store, "PURGE_EVERY_S", 0.1)
    stored(database, trace("old", started=time.time() - 40 * 86_400), trace("new"))
    up_again.crash()
    store = TraceStore(database, "full", 30)
    store.start()
    time.sleep(0.2)
    up_again.start()
    wait_for(lambda: ids(database) == ["new"])
    store.close()


# --- secrets, and the proxy as a whole ---


def test_a_wrong_password_is_said_without_it(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log names the database; who asks for the trace is told what it answered."""
    monkeypatch.setenv(PASSWORD_ENV, "hunter2-hunter2")
    with structlog.testing.capture_logs() as logs:
        store = stored(database, trace())
    assert store.dropped == 1
    assert {line["place"] for line in logs} == {database.url}
    assert "hunter2" not in str(logs)
    with pytest.raises(TraceError, match="password authentication failed") as caught:
        show(database, "turn-1")
    assert "hunter2" not in str(caught.value)


def test_a_missing_password_is_named_at_the_start() -> None:
    """By the setting and the variable, before anything is connected to."""
    with pytest.raises(TraceError, match="password_env: the environment variable 'CAF_TEST_NO_PASSWORD' is not"):
        TraceStore(Database("postgresql://127.0.0.1:1/x", "CAF_TEST_NO_PASSWORD"), "full", 30)


async def test_replies_do_not_notice_that_the_database_is_away(
    start: Start, database: Database, up_again: PostgresServer, quick: None
) -> None:
    """Each turn of an outage is answered as ever, and is in the traces afterwards."""
    privacy = {"store": "full", "url": database.url, "password_env": PASSWORD_ENV}
    proxy = await start(config={"privacy": privacy})
    turns = [(await proxy.say("Hi"))["caf"]["turn_id"]]
    up_again.crash()
    turns += [(await proxy.say(f"Hi {n}"))["caf"]["turn_id"] for n in range(5)]
    up_again.start()
    wait_for(lambda: len(ids(database)) == 6)
    assert ids(database) == sorted(turns)
    assert show(database, turns[3])["user_message"] == "Hi 2"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        (
            "postgresql://caf:hunter2@db/caf",
            "must not contain a password; put it in an environment variable, and name the variable in `password_env`",
        ),
        ("postgresql://caf@db/caf?password=hunter2", "must not contain a password"),
        ("postgresql://caf:hunter2@db:x/caf", "must be a valid address"),
        ("postgresql://caf@db", "must be the address of a database, such as postgresql://"),
        ("mysql://caf@db/caf", "must be the address of a database, such as postgresql://"),
    ],
)
def test_an_address_that_cannot_be_right_is_refused(url: str, said: str) -> None:
    """In one sentence that does not repeat it, since it may hold a password."""
    data = {
        "models": {"m": {"engine": "embedded"}},
        "chatbots": {"p": {"kind": "passthrough", "model": "m"}},
        "privacy": {"url": url},
    }
    with pytest.raises(ConfigError, match=f"config.yaml: privacy.url: .*{re.escape(said)}") as caught:
        parse_config(data, Path("config.yaml"))
    assert "hunter2" not in str(caught.value)
