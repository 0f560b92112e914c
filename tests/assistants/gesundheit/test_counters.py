"""Events of conversations with Gesundheit, counted from what was said."""

import pytest

from assistants.gesundheit.counters import Counts, count
from assistants.gesundheit.dialogue import Texts
from assistants.gesundheit.language import load_language
from assistants.view import Exchange
from tests.knowledge_base.pairs.examples import pair

FIRST = pair("Was ist Asthma?", id="a", cluster="a", focus="asthma", answer="Eine Krankheit der Atemwege.")
SECOND = pair("Wie entsteht Asthma?", id="b", cluster="b", focus="asthma", answer="Durch Allergien.").model_copy(
    update={"recommendation": "Möchten Sie wissen, wie Asthma entsteht?"}
)
TEXTS = Texts(load_language("german"), [FIRST, SECOND], {})
OFFER, NEXT = f"Meinten Sie: {FIRST.question}", f"Oder meinten Sie: {SECOND.question}"
ANSWER, RECOMMENDED = FIRST.answer, f"{FIRST.answer} {SECOND.recommendation}"
CONFIRM = f"{ANSWER} War das die Antwort auf Ihre Frage?"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], {}),
        ([("Asthma?", OFFER), ("ja", CONFIRM), ("nein", NEXT)], {"offers": 2, "second_offers": 1, "denials_explicit": 1}),
        ([("Asthma?", OFFER), ("nein, ich meine Asthma früher", NEXT)], {"offers": 2, "second_offers": 1, "denials_explicit": 1}),
        ([("Asthma?", OFFER), ("Luftnot?", "...")], {"offers": 1, "denials_implicit": 1}),
        ([("Asthma?", OFFER), ("das meine ich wohl", CONFIRM)], {"offers": 1}),  # read by a model
        ([("Asthma?", RECOMMENDED), ("ja", SECOND.answer)], {"recommendations": 1, "recommendations_taken": 1}),
        ([("Asthma?", RECOMMENDED), ("nein danke", "In Ordnung.")], {"recommendations": 1}),
        ([("Asthma?", ANSWER), ("Woher wissen Sie das?", "...")], {"source_requests": 1}),
        ([("Asthma?", ANSWER), ("und die Ursachen davon?", OFFER)], {"offers": 1, "references_back": 1}),
        ([("Asthma?", ANSWER), ("Woher kommt Asthma?", SECOND.answer)], {}),
        ([("Asthma?", ANSWER), ("das war nicht meine Frage", "...")], {"denials_explicit": 1}),
    ],
)  # fmt: skip
def test_events_are_counted(said: list[tuple[str, str]], expected: dict[str, int]) -> None:
    """By what the reply before asked, what the user said, and what the next reply did."""
    counts = count([Exchange(*one) for one in said], TEXTS, lambda text: {"asthma"} if "Asthma" in text else set())
    assert counts == Counts(len(said), **expected)
