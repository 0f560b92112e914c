"""The documented phrases: each fills its slot, and what is none of them fills nothing."""

import random
from typing import Any

import pytest

from assistants.hippocrates.grammar import Grammar
from assistants.hippocrates.study import fold
from assistants.hippocrates.vocabulary import Vocabulary
from bench.hippocrates.slots import expected_slots, slots_of
from tests.assistants.hippocrates.conftest import read

CELECOXIB = {"concepts": ["celecoxib"]}
BLEED = {"concepts": [192671]}
ULCER = {"concepts": ["Peptic ulcer"]}


def rule(days: list[int | None], count: str = "at least 1", concepts: Any = 192671) -> dict[str, Any]:
    return {"rules": [{"concepts": [concepts], "count": count, "days": days}]}


PERSONS = [
    ("patients", {}),
    ("all patients", {}),
    ("people", {}),
    ("persons", {}),
    ("subjects", {}),
    ("individuals", {}),
    ("anyone", {}),
    ("those", {}),
    ("women", {"sex": "female"}),
    ("females", {"sex": "female"}),
    ("female patients", {"sex": "female"}),
    ("men", {"sex": "male"}),
    ("male subjects", {"sex": "male"}),
    ("adults", {"age": [18, None]}),
    ("adult female patients", {"age": [18, None], "sex": "female"}),
    ("children", {"age": [None, 17]}),
]
ENTRIES = [
    *(
        (f"{who} {verb} GI bleeding", {"entry": [BLEED], **more})
        for who, more in PERSONS
        for verb in ("with", "who had")
    ),
    ("I want to build a cohort of patients having gastrointestinal hemorrhage", {"entry": [BLEED]}),
    ("please create a cohort of people who have gastrointestinal hemorrhages", {"entry": [BLEED]}),
    ("patients diagnosed with peptic ulcer", {"entry": [ULCER]}),
    ("patients who were diagnosed with peptic ulcer", {"entry": [ULCER]}),
    *(
        (f"patients {verb} celecoxib", {"entry": [CELECOXIB]})
        for verb in ("taking", "on", "treated with", "exposed to", "prescribed")
    ),
    ("users of celecoxib", {"entry": [CELECOXIB]}),
    ("new users of celecoxib", {"entry": [{**CELECOXIB, "first": True}]}),
    ("first-time users of celecoxib", {"entry": [{**CELECOXIB, "first": True}]}),
    ("patients undergoing appendectomy", {"entry": [{"concepts": ["Appendectomy"]}]}),
    ("patients who underwent an appendectomy", {"entry": [{"concepts": ["Appendectomy"]}]}),
    ("patients who died", {"entry": [{"death": True}]}),
    ("patients who died of GI bleeding", {"entry": [{**BLEED, "death": True}]}),
    ("entry event: GI bleeding", {"entry": [BLEED]}),
    ("The entry event is GI bleeding.", {"entry": [BLEED]}),
    ("the index event is death from GI bleeding", {"entry": [{**BLEED, "death": True}]}),
    ("start with celecoxib", {"entry": [CELECOXIB]}),
    ("cohort of celecoxib", {"entry": [CELECOXIB]}),
    ("patients with concept 192671", {"entry": [BLEED]}),
    ('patients with "GI bleeding"', {"entry": [BLEED]}),
    ("patients with GI bleeding without descendants", {"entry": [{**BLEED, "alone": True}]}),
    ("patients with GI bleeding or peptic ulcer", {"entry": [{"concepts": [192671, "Peptic ulcer"]}]}),
    (
        "patients with GI bleeding, peptic ulcer or esophagitis",
        {"entry": [{"concepts": [192671, "Peptic ulcer", "Esophagitis"]}]},
    ),
    ("patients with a first GI bleeding", {"entry": [{**BLEED, "first": True}]}),
    ("patients with the first diagnosis of GI bleeding", {"entry": [{**BLEED, "first": True}]}),
    ("patients with incident GI bleeding", {"entry": [{**BLEED, "first": True}]}),
    ("patients with every GI bleeding", {"entry": [BLEED], "events_per_person": "all"}),
    ("patients with an episode of sinusitis", {"entry": [{"concepts": ["Sinusitis"]}]}),
    ("patients with a drug era of celecoxib", {"entry": [{**CELECOXIB, "era": True}]}),
    ("patients with first degree burn", {"entry": [{"concepts": ["First degree burn"]}]}),
    ("patients with concussion with no loss of consciousness", {"entry": [{"concepts": [378001]}]}),
    ("patients with an inpatient visit", {"entry": [{"concepts": [9201]}]}),
    ("patients with a measurement of hemoglobin", {"entry": [{"concepts": ["Hemoglobin"]}]}),
    ("patients with latex allergy", {"entry": [{"concepts": ["Latex allergy"]}]}),
    ("GI bleeding", {"entry": [BLEED]}),
]
SLOTS = [
    ("all events", {"events_per_person": "all"}),
    ("every event per person", {"events_per_person": "all"}),
    ("earliest event per person", {"events_per_person": "earliest"}),
    ("only the first event per person", {"events_per_person": "earliest"}),
    ("one event per person", {"events_per_person": "earliest"}),
    *(
        (text, {"prior_days": 365})
        for text in (
            "at least 365 days of continuous prior observation",
            "a year of prior observation",
            "with 1 year of observation before the index date",
            "observed for at least 12 months and 5 days before entry"[:0]
            or "observed for at least 365 days before entry",
            "365 prior days",
            "prior days: 365",
            "prior observation: 365 days",
            "lookback of one year",
        )
    ),
    ("no prior observation", {"prior_days": 0}),
    ("six months of observation after entry", {"post_days": 180}),
    ("observed for 30 days after entry", {"post_days": 30}),
    ("30 post days", {"post_days": 30}),
    ("post days: 30", {"post_days": 30}),
    ("no post observation", {"post_days": 0}),
    ("observation window: 365 days before and 30 days after", {"prior_days": 365, "post_days": 30}),
    *(
        (text, {"age": [18, None]})
        for text in (
            "aged 18 or older",
            "18 or over",
            "18 and older",
            "aged 18 and over",
            "aged 18 or more",
            "of 18 or more",
            "18+",
            "at least 18 years old",
            "aged at least 18",
            "minimum age 18",
            "adults",
            "over 17",
            "older than 17",
            "over 17 years old",
            "over the age of 17",
        )
    ),
    *(
        (text, {"age": [None, 64]})
        for text in (
            "64 or younger",
            "aged 64 or under",
            "at most 64 years old",
            "aged at most 64",
            "maximum age 64",
            "under 65",
            "younger than 65 years",
            "under the age of 65",
        )
    ),
    *(
        (text, {"age": [18, 65]})
        for text in (
            "aged 18 to 65",
            "aged 18-65",
            "aged between 18 and 65",
            "between 18 and 65 years old",
            "between the ages of 18 and 65",
            "age 18 to 65",
        )
    ),
    *(
        (text, {"sex": "female"})
        for text in (
            "women",
            "women only",
            "only women",
            "female only",
            "female patients only",
            "sex: female",
            "restrict to women",
            "limited to women",
            "who are female",
        )
    ),
    ("only men", {"sex": "male"}),
    ("sex: male", {"sex": "male"}),
    *(
        (text, {"exit": {"days": 30}})
        for text in (
            "exit after 30 days",
            "exit 30 days after entry",
            "exit: 30 days",
            "followed for a month",
            "follow them for 30 days",
            "they leave the cohort after 30 days",
            "cohort exit after 30 days",
        )
    ),
    ("exit 7 days after the end of the event", {"exit": {"days": 7, "after": "end"}}),
    ("exit at the end of the drug era", {"exit": {"drug": []}}),
    (
        "exit at the end of exposure allowing gaps of 60 days plus 7 days",
        {"exit": {"drug": [], "gap": 60, "offset": 7}},
    ),
    ("exit at the end of treatment with celecoxib", {"exit": {"drug": ["celecoxib"]}}),
    ("exit when treatment with celecoxib ends allowing gaps of 14 days", {"exit": {"drug": ["celecoxib"], "gap": 14}}),
    ("exit when treatment ends", {"exit": {"drug": []}}),
    ("follow them until the end of treatment", {"exit": {"drug": []}}),
    ("exit at the end of observation", {"exit": "observation"}),
    ("follow them until the end of observation", {"exit": "observation"}),
    ("censor at death", {"censoring": [{"death": True}]}),
    ("censor on GI bleeding", {"censoring": [BLEED]}),
    ("censored at peptic ulcer", {"censoring": [ULCER]}),
    ("censor for celecoxib", {"censoring": [CELECOXIB]}),
    ("era gap: 7 days", {"gap": 7}),
    ("era gap of a week", {"gap": 7}),
    ("collapse eras within 7 days", {"gap": 7}),
    ("merge periods within 7 days", {"gap": 7}),
    ("do not collapse eras", {"gap": 0}),
]
INCLUDES = (
    "with",
    "having",
    "who have",
    "who had",
    "must have",
    "must have had",
    "require",
    "include only patients with",
)
EXCLUDES = (
    "without",
    "with no",
    "no",
    "excluding",
    "exclude",
    "exclude patients with",
    "who have no",
    "who had no",
    "who never had",
    "must not have",
    "must not have had",
    "free of",
)
WINDOWS: list[tuple[str, list[int | None]]] = [
    ("any time before", [None, -1]),
    ("before entry", [None, -1]),
    ("any time prior to the index date", [None, -1]),
    ("ever before entry", [None, -1]),
    ("any time after entry", [1, None]),
    ("after", [1, None]),
    ("at any time", [None, None]),
    ("in the 180 days before entry", [-180, -1]),
    ("within the last 6 months before cohort entry", [-180, -1]),
    ("during the previous year prior to the index event", [-365, -1]),
    ("in the past 30 days", [-30, -1]),
    ("within 30 days before", [-30, -1]),
    ("in the first 30 days after entry", [1, 30]),
    ("within two weeks after", [1, 14]),
    ("within 30 days of entry", [-30, 30]),
    ("between 30 and 365 days before entry", [-365, -30]),
    ("between 1 and 3 months after entry", [30, 90]),
    ("from 30 days before to 7 days after entry", [-30, 7]),
    ("on the index date", [0, 0]),
    ("at entry", [0, 0]),
    ("on the same day", [0, 0]),
    ("on or before entry", [None, 0]),
    ("on or after the index date", [0, None]),
]
RULES = [
    *((f"{head} GI bleeding in the 90 days before entry", rule([-90, -1])) for head in INCLUDES),
    *((f"{head} GI bleeding in the 90 days before entry", rule([-90, -1], "exactly 0")) for head in EXCLUDES),
    *((f"{head} GI bleeding", rule([None, -1], "exactly 0")) for head in EXCLUDES),
    *((f"must have GI bleeding {window}", rule(days)) for window, days in WINDOWS),
    *((f"no GI bleeding {window}", rule(days, "exactly 0")) for window, days in WINDOWS),
    ("taking celecoxib in the 90 days before entry", rule([-90, -1], concepts="celecoxib")),
    ("diagnosed with peptic ulcer in the year before", rule([-365, -1], concepts="Peptic ulcer")),
    ("not taking celecoxib in the 90 days before entry", rule([-90, -1], "exactly 0", "celecoxib")),
    ("with prior GI bleeding", rule([None, -1])),
    ("with a history of GI bleeding", rule([None, -1])),
    ("without prior GI bleeding", rule([None, -1], "exactly 0")),
    ("without a history of GI bleeding", rule([None, -1], "exactly 0")),
    ("at least 2 GI bleedings in the year before entry", rule([-365, -1], "at least 2")),
    ("with 2 or more diagnoses of GI bleeding in the year before entry", rule([-365, -1], "at least 2")),
    ("at most two GI bleedings in the year before entry", rule([-365, -1], "at most 2")),
    ("no more than 2 GI bleedings in the year before entry", rule([-365, -1], "at most 2")),
    ("require exactly 3 GI bleedings in the year before entry", rule([-365, -1], "exactly 3")),
    ("in the 90 days before entry, no GI bleeding", rule([-90, -1], "exactly 0")),
]


@pytest.mark.parametrize(("text", "expect"), [*ENTRIES, *SLOTS, *RULES])
def test_a_documented_phrase_fills_exactly_its_slots(vocabulary: Vocabulary, text: str, expect: dict[str, Any]) -> None:
    """Nothing is left open, and nothing else is filled."""
    study = read(vocabulary, text)
    assert not study.asks
    assert slots_of(study) == expected_slots(expect, vocabulary)


@pytest.mark.parametrize("text", [
    "patients with GI bleeding unless they had surgery",
    "patients with GI bleeding who are not older than 65",
    "patients with GI bleeding and peptic ulcer",
    "patients with GI bleeding or older than 65",
    "exclude patients with GI bleeding who are older than 65",
    "patients without GI bleeding, women",
    "patients with GI bleeding but only if they took celecoxib",
    "over 2 years before entry",
    "with GI bleeding over 2 years before entry",
    "30 days of follow-up",
    "a washout of 365 days",
    "must have GI bleeding",
    "at least 2 GI bleedings",
    "at least 0 GI bleedings in the year before entry",
    "aged 65 to 18",
    "between 18 and 65",
    "365",
    "exit after 30",
    "patients with GI bleeding before or after entry",
    "patients with xqzzv",
    "women with GI bleeding or men with peptic ulcer",
    "not women",
    "don't exclude GI bleeding",
    "I doubt that celecoxib is safe",
    "my father was diagnosed with peptic ulcer last year",
    "patients with concept 999999999",
    "patients with GI bleeding " * 40,
    "era gap: 999999 years",
    "remove rule 3",
    "patients with GI bleeding?",
    "users of appendectomy and vasectomy",
    "x" * 10_000,
])  # fmt: skip
def test_what_is_no_documented_phrase_fills_nothing_and_is_asked_back(vocabulary: Vocabulary, text: str) -> None:
    """Not even the part of it that could be read: the rest may say the opposite."""
    study = read(vocabulary, text)
    assert study.asks
    assert slots_of(study) == {}


def test_a_phrase_that_is_no_name_brings_candidates_and_takes_none(vocabulary: Vocabulary) -> None:
    """A misspelling is offered, never taken."""
    study = read(vocabulary, "patients with peptic ulser")
    assert study.question == "concept"
    assert study.open_term is not None
    assert "Peptic ulcer" in [concept.name for concept in study.open_term.candidates]
    assert slots_of(study) == {}


def test_every_slot_knows_its_turn_and_words(vocabulary: Vocabulary) -> None:
    """So that a reader can see where it comes from."""
    study = read(vocabulary, "patients with GI bleeding. 18 or older", "hello", "365 prior days")
    assert study.entry[0].origin.turn == 0
    assert study.age is not None
    assert study.age.origin.words == "18 or older"
    assert study.prior_days is not None
    assert study.prior_days.origin.turn == 2


def test_the_same_messages_give_the_same_study(vocabulary: Vocabulary) -> None:
    """Nothing is remembered between them."""
    texts = ("patients with GI bleeding", "365 prior days", "no celecoxib before entry")
    grammar = Grammar(vocabulary)
    messages = [{"role": "user", "content": text} for text in texts]
    assert fold(messages, grammar.read) == fold(messages, grammar.read) == read(vocabulary, *texts)


@pytest.mark.parametrize("seed", range(60))
def test_phrases_combine_in_any_order(vocabulary: Vocabulary, seed: int) -> None:
    """In one sentence or several, one message or several: the slots are those of the parts."""
    chance = random.Random(seed)
    by_slot: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for text, expect in SLOTS:
        by_slot.setdefault(" ".join(sorted(expect)), []).append((text, expect))
    entry = chance.choice([one for one in ENTRIES if one[0] != "GI bleeding" and {*one[1]} == {"entry"}])
    slots = [
        chance.choice(by_slot[name])
        for name in chance.sample(["prior_days", "post_days", "age", "sex", "exit", "gap"], 3)
    ]
    rule_text, rules = chance.choice(RULES)
    parts = [entry, *slots, (rule_text.replace("GI bleeding", "vasectomy"), rules)]
    expect = {name: value for _, part in parts for name, value in part.items()}
    for one in expect["rules"]:
        one["concepts"] = ["Vasectomy" if concept == 192671 else concept for concept in one["concepts"]]
    if seed % 3:
        texts = [text for text, _ in chance.sample(parts, len(parts))]
        study = read(vocabulary, *texts) if seed % 3 == 1 else read(vocabulary, ". ".join(texts))
    else:
        study = read(vocabulary, ", ".join(text for text, _ in parts))
    assert not study.asks
    assert slots_of(study) == expected_slots(expect, vocabulary)


@pytest.mark.parametrize(
    ("texts", "age"),
    [
        (["adults under 65"], [18, 64]),
        (["adults aged 40 or older"], [40, None]),
        (["children under 5"], [None, 4]),
        (["18 or older and under 65"], [18, 64]),
        (["18 or older", "under 65"], [18, 64]),
        (["18 or older", "21 or older"], [21, None]),
        (["aged 18 to 65", "under 50"], [18, 49]),
        (["18 or older", "children"], [None, 17]),
    ],
)
def test_limits_of_age_join(vocabulary: Vocabulary, texts: list[str], age: list[int | None]) -> None:
    """A limit on one side leaves the other one; where they contradict each other, the later one stays."""
    assert slots_of(read(vocabulary, *texts)) == {"age": tuple(age)}


@pytest.mark.parametrize(
    "text",
    ["women and men", "men over 40 and women over 50", "over 40 and over 50", "exit after 30 days, exit after 60 days"],
)
def test_two_values_in_one_sentence_are_asked_back(vocabulary: Vocabulary, text: str) -> None:
    """Which one is meant is not for us to say."""
    study = read(vocabulary, text)
    assert study.asks
    assert slots_of(study) == {}
