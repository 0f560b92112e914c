"""`caf kb build`: documents become pairs, with a model and without, and a build that was cut off goes on."""

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from knowledge_base.pairs.pair import load_pairs, write_pairs
from tests.cli.conftest import COMMAND, Caf
from tests.knowledge_base.pairs.examples import DOCUMENT, ENGLISH, ENGLISH_DOCUMENT, FIRST, pair, review, write_kb

CONFIG = """\
models:
  mini: {{engine: openai, base_url: "{address}/v1", max_attempts: 1, breaker: null, price: {{input: 1, output: 2}}}}
chatbots:
  bot: {{model: mini, role: Answers questions., refiner: null, emergency: {{contact: Call 112.}}}}
"""
WRITTEN = {
    "Definition": [
        {
            "paragraph": 1, "question": "Was ist Bluthochdruck?", "answer": "Der Druck in den Adern ist zu hoch.",
            "quotes": [FIRST.split(". ")[0]], "variants": ["Was ist Hypertonie?"],
            "recommendation": "Möchten Sie wissen, was Bluthochdruck ist?",
        }
    ],
    "Behandlung": [
        {
            "paragraph": 1, "question": "Was senkt Bluthochdruck?", "answer": "Tabletten, etwa 20 mg.",
            "quotes": ["Tabletten senken den Bluthochdruck."], "variants": [], "recommendation": "",
        }
    ],
}  # fmt: skip


@pytest.fixture
def kb(tmp_path: Path) -> Path:
    return write_kb(tmp_path / "kb", bluthochdruck=DOCUMENT)


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[dict[str, Any]]:
    """A server of a model on loopback: what it was asked, and for which aspects it fails."""
    from proxy.serving.listening import listening_beside

    state: dict[str, Any] = {"asked": [], "fails": (), "slow": ()}

    async def chat(request: web.Request) -> web.Response:
        case = json.loads((await request.json())["messages"][1]["content"])
        kind = case.get("aspect", "wordings")
        state["asked"].append(kind)
        if kind in state["fails"]:
            return web.json_response({"error": {"message": "no", "type": "x", "param": None, "code": None}}, status=503)
        if kind in state["slow"]:
            import asyncio

            await asyncio.sleep(30)
        content = json.dumps({"pairs": WRITTEN[kind] if kind != "wordings" else [{"n": 1, "variants": ["Hochdruck?"]}]})
        choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100}
        return web.json_response({"id": "c", "object": "chat.completion", "choices": [choice], "usage": usage})

    server = web.Application()
    server.router.add_post("/v1/chat/completions", chat)
    with listening_beside(server) as address:
        (tmp_path / "c.yaml").write_text(CONFIG.format(address=address))
        yield state


COMMAND_LINE = ("kb", "build", "kb/bluthochdruck.md", "--out", "kb", "--model", "mini", "--config", "c.yaml")


def test_pairs_are_extracted_without_a_model(caf: Caf, kb: Path) -> None:
    """And reported: what is left out, what is kept, what is dropped."""
    (kb / "leer.md").write_text("# PoTS\n\n## Therapie\n\nZu kurz.\n")
    ended = caf("kb", "build", "kb/bluthochdruck.md", "kb/leer.md", "--out", "kb")
    assert ended.code == 1
    assert ended.out == (
        "note     kb/bluthochdruck.md: 'Anhang' names no aspect; 4 words left out\n"
        "kb: 2 pairs in 2 clusters: 2 beginner\n"
        "dropped: 1 empty paragraph\n"
        "problem  kb/leer.md: the document has no text below a heading that names an aspect; "
        "add its headings to `aspects` in taxonomy.yaml\n"
    )
    assert [one.question for one in load_pairs(kb)] == ["Was ist Bluthochdruck?", "Wie wird Bluthochdruck behandelt?"]


def test_pairs_of_a_model_are_not_lost_without_one(inside: Caf, kb: Path) -> None:
    """Extracting pairs would replace them."""
    written = pair("Was senkt Bluthochdruck?", id="by-a-model")
    write_pairs(kb, [written])
    ended = inside("kb", "build", "kb/bluthochdruck.md", "--out", "kb")
    assert (ended.code, "1 of its 1 pairs would be lost (the first is 'by-a-model'" in ended.err) == (2, True)
    assert [*load_pairs(kb)] == [written]


def test_english_documents_are_built_as_well(inside: Caf, tmp_path: Path) -> None:
    """From a PDF or a page, too: they become sections, and `caf kb check` finds nothing."""
    kb = write_kb(tmp_path / "kb", ENGLISH)
    (tmp_path / "Schizophrenia.md").write_text(ENGLISH_DOCUMENT)
    ended = inside("kb", "build", "Schizophrenia.md", "--out", "kb", "--dropped")
    assert (ended.code, ended.out) == (0, "kb: 3 pairs in 3 clusters: 3 beginner\ndropped: none\n")
    symptoms = load_pairs(kb)[1]
    assert symptoms.question == "What are the symptoms of schizophrenia?"
    assert symptoms.recommendation == "Would you like to know: What are the symptoms of schizophrenia?"
    assert symptoms.answer == "Many people with schizophrenia hear voices. Others believe that they are followed."
    checked = inside("kb", "check", "kb")
    assert checked.code == 0, checked.out


def test_a_model_writes_the_pairs_once(inside: Caf, kb: Path, upstream: dict[str, Any]) -> None:
    """The journal has its answers: the same command asks nothing, another document only for itself."""
    ended = inside(*COMMAND_LINE, "--dropped")
    assert (ended.code, ended.err) == (0, "")
    assert re.sub(r"-[0-9a-f]{8}", "-0", ended.out) == (
        "mini: 3 answers, 0 of them from pairs.journal.jsonl; 3,300 tokens, total cost 0.0036\n"
        "note     kb/bluthochdruck.md: 'Anhang' names no aspect; 4 words left out\n"
        "dropped  bluthochdruck-behandlung-0: number: 20 is not in the paragraph: Was senkt Bluthochdruck? Tabletten, etwa 20 mg.\n"
        "kb: 1 pairs in 1 clusters: 1 beginner\n"
        "dropped: 1 number, 1 empty paragraph\n"
    )
    written = (kb / "pairs.jsonl").read_text()
    again = inside(*COMMAND_LINE)
    assert "2 answers, 2 of them from pairs.journal.jsonl" in again.out
    assert sorted(upstream["asked"]) == ["Behandlung", "Definition", "wordings"]
    assert (kb / "pairs.jsonl").read_text() == written
    assert load_pairs(kb)[0].variants == ("Was ist Hypertonie?", "Hochdruck?")
    (kb / "bluthochdruck.md").write_text(DOCUMENT.replace("Tabletten senken", "Manche Tabletten senken"))
    assert "2 answers, 1 of them" in inside(*COMMAND_LINE).out


def test_wordings_that_failed_are_asked_for_again(inside: Caf, kb: Path, upstream: dict[str, Any]) -> None:
    """The pairs are written meanwhile; once varied, and once reviewed, a pair is not varied again."""
    upstream["fails"] = ("wordings",)
    ended = inside(*COMMAND_LINE)
    assert ended.code == 1
    assert "problem  wordings: model 'mini', step 'variants': the model's server failed (503)" in ended.out
    assert load_pairs(kb)[0].variants == ("Was ist Hypertonie?",)
    upstream["fails"] = ()
    assert inside(*COMMAND_LINE).code == 0
    assert load_pairs(kb)[0].variants == ("Was ist Hypertonie?", "Hochdruck?")
    reviewed = load_pairs(kb)[0].model_copy(
        update={"review": review(), "variants": ("Von Hand?",), "answer": "Von Hand."}
    )
    write_pairs(kb, [reviewed])
    upstream["asked"].clear()
    assert inside(*COMMAND_LINE).code == 0
    assert load_pairs(kb) == (reviewed,)
    assert upstream["asked"] == []


def test_a_section_for_which_the_model_failed_is_asked_for_again(
    inside: Caf, kb: Path, upstream: dict[str, Any]
) -> None:
    """What the knowledge base has of it stays meanwhile, as do reviewed pairs."""
    old = pair("Was hilft bei Bluthochdruck?", id="old", aspect="Behandlung", answer="Ruhe in den Adern.", variants=())
    by_hand = pair("Ist Bluthochdruck gefährlich?", id="hand", answer="Ja, 12 Mal.", review=review())
    write_pairs(kb, [old, by_hand, pair("Bluthochdruck?", id="gone")])
    upstream["fails"] = ("Behandlung",)
    ended = inside(*COMMAND_LINE)
    assert ended.code == 1
    assert (
        "problem  bluthochdruck.md#Therapie: model 'mini', step 'pairs': the model's server failed (503)" in ended.out
    )
    assert [one.id for one in load_pairs(kb)][::2] == ["hand", "old"]
    upstream["fails"] = ()
    assert inside(*COMMAND_LINE).code == 0
    assert upstream["asked"].count("Definition") == 1
    assert load_pairs(kb)[0].id == "hand"
    assert len(load_pairs(kb)) == 2


def test_a_build_that_is_cut_off_goes_on(
    kb: Path, upstream: dict[str, Any], environment: dict[str, str], inside: Caf
) -> None:
    """Nothing is half-written."""
    upstream["slow"] = ("Behandlung",)
    process = subprocess.Popen([*COMMAND, *COMMAND_LINE], cwd=kb.parent, env=environment, stderr=subprocess.DEVNULL)
    journal = kb / "pairs.journal.jsonl"
    end = time.monotonic() + 30
    while not (journal.exists() and journal.read_text()) and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert sorted(path.name for path in kb.iterdir()) == ["bluthochdruck.md", "pairs.journal.jsonl", "taxonomy.yaml"]
    journal.write_text(journal.read_text() + '{"key": "cut o')
    upstream["slow"] = ()
    assert "3 answers, 1 of them from pairs.journal.jsonl" in inside(*COMMAND_LINE).out
    assert len(load_pairs(kb)) == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("kb/bluthochdruck.md", "--out", "nowhere"), "nowhere/taxonomy.yaml: the file cannot be read: No such file"),
        (("kb/bluthochdruck.md", "--out", "kb", "--model", "maxi"), "c.yaml: no model alias 'maxi' (configured: mini)"),
    ],
)
def test_wrong_usage_is_told(
    inside: Caf, kb: Path, upstream: dict[str, Any], arguments: tuple[str, ...], said: str
) -> None:
    """Before anything is written."""
    ended = inside("kb", "build", *arguments, "--config", "c.yaml")
    assert ended.code == 2
    assert said in ended.err
    assert not (kb / "pairs.jsonl").exists()
