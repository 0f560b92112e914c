"""What an experiment is made of, held against each other."""

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_base.library import Library, load
from scenarios.files import ScenarioError
from scoring import experiment
from scoring.experiments.material import check_sections, load_material

Written = Callable[..., Path]


def test_what_belongs_together_is_no_note(written: Written, tmp_path: Path) -> None:
    """And the sections of questions are there."""
    material = load_material(experiment.load(written()))
    assert list(material.checkpoints) == ["dietician-1"]
    assert [one.id for one in material.questions] == ["q-1"]
    assert material.notes == ()
    check_sections(material, load(tmp_path / "sections"))


def test_a_section_that_there_is_not_is_refused_by_file_and_id(written: Written, tmp_path: Path) -> None:
    """Raters would hold the reply against nothing, and nobody would know."""
    material = load_material(experiment.load(written(question={"sections": ["cause"]})))
    with pytest.raises(ScenarioError) as caught:
        check_sections(material, load(tmp_path / "sections"))
    assert caught.value.problems == [
        f"{tmp_path}/asked/causes.yaml: q-1: sections: unknown name 'cause' in the chatbot's knowledge base; "
        "did you mean 'causes'?"
    ]
    with pytest.raises(ScenarioError, match="known names: none"):
        check_sections(material, Library([]))


def test_what_was_made_for_another_chatbot_is_noted(written: Written) -> None:
    """It may be on purpose: the same conversations under another role prompt."""
    path = written(checkpoint={"chatbot": "other"}, asked_of="third")
    assert load_material(experiment.load(path)).notes == (
        "checkpoint made for the chatbot 'other', not for 'bot': dietician-1",
        f"question file made for the chatbot 'third', not for 'bot': {path.parent}/asked/causes.yaml",
    )


def test_the_chatbot_of_an_arm_is_no_other(written: Written) -> None:
    """It is asked, too."""
    path = written(checkpoint={"chatbot": "other"}, arms={"on": {}, "off": {"chatbot": "other", "filter": "off"}})
    assert load_material(experiment.load(path)).notes == ()


def test_a_question_and_a_checkpoint_share_no_name(written: Written) -> None:
    """The conversations before samples are kept by it."""
    path = written(question={"id": "dietician-1"})
    with pytest.raises(ScenarioError, match="'dietician-1' is also the name of a checkpoint"):
        load_material(experiment.load(path))


def test_two_checkpoints_share_no_name(written: Written, tmp_path: Path) -> None:
    """One would be left out silently."""
    path = written()
    (tmp_path / "starts" / "other.yaml").write_text((tmp_path / "starts" / "dietician-1.yaml").read_text())
    with pytest.raises(ScenarioError, match=r"other\.yaml: name: duplicate 'dietician-1'"):
        load_material(experiment.load(path))


def test_faults_of_checkpoints_and_questions_are_told_together(written: Written) -> None:
    """One look names them all."""
    path = written(checkpoint={"messages": []}, questions=["asked", "nowhere"])
    with pytest.raises(ScenarioError) as caught:
        load_material(experiment.load(path))
    assert "messages" in caught.value.problems[0]
    assert "nowhere: cannot be read: No such file" in caught.value.problems[1]
