"""Building pairs: the requests to the model, the use of its drafts, and the stored pairs that stay."""

import json
from pathlib import Path
from typing import Any

from knowledge_base.pairs.build import MOST_VARIANTS, draft_pairs, keep_stored, select, write_built
from knowledge_base.pairs.drafts import Writer
from knowledge_base.pairs.pair import Pair, load_pairs
from knowledge_base.pairs.paragraphs import AspectSection, read_documents
from models.client import Models
from models.errors import UpstreamUnavailable
from models.scripted import Answers, Scripted
from models.settings import ModelSettings
from models.usage import Ledger
from tests.knowledge_base.pairs.examples import DOCUMENT, FIRST, TAXONOMY, THIRD, pair, review

LONG = (
    "Tabletten gegen Bluthochdruck nehmen Sie nur nach Absprache mit dem Arzt, " + "und zwar jeden Tag " * 5 + "immer."
)


GONE = "the model's server gone; check base_url of the alias 'mini', and that its server runs; build again to continue"


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
    """Return an answer function that chooses by aspect; `shorten` and `vary` answer the requests of these steps."""

    def answer(body: dict[str, Any]) -> Any:
        case = json.loads(body["messages"][1]["content"])
        return answers.get(case.get("aspect", "vary" if "pairs" in case else "shorten"), {"pairs": []})

    return answer


Built = tuple[list[Pair], list[str], Scripted]


async def build(tmp_path: Path, answers: Answers, *stored: Pair) -> Built:
    """Return the drafted pairs, the failures, and the scripted engine."""
    engine = Scripted(answers)
    settings = ModelSettings(engine="scripted", script=["unused"], structured="json_schema", max_attempts=1)
    models = Models({"mini": settings}, {"mini": engine}, first_pause_s=0)
    drafted, _, failures = await draft_pairs(sections(tmp_path), TAXONOMY, stored, Writer(models, "mini", Ledger()))
    return drafted, failures, engine


def cases(engine: Scripted, kind: str) -> list[Any]:
    """Return the cases in the requests that have the key `aspect`, `answers` (step `shorten`) or `pairs` (step `variants`)."""
    given = [json.loads(request["messages"][1]["content"]) for request in engine.requests]
    return [case for case in given if kind in case]


async def test_a_model_is_asked_for_each_section(tmp_path: Path) -> None:
    """A request has all paragraphs of the section as JSON, after a static prompt."""
    _, failed, engine = await build(tmp_path, lambda body: {"pairs": []})
    first, second = ([message["content"] for message in request["messages"]] for request in engine.requests)
    assert json.loads(first[1]) == {
        "focus": "Bluthochdruck",
        "other_names": ["Hypertonie", "hoher Blutdruck"],
        "aspect": "Definition",
        "paragraphs": [{"n": 1, "text": FIRST}],
    }
    assert first[0] == second[0]
    assert "Leave out personal and anecdotal information" in first[0]
    assert failed == []


async def test_a_draft_becomes_a_pair(tmp_path: Path) -> None:
    """The pair has its place in the taxonomy. Variants that do not name the focus are dropped."""
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
    """A draft with an invalid paragraph number fails a gate. A draft without question or answer gives no pair."""
    given = [draft("Was ist Bluthochdruck?", "Hoch.", FIRST, paragraph=2), draft(" ", "Hoch."), draft("Was?", "")]
    pairs, _, _ = await build(tmp_path, by_aspect(Definition={"pairs": given}, Behandlung={"pairs": []}))
    kept, dropped = select(pairs, TAXONOMY)
    assert (kept, [one.gate for one in dropped]) == ([], ["quote"])


async def test_a_failing_section_costs_itself_alone(tmp_path: Path) -> None:
    """An outage or an unreadable answer is reported for its section; the other sections give pairs."""
    good = {"pairs": [draft("Was ist Bluthochdruck?", "Hoch.", FIRST)]}
    pairs, failed, _ = await build(tmp_path, by_aspect(Definition=good, Behandlung=UpstreamUnavailable("gone")))
    assert len(pairs) == 1
    assert failed == [f"bluthochdruck.md#Therapie: model 'mini', step 'pairs': {GONE}"]
    pairs, failed, _ = await build(tmp_path, by_aspect(Definition="no JSON"))
    assert (pairs, len(failed)) == ([], 1)
    assert failed[0].startswith("bluthochdruck.md#Definition: ")


async def test_of_many_failures_the_first_is_named(tmp_path: Path) -> None:
    """One message has the first failure and the number of others, because a model that is down may fail thousands of calls."""
    _, failed, _ = await build(tmp_path, lambda body: UpstreamUnavailable("gone"))
    assert [one.split(": ")[0] for one in failed] == ["bluthochdruck.md#Definition and 1 more calls"]


async def test_long_answers_are_shortened_ten_a_call(tmp_path: Path) -> None:
    """A short answer must pass the gates again. Otherwise the pair stays complex."""
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
    asked = cases(engine, "answers")
    assert [len(case["answers"]) for case in asked] == [10, 2]
    assert asked[0]["answers"][0] == {"n": 1, "question": questions[0], "answer": LONG, "paragraph": THIRD}
    complexities = [one.complexity for one in pairs]
    assert complexities == ["standard", *["complex"] * 3, *["standard"] * 7, "complex"]
    assert pairs[0].answer == "Nur nach Absprache mit dem Arzt."
    assert pairs[1].answer == LONG


async def test_what_fails_the_gates_is_not_shortened(tmp_path: Path) -> None:
    """Pairs that fail a gate are not sent to the model. If shortening fails, the pairs stay."""
    wrong = TREATMENT | {"answer": LONG + " 12 Mal"}
    answers = by_aspect(Definition={"pairs": []}, Behandlung={"pairs": [wrong]})
    assert cases((await build(tmp_path, answers))[2], "answers") == []
    answers = by_aspect(Behandlung={"pairs": [TREATMENT]}, shorten=UpstreamUnavailable("gone"))
    pairs, failed, _ = await build(tmp_path, answers)
    assert [one.complexity for one in pairs] == ["complex"]
    assert failed == [f"long answers: model 'mini', step 'shorten': {GONE}"]


HIGH = FIRST.split(". ")[0]
MANY = {"pairs": [draft(f"Was ist Bluthochdruck Typ {kind}?", "Hoch.", HIGH) for kind in "abcdefghijkl"]}


def vary(wordings: dict[int, list[str]]) -> Any:
    return {"pairs": [{"n": n, "variants": variants} for n, variants in wordings.items()]}


async def test_new_pairs_get_further_wordings_ten_a_call(tmp_path: Path) -> None:
    """Variants are unique and limited in number."""
    wordings = {1: [f" Druck  {n}? " for n in range(20)], 2: ["Druck?", "druck", MANY["pairs"][1]["question"]]}
    pairs, _, engine = await build(tmp_path, by_aspect(Definition=MANY, vary=vary(wordings)))
    assert [len(case["pairs"]) for case in cases(engine, "pairs")] == [10, 2]
    assert pairs[0].variants == tuple(f"Druck {n}?" for n in range(MOST_VARIANTS))
    assert pairs[1].variants == ("Druck?",)
    assert cases(engine, "pairs")[0]["pairs"][0] == {
        "n": 1, "question": "Was ist Bluthochdruck Typ a?", "answer": "Hoch.", "focus": "Bluthochdruck",
        "other_names": ["Hypertonie", "hoher Blutdruck"], "variants": [],
    }  # fmt: skip


async def test_stored_pairs_are_not_varied_again(tmp_path: Path) -> None:
    """Stored pairs keep their variants and shortened answers. Drafts of reviewed pairs are dropped before any call."""
    given = {
        "pairs": [draft("Was ist Bluthochdruck?", "Hoch.", HIGH), draft("Was heißt Bluthochdruck?", "Hoch.", HIGH)]
    }
    answers = by_aspect(
        Definition=given, Behandlung={"pairs": [TREATMENT]}, vary=vary({1: ["Druck?"], 2: ["Hochdruck?"]}),
        shorten={"answers": [{"n": 1, "answer": "Nur nach Absprache mit dem Arzt."}]},
    )  # fmt: skip
    first, _, engine = await build(tmp_path, answers)
    assert [len(case["pairs"]) for case in cases(engine, "pairs")] == [3]
    stored = [first[0], first[1].model_copy(update={"review": review()}), first[2]]
    again, _, engine = await build(tmp_path, answers, *stored)
    assert again == [first[0], first[2].model_copy(update={"variants": ("Druck?",)})]
    assert (len(cases(engine, "pairs")), len(cases(engine, "answers"))) == (1, 0)  # the third had got no wording


async def test_wordings_that_failed_are_asked_for_by_the_next_build(tmp_path: Path) -> None:
    """If the call for variants fails, the pairs are stored without them, and the next build repeats the call."""
    pairs, failed, _ = await build(tmp_path, by_aspect(Definition=MANY, vary=UpstreamUnavailable("gone")))
    assert (len(pairs), [one.split(":")[0] for one in failed]) == (12, ["wordings and 1 more calls"])
    again, failed, engine = await build(tmp_path, by_aspect(Definition=MANY, vary=vary({1: ["Druck?"]})), *pairs)
    assert failed == []
    assert [len(case["pairs"]) for case in cases(engine, "pairs")] == [10, 2]
    assert again[0].variants == ("Druck?",)


async def test_without_a_model_pairs_are_extracted(tmp_path: Path) -> None:
    """The question comes from the aspect's template, the answer from the first sentences, up to 25 words."""
    pairs, *failed = await draft_pairs(sections(tmp_path), TAXONOMY)
    assert failed == [[], []]
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
    """The selected pairs are in the order of the taxonomy and have clusters."""
    other = pair("Wie wird Bluthochdruck behandelt?", id="t", aspect="Behandlung", variants=())
    again = pair("Bluthochdruck, was bedeutet es?", id="a", variants=("Bluthochdruck: Bedeutung?",))
    kept, dropped = select([other, pair(), pair(answer="Anders."), again, pair(id="x", focus="gicht")], TAXONOMY)
    assert [one.id for one in kept] == ["bluthochdruck-definition-1", "a", "t"]
    assert [one.gate for one in dropped] == ["duplicate", "place"]
    assert kept[0].cluster == "bluthochdruck-definition-1"
    assert kept[2].cluster == "t"


def test_a_wording_is_left_to_one_cluster() -> None:
    """A duplicate variant is removed, a second pair with the same question is dropped, and a reviewed pair stays unchanged."""
    treated = pair(
        "Wie wird Bluthochdruck behandelt?", id="t", aspect="Behandlung", variants=("Was tun bei Bluthochdruck?",)
    )
    daily = pair("Was tun bei Bluthochdruck?", id="d", aspect="Alltag", variants=("Bluthochdruck im Alltag?",))
    double = pair("Was ist Bluthochdruck?", id="x", aspect="Alltag", variants=())
    kept, dropped = select([pair(), treated, daily, double], TAXONOMY)
    assert [(one.id, one.variants) for one in kept] == [
        ("bluthochdruck-definition-1", ("Was bedeutet Bluthochdruck?",)), ("t", ()), ("d", ("Bluthochdruck im Alltag?",)),
    ]  # fmt: skip
    assert [(one.gate, one.detail) for one in dropped] == [
        ("duplicate", "another pair has its question"),
    ]
    reviewed = treated.model_copy(update={"review": review(), "cluster": "old"})
    kept, dropped = select([reviewed, daily, double.model_copy(update={"question": "Was ist Hypertonie?"})], TAXONOMY)
    assert (kept[0], [one.gate for one in dropped]) == (reviewed, ["duplicate"])


def test_a_wording_that_may_not_stand_for_its_question_is_dropped() -> None:
    """The pair stays, and a finding gives the reason. A reviewed pair stays unchanged."""
    given = pair(variants=("Habe ich Bluthochdruck?", "Was bedeutet Bluthochdruck?"))
    kept, dropped = select([given], TAXONOMY)
    assert [one.variants for one in kept] == [("Was bedeutet Bluthochdruck?",)]
    assert [(one.gate, one.detail) for one in dropped] == [
        ("wording", "asks for a diagnosis: 'Habe ich Bluthochdruck?'")
    ]
    reviewed = given.model_copy(update={"review": review()})
    assert select([reviewed], TAXONOMY) == ([reviewed], [])


def test_what_a_person_has_reviewed_stays(tmp_path: Path) -> None:
    """A build keeps reviewed pairs, pairs of other documents, and pairs of sections for which the model failed."""
    failed = [one for one in sections(tmp_path) if one.place.aspect == "Behandlung"]
    reviewed = pair(review=review(), answer="Von Hand ohne Beleg.")
    stored = [
        reviewed, pair(id="old"), pair(id="open", aspect="Behandlung"), pair(id="other", focus="pots", document="pots"),
    ]  # fmt: skip
    kept = keep_stored(stored, ["bluthochdruck"], failed)
    assert [one.id for one in kept] == ["bluthochdruck-definition-1", "open", "other"]
    assert select([reviewed, pair(answer="Neu.")], TAXONOMY)[0] == [reviewed]


def test_documents_that_the_knowledge_base_lacks_are_written(tmp_path: Path) -> None:
    """Existing sections are not overwritten."""
    (tmp_path / "pots.md").write_text("mine")
    write_built(tmp_path, {"pots": "yours", "depression": "new"}, [pair()])
    assert (tmp_path / "pots.md").read_text() == "mine"
    assert (tmp_path / "depression.md").read_text() == "new"
    assert load_pairs(tmp_path) == (pair(),)
