"""A survey: the shipped form, its score, the check of answers, the table."""

import csv
import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from scenarios.files import ScenarioError, load
from scoring.people.returned_ratings import ReturnError
from scoring.people.survey import Form, answers_model, page, read_returned, render_table, sus_score

FORM_FILE = Path(__file__).parents[3] / "assistants/gesundheit/survey.yaml"
FORM = load(FORM_FILE, "a form", Form)
SUS = {f"sus_{n}": 4 if n % 2 else 1 for n in range(1, 11)}


def give(folder: Path, name: str = "a.json", **changes: Any) -> Path:
    """Write the file of a participant."""
    data = {"form": FORM.version, "participant": "P01", "answers": {}, **changes}
    (folder / name).write_text(json.dumps(data))
    return folder / name


def test_the_form_asks_fourteen_questions_and_the_usability_scale() -> None:
    """In six groups; the scale is named as an addition."""
    assert [len(group.questions) for group in FORM.groups] == [4, 2, 3, 2, 10, 3]
    assert "Ergänzung" in FORM.groups[4].note
    assert [one.id for one in FORM.sus] == list(SUS)


@pytest.mark.parametrize(
    ("items", "score"), [([5, 1] * 5, 100), ([1, 5] * 5, 0), ([4, 2, 4, 1, 5, 2, 4, 2, 3, 2], 77.5), ([3] * 9 + [None], None)]
)  # fmt: skip
def test_usability_is_scored_from_0_to_100(items: list[int | None], score: float | None) -> None:
    """Odd statements are positive, even ones negative; a missing one leaves no score."""
    assert sus_score(items) == score


def test_the_table_is_one_that_german_excel_reads(tmp_path: Path) -> None:
    """Byte order mark, semicolons, decimal comma, no formulas; what was not answered is empty."""
    texts = {"liked_most": '=HYPERLINK("x");\nja', "liked_least": "\n -1", "use_again_comment": "@home"}
    files = [give(tmp_path, answers={**SUS, **texts, "age": 71}), give(tmp_path, "b.json", participant="P02")]
    answers = read_returned(answers_model(FORM), files)
    text = render_table(FORM, answers, {"P01": {"offers": 2}})
    assert text.startswith("\ufeffparticipant;experience;")
    first, second = csv.DictReader(StringIO(text[1:], newline=""), delimiter=";")
    assert (first["participant"], first["age"], first["sus_score"], first["offers"]) == ("P01", "71", "87,5", "2")
    assert [first[name] for name in texts] == [f"'{text}" for text in texts.values()]
    assert {value for name, value in second.items() if name != "participant"} == {""}


WRONG = {
    "answers.colour: is not a known key": {"answers": {"colour": 1}},
    "answers.sus_3: invalid value 6: expected at most 5": {"answers": {"sus_3": 6}},
    "answers.sus_2: ": {"answers": {"sus_2": True}},
    "answers.use_again: invalid value 'Nie': expected 'Ja', 'Vielleicht' or 'Nein'": {"answers": {"use_again": "Nie"}},
    "answers.age: ": {"answers": {"age": 7}},
    f"form: invalid value 'gesundheit-0': expected '{FORM.version}'": {"form": "gesundheit-0"},
    "participant: ": {"participant": "=P1"},
}


@pytest.mark.parametrize("fault", WRONG)
def test_a_wrong_answer_is_named_with_file_and_field(tmp_path: Path, fault: str) -> None:
    """Each of them refuses the file."""
    with pytest.raises(ReturnError) as caught:
        read_returned(answers_model(FORM), [give(tmp_path, **WRONG[fault])])
    assert caught.value.problems[0].startswith(f"{tmp_path}/a.json: {fault}")


def test_duplicate_participants_and_broken_files_are_refused(tmp_path: Path) -> None:
    """All problems of all files are told at once."""
    broken = tmp_path / "c.json"
    broken.write_text('{"form": "x", "form": "y"}')
    with pytest.raises(ReturnError) as caught:
        read_returned(answers_model(FORM), [give(tmp_path), give(tmp_path, "b.json", participant="p01"), broken])
    fields = [one.split(": ")[1] for one in caught.value.problems]
    assert fields == ["participant", "cannot be read"]


@pytest.mark.parametrize(
    ("new", "fault"),
    [("id: sus_1,", "duplicate id 'sus_1'"), ("id: sus_2, max: 7,", "`score: sus`: expected 10 questions")],
)
def test_a_wrong_form_is_refused(tmp_path: Path, new: str, fault: str) -> None:
    """With the reason, before anybody is asked."""
    (tmp_path / "form.yaml").write_text(FORM_FILE.read_text().replace("id: sus_2,", new))
    with pytest.raises(ScenarioError, match=fault):
        load(tmp_path / "form.yaml", "a form", Form)


def test_another_wording_is_another_version_and_is_escaped() -> None:
    """Nothing in a form becomes markup."""
    other = FORM.model_copy(update={"title": "<script>alert(1)</script>"})
    assert other.version != FORM.version
    assert "<script>alert" not in page(other)
