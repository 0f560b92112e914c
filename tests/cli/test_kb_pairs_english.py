"""Pairs in English, from documents to what they miss: three sections of knowledge_base/schizophrenia, with a scripted model.

`tests/knowledge_base/pairs/schizophrenia_script.yaml` holds what the model says, with one draft for each of four gates.
"""

import csv
import json
import shutil
import time
from pathlib import Path

import pytest

from knowledge_base.pairs.pair import load_pairs
from models.turn_scope import Note
from proxy.traces.store import TraceStore
from proxy.traces.trace import Trace
from tests.cli.conftest import ROOT, Caf

HERE = ROOT / "tests" / "knowledge_base" / "pairs"
CONFIG = f"""\
models:
  mini: {{engine: scripted, structured: json_schema, script: {json.dumps(str(HERE / "schizophrenia_script.yaml"))}}}
chatbots:
  bot: {{model: mini, role: Answers questions., refiner: null, emergency: {{contact: Call 112.}}}}
privacy: {{path: traces.sqlite, store: full}}
"""
SECTIONS = ("symptoms", "causes", "medication-and-side-effects")
BUILD = ("kb", "build", *(f"kb/{name}.md" for name in SECTIONS), "--out", "kb", "--model", "mini", "--config", "c.yaml")


@pytest.fixture
def kb(tmp_path: Path, inside: Caf) -> Path:
    """Build the pairs."""
    folder = tmp_path / "kb"
    folder.mkdir()
    shutil.copy(HERE / "schizophrenia.yaml", folder / "taxonomy.yaml")
    for name in SECTIONS:
        shutil.copy(ROOT / "knowledge_base" / "schizophrenia" / f"{name}.md", folder)
    (tmp_path / "c.yaml").write_text(CONFIG)
    ended = inside(*BUILD)
    assert ended.code == 0, ended.out + ended.err
    assert "kb: 8 pairs in 8 clusters: 8 beginner\ndropped: 1 negation, 1 number, 1 warning, 1 focus\n" in ended.out
    return folder


def find(kb: Path, question: str):
    (one,) = [one for one in load_pairs(kb) if one.question == question]
    return one


def test_pairs_are_built_and_checked(inside: Caf, kb: Path) -> None:
    """Each cites its own section; a long answer is shorter, and questions have the wordings of both prompts."""
    assert {one.document for one in load_pairs(kb)} == {*SECTIONS}
    serious = find(kb, "Which reactions to schizophrenia medicine are serious?")
    assert (serious.document, serious.complexity) == ("medication-and-side-effects", "beginner")
    assert len(serious.answer.split()) <= 25
    assert find(kb, "Is schizophrenia inherited?").variants == (
        "Does schizophrenia run in the family?", "Is psychosis genetic?",
        "Will my children get schizophrenia from me?", "schizophrenia genes family",
    )  # fmt: skip
    ended = inside("kb", "check", "kb")
    assert ended.code == 0, ended.out
    assert "8 pairs: 8 beginner\n" in ended.out
    written = (kb / "pairs.jsonl").read_text()
    assert "6 answers, 6 of them from pairs.journal.jsonl" in inside(*BUILD).out
    assert (kb / "pairs.jsonl").read_text() == written


def test_experts_review_pairs(inside: Caf, kb: Path) -> None:
    """In a table with commas, in English words."""
    assert inside("kb", "review", "export", "kb", "--out", "tables").out == "tables/Mental illness.csv: 8 pairs\n"
    path = kb.parent / "tables" / "Mental illness.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [*csv.DictReader(file)]
    accepted = {
        "answer ok": "yes",
        "topic ok": "Y",
        "wording ok": "yes",
        "reviewer": "Dr. Miller",
        "date": "2026-01-31",
    }
    rejected = accepted | {"answer ok": "No", "error kind": "useless"}
    filled = [rows[0] | accepted, rows[1] | rejected, *rows[2:]]
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, [*rows[0]])
        writer.writeheader()
        writer.writerows(filled)
    ended = inside("kb", "review", "import", "kb", "tables/Mental illness.csv")
    assert (ended.code, ended.out) == (
        0,
        "kb: 2 pairs changed; a running proxy serves them after SIGHUP or a restart\n",
    )
    reviewed = load_pairs(kb)
    assert [one.served for one in reviewed] == [True, False, *[True] * 6]
    assert inside(*BUILD).code == 0
    assert load_pairs(kb) == reviewed
    assert "2 reviewed, 1 of them rejected" in inside("kb", "check", "kb").out


def test_the_search_is_measured(inside: Caf, kb: Path) -> None:
    """On questions in other words; it says what is measured."""
    asked = {
        "Could my daughter inherit my psychosis?": find(kb, "Is schizophrenia inherited?").id,
        "Hearing voices, is that a hallucination in psychosis?": find(
            kb, "What are hallucinations in schizophrenia?"
        ).id,
        "Who won the cup?": None,
    }
    lines = [json.dumps({"question": question, "pair": pair}) for question, pair in asked.items()]
    (kb.parent / "q.jsonl").write_text("\n".join(lines))
    ended = inside("kb", "eval", "q.jsonl", "--pairs", "kb")
    assert ended.code == 0, ended.err
    assert [" ".join(line.split()) for line in ended.out.splitlines()[1:]] == [
        "2 questions 2 / 1.00 0 / 0.00 0 / 0.00 0 / 0.00 0 / 0.00 0 / 0.00",
        "1 of no pair 0 / 0.00 0 / 0.00 0 / 0.00 0 / 0.00 0 / 0.00 1 / 1.00",
        "Measured: BM25 over question, variants, aspect and answer of 8 served pairs; no threshold.",
        "Not measured: an assistant's own matcher, its thresholds and its dialogue.",
    ]


def test_questions_that_no_pair_answered_are_listed(inside: Caf, kb: Path) -> None:
    """Similar ones as one, by English stems; the line is read by `caf kb eval --pairs` when it is filled in."""
    store = TraceStore(kb.parent / "traces.sqlite", "full", 30)
    store.start()
    for n, question in enumerate(("Can I drive with schizophrenia?", "Can I be driving with schizophrenia?", "Hello.")):
        note = Note("match", "direct" if question == "Hello." else "rephrase")
        store.record(Trace(f"t{n}", "c", "keyless", "bot", "on", time.time() - n, user_message=question, notes=[note]))
    store.close()
    ended = inside("kb", "misses", "--config", "c.yaml")
    assert ended.code == 0, ended.err
    first, line, count = ended.out.splitlines()
    assert first.startswith("   2  2 rephrase: Can I ")
    assert count == "2 questions without a pair in 3 turns"
    (kb.parent / "q.jsonl").write_text(line.strip())
    assert "1  of no pair" in inside("kb", "eval", "q.jsonl", "--pairs", "kb").out
