"""`caf trace label`: a person says what a judge should have made of a turn."""

import dataclasses
import json
import sqlite3
import time
from pathlib import Path

import pytest

from judges.verdict import Judgement
from proxy.traces.backend import TraceError
from proxy.traces.labels import Label, add, labels
from proxy.traces.query import list_turns, purge
from proxy.traces.redaction import redact
from proxy.traces.store import TraceStore
from proxy.traces.trace import Attempt, Trace, TracedDocument
from tests.cli.conftest import Caf

CONFIG = """
models: {m: {engine: embedded}}
chatbots:
  info:
    model: m
    role: An information service.
    knowledge_base: sections
    judges: [{name: role, stages: [local]}, {name: emergency, stages: [local]}]
    refiner: local
    emergency: {contact: Call 112.}
privacy: {path: data/traces.db}
"""
SECTION = "---\nid: sleep\ntitle: Sleep\nsummary: How to sleep.\n---\n\nA fixed bedtime often helps.\n"
NOTE = "Forgetmenot explains, does not treat"


def turn(id: str = "7f3a", conversation: str = "c1", **changes: object) -> Trace:
    judged = Judgement("role", "local", "reject", "role", "a friend", score=0.9)
    whole = Trace(
        id * 8, conversation, "k", "info", "on", time.time() - 60, user_message="I cannot sleep.", sources_in_use=["sleep"],
        emergency=[Judgement("emergency", "local", "accept", score=0.1)],
        attempts=[Attempt("draft", 0, "I am with you.", ["sleep"], 1.0, modes=["source"], judgements=[judged]),
                  Attempt("refinement", 0, "A fixed bedtime helps.", ["sleep"], 2.0, modes=["source"])],
        replies=["A fixed bedtime helps."], outcome="refined",
    )  # fmt: skip
    return dataclasses.replace(whole, **changes)  # type: ignore[arg-type]


def store(path: Path, *traces: Trace, days: float = 30) -> None:
    """Run a store for some traces, from start to close."""
    kept = TraceStore(path, "full", days)
    kept.start()
    for one in traces:
        kept.record(one)
    kept.close()


def laid_out(folder: Path) -> Path:
    """Write the configuration, and return where its traces go."""
    (folder / "config.yaml").write_text(CONFIG)
    (folder / "sections").mkdir()
    (folder / "sections" / "sleep.md").write_text(SECTION)
    return folder / "data" / "traces.db"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = laid_out(tmp_path)
    store(path, turn(), turn("b0b0", "c2"))
    return path


def counted(path: Path) -> dict[str, str]:
    return {label.judge: label.verdict for of_turn in labels(path).values() for label in of_turn}


def test_a_label_is_kept_and_shown_with_the_turn(inside: Caf, file: Path) -> None:
    """In the story and for programs; the answer says what the judge had said."""
    ended = inside("trace", "label", "7f3a", "--judge", "role", "--verdict", "accept", "--note", NOTE)
    assert (ended.code, ended.out) == (0, "7f3a7f3a: role should be accept (it said reject)\n")
    shown = inside("trace", "show", "7f3a").out
    assert "Labels by people\n  role should be accept (" in shown
    assert shown.rstrip().endswith(NOTE)
    (given,) = json.loads(inside("trace", "show", "7f3a", "--json").out)["labels"]
    assert (given["judge"], given["verdict"], given["note"], given["choice"]) == ("role", "accept", NOTE, 0)
    assert "Labels by people" not in inside("trace", "show", "b0b0").out


def test_labelled_turns_can_be_listed(inside: Caf, file: Path) -> None:
    """They and no others, with what was said of them."""
    assert inside("trace", "list", "--labelled").out == f"no matching turns in {file}\n"
    inside("trace", "label", "7f3a", "--judge", "role", "--verdict", "accept")
    lines = inside("trace", "list", "--labelled").out.splitlines()
    assert len(lines) == 2
    assert "label role: accept;…" in lines[1]
    (row,) = json.loads(inside("trace", "list", "--labelled", "--json").out)
    assert row["labels"][0]["verdict"] == "accept"
    assert [row["labels"] for row in json.loads(inside("trace", "list", "--json").out)].count([]) == 1


def test_the_last_label_of_a_judge_counts(inside: Caf, file: Path) -> None:
    """People change their minds; other judges' labels stay."""
    for judge, verdict in (("role", "accept"), ("emergency", "reject"), ("role", "warn")):
        assert inside("trace", "label", "7f3a", "--judge", judge, "--verdict", verdict).code == 0
    assert counted(file) == {"emergency": "reject", "role": "warn"}


def test_a_label_survives_a_restart(inside: Caf, file: Path) -> None:
    """Also one that writes the turn once more, as a store does that was interrupted."""
    inside("trace", "label", "7f3a", "--judge", "role", "--verdict", "accept")
    store(file, turn(), turn("cccc"))
    assert counted(file) == {"role": "accept"}
    assert len(list_turns(file)) == 3


def test_a_running_proxy_does_not_keep_anybody_from_labelling(inside: Caf, file: Path) -> None:
    """The file is shared; the proxy goes on writing."""
    running = TraceStore(file, "full", 30)
    running.start()
    assert inside("trace", "label", "7f3a", "--judge", "role", "--verdict", "accept").code == 0
    running.record(turn("dddd"))
    running.close()
    assert counted(file) == {"role": "accept"}
    assert len(list_turns(file)) == 3


@pytest.mark.parametrize(
    "options", [{"turn": "7f3a"}, {"conversation": "c1"}, {"older_than_days": 0.0}, {"everything": True}], ids=str
)
def test_purge_removes_labels_with_their_turn(file: Path, options: dict[str, object]) -> None:
    """However it is purged: no row, and no byte of the note, stays."""
    add(file, "7f3a", Label("role", "accept", note=NOTE))
    assert purge(file, **options) in (1, 2)  # type: ignore[arg-type]
    assert labels(file) == {}
    with sqlite3.connect(file) as connection:
        assert connection.execute("SELECT count(*) FROM labels").fetchone() == (0,)
    connection.close()
    assert b"Forgetmenot" not in b"".join(one.read_bytes() for one in file.parent.iterdir())


def test_labels_of_other_turns_outlive_a_purge(file: Path) -> None:
    """Only what belongs to the purged turn goes."""
    add(file, "7f3a", Label("role", "accept"))
    add(file, "b0b0", Label("role", "warn"))
    purge(file, turn="7f3a")
    assert counted(file) == {"role": "warn"}


def test_labels_go_when_their_turn_is_too_old(file: Path) -> None:
    """`privacy.days` holds for what people said of a turn as well."""
    store(file, turn("0ddd", "c3", started=time.time() - 40 * 86_400))
    add(file, "0ddd", Label("role", "accept", note=NOTE))
    running = TraceStore(file, "full", 30)
    running.start()
    until = time.monotonic() + 5
    while labels(file) and time.monotonic() < until:
        time.sleep(0.02)
    running.close()
    assert labels(file) == {}
    assert len(list_turns(file)) == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["zzz", "--judge", "role", "--verdict", "accept"], "no turn has the id 'zzz'"),
        (["", "--judge", "role", "--verdict", "accept"], "the turn id '' is ambiguous"),
        (["7f3a", "--judge", "rolle", "--verdict", "accept"],
         "no judge 'rolle' of the chatbot 'info' could have judged the turn 7f3a7f3a (expected one of: emergency, role)"),
        (["7f3a", "--judge", "role", "--verdict", "fine"], "Invalid value for --verdict"),
        (["7f3a", "--judge", "role", "--verdict", "accept", "--choice", "2"], "has no choice 2: its choices are 0"),
        (["7f3a", "--judge", "emergency", "--verdict", "accept", "--choice", "2"], "has no choice 2: its choices are 0"),
        (["7f3a", "--verdict", "accept"], "Missing option"),
    ],
)  # fmt: skip
def test_a_label_that_fits_nothing_is_refused(inside: Caf, file: Path, options: list[str], said: str) -> None:
    """Exit code 2, a sentence, and nothing kept."""
    ended = inside("trace", "label", *options)
    assert ended.code == 2
    assert said in " ".join(ended.err.replace("'--verdict'", "--verdict").split())
    assert labels(file) == {}


def test_a_purged_turn_cannot_be_labelled(file: Path) -> None:
    """A label without its turn would stay for ever."""
    purge(file, turn="7f3a")
    with pytest.raises(TraceError, match="no turn has the id"):
        add(file, "7f3a", Label("role", "accept"))
    assert labels(file) == {}


def test_a_redacted_turn_can_be_labelled(inside: Caf, file: Path) -> None:
    """It tells how often judges err, though no case can be made of it."""
    store(file, redact(turn("eeee")))
    assert inside("trace", "label", "eeee", "--judge", "role", "--verdict", "accept").code == 0


def test_an_emergency_turn_without_draft_can_be_labelled(inside: Caf, file: Path) -> None:
    """For the emergency judge, who reads the message; no other has seen anything."""
    store(file, turn("eeee", attempts=[], outcome="emergency"))
    assert inside("trace", "label", "eeee", "--judge", "emergency", "--verdict", "accept").code == 0
    refused = inside("trace", "label", "eeee", "--judge", "role", "--verdict", "accept")
    assert refused.code == 2
    assert "it was answered without one" in refused.err


def test_an_emergency_turn_has_the_choices_of_its_answer(inside: Caf, file: Path) -> None:
    """Whoever asked for two was answered twice, without a draft."""
    store(file, turn("eeee", attempts=[], replies=["Call 112.", "Call 112."], outcome="emergency"))
    given = ("trace", "label", "eeee", "--judge", "emergency", "--verdict", "accept", "--choice")
    assert inside(*given, "1").code == 0
    refused = inside(*given, "2")
    assert (refused.code, refused.err) == (2, f"caf: the turn {'eeee' * 8} has no choice 2: its choices are 0, 1\n")
    assert [label.choice for label in labels(file)["eeee" * 8]] == [1]


def test_a_label_keeps_the_sections_that_it_is_about(file: Path, inside: Caf) -> None:
    """Whatever becomes of the knowledge base later."""
    inside("trace", "label", "7f3a", "--judge", "role", "--verdict", "accept")
    ((label,),) = labels(file).values()
    assert [(source.id, source.title, source.text) for source in label.sections] == [
        ("sleep", "Sleep", "A fixed bedtime often helps.")
    ]


def test_a_turn_with_documents_can_be_shown_and_labelled(inside: Caf, tmp_path: Path) -> None:
    """Each with whose it is; on a line of their own, whatever they say."""
    path = laid_out(tmp_path)
    documents = [
        TracedDocument("doc:1", "Visitors", "In May 480 came.", False),
        TracedDocument("doc:2", "June", "390.", True, 0),
    ]
    draft = Attempt("draft", 0, "In May 480 came.", ["doc:1"], 1.0, modes=["source"])
    store(path, turn(documents=documents, attempts=[draft]))
    shown = inside("trace", "show", "7f3a").out
    assert "Documents\n  doc:1: Visitors (from the client)\n    In May 480 came.\n" in shown
    assert "  doc:2: June (from the model of choice 0)\n    390.\n" in shown
    assert inside("trace", "label", "7f3a", "--judge", "role", "--verdict", "accept").code == 0
