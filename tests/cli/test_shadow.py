"""`caf trace shadow`: what the filter would have done, counted."""

import dataclasses
import json
import time
from pathlib import Path

import pytest

from proxy.traces.store import TraceStore
from tests.cli.conftest import Caf
from tests.proxy.traces.test_shadow import LEFT_OUT, TURNS, turn

CONFIG = "models: {m: {engine: embedded}}\nchatbots: {p: {kind: passthrough, model: m}}\n"


@pytest.fixture
def file(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIG + "privacy: {path: traces.db}\n")
    store = TraceStore(tmp_path / "traces.db", "redacted", 30)
    store.start()
    for one in (*TURNS, *LEFT_OUT, dataclasses.replace(turn("warned"), chatbot="other", started=time.time() - 7_200)):
        store.record(one)
    store.close()


@pytest.mark.usefixtures("file")
def test_the_table_tells_shares(inside: Caf) -> None:
    """The filter first, then each judge; also from redacted traces."""
    ended = inside("trace", "shadow", "--chatbot", "bot")
    assert ended.code == 0, ended.err
    lines = [" ".join(line.split()) for line in ended.out.splitlines() if line]
    assert lines == [
        "10 turns in shadow, of which 1 were not judged. The filter would have had:",
        "turns accepted warned refined replaced emergency unjudged",
        "the filter 9 3 (33.3%) 1 (11.1%) 1 (11.1%) 2 (22.2%) 1 (11.1%) 1 (11.1%)",
        "emergency 9 8 (88.9%) - - - 1 (11.1%) -",
        "role 7 3 (42.9%) 1 (14.3%) 1 (14.3%) - - 2 (28.6%)",
        "transparency 5 3 (60.0%) 1 (20.0%) - 1 (20.0%) - -",
    ]


@pytest.mark.usefixtures("file")
def test_the_counts_can_be_narrowed_and_printed_for_programs(inside: Caf) -> None:
    """By chatbot and time, as JSON."""
    assert json.loads(inside("trace", "shadow", "--json").out)["turns"] == 11
    assert json.loads(inside("trace", "shadow", "--json", "--since", "1h").out)["turns"] == 10
    other = json.loads(inside("trace", "shadow", "--json", "--chatbot", "other").out)
    assert (other["turns"], other["filter"]["warned"], other["judges"]["emergency"]["accepted"]) == (1, 1, 1)
    assert inside("trace", "shadow", "--chatbot", "nobody").out.startswith("no shadow turns in ")


@pytest.mark.usefixtures("file")
def test_the_list_of_turns_tells_it_too(inside: Caf) -> None:
    """Beside the outcome, which in shadow is always the same."""
    assert "would be refined;" in inside("trace", "list").out
    shown = inside("trace", "show", TURNS[4].turn_id).out
    assert "outcome unfiltered (with the filter: refined)" in shown
