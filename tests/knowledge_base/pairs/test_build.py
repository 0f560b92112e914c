"""Pairs of documents: what a model is asked, what becomes of its drafts, and what of the stored pairs stays."""

import json
from pathlib import Path
from typing import Any

from knowledge_base.pairs.build import draft_pairs, keep_stored, select, vary_pairs, write_built
from knowledge_base.pairs.drafts import Writer
from knowledge_base.pairs.pair import Pair, load_pairs
from knowledge_base.pairs.paragraphs import AspectSection, read_documents
from models.client import Models
from models.errors import UnreadableAnswer, UpstreamUnavailable
from models.scripted import Answers, Scripted
from models.settings import ModelSettings
from models.usage import Ledger
from tests.knowledge_base.pairs.examples import DOCUMENT, FIRST, TAXONOMY, THIRD, pair, review

LONG = (
    "Tabletten gegen Bluthochdruck nehmen Sie nur nach Absprache mit dem Arzt, " + "und zwar jeden Tag " * 5 + "immer."
)


def sections(tmp_path: Path) -> list[AspectSection]:
    path = tmp_path / "bluthochdruck.md"
    path.write_text(DOCUMENT)
    return read_documents([path], TAXONOMY).sections


def draft(question: str, answer: str, *quotes: str, **changes: Any) -> dict[str, Any]:
    fields = {
        "paragraph": 1,
        "question": question,
        "answer": answer,
        "quotes": quotes,
        "variants": [],
        "recommendation": "",
    }
    return fields | changes


TREATMENT = draft(
    "Wie nimmt man Tabletten gegen Bluthochdruck?",
    LONG,
    "Nehmen Sie Tabletten gegen Bluthochdruck nur nach Absprache mit dem Arzt.",
)


def by_aspect(**answers: Any) -> Answers:
    """Answer each request by its aspect, and that to shorten by `shorten`."""
    return lambda body: answers[json.loads(body["messages"][1]["content"]).get("aspect", "shorten")]


async def build(tmp_path: Path, answers: Answers) -> tuple[list[Pair], dict[AspectSection, Any], Scripted]:
    engine = Scripted(answers)
    settings = ModelSettings(engine="scripted", script=["unused"], structured="json_schema", max_attempts=1)
    models = Models({"mini": settings}, {"mini": engine}, first_pause_s=0)
    drafted, failed = await draft_pairs(sections(tmp_path), TAXONOMY, Writer(models, "mini", Ledger()))
    return drafted, failed, engine


async def test_a_model_is_asked_for_each_section(tmp_path: Path) -> None:
    """With all its paragraphs as JSON; the prompt does not change."""
    _, failed, engine = await build(tmp_path, lambda body: {"pairs": []})
    first, second = ([message["content"] for message in request["messages"]] for request in engine.requests)
    assert json.loads(first[1]) == {
        "focus": "Bluthochdruck",
        "other_names": ["Hypertonie", "hoher Blutdruck"],
        "aspect": "Definition",
        "paragraphs": [{"n": 1, "text": FIRST}],
    }
    assert first[0] == second[0]
    assert "without personal" not in first[0]
    assert "Leave out personal and anecdotal information" in first[0]
    assert failed == {}


async def test_a_draft_becomes_a_pair(tmp_path: Path) -> None:
    """In its place; variants that do not name the focus are no wordings of it."""
    variants = ["Was ist  Hypertonie?", "Was ist das?", "Was ist Bluthochdruck?", "Was ist Hypertonie?"]
    given = draft("Was ist Bluthochdruck?", " Der Druck ist\nzu hoch. ", FIRST, variants=variants, recommendation="Ja?")
    pairs, _, _ = await build(tmp_path, by_aspect(Definition={"pairs": [given]}, Behandlung={"pairs": []}))
    (own,) = pairs
    assert own == pair(
        id=own.id, answer="Der Druck ist zu hoch.", quotes=(FIRST,), variants=("Was ist Hypertonie?",), recommendation="Ja?",
        source="Leitlinie Hypertonie 2023", cluster="",
    )  # fmt: skip
    assert own.id.startswith("bluthochdruck-definition-")


async def test_a_draft_of_no_paragraph_passes_no_gate(tmp_path: Path) -> None:
    """Nor is one without question or answer a pair."""
    given = [draft("Was ist Bluthochdruck?", "Hoch.", FIRST, paragraph=2), draft(" ", "Hoch."), draft("Was?", "")]
    pairs, _, _ = await build(tmp_path, by_aspect(Definition={"pairs": given}, Behandlung={"pairs": []}))
    kept, dropped = select(pairs, TAXONOMY)
    assert (kept, [one.gate for one in dropped]) == ([], ["quote"])


async def test_a_failing_section_costs_itself_alone(tmp_path: Path) -> None:
    """An outage and an unreadable answer are returned as such."""
    good = {"pairs": [draft("Was ist Bluthochdruck?", "Hoch.", FIRST)]}
    pairs, failed, _ = await build(tmp_path, by_aspect(Definition=good, Behandlung=UpstreamUnavailable("gone")))
    assert len(pairs) == 1
    assert [(one.place.aspect, type(error)) for one, error in failed.items()] == [("Behandlung", UpstreamUnavailable)]
    _, failed, _ = await build(tmp_path, by_aspect(Definition="no JSON", Behandlung={"pairs": []}))
    assert [type(error) for error in failed.values()] == [UnreadableAnswer]


async def test_long_answers_are_shortened_ten_a_call(tmp_path: Path) -> None:
    """A short answer passes the gates anew; else the pair stays complex."""
    questions = [f"Wie nimmt man Tabletten Sorte {chr(65 + n)} gegen Bluthochdruck?" for n in range(12)]
    short = [{"n": n, "answer": "Nur nach Absprache mit dem Arzt."} for n in range(1, 11)]
    short[1] = {"n": 2, "answer": "Jeden Tag."}  # lost the warning
    short[2] = {"n": 3, "answer": LONG}  # is no shorter
    short[3] = {"n": 99, "answer": "Nur nach Absprache mit dem Arzt."}
    pairs, _, engine = await build(
        tmp_path,
        by_aspect(
            Definition={"pairs": []},
            Behandlung={"pairs": [TREATMENT | {"question": one} for one in questions]},
            shorten={"answers": short},
        ),
    )
    cases = [json.loads(request["messages"][1]["content"]) for request in engine.requests[2:]]
    assert [len(case["answers"]) for case in cases] == [10, 2]
    assert cases[0]["answers"][0] == {"n": 1, "question": questions[0], "answer": LONG, "paragraph": THIRD}
    complexities = [one.complexity for one in pairs]
    assert complexities == ["standard", *["complex"] * 3, *["standard"] * 7, "complex"]
    assert pairs[0].answer == "Nur nach Absprache mit dem Arzt."
    assert pairs[1].answer == LONG


async def test_what_fails_the_gates_is_not_shortened(tmp_path: Path) -> None:
    """Nor does a failure there cost the pairs."""
    wrong = TREATMENT | {"answer": LONG + " 12 Mal"}
    answers = by_aspect(Definition={"pairs": []}, Behandlung={"pairs": [wrong]})
    assert len((await build(tmp_path, answers))[2].requests) == 2
    answers = by_aspect(
        Definition={"pairs": []}, Behandlung={"pairs": [TREATMENT]}, shorten=UpstreamUnavailable("gone")
    )
    assert [one.complexity for one in (await build(tmp_path, answers))[0]] == ["complex"]


async def test_questions_get_further_wordings_ten_a_call() -> None:
    """Those that are there are not repeated; where the model fails, a pair keeps the ones that it has."""
    pairs = [pair(id=f"bluthochdruck-{n}", variants=("Was ist hoher Druck?",)) for n in range(12)]

    def answer(body: dict[str, Any]) -> dict[str, Any]:
        asked = json.loads(body["messages"][1]["content"])["pairs"]
        if len(asked) < 10:
            raise UpstreamUnavailable("down")
        return {
            "pairs": [{"n": one["n"], "variants": [f" Druck  {one['n']}? ", "Was ist hoher Druck?"]} for one in asked]
        }

    engine = Scripted(answer)
    settings = ModelSettings(engine="scripted", script=["unused"], structured="json_schema", max_attempts=1)
    models = Models({"mini": settings}, {"mini": engine}, first_pause_s=0)
    varied = await vary_pairs(pairs, TAXONOMY, Writer(models, "mini", Ledger()))
    assert varied[0].variants == ("Was ist hoher Druck?", "Druck 1?")
    assert [one.variants for one in varied[10:]] == [("Was ist hoher Druck?",)] * 2


async def test_without_a_model_pairs_are_extracted(tmp_path: Path) -> None:
    """The aspect's patterns ask, the first sentences up to 25 words answer; other patterns and names are variants."""
    pairs, failed = await draft_pairs(sections(tmp_path), TAXONOMY)
    assert failed == {}
    definition, treatment = pairs
    assert (definition.question, definition.answer) == ("Was ist Bluthochdruck?", FIRST)
    assert definition.variants == (
        "Was bedeutet Bluthochdruck?", "Was ist Hypertonie?", "Was bedeutet Hypertonie?",
        "Was ist hoher Blutdruck?", "Was bedeutet hoher Blutdruck?",
    )  # fmt: skip
    assert definition.recommendation == "Möchten Sie wissen: Was ist Bluthochdruck?"
    assert treatment.answer == THIRD
    assert select(pairs, TAXONOMY)[1] == []


def test_of_two_pairs_with_one_question_the_first_is_kept() -> None:
    """Pairs come in the order of the taxonomy, with clusters."""
    other = pair("Wie wird Bluthochdruck behandelt?", id="t", aspect="Behandlung")
    again = pair("Bluthochdruck, was bedeutet es?", id="a")
    kept, dropped = select([other, pair(), pair(answer="Anders."), again, pair(id="x", focus="gicht")], TAXONOMY)
    assert [one.id for one in kept] == ["bluthochdruck-definition-1", "a", "t"]
    assert [one.gate for one in dropped] == ["duplicate", "place"]
    assert kept[0].cluster == "bluthochdruck-definition-1"
    assert kept[2].cluster == "t"


def test_what_a_person_has_reviewed_stays(tmp_path: Path) -> None:
    """As do pairs of other documents, and of sections for which the model failed."""
    failed = [one for one in sections(tmp_path) if one.place.aspect == "Behandlung"]
    reviewed = pair(review=review(), answer="Von Hand ohne Beleg.")
    stored = [
        reviewed, pair(id="old"), pair(id="open", aspect="Behandlung"), pair(id="other", focus="pots", document="pots"),
    ]  # fmt: skip
    kept = keep_stored(stored, ["bluthochdruck"], failed)
    assert [one.id for one in kept] == ["bluthochdruck-definition-1", "open", "other"]
    assert select([reviewed, pair(answer="Neu.")], TAXONOMY) == (
        [reviewed.model_copy(update={"cluster": reviewed.id})],
        [],
    )


def test_documents_that_the_knowledge_base_lacks_are_written(tmp_path: Path) -> None:
    """Those that are there stay as they are."""
    (tmp_path / "pots.md").write_text("mine")
    write_built(tmp_path, {"pots": "yours", "depression": "new"}, [pair()])
    assert (tmp_path / "pots.md").read_text() == "mine"
    assert (tmp_path / "depression.md").read_text() == "new"
    assert load_pairs(tmp_path) == (pair(),)
