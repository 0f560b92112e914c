"""`caf trace` and its relatives on traces in PostgreSQL, which they find by the configuration."""

import json
from pathlib import Path

import pytest

from proxy.traces.backend import Database
from proxy.traces.labels import labels
from proxy.traces.store import TraceStore
from tests.cli.conftest import Caf
from tests.cli.test_trace_label import CONFIG, SECTION, turn
from tests.postgres_server import PASSWORD_ENV


@pytest.fixture
def kept(database: Database, tmp_path: Path) -> Database:
    """A configuration whose traces are in a database, and two turns of one conversation in it."""
    privacy = f"privacy: {{url: '{database.url}', password_env: {PASSWORD_ENV}}}"
    (tmp_path / "config.yaml").write_text(CONFIG.replace("privacy: {path: data/traces.db}", privacy))
    (tmp_path / "sections").mkdir()
    (tmp_path / "sections" / "sleep.md").write_text(SECTION)
    store = TraceStore(database, "full", 30)
    store.start()
    store.record(turn("aaaa", started=1_000_000_000.0, user_message="Hello.", replies=["Hello you."]))
    store.record(turn("7f3a", turn=2, memory="history"))
    store.close()
    return database


def test_turns_are_listed_shown_labelled_and_made_scenarios(inside: Caf, kept: Database, tmp_path: Path) -> None:
    """The words are the same as for a file."""
    assert [one["turn_id"][:4] for one in json.loads(inside("trace", "list", "--json").out)] == ["7f3a", "aaaa"]
    assert "I am with you." in inside("trace", "show", "7f3a").out
    assert inside("trace", "label", "7f3a", "--judge", "role", "--verdict", "accept").code == 0
    assert [one["turn_id"][:4] for one in json.loads(inside("trace", "list", "--labelled", "--json").out)] == ["7f3a"]
    written = inside("scenario", "from-trace", "7f3a", "--out", "out.yaml")
    assert written.code == 0, written.err
    made = (tmp_path / "out.yaml").read_text()
    assert "Hello you." in made
    assert "role: accept" in made
    told = json.loads(inside("judges", "eval", "--traces", "--json").out)
    assert told["judges"]["role"]["negatives"] == 1


def test_purging_takes_labels_too(inside: Caf, kept: Database) -> None:
    """What a person said about a turn is as private as the turn."""
    inside("trace", "label", "7f3a", "--judge", "role", "--verdict", "accept")
    assert inside("trace", "purge", "--turn", "7f3a").out == "1 turn deleted\n"
    assert labels(kept) == {}
    assert inside("trace", "purge", "--all", "--yes").out == "1 turn deleted\n"


def test_a_database_that_is_away_is_a_sentence(inside: Caf, tmp_path: Path) -> None:
    """Not a traceback; it names the database."""
    privacy = "privacy: {url: 'postgresql://caf@127.0.0.1:1/caf'}"
    (tmp_path / "config.yaml").write_text(CONFIG.replace("privacy: {path: data/traces.db}", privacy))
    ended = inside("trace", "list")
    assert ended.code == 2
    assert "caf: postgresql://caf@127.0.0.1:1/caf: the traces cannot be used: " in ended.err
    assert "Connection refused" in ended.err
