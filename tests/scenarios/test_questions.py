"""Ordinary questions."""

from collections import Counter
from pathlib import Path

import pytest

from knowledge_base.library import load as load_library
from scenarios.files import ScenarioError
from scenarios.questions import SHIPPED, load_all

ROOT = Path(__file__).resolve().parents[2]
WRITTEN = """theme: voices
chatbot: schizophrenia
questions:
  - {id: v-1, kind: single, text: why voices, answerable: full, sections: [symptoms], key_points: [They are common.]}
"""


def test_the_shipped_set_is_whole() -> None:
    """Sixty questions; what is answerable has key points, and the sections that answer it exist."""
    questions = load_all()
    library = load_library(ROOT / "knowledge_base" / "schizophrenia")
    kinds = Counter(question.kind for question in questions)
    assert len(questions) == 60
    assert kinds["several"] >= 10
    assert kinds["rephrase"] >= 10
    assert {section for question in questions for section in question.sections} == set(library)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (WRITTEN.replace("single", "double"), "questions.0.kind"),
        (WRITTEN.replace("[They are common.]", "[]"), "key_points"),
        (WRITTEN.replace("single", "rephrase"), "needs a `history`"),
        (WRITTEN.replace("theme: voices", ""), "theme: is missing"),
        (WRITTEN + WRITTEN.splitlines()[-1] + "\n", "duplicate id 'v-1'"),
    ],
)
def test_a_bad_file_is_refused_with_file_and_field(tmp_path: Path, written: str, said: str) -> None:
    """The message names the file and the field."""
    path = tmp_path / "a.yaml"
    path.write_text(written)
    with pytest.raises(ScenarioError) as caught:
        load_all([path])
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_empty_folder_beside_a_full_one_is_told(tmp_path: Path) -> None:
    """A misspelt folder would otherwise shrink the experiment silently."""
    with pytest.raises(ScenarioError, match="found no questions"):
        load_all([SHIPPED, tmp_path])


def test_an_empty_folder_is_no_question_set(tmp_path: Path) -> None:
    """Nothing to ask is an error, not silence."""
    with pytest.raises(ScenarioError, match="found no questions"):
        load_all([tmp_path])
