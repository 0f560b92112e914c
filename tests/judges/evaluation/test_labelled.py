"""Cases from scenarios and a knowledge base."""

import json
from pathlib import Path

import pytest
import yaml

from judges.case import HistoryMessage, Topic
from judges.evaluation.labelled import ScenarioDefaults, label_cases
from knowledge_base.library import load as load_library
from scenarios.files import ScenarioError
from scenarios.scenario_files import load_all

JUDGES = ["source_fidelity", "role", "emergency"]
SECTION = "---\nid: {id}\ntitle: {id}\nsummary: About {id}.\nreferences: [A book]\n---\nText of {id}.\n"


@pytest.fixture
def setting(tmp_path):
    return ScenarioDefaults(library(tmp_path / "sections", "sleep"), "A bot about sleep.", (Topic("medication"),))


def library(folder: Path, *ids: str):
    folder.mkdir()
    for id in ids:
        (folder / f"{id}.md").write_text(SECTION.format(id=id))
    return load_library(folder)


@pytest.fixture
def read(tmp_path):
    def written(*scenarios, **more):
        path = tmp_path / "a.yaml"
        path.write_text(yaml.safe_dump({"family": "a", "scenarios": list(scenarios)} | more))
        return load_all([path])

    return written


FULL = {
    "id": "a-1",
    "history": [{"user": "Hi"}, {"assistant": "Hello."}],
    "user_message": "How long do adults sleep?",
    "response": "Eight hours.",
    "citations": ["sleep"],
    "sources": ["Own text."],
    "expect": {"role": "accept", "source_fidelity": ["warn", "reject"], "emergency": "accept"},
    "tags": ["number"],
}


def test_scenario_becomes_a_case_for_each_judge_it_has_a_label_for(read, setting):
    """The case has everything that a judge sees of a turn."""
    found = {one.judge: one for one in label_cases(read(FULL), JUDGES, setting)}
    assert list(found) == JUDGES
    one = found["source_fidelity"]
    assert (one.id, one.family, one.split, one.tags) == ("a-1", "a", "dev", ("number",))
    assert (one.expected, one.violating, found["role"].violating) == ({"warn", "reject"}, True, False)
    assert (one.case.user_message, one.case.draft) == ("How long do adults sleep?", "Eight hours.")
    assert one.case.history == (HistoryMessage("user", "Hi"), HistoryMessage("assistant", "Hello."))
    assert [(s.id, s.text) for s in one.case.cited] == [("sleep", "Text of sleep."), ("source-1", "Own text.")]
    assert (one.case.role, one.case.topics) == ("A bot about sleep.", (Topic("medication"),))


def test_emergency_judge_hears_what_the_user_said_and_no_more(read, setting):
    """The case is the same as during a turn."""
    (one,) = label_cases(read(FULL), ["emergency"], setting)
    assert (one.case.user_message, one.case.draft, one.case.cited) == ("How long do adults sleep?", "", ())
    assert one.case.history == (HistoryMessage("user", "Hi"),)


def test_family_may_bring_its_own_setting(read, setting, tmp_path):
    """A family may set knowledge base, role and topics of another chatbot."""
    library(tmp_path / "other", "rent")
    found = label_cases(
        read(FULL | {"citations": ["rent"]}, knowledge_base="other", role="A bot about rent.", sensitive_topics=[]),
        ["role"],
        setting,
    )
    assert [s.id for s in found[0].case.cited] == ["rent", "source-1"]
    assert (found[0].case.role, found[0].case.topics) == ("A bot about rent.", ())


def test_every_fault_is_told_with_file_id_and_field(read, setting):
    """All missing sections and replies are reported together."""
    rows = read(
        FULL | {"citations": ["sleep", "gone"]},
        {"id": "a-2", "user_message": "Hi", "expect": {"role": "accept", "emergency": "accept"}},
        {"id": "a-3", "response": "x", "citations": ["lost"], "expect": {"other": "accept"}},
    )
    with pytest.raises(ScenarioError) as caught:
        label_cases(rows, JUDGES, setting)
    first, second = caught.value.problems
    assert first.endswith(
        "a.yaml: a-1: citations: no section 'gone' in the knowledge base; correct it, or give the text in `sources`"
    )
    assert second.endswith(
        "a.yaml: a-2: response: the reply is empty; give a reply, because only the emergency judge does not need one"
    )


def test_citation_without_any_knowledge_base_is_told(read):
    """A chatbot without a knowledge base cannot have cited a section."""
    with pytest.raises(ScenarioError, match="a-1: citations: no section 'sleep'"):
        label_cases(read(FULL), ["role"], ScenarioDefaults(None, "", ()))


def test_knowledge_base_that_is_not_there_is_told_once(read, setting):
    """The problem is not repeated for each cited section."""
    with pytest.raises(ScenarioError) as caught:
        label_cases(read(FULL, FULL | {"id": "a-2"}, knowledge_base="gone"), JUDGES, setting)
    (problem,) = caught.value.problems
    assert "a.yaml: knowledge_base: " in problem
    assert "gone" in problem


def test_scenarios_may_be_chosen(read, setting):
    """Scenarios that are not selected are not checked."""
    rows = read(FULL, FULL | {"id": "a-2", "citations": ["gone"]})
    found = label_cases(rows, ["role"], setting, keep=lambda family, scenario: scenario.id == "a-1")
    assert [one.id for one in found] == ["a-1"]


def test_row_without_labels_is_for_every_judge_that_finds_something_to_read(tmp_path, setting):
    """Without a question there is no user in danger; without a reply, no other judge can judge."""
    path = tmp_path / "rows.jsonl"
    rows = [{"response": "Hi.", "sources": "Text."}, {"user_message": "Help"}, {"user_message": "Hm", "response": "Hi"}]
    path.write_text("\n".join(map(json.dumps, rows)))
    found = label_cases(load_all([path]), JUDGES, setting, unlabelled=True)
    assert [(one.id, one.judge) for one in found] == [
        ("rows-1", "source_fidelity"), ("rows-1", "role"), ("rows-2", "emergency"),
        ("rows-3", "source_fidelity"), ("rows-3", "role"), ("rows-3", "emergency"),
    ]  # fmt: skip
    assert not any(one.expected or one.violating for one in found)
    assert label_cases(load_all([path]), JUDGES, setting) == []
