"""`caf kb check`, `review`, `misses` and `eval --pairs`: how people look after pairs."""

import csv
import json
import time
from pathlib import Path

import pytest

from knowledge_base.pairs.pair import PairsError, load_pairs, write_pairs
from models.turn_scope import Note
from proxy.traces.redaction import redact
from proxy.traces.store import TraceStore
from proxy.traces.trace import Trace
from tests.cli.conftest import ROOT, Caf
from tests.knowledge_base.pairs.examples import DOCUMENT, pair, review, write_kb

SALT = pair("Wie viel Salz ist bei Bluthochdruck gut?", id="salt", cluster="salt", answer="Wenig.", variants=())
CONFIG = """\
models:
  mini: {{engine: scripted, script: {script}}}
chatbots:
  bot: {{model: mini, role: Answers questions., refiner: null, emergency: {{contact: Call 112.}}, retrieval: {{language: german}}}}
privacy: {{path: traces.sqlite, store: {store}}}
"""


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    folder = write_kb(tmp_path / "kb", bluthochdruck=DOCUMENT)
    write_pairs(folder, [pair(), SALT])
    return folder


def test_a_knowledge_base_is_checked_and_counted(inside: Caf, kb: Path) -> None:
    """What is lacking makes it exit 1."""
    write_pairs(kb, [pair(), pair(id="b", review=review(answer_ok=False, error="wrong"))])
    ended = inside("kb", "check", "kb")
    assert ended.code == 1
    assert [line.split() for line in ended.out.splitlines()] == [
        ["focus", "Defini.", "Behand.", "Alltag."],
        ["bluthochdruck", "1", "-", "-"],
        ["pots", "-", "-", "-"],
        ["depression", "-", "-", "-"],
        "2 pairs: 2 beginner".split(),
        "1 reviewed, 1 of them rejected".split(),
        "plain language: 3.4 letters a word, 8.0 words a sentence".split(),
        "problem focus 'pots': has no pair on Definition".split(),
        "problem topic 'Seele': has no pair".split(),
        "problem focus 'depression': has no pair on Definition".split(),
    ]


def test_a_wording_of_two_clusters_fails_the_check(inside: Caf, kb: Path) -> None:
    """Both pairs are named; what answers questions refuses the file."""
    write_pairs(
        kb, [pair(), SALT.model_copy(update={"variants": ("bluthochdruck -- was IST das?", "was ist Bluthochdruck")})]
    )
    ended = inside("kb", "check", "kb")
    assert ended.code == 1
    assert (
        "problem  wording 'was ist Bluthochdruck' belongs to two clusters: bluthochdruck-definition-1 and salt; remove it"
        in ended.out
    )
    with pytest.raises(PairsError, match="belongs to two clusters"):
        load_pairs(kb)


def test_the_named_failures_of_the_thesis_are_rejected(inside: Caf, tmp_path: Path) -> None:
    """By the checks of the shipped knowledge base, and by the gate on the focus; their twins pass."""
    kb = tmp_path / "kb"
    kb.mkdir()
    herb = "Johanniskraut stört viele Mittel. Fragen Sie Apotheke und Arzt. Es wirkt nach 12 Wochen."
    drop = "Bei PoTS fällt der Blutdruck nicht ab. Der Puls steigt. Bei anderen fällt er ab."
    front = "---\nid: {0}\ntitle: {0}\nsummary: Über {0}.\n---\n"
    (kb / "depression.md").write_text(front.format("depression") + herb)
    (kb / "pots.md").write_text(front.format("pots") + drop)
    (kb / "taxonomy.yaml").write_text((ROOT / "knowledge_base" / "gesundheit" / "taxonomy.yaml").read_text())
    sad = {"context": herb, "document": "depression", "focus": "depression", "topic": "Psychische Erkrankungen"}
    sad["subtopic"] = "Stimmung"
    pots = {"context": drop, "document": "pots", "focus": "pots", "topic": "PoTS", "subtopic": ""}
    given = [
        ("herb", "Hilft Johanniskraut bei Depression?", "Johanniskraut stört viele Mittel.", herb[:33], sad),
        ("herb-right", "Darf man Johanniskraut bei Depression?", "Fragen Sie Arzt und Apotheke.", herb[34:63], sad),
        ("drop", "Was ist bei PoTS?", "Bei PoTS fällt der Blutdruck ab.", "Bei anderen fällt er ab.", pots),
        ("drop-2", "Was kommt bei PoTS?", "Es kommt zu einem Blutdruckabfall.", "Bei anderen fällt er ab.", pots),
        ("drop-right", "Fällt bei PoTS der Blutdruck?", "Der Blutdruck fällt bei PoTS nicht ab.", drop[:38], pots),
        ("weeks", "Was wirkt nach 12 Wochen?", "Es wirkt nach 12 Wochen.", "Es wirkt nach 12 Wochen.", sad),
    ]
    pairs = [
        pair(question, id=id, answer=answer, quotes=(quote,), variants=(), cluster=id, **place)
        for id, question, answer, quote, place in given
    ]
    write_pairs(kb, pairs)
    problems = [line.split(": ")[:3] for line in inside("kb", "check", "kb").out.splitlines() if ": " in line]
    assert [problem[0].split()[1:] + problem[1:] for problem in problems if problem[1] in ("check", "focus")] == [
        ["herb", "check", "an answer on Johanniskraut names pharmacy and doctor"],
        ["drop", "check", "PoTS goes without a drop of blood pressure"],
        ["drop-2", "check", "PoTS goes without a drop of blood pressure"],
        ["weeks", "focus", "the question does not name 'Depression'"],
    ]
    assert "right" not in str(problems)


def test_reviews_leave_and_come_back(inside: Caf, kb: Path) -> None:
    """One table for each topic; a wrong row takes over none."""
    ended = inside("kb", "review", "export", "kb", "--out", "tables")
    assert (ended.code, ended.out) == (0, "tables/Herz.csv: 2 pairs\ntables/Seele.csv: 0 pairs\n")
    path = kb.parent / "tables" / "Herz.csv"
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [*csv.DictReader(file, delimiter=";")]
    filled = {"answer ok": "nein", "topic ok": "ja", "wording ok": "ja", "error kind": "omits", "reviewer": "Weiß"}
    filled["date"] = "31.1.2026"

    def fill(*cells: dict[str, str]) -> None:
        with path.open("w", encoding="utf-8-sig", newline="") as file:
            writer = csv.DictWriter(file, [*rows[0]], delimiter=";")
            writer.writeheader()
            writer.writerows([row | more for row, more in zip(rows, cells, strict=True)])

    again = inside("kb", "review", "export", "kb", "--out", "tables")
    assert (again.code, "already exists" in again.err) == (2, True)
    fill(filled, filled | {"date": "bald"})
    ended = inside("kb", "review", "import", "kb", "tables/Herz.csv")
    assert ended.code == 1
    assert (
        ended.out == "problem  tables/Herz.csv: row 3: date: invalid value 'bald': expected a date such as 2026-01-31; "
        "write it as 2026-01-31 or 31.1.2026\n"
    )
    assert load_pairs(kb) == (pair(), SALT)
    fill(filled, {})
    ended = inside("kb", "review", "import", "kb", "tables/Herz.csv")
    assert (ended.code, ended.out) == (
        0,
        "kb: 1 pair changed; a running proxy serves them after SIGHUP or a restart\n",
    )
    first, second = load_pairs(kb)
    assert (first.served, second.review) == (False, None)
    assert inside("kb", "review", "import", "kb", "gone.csv").err == "caf: gone.csv: No such file or directory\n"
    (kb.parent / "file").write_text("")
    assert inside("kb", "review", "export", "kb", "--out", "file").code == 2


def test_the_search_is_measured_on_questions(inside: Caf, kb: Path) -> None:
    """With the pair that answers each, or none."""
    lines = [
        {"question": "Ist Salz bei Hypertonie gut?", "pair": "salt"},
        {"question": "Wer ist der Papst?", "pair": "salt"},
        {"question": "Wer ist der Papst?", "pair": None},
    ]
    (kb.parent / "q.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    ended = inside("kb", "eval", "q.jsonl", "--pairs", "kb")
    assert ended.code == 0, ended.err
    assert [" ".join(line.split()) for line in ended.out.splitlines()] == [
        "n asked direct offer equivalent direct equivalent offer wrong declined",
        "2 questions 1 / 0.50 0 / 0.00 0 / 0.00 0 / 0.00 0 / 0.00 1 / 0.50",
        "1 of no pair 0 / 0.00 0 / 0.00 0 / 0.00 0 / 0.00 0 / 0.00 1 / 1.00",
        "Measured: BM25 over question, variants, aspect and answer of 2 served pairs; no threshold.",
        "Not measured: an assistant's own matcher, its thresholds and its dialogue.",
    ]
    (kb.parent / "q.jsonl").write_text('{"question": "a", "pair": "nobody"}\n')
    assert "q.jsonl: unknown pair 'nobody'" in inside("kb", "eval", "q.jsonl", "--pairs", "kb").err
    (kb.parent / "q.jsonl").write_text("[" * 200_000)
    assert "q.jsonl:1: nested too deeply: correct or delete" in inside("kb", "eval", "q.jsonl", "--pairs", "kb").err
    assert inside("kb", "eval").err == "caf: expected QUESTIONS, or --pairs KB with --rephrase ALIAS\n"
    assert inside("kb", "eval", "--pairs", "kb").code == 2


def test_a_model_rephrases_stored_questions(inside: Caf, kb: Path) -> None:
    """In both ways of the thesis."""
    script = '[{when: Salz, reply: "Ist Salz bei Hypertonie gut?"}, {reply: "Was bedeutet Bluthochdruck?"}]'
    (kb.parent / "c.yaml").write_text(CONFIG.format(script=script, store="full"))
    ended = inside("kb", "eval", "--pairs", "kb", "--rephrase", "mini", "-n", "9", "--config", "c.yaml")
    assert ended.code == 0, ended.err
    assert [" ".join(line.split()[:5]) for line in ended.out.splitlines()[1:3]] == [
        "2 basic 2 / 1.00",
        "2 older person 2 /",
    ]
    (kb.parent / "c.yaml").write_text(CONFIG.format(script="[{fail: 503}]", store="full"))
    ended = inside("kb", "eval", "--pairs", "kb", "--rephrase", "mini", "--config", "c.yaml")
    assert ended.code == 2
    assert (
        "2 of 2 questions were not rephrased: model 'mini', step 'rephrase': the model's server failed (503)"
        in ended.err
    )


@pytest.fixture
def traces(tmp_path: Path) -> list[Trace]:
    said = [("Was ist Gicht?", "uncovered_health"), ("Was ist denn Gicht?", "rephrase"), ("Was ist Salz?", "direct")]
    made = [
        Trace(
            turn_id=f"t{n}", conversation_id="c", key_id="keyless", chatbot="bot", filter="on", started=time.time() - n,
            user_message=question, notes=[Note("match", band)],
        )
        for n, (question, band) in enumerate(said)
    ]  # fmt: skip
    store = TraceStore(tmp_path / "traces.sqlite", "full", 30)
    store.start()
    for one in [*made, redact(made[0])][: len(said)]:
        store.record(one)
    store.close()
    return made


def test_questions_without_a_pair_are_listed(inside: Caf, tmp_path: Path, traces: list[Trace]) -> None:
    """Similar ones once, each with a line to be filled in."""
    (tmp_path / "c.yaml").write_text(CONFIG.format(script="[a]", store="full"))
    ended = inside("kb", "misses", "--config", "c.yaml")
    assert ended.code == 0, ended.err
    assert ended.out == (
        "   2  1 rephrase, 1 uncovered_health: Was ist denn Gicht?\n"
        '      {"question": "Was ist denn Gicht?", "pair": null}\n'
        "2 questions without a pair in 3 turns\n"
    )
    assert (
        inside("kb", "misses", "--config", "c.yaml", "--chatbot", "other").out
        == "0 questions without a pair in 0 turns\n"
    )


def test_misses_say_when_no_texts_are_kept(inside: Caf, tmp_path: Path) -> None:
    """And when there are no traces."""
    (tmp_path / "c.yaml").write_text(CONFIG.format(script="[a]", store="redacted"))
    assert "traces.sqlite" in inside("kb", "misses", "--config", "c.yaml").err
    store = TraceStore(tmp_path / "traces.sqlite", "redacted", 30)
    store.start()
    store.record(
        Trace(
            "t",
            "c",
            "keyless",
            "bot",
            "on",
            time.time(),
            user_message="Was ist Gicht?",
            notes=[Note("match", "rephrase")],
        )
    )
    store.close()
    assert inside("kb", "misses", "--config", "c.yaml").out == (
        "0 questions without a pair in 1 turns\n1 turns have no texts: to keep texts, set privacy.store: full\n"
    )
