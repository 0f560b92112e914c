"""Each gate accepts correct pairs, and rejects incorrect pairs under its own name."""

from pathlib import Path

import pytest
import yaml

from knowledge_base.pairs.clusters import assign_clusters
from knowledge_base.pairs.gates import GATES, find_conflicts, find_fault, wording
from knowledge_base.pairs.pair import Taxonomy, complexity_of
from knowledge_base.pairs.words import Words
from tests.knowledge_base.pairs.examples import ENGLISH, GERMAN, TAXONOMY, pair

CHECKS = [
    {"when": "(?i)Johanniskraut", "need": "(?is)(?=.*Apothek)(?=.*(Arzt|Ärzt))", "reason": "names pharmacy and doctor"},
    {"when": "PoTS", "never": "fällt(?![^.]*nicht)|(?<!kein )Blutdruckabfall", "reason": "PoTS goes without a drop"},
]
CHECKED = Taxonomy.model_validate(GERMAN | {"checks": CHECKS})
FIXTURES = yaml.safe_load((Path(__file__).parent / "gates.yaml").read_text())


@pytest.mark.parametrize(("gate", "context", "question", "answer", "quotes"), FIXTURES)
def test_a_gate_names_its_reason(gate: str, context: str, question: str, answer: str, quotes: list[str]) -> None:
    """Each gate has at least ten cases. A correct pair passes all gates."""
    question = question or "Was gilt bei Bluthochdruck?"
    given = pair(question, context=context, answer=answer, quotes=quotes, complexity=complexity_of(question, answer))
    finding = find_fault(given, CHECKED)
    assert (finding.gate if finding else "") == gate, finding


@pytest.mark.parametrize("words", range(21, 31))
def test_a_long_answer_is_complex(words: int) -> None:
    """An answer of more than 25 words passes only if its complexity is `complex`."""
    answer = " ".join(["Ruhe"] * words)
    given = pair(answer=answer, quotes=["Bluthochdruck"], context="Bluthochdruck ist Ruhe.")
    finding = find_fault(given, TAXONOMY)
    assert (finding.gate if finding else "") == ("length" if words > 25 else "")
    assert find_fault(given.model_copy(update={"complexity": "complex"}), TAXONOMY) is None


def test_each_gate_has_fixtures() -> None:
    """Each gate rejects at least one case; `length` has its own test above."""
    assert {gate.__name__ for gate in GATES} - {"length"} == {one[0] for one in FIXTURES} - {""}


@pytest.mark.parametrize(
    ("first", "second", "what"),
    [
        ("Ab 140.", "Ab 130.", "numbers"),
        ("Ab 140 zu 90.", "Ab 140 zu 85.", "numbers"),
        ("Zwei Wochen.", "Drei Wochen.", "numbers"),
        ("Salz ist gut.", "Salz ist nicht gut.", "negation"),
        ("Kein Salz.", "Viel Salz.", "negation"),
        ("Verzichten Sie auf Salz.", "Essen Sie Salz.", "negation"),
        ("Ab 140.", "Ab 140 zu 90.", ""),
        ("Ab 140.", "Er ist zu hoch.", ""),
        ("Zwei Wochen.", "2 Wochen.", ""),
        ("Kein Salz.", "Ohne Salz.", ""),
    ],
)
def test_answers_of_a_cluster_do_not_contradict_each_other(first: str, second: str, what: str) -> None:
    """The second pair is rejected if its numbers or its negation differ from the first."""
    pairs = [pair(id=str(n), answer=text, variants=()) for n, text in enumerate((first, second))]
    found = find_conflicts(assign_clusters(pairs, TAXONOMY), TAXONOMY)
    assert [(one.pair.id, one.gate, one.detail.split()[0]) for one in found] == (
        [("1", "contradiction", what)] if what else []
    )


def _asking(number: int, question: str, *variants: str):
    return pair(question, id=str(number), variants=variants, cluster=str(number), answer="Ja.")


@pytest.mark.parametrize(
    ("variants", "is_found"),
    [
        (["Wie viel Salz darf man bei Bluthochdruck essen?"], True),
        (["Darf man mit Hypertonie Salz essen?"], True),
        (["Ich koche gern. Wie viel Salz ist bei hohem Blutdruck gut?"], True),
        (["Wie salzig darf ich mit Hypertonie kochen?", "Ist Salz bei Bluthochdruck schlecht?"], True),
        ([], True),
        (["Was muss ich bei Bluthochdruck wissen?"], False),
        (["Wie viel Kaffee darf man bei Bluthochdruck trinken?"], False),
        (["Ist Sport bei Hypertonie gesund?"], False),
        (["Wie oft messe ich den Bluthochdruck?", "Hilft Schlaf bei hohem Blutdruck?"], False),
        (["Darf man bei Bluthochdruck fliegen?"], False),
    ],
)
def test_one_of_its_variants_must_find_a_pair(variants: list[str], is_found: bool) -> None:
    """A search for one variant, without that variant in the index, must find the cluster among the first ten."""
    others = [
        "Kaffee trinken",
        "Sport treiben",
        "Schlaf suchen",
        "Reisen und fliegen",
        "den Wert messen",
        "Ruhe wissen",
        "Medizin",
    ]
    times = "morgens mittags abends nachts sonntags montags dienstags mittwochs donnerstags freitags samstags".split()
    asked = [f"Was gilt bei Bluthochdruck {time} für {text}?" for text in others for time in times]
    asked = [_asking(n, text) for n, text in enumerate(asked)]
    own = _asking(99, "Wie viel Salz ist bei Bluthochdruck erlaubt?", *variants)
    gates = [one.gate for one in find_conflicts([*asked, own], TAXONOMY) if one.pair.id == "99"]
    assert gates == ([] if is_found else ["retrieval"])


def test_a_question_of_few_words_need_not_be_found() -> None:
    """ "Was ist PoTS?" has too few words for BM25."""
    many = [_asking(n, f"Was gilt bei Bluthochdruck für Anlass {n}?") for n in range(9)]
    assert (
        find_conflicts([*many, _asking(99, "Was ist Bluthochdruck?", "Was gilt für den Anlass Hypertonie?")], TAXONOMY)
        == []
    )


REPORTS, EITHER, NEGATION = "reports a statement", "asks for a choice", "only one of wording and question has"
OWN, DIAGNOSIS = "describes a person's own signs, in the aspect Alltag", "asks for a diagnosis"
DANGER = Taxonomy.model_validate(GERMAN | {"danger": ["Alltag"]})


@pytest.mark.parametrize(
    ("answer", "text", "why"),
    [
        ("Ja, ab und zu.", "Darf man mit Hypertonie Sport treiben?", ""),
        ("Ja, ab und zu.", "Mein Arzt sagt, ich darf mit Hypertonie rennen. Stimmt das?", REPORTS),
        ("Nein.", "Es heißt, Sport ist bei Hochdruck gut.", REPORTS),
        ("Nein.", "Sport ist bei Hochdruck gut. Hat er recht?", REPORTS),
        ("Nein.", "Ist Sport bei Hypertonie gut oder schlecht?", EITHER),
        ("Nein.", "Darf man bei Hypertonie keinen Sport treiben?", NEGATION),
        ("Sport ist gut.", "Mein Arzt sagt, Sport sei bei Hypertonie nicht gut oder schlecht?", ""),
        ("Jahrelang ist er gut.", "Ist Sport bei Hypertonie gut oder schlecht?", ""),
    ],
)
def test_a_wording_asks_the_same_way_round(answer: str, text: str, why: str) -> None:
    """If the answer begins with yes or no, a variant with the opposite polarity is rejected."""
    given = pair("Darf man bei Bluthochdruck Sport treiben?", answer=answer)
    said = wording(text, given, Words("german"), DANGER)
    assert (said.startswith(why), bool(said)) == (True, bool(why))


@pytest.mark.parametrize(
    "text",
    [
        "Mein Mann spricht plötzlich undeutlich. Ist das der Bluthochdruck?",
        "Mir sticht die Brust, ist das bei Bluthochdruck ein Notfall?",
        "Die Brust drückt, das Auto steht vor der Tür. Fahre ich selbst?",
        "Was mache ich, wenn meine Frau mit Bluthochdruck nicht aufwacht?",
        "Ich wüsste gern, was ich tue, wenn mir bei Bluthochdruck schwindlig ist.",
    ],
)
def test_nobodys_own_signs_are_a_wording(text: str) -> None:
    """In an aspect about danger, a variant about a person's own signs is rejected, because it may be an emergency."""
    assert wording(text, pair(aspect="Alltag"), Words("german"), DANGER) == OWN
    assert wording(text, pair(aspect="Definition"), Words("german"), DANGER) == ""


@pytest.mark.parametrize(
    "text",
    [
        "Wann rufe ich bei Bluthochdruck 112?",
        "Ich wüsste gern, wann Bluthochdruck ein Notfall ist.",
        "Woran merke ich, dass Bluthochdruck gefährlich ist?",
        "Bluthochdruck Notfall 112",
        "Was tun, wenn jemand mit Bluthochdruck umfällt?",
    ],
)
def test_a_question_in_general_is_a_wording(text: str) -> None:
    """A general question is accepted, even in the first person."""
    assert wording(text, pair(aspect="Alltag"), Words("german"), DANGER) == ""


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Habe ich Bluthochdruck?", DIAGNOSIS),
        ("Ich bin oft müde, habe ich vielleicht einen zu hohen Blutdruck?", DIAGNOSIS),
        ("Gestern war er hoch. Ist das schon Bluthochdruck?", DIAGNOSIS),
        ("Hat meine Mutter Hypertonie?", DIAGNOSIS),
        ("Kann ich Bluthochdruck haben und nichts merken?", DIAGNOSIS),
        ("Ich wüsste gern, ob ich Bluthochdruck habe.", DIAGNOSIS),
        ("Habe ich mit Bluthochdruck ein höheres Risiko?", ""),
        ("Bin ich mit meinem Bluthochdruck allein?", ""),
        ("Warum habe ich Bluthochdruck?", ""),
        ("Wie stellt man fest, ob ich Bluthochdruck habe?", ""),
        ("Ist mein Risiko für Bluthochdruck höher?", ""),
        ("Kann ich Bluthochdruck vorbeugen?", ""),
    ],
)
def test_a_diagnosis_is_no_wording(text: str, why: str) -> None:
    """A variant that asks for a diagnosis is rejected in every aspect."""
    assert wording(text, pair(aspect="Definition"), Words("german"), DANGER) == why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("My doctor says exercise is fine with psychosis, is that right?", REPORTS),
        ("Is exercise good or bad with psychosis?", EITHER),
        ("My son hears voices. Is exercise good?", "describes a person's own signs"),
        ("What do I do if my son hears voices?", "describes a person's own signs"),
        ("Do I have psychosis?", DIAGNOSIS),
        ("I'd like to know whether my son has schizophrenia.", DIAGNOSIS),
    ],
)
def test_the_gate_knows_english(text: str, why: str) -> None:
    """English has its own word lists. A language without a list rejects nothing."""
    english = Taxonomy.model_validate(ENGLISH | {"danger": [ENGLISH["aspects"][0]["name"]]})
    focus = next(one for one in english.foci if "psychosis" in (one.name, *one.other_names) or "schizo" in one.id)
    given = pair("Is exercise good?", answer="Yes, it is.", focus=focus.id, aspect=english.aspects[0].name)
    assert wording(text, given, Words("english"), english).startswith(why)
    assert wording("Ist Sport gut eller?", given, Words("danish"), english) == ""
