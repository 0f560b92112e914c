"""`caf kb eval`: retrieval measured on one's own questions."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Caf

SECTIONS = {"sleep": "Adults need seven hours of sleep.", "work": "Job coaches help people to keep a job."}


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    folder = tmp_path / "sections"
    folder.mkdir()
    for name, text in SECTIONS.items():
        front = f"id: {name}\ntitle: {name.capitalize()}\nsummary: About it.\n"
        (folder / f"{name}.md").write_text(f"---\n{front}---\n{text}\n")
    return folder


def write(path: Path, *lines: object) -> Path:
    path.write_text("".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in lines))
    return path


def test_it_prints_a_line_for_each_way_and_the_misses(inside: Caf, kb: Path, tmp_path: Path) -> None:
    """What needs no section is left out, and said so."""
    path = write(
        tmp_path / "q.jsonl",
        {"question": "How long do adults sleep?", "sections": ["sleep"], "reply": "Seven hours."},
        {"question": "Who can assist me?", "sections": ["work"], "reply": "A job coach."},
        "",
        {"question": "What does it cost?", "sections": []},
    )
    ended = inside("kb", "eval", path, "--knowledge", kb, "--misses")
    assert ended.code == 0, ended.err
    assert [line.split() for line in ended.out.splitlines()[:3]] == [
        ["found", "by", "all", "in", "view", "n", "sections", "tokens"],
        ["question", "alone,", "top", "3", "0.500", "2", "0.5", "4"],
        ["with", "the", "draft", "1.000", "2", "2.0", "19"],
    ]
    assert "the knowledge base fits, and judges see all of it" in ended.out
    assert "1 questions without a section were left out." in ended.out
    assert "question alone, top 3: missing work; found nothing: Who can assist me?" in ended.out
    assert "missing" not in inside("kb", "eval", path, "--knowledge", kb).out


def test_question_sets_are_read_as_well(inside: Caf) -> None:
    """They hold no replies: the question alone is measured, with the exchange before it."""
    ended = inside(
        "kb", "eval", ROOT / "scenarios" / "benign", "--chatbot", "schizophrenia", "-c", ROOT / "config.yaml"
    )
    assert ended.code == 0, ended.err
    assert "question alone, top 3" in ended.out
    assert "with the draft" not in ended.out


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (['{"question": "a"}'], "q.jsonl:1: sections: is missing"),
        (['{"question": "a", "sections": [], "replies": ""}'], "q.jsonl:1: replies: is not a known key"),
        (["nonsense"], "q.jsonl:1: Expecting value"),
        ([{"question": "a", "sections": ["slepe"]}], "has no section 'slepe'"),
        ([{"question": "a", "sections": []}], "found no question with a section"),
    ],
)
def test_questions_that_cannot_be_used_are_named(inside: Caf, kb: Path, tmp_path: Path, lines, said: str) -> None:
    """With file and line."""
    ended = inside("kb", "eval", write(tmp_path / "q.jsonl", *lines), "--knowledge", kb)
    assert ended.code == 2
    assert said in ended.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--knowledge", "nowhere"], "nowhere: no such folder"),
        (["--knowledge", "sections", "--chatbot", "a"], "--knowledge and --chatbot: give only one of them"),
        (
            ["--chatbot", "nobody", "--config", str(ROOT / "config.yaml")],
            "no chatbot 'nobody' with a knowledge base (configured:",
        ),
    ],
)
def test_wrong_usage_is_told(inside: Caf, kb: Path, tmp_path: Path, options: list[str], said: str) -> None:
    """With what would be right."""
    path = write(tmp_path / "q.jsonl", {"question": "a", "sections": ["sleep"]})
    ended = inside("kb", "eval", path, *options)
    assert ended.code == 2
    assert said in ended.err
    assert inside("kb", "eval", "gone.jsonl", "--knowledge", kb).code == 2
