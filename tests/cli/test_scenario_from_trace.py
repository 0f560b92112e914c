"""`caf scenario from-trace`: a traced turn becomes a labelled case."""

import time
from pathlib import Path

import pytest
import yaml

from judges.evaluation.traced_turn import labelled_turns
from judges.observation import Assertion, Claims
from judges.verdict import Judgement
from proxy.config.blueprint import Blueprint, assemble
from proxy.config.config import load_config
from proxy.traces.labels import Label, RightVerdict, add
from proxy.traces.redaction import redact
from proxy.traces.trace import Attempt, Trace, TracedDocument
from scenarios.scenario import Earlier, Scenario
from scenarios.scenario_files import load
from tests.cli.conftest import Caf
from tests.cli.test_trace_label import SECTION, laid_out, store, turn


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two turns of a conversation, the second labelled for nobody."""
    path = laid_out(tmp_path)
    first = turn("aaaa", started=time.time() - 120, user_message="Hello.", replies=["Hello you.\n\nSources: Sleep"])
    store(path, first, second())
    return path


def second(id: str = "7f3a", **changes: object) -> Trace:
    return turn(id, turn=2, memory="history", **changes)


def made(folder: Path) -> Scenario:
    (scenario,) = load(folder / "out.yaml").scenarios
    return scenario


def test_a_turn_becomes_a_scenario(inside: Caf, file: Path, tmp_path: Path) -> None:
    """Message, history without the line of sources, the draft that was judged, what it cites; it loads as it is."""
    ended = inside("scenario", "from-trace", "7f3a", "--out", "out.yaml", "--family", "sleepless")
    assert ended.code == 0, ended.err
    family = load(tmp_path / "out.yaml")
    assert (family.family, family.split) == ("sleepless", "dev")
    one = made(tmp_path)
    assert one.id == "trace-7f3a7f3a7f3a"
    assert one.user_message == "I cannot sleep."
    assert one.history == (Earlier(role="user", content="Hello."), Earlier(role="assistant", content="Hello you."))
    assert one.response == "I am with you."
    assert one.citations == ("sleep",)
    assert one.sources == ()


def test_what_the_judges_said_is_no_label(inside: Caf, file: Path, tmp_path: Path) -> None:
    """A case that repeats a judge's own verdict would measure nothing: a person has to fill it in."""
    ended = inside("scenario", "from-trace", "7f3a", "--out", "out.yaml")
    assert "add `expect`" in ended.err
    assert made(tmp_path).expect == {}
    assert "fill in `expect`" in made(tmp_path).note


def test_labels_become_what_is_expected(inside: Caf, file: Path, tmp_path: Path) -> None:
    """With the person's note; --expect goes before them."""
    inside("trace", "label", "7f3a", "--judge", "role", "--verdict", "accept", "--note", "explains")
    inside("trace", "label", "7f3a", "--judge", "emergency", "--verdict", "accept")
    ended = inside("scenario", "from-trace", "7f3a", "--out", "out.yaml", "--expect", "emergency=warn,reject")
    assert ended.code == 0, ended.err
    assert made(tmp_path).expect == {"role": {"accept"}, "emergency": {"warn", "reject"}}
    assert made(tmp_path).note == "explains"


def test_it_is_printed_unless_a_file_is_named(inside: Caf, file: Path) -> None:
    """A file that is there is never overwritten."""
    printed = inside("scenario", "from-trace", "7f3a").out
    assert yaml.safe_load(printed)["scenarios"][0]["response"] == "I am with you."
    assert inside("scenario", "from-trace", "7f3a", "--out", "out.yaml").code == 0
    again = inside("scenario", "from-trace", "7f3a", "--out", "out.yaml")
    assert again.code == 2
    assert "already exists" in again.err


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "changed"])
def test_a_section_that_changed_after_the_label_is_given_in_full(
    inside: Caf, file: Path, tmp_path: Path, gone: bool
) -> None:
    """The label is about the text that the person read."""
    inside("trace", "label", "7f3a", "--judge", "role", "--verdict", "accept")
    section = tmp_path / "sections" / "sleep.md"
    (tmp_path / "sections" / "work.md").write_text(SECTION.replace("sleep", "work"))
    if gone:
        section.unlink()
    else:
        section.write_text(SECTION.replace("often", "never"))
    assert inside("scenario", "from-trace", "7f3a", "--out", "out.yaml").code == 0
    one = made(tmp_path)
    assert one.citations == ()
    assert [(source.id, source.text) for source in one.sources] == [("sleep", "A fixed bedtime often helps.")]


def test_a_section_that_nobody_kept_is_missed_plainly(inside: Caf, file: Path, tmp_path: Path) -> None:
    """Without label its text is not known: no case that judges would read otherwise is made up."""
    (tmp_path / "sections" / "sleep.md").rename(tmp_path / "sections" / "work.md")
    (tmp_path / "sections" / "work.md").write_text(SECTION.replace("id: sleep", "id: work"))
    ended = inside("scenario", "from-trace", "7f3a")
    assert ended.code == 2
    assert "cites the section 'sleep', which is no longer in the knowledge base of 'info'" in ended.err


def test_a_section_that_changed_before_the_label_is_noticed(inside: Caf, file: Path, tmp_path: Path) -> None:
    """The local judges quote verbatim: a quote that is no longer there tells."""
    claims = Claims(
        assertions=[Assertion(text="x", support="stated", source_id="sleep", quote="Warm milk helps most people.", topic=None)],
        admits_not_from_sources="no", asks_to_verify="no",
    )  # fmt: skip
    judged = Judgement("source_fidelity", "local", "accept", observation=claims)
    draft = Attempt("draft", 0, "Warm milk helps.", ["sleep"], 1.0, modes=["source"], judgements=[judged])
    store(file, second("ffff", attempts=[draft]))
    ended = inside("scenario", "from-trace", "ffff", "--out", "out.yaml")
    assert "the section sleep has changed since the turn" in ended.err
    assert "the section sleep has changed since the turn" in made(tmp_path).note


def test_a_redacted_trace_cannot_become_a_scenario(inside: Caf, file: Path) -> None:
    """It says so, and what would be needed."""
    store(file, redact(second("eeee")))
    ended = inside("scenario", "from-trace", "eeee")
    assert ended.code == 2
    assert "its trace is redacted and has no texts" in ended.err
    assert "privacy.store: full" in ended.err


def test_what_is_missing_of_the_history_is_said(inside: Caf, file: Path, tmp_path: Path) -> None:
    """Purged turns are purged from later cases too."""
    inside("trace", "purge", "--turn", "aaaa")
    ended = inside("scenario", "from-trace", "7f3a", "--out", "out.yaml")
    assert ended.code == 0
    assert "the history is incomplete" in ended.err
    assert made(tmp_path).history == ()


def test_the_history_is_that_of_the_branch_at_hand(inside: Caf, file: Path, tmp_path: Path) -> None:
    """A turn that was edited and sent again replaces the one before; failed turns and later ones are no part of it."""
    store(
        file,
        turn("bbbb", started=time.time() - 100, user_message="Good day.", replies=["And to you."]),
        turn("cccc", started=time.time() - 90, user_message="Lost.", replies=[], error="turn_timeout"),
        turn("dddd", started=time.time() - 10, user_message="Later.", replies=["Much later."]),
    )
    inside("scenario", "from-trace", "7f3a", "--out", "out.yaml")
    assert [said.content for said in made(tmp_path).history] == ["Good day.", "And to you."]


def test_each_choice_is_a_case_of_its_own(inside: Caf, file: Path, tmp_path: Path) -> None:
    """With its own draft and its own labels."""
    drafts = [Attempt("draft", n, f"Draft {n}.", ["no_claims"], 1.0, modes=["default"]) for n in range(2)]
    store(file, second("9999", attempts=drafts))
    inside("trace", "label", "9999", "--judge", "role", "--verdict", "warn", "--choice", "1")
    assert inside("scenario", "from-trace", "9999", "--choice", "1", "--out", "out.yaml").code == 0
    one = made(tmp_path)
    assert (one.response, one.citations, one.expect) == ("Draft 1.", (), {"role": {"warn"}})
    assert one.id == "trace-999999999999-1"
    missing = inside("scenario", "from-trace", "9999", "--choice", "2")
    assert missing.code == 2
    assert "has no choice 2: its choices are 0, 1" in missing.err


def test_a_chatbot_without_citations_was_judged_against_all_that_it_had(
    inside: Caf, file: Path, tmp_path: Path
) -> None:
    """So its case cites what was in use."""
    store(file, second("9999", attempts=[Attempt("draft", 0, "Sleep.", [], 1.0, modes=["source"])]))
    inside("scenario", "from-trace", "9999", "--out", "out.yaml")
    assert made(tmp_path).citations == ("sleep",)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["zzz"], "no turn has the id 'zzz'"),
        (["7f3a", "--expect", "role"], "--expect: 'role': expected JUDGE=accept"),
        (["7f3a", "--expect", "role=fine"], "--expect: 'role=fine': expected JUDGE=accept"),
        (["7f3a", "--expect", "rolle=warn"], "the chatbot has no judge 'rolle' (configured: role, emergency)"),
        (["7f3a", "--family", "two words"], "'two words': expected letters, digits"),
        (["7f3a", "--out", "/dev/null/out.yaml"], "cannot be written"),
    ],
)
def test_wrong_usage_is_told_in_a_line(inside: Caf, file: Path, options: list[str], said: str) -> None:
    """Exit code 2."""
    ended = inside("scenario", "from-trace", *options)
    assert ended.code == 2
    assert said in ended.err


# --- the labelled turns of a chatbot, as cases ---


def bot(folder: Path) -> Blueprint:
    return assemble(load_config(folder / "config.yaml"))["info"]


def test_labelled_turns_are_families_by_conversation(file: Path, tmp_path: Path) -> None:
    """Turns of one conversation resemble each other, so they are resampled together; its id is in no name."""
    store(file, second("eeee", conversation_id="somebody@example.org"))
    for id in ("aaaa", "7f3a", "eeee"):
        add(file, id, Label("role", "accept"))
    read, left_out = labelled_turns(file, bot(tmp_path))
    assert sorted(len(one.family.scenarios) for one in read) == [1, 2]
    assert left_out == []
    assert not any("somebody" in one.family.family for one in read)


@pytest.mark.parametrize(
    ("emergency", "expected"),
    [
        ([(0, "reject")], [{"role": {"warn"}, "emergency": {"reject"}}, {"role": {"accept"}}]),
        ([(1, "reject")], [{"role": {"warn"}}, {"role": {"accept"}, "emergency": {"reject"}}]),
        ([(0, "reject"), (1, "accept")], [{"role": {"warn"}}, {"role": {"accept"}, "emergency": {"accept"}}]),
        ([(1, "reject"), (0, "accept")], [{"role": {"warn"}, "emergency": {"accept"}}, {"role": {"accept"}}]),
    ],
)
def test_an_emergency_case_counts_once_however_many_choices_are_labelled(
    file: Path, tmp_path: Path, emergency: list[tuple[int, RightVerdict]], expected: list[dict[str, set[str]]]
) -> None:
    """All choices share the message: it is one case, and the last that was said of it counts."""
    drafts = [Attempt("draft", n, f"Draft {n}.", ["no_claims"], 1.0, modes=["default"]) for n in range(2)]
    store(file, second("9999", attempts=drafts))
    add(file, "9999", Label("role", "warn", 0))
    add(file, "9999", Label("role", "accept", 1))
    for choice, verdict in emergency:
        add(file, "9999", Label("emergency", verdict, choice))
    read, left_out = labelled_turns(file, bot(tmp_path))
    assert [scenario.expect for one in read for scenario in one.family.scenarios] == expected
    assert left_out == []


def test_a_choice_that_only_an_outdated_label_names_is_no_case(file: Path, tmp_path: Path) -> None:
    """Without a label there is nothing to measure on it."""
    drafts = [Attempt("draft", n, f"Draft {n}.", ["no_claims"], 1.0, modes=["default"]) for n in range(2)]
    store(file, second("9999", attempts=drafts))
    add(file, "9999", Label("emergency", "accept", 0))
    add(file, "9999", Label("emergency", "reject", 1))
    read, _ = labelled_turns(file, bot(tmp_path))
    assert [(scenario.id, scenario.response) for one in read for scenario in one.family.scenarios] == [
        ("trace-999999999999-1", "Draft 1.")
    ]


def test_turns_that_cannot_be_cases_are_named(file: Path, tmp_path: Path) -> None:
    """Redacted ones are left out with the reason; other chatbots' are not meant."""
    store(file, redact(second("eeee")), second("ffff", chatbot="other"))
    for id in ("7f3a", "eeee", "ffff"):
        add(file, id, Label("role", "accept"))
    read, left_out = labelled_turns(file, bot(tmp_path))
    assert [one.family.scenarios[0].id for one in read] == ["trace-7f3a7f3a7f3a"]
    assert len(left_out) == 1
    assert "is redacted" in left_out[0]


def test_documents_come_along_with_the_draft_that_cites_them(inside: Caf, tmp_path: Path) -> None:
    """In full, as no knowledge base has them; those of another choice do not, and one that a client sent stays untrusted."""
    path = laid_out(tmp_path)
    documents = [
        TracedDocument("doc:1", "Visitors", "In May 480 came.", False),
        TracedDocument("doc:2", "June", "In June 390 came.", True, 0),
        TracedDocument("doc:2", "July", "In July 510 came.", True, 1),
    ]
    draft = Attempt("draft", 0, "In May 480 came, in June 390.", ["doc:1", "doc:2", "sleep"], 1.0, modes=["source"])
    store(path, turn(documents=documents, attempts=[draft]))
    assert inside("scenario", "from-trace", "7f3a", "--out", "out.yaml").code == 0
    one = made(tmp_path)
    assert one.citations == ("sleep",)
    assert [(source.id, source.title, source.text, source.trusted) for source in one.sources] == [
        ("doc:1", "Visitors", "In May 480 came.", False),
        ("doc:2", "June", "In June 390 came.", True),
    ]
