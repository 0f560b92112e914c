"""Evaluation of the search for pairs, and unanswered questions."""

from typing import Any

import pytest

from knowledge_base.pairs.pair_eval import count_outcomes, group_misses, outcome, rephrase
from knowledge_base.pairs.words import Words
from models.client import Models
from models.errors import UpstreamRefused, UpstreamUnavailable
from models.scripted import Scripted
from models.settings import ModelSettings
from models.usage import Ledger
from tests.knowledge_base.pairs.examples import TAXONOMY, pair

A, B, C, D = (pair(id=name, cluster=cluster) for name, cluster in (("a", "1"), ("b", "1"), ("c", "2"), ("d", "3")))


@pytest.mark.parametrize(
    ("ranked", "right", "name"),
    [
        ([A, C], A, "direct"),
        ([C, D, A], A, "offer"),
        ([B, C], A, "equivalent direct"),
        ([C, B], A, "equivalent offer"),
        ([C, D], A, "wrong"),
        ([], A, "declined"),
        ([A], None, "wrong"),
        ([], None, "declined"),
    ],
)
def test_outcomes_tell_pair_and_cluster_apart(ranked: list[Any], right: Any, name: str) -> None:
    """The outcome depends on the rank, and on whether the pair itself or another pair of its cluster was found."""
    assert outcome(ranked, right) == name


def test_outcomes_are_counted() -> None:
    """Questions with and without a pair are counted."""
    salt = pair("Wie viel Salz ist bei Bluthochdruck gut?", id="salt", cluster="salt", answer="Wenig.")
    asked = [("Ist Salz bei Hypertonie gut?", salt), ("Wer ist der Papst?", None), ("Wer ist der Papst?", salt)]
    assert count_outcomes(asked, [salt], TAXONOMY) == {"direct": 1, "declined": 2}


def trace(question: str, detail: str, step: str = "match") -> dict[str, Any]:
    return {"user_message": question, "notes": [{"step": step, "detail": detail}]}


def test_misses_are_grouped_and_masked() -> None:
    """The largest group comes first. Answered questions are left out."""
    traces = [
        trace("Was ist Gicht?", "uncovered_health"),
        trace("Was hilft bei Bluthochdruck nachts?", "rephrase some more"),
        trace("Und was hilft nachts bei Bluthochdruck?", "fallback"),
        trace("Was ist Bluthochdruck?", "direct"),
        trace("Was ist Bluthochdruck?", "offer"),
        trace("Was ist Gicht?", "rephrase", step="search"),
        trace("[14 characters]", "", step="[5 characters]"),
        {"user_message": "older", "calls": []},
        trace("Ich bin a@b.de, 0171/2345 oder 017123 von https://x.org, mit 140/90 und 12 Tagen", "rephrase"),
    ]
    groups = group_misses(traces, Words("german"))
    assert [[one.band for one in group] for group in groups] == [
        ["rephrase", "fallback"],
        ["uncovered_health"],
        ["rephrase"],
    ]
    assert groups[2][0].question == "Ich bin [...] [...] oder [...] von [...] mit 140/90 und 12 Tagen"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ruf 0170 123 456 78 an", "Ruf [...] an"),
        ("Tel 0 1 7 0 1 2 3", "Tel [...]"),
        ("Tel 030/12 34 oder (030) 12-34", "Tel [...] oder ([...]"),
        ("geboren am 3. 5. 1948.", "geboren am [...]."),
        ("Karte A1B2C3D4", "Karte [...]"),
        ("140/90, 150 / 95, 12 Tage, 112, 1,5 mg", "140/90, 150 / 95, 12 Tage, 112, 1,5 mg"),
    ],
)
def test_long_numbers_are_masked_however_they_are_grouped(text: str, shown: str) -> None:
    """Blood pressures are not masked."""
    assert group_misses([trace(text, "rephrase")], Words("german"))[0][0].question == shown


async def test_a_model_rephrases_with_the_prompts_of_the_thesis() -> None:
    """If the model refuses the sampling parameters, the request is repeated without them."""
    engine = Scripted(
        ["Wie, bitte?", UpstreamRefused(400, param="temperature"), " Was\nist das? ", UpstreamUnavailable("gone")]
    )
    settings = ModelSettings(engine="scripted", script=["unused"], max_attempts=1)
    models, ledger = Models({"mini": settings}, {"mini": engine}, first_pause_s=0), Ledger()
    assert await rephrase(models, "mini", "Was ist PoTS?", "basic", "german", ledger) == "Wie, bitte?"
    assert await rephrase(models, "mini", "What is PoTS?", "older person", "english", ledger) == "Was ist das?"
    first, second, third = engine.requests
    assert first["messages"][0]["content"] == "Du erhälst eine Frage und du musst die Frage umformulieren."
    assert (first["temperature"], first["presence_penalty"], len(first["messages"])) == (2, 2, 6)
    assert second["temperature"] == 0.7
    assert second["messages"][-1] == {"role": "user", "content": "What is PoTS?"}
    assert set(third) - {"model"} == {"messages"}
    with pytest.raises(UpstreamUnavailable):
        await rephrase(models, "mini", "Was ist PoTS?", "basic", "german", ledger)
