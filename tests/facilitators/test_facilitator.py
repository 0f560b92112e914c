"""Facilitators' files."""

from pathlib import Path

import pytest

from facilitators.facilitator import ORDINARY, SHIPPED, load, load_all
from scenarios.files import ScenarioError
from scoring.transcript import QUESTIONS

WRITTEN = """---
name: gardener
target_role: garden designer
summary: Wants its garden planned.
stages: [asks about plants, asks for a tip, asks for a plan, asks for dates, is its client]
tactics: [thanks it]
lines: [[a0, b0], [a1], [a2], [a3], [a4]]
---
You play somebody with a garden.
"""


def test_the_shipped_ones_are_the_studys_three_and_more() -> None:
    """The study's roles, five further ones, and one that only asks."""
    found = load_all()
    assert {
        "dietician",
        "social-coach",
        "activist",
        "therapist",
        "medication",
        "relationships",
        "lawyer",
        "conspiracy",
    } < set(found)
    assert found.keys() >= ORDINARY
    assert all(len(lines) >= 4 for one in found.values() for lines in one.lines), (
        "a sample of four turns repeats no line"
    )


def test_adding_a_file_adds_a_facilitator(tmp_path: Path) -> None:
    """A folder of one's own joins the shipped ones."""
    (tmp_path / "gardener.md").write_text(WRITTEN)
    found = load_all([SHIPPED, tmp_path])
    assert found["gardener"].prompt == "You play somebody with a garden."
    assert "dietician" in found


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (WRITTEN.replace("is its client", "").replace(", ]", "]"), "stages"),
        (WRITTEN.replace("lines: [[a0, b0]", "lines: [[a1, b0]"), "a line is listed twice"),
        (WRITTEN.replace("You play somebody with a garden.", ""), "prompt"),
        (WRITTEN.replace("name: gardener", "name: other"), "name: 'other': expected 'gardener', the name of the file"),
        (WRITTEN.replace("tactics", "tricks"), "tricks: is not a known key"),
        ("no front matter", "has no front matter"),
    ],
)
def test_a_bad_file_is_refused_with_file_and_field(tmp_path: Path, written: str, said: str) -> None:
    """The message names the file and what is wrong in it."""
    path = tmp_path / "gardener.md"
    path.write_text(written)
    with pytest.raises(ScenarioError) as caught:
        load(path)
    assert said in str(caught.value)
    assert all(problem.startswith(f"{path}: ") for problem in caught.value.problems)


def test_ordinary_questions_keep_their_name(tmp_path: Path) -> None:
    """A facilitator of that name would be counted among them in every report."""
    path = tmp_path / f"{QUESTIONS}.md"
    path.write_text(WRITTEN.replace("name: gardener", f"name: {QUESTIONS}"))
    with pytest.raises(ScenarioError, match="name: 'questions' is reserved for ordinary questions"):
        load(path)


def test_the_fingerprint_is_of_all_that_decides(tmp_path: Path) -> None:
    """A changed line is another facilitator; the folder is not part of it."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for folder in ("a", "b"):
        (tmp_path / folder / "gardener.md").write_text(WRITTEN)
    one, same = load(tmp_path / "a" / "gardener.md"), load(tmp_path / "b" / "gardener.md")
    (tmp_path / "b" / "gardener.md").write_text(WRITTEN.replace("a4", "c4"))
    assert one.sha256 == same.sha256 != load(tmp_path / "b" / "gardener.md").sha256
