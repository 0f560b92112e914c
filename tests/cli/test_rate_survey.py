"""`caf rate survey`: pages for participants, and a table of their answers."""

import csv
import json
from pathlib import Path

import yaml

from tests.cli.conftest import Caf
from tests.scoring.people.test_survey import FORM_FILE, give

SAID = ("Flimmern?", "Meinten Sie: Was ist Vorhofflimmern?", "nein", "Können Sie Ihre Frage bitte anders stellen?")
TALK = [{"role": role, "content": text} for role, text in zip(("user", "assistant") * 2, SAID, strict=True)]


def test_each_participant_gets_a_page(inside: Caf, tmp_path: Path) -> None:
    """With the code filled in; without a number there is one page."""
    assert inside("rate", "survey", "print", FORM_FILE, "--out", "pages", "--participants", "2").code == 0
    assert inside("rate", "survey", "print", FORM_FILE, "--out", "pages").code == 0
    pages = {path.stem: path.read_text() for path in (tmp_path / "pages").iterdir()}
    assert {name: 'value="P02"' in text for name, text in pages.items()} == {
        "survey": False, "survey-P01": False, "survey-P02": True
    }  # fmt: skip


def test_answers_and_conversations_join_in_one_row(inside: Caf, tmp_path: Path) -> None:
    """If a file is wrong, nothing is written."""
    files, talks = [give(tmp_path), give(tmp_path, "b.json", participant="P02")], tmp_path / "talks"
    talks.mkdir()
    (talks / "a.json").write_text(json.dumps({"participant": "P01", "messages": TALK}))
    (talks / "b.yaml").write_text(
        yaml.safe_dump({"name": "P02", "chatbot": "x", "messages": TALK[:2]})
    )  # of caf chat --save
    ended = inside("rate", "survey", "export", FORM_FILE, *files, "--conversations", talks, "--out", "x.csv")
    assert ended.code == 0, ended.err
    with (tmp_path / "x.csv").open(encoding="utf-8-sig", newline="") as file:
        first, second = csv.DictReader(file, delimiter=";")
    assert (first["offers"], first["denials_explicit"], second["offers"], second["messages"]) == ("1", "1", "1", "1")
    for wrong, fault in (
        ((files[1], "--conversations", talks), "'P01': found no file of answers"),
        ((files[0], give(tmp_path, "c.json", participant="P03", answers={"sus_1": 0})), "c.json: answers.sus_1:"),
    ):
        ended = inside("rate", "survey", "export", FORM_FILE, *wrong, "--out", "y.csv")
        assert (ended.code, (tmp_path / "y.csv").exists()) == (2, False)
        assert fault in ended.err
