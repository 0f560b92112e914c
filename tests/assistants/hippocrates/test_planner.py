"""Sentences that a model reads: it fills slots, and nothing that the sentence does not say."""

import functools
import json
from typing import Any

import pytest

from assistants.hippocrates.grammar import Grammar
from assistants.hippocrates.planner import plan
from assistants.hippocrates.study import Study
from assistants.hippocrates.vocabulary import Vocabulary
from bench.hippocrates.slots import expected_slots, slots_of
from models.client import Models
from models.errors import UpstreamUnavailable
from models.scripted import Scripted
from models.settings import ModelSettings
from models.usage import Ledger

EMPTY = {
    "concepts": [],
    "first": False,
    "death": False,
    "bound": None,
    "count": None,
    "window": False,
    "start": None,
    "end": None,
    "days": None,
    "least": None,
    "most": None,
    "sex": None,
}


def statement(words: str, kind: str, turn: int = 0, **slots: Any) -> dict[str, Any]:
    return {**EMPTY, "turn": turn, "words": words, "kind": kind, **slots}


async def read(vocabulary: Vocabulary, texts: list[str], answer: Any) -> tuple[Study, Scripted]:
    engine = Scripted([answer])
    models = Models({"planner": ModelSettings(engine="embedded")}, {"planner": engine}, first_pause_s=0)
    messages = [{"role": "user", "content": text} for text in texts]
    ask = functools.partial(models.structured, ledger=Ledger())
    grammar = Grammar(vocabulary)
    return await plan(ask, messages, grammar.read, grammar.terms), engine


async def test_a_message_that_the_grammar_reads_asks_no_model(vocabulary: Vocabulary) -> None:
    """A digression neither."""
    study, engine = await read(vocabulary, ["new users of celecoxib", "why is that?", "365"], {"statements": []})
    assert engine.requests == []
    assert study.prior_days is not None


BLEED = "I'd be after folk whose gut bled: GI bleeding that is, and who'd been watched 365 days beforehand"


async def test_a_sentence_in_other_words_fills_its_slots(vocabulary: Vocabulary) -> None:
    """In its place among the others, and with its origin."""
    statements = [
        statement(BLEED, "entry", concepts=["GI bleeding"], first=True),
        statement(BLEED, "prior_days", days=365),
        statement("nothing like celecoxib within half a year of 180 days ahead of it", "exclude", 1,
                  concepts=["celecoxib"], window=True, start=-180, end=-1),
    ]  # fmt: skip
    texts = [BLEED, "nothing like celecoxib within half a year of 180 days ahead of it", "women only"]
    study, engine = await read(vocabulary, texts, {"statements": statements})
    rule = {"concepts": ["celecoxib"], "count": "exactly 0", "days": [-180, -1]}
    expect = {"entry": [{"concepts": [192671], "first": True}], "prior_days": 365, "sex": "female", "rules": [rule]}
    assert slots_of(study) == expected_slots(expect, vocabulary)
    assert study.entry[0].origin.words == BLEED
    case = json.loads(engine.requests[0]["messages"][-1]["content"])
    assert [one["turn"] for one in case["sentences"]] == [0, 1]


ODD = "kindly see to it that the celecoxib crowd stays 30 days"
INVENTED = [
    statement(ODD, "entry", concepts=["diclofenac"]),
    statement(ODD, "fixed_exit", days=90),
    statement(ODD, "age", least=65),
    statement(ODD, "include", concepts=["celecoxib"]),
    statement(ODD, "include", concepts=["celecoxib"], window=True, start=-365, end=-1, count=4),
    statement(ODD, "censor"),
    statement(ODD, "unclear"),
    statement(ODD, "sex"),
    statement("another sentence", "fixed_exit", days=30),
    statement(ODD, "fixed_exit", 3, days=30),
]


@pytest.mark.parametrize("invented", INVENTED)
async def test_what_the_sentence_does_not_say_is_asked_back(vocabulary: Vocabulary, invented: dict[str, Any]) -> None:
    """Not even what stands beside it is taken."""
    study, _ = await read(
        vocabulary, [ODD], {"statements": [statement(ODD, "entry", concepts=["celecoxib"]), invented][-2:]}
    )
    if invented["words"] == ODD and invented["turn"] == 0:
        assert slots_of(study) == {}
        assert study.asks
    else:
        assert slots_of(study).keys() == {*expected_slots({"entry": [{"concepts": ["celecoxib"]}]}, vocabulary)}


@pytest.mark.parametrize("answer", [UpstreamUnavailable("down"), "no JSON"])
async def test_a_model_that_fails_leaves_what_the_grammar_read(vocabulary: Vocabulary, answer: Any) -> None:
    """And the rest is asked back."""
    study, _ = await read(vocabulary, ["users of celecoxib", ODD], answer)
    assert study.entry
    assert [ask.kind for ask in study.asks] == ["unclear"]


async def test_small_talk_is_a_digression(vocabulary: Vocabulary) -> None:
    """It is not asked back as if it were about the cohort."""
    study, _ = await read(vocabulary, ["what a day it was"], {"statements": [statement("what a day it was", "other")]})
    assert [ask.kind for ask in study.asks] == ["question"]
