"""Corrections, and answers to what was asked."""

from typing import Any

import pytest

from assistants.hippocrates.vocabulary import Vocabulary
from bench.hippocrates.slots import expected_slots, slots_of
from tests.assistants.hippocrates.conftest import read

START = "users of celecoxib, 18 or older, exit after 30 days"
CELECOXIB = {"entry": [{"concepts": ["celecoxib"]}], "age": [18, None], "exit": {"days": 30}}
ULCER = {"concepts": ["Peptic ulcer"]}
CORRECTIONS: list[tuple[str, dict[str, Any]]] = [
    ("actually 21 or older", {"age": [21, None]}),
    ("sorry, under 65", {"age": [18, 64]}),
    ("change the age to 21 or older", {"age": [21, None]}),
    ("change the exit to 60 days", {"exit": {"days": 60}}),
    ("exit after 60 days instead of 30 days", {"exit": {"days": 60}}),
    ("correction, exit after 60 days instead of 30", {"exit": {"days": 60}}),
    ("wait, exit at the end of observation", {"exit": "observation"}),
    ("no, exit after 60 days", {"exit": {"days": 60}}),
    ("set the era gap to 7 days", {"gap": 7}),
    ("set the prior observation to a year", {"prior_days": 365}),
    ("make the minimum age 40", {"age": [40, None]}),
    ("change the sex to male", {"sex": "male"}),
    ("replace celecoxib with naproxen", {"entry": [{"concepts": ["Naproxen"]}]}),
    ("change celecoxib to naproxen", {"entry": [{"concepts": ["Naproxen"]}]}),
    ("naproxen instead of celecoxib", {"entry": [{"concepts": ["Naproxen"]}]}),
    ("patients with peptic ulcer instead", {"entry": [ULCER]}),
    ("actually, patients with peptic ulcer", {"entry": [ULCER]}),
    ("also peptic ulcer", {"entry": [{"concepts": ["celecoxib"]}, ULCER]}),
    ("also a first peptic ulcer", {"entry": [{"concepts": ["celecoxib"]}, {**ULCER, "first": True}]}),
    ("add peptic ulcer as an entry event", {"entry": [{"concepts": ["celecoxib"]}, ULCER]}),
    ("or start with peptic ulcer", {"entry": [{"concepts": ["celecoxib"]}, ULCER]}),
    ("also patients with peptic ulcer", {"entry": [{"concepts": ["celecoxib"]}, ULCER]}),
    ("remove the age limit", {"age": None}),
    ("forget the exit", {"exit": None}),
    ("delete the age", {"age": None}),
    ("any age", {"age": None}),
    ("drop celecoxib", {"entry": None}),
    ("remove the entry event of celecoxib", {"entry": None}),
    ("new users of celecoxib", {"entry": [{"concepts": ["celecoxib"], "first": True}]}),
    ("undo", {"age": None, "exit": None, "entry": None}),
    ("reset", {"age": None, "exit": None, "entry": None}),
]


@pytest.mark.parametrize(("text", "changes"), CORRECTIONS)
def test_a_correction_changes_what_it_names_and_nothing_else(
    vocabulary: Vocabulary, text: str, changes: dict[str, Any]
) -> None:
    """Whatever was said before."""
    study = read(vocabulary, START, text)
    expect = {name: value for name, value in {**CELECOXIB, **changes}.items() if value is not None}
    assert not study.asks
    assert slots_of(study) == expected_slots(expect, vocabulary)


@pytest.mark.parametrize("text", [
    "patients with peptic ulcer",
    "remove naproxen",
    "replace naproxen with peptic ulcer",
    "remove rule 1",
    "change it",
    "also whatever you like",
    "no",
    "1, 2",
    "30 instead",
])  # fmt: skip
def test_a_correction_of_nothing_is_asked_back(vocabulary: Vocabulary, text: str) -> None:
    """It changes nothing."""
    study = read(vocabulary, START, text)
    assert study.asks
    assert slots_of(study) == expected_slots(CELECOXIB, vocabulary)


CHOICES: list[tuple[str, list[int], list[int]]] = [
    ("1", [1], []),
    ("1, 3", [1, 3], []),
    ("1 and 3", [1, 3], []),
    ("2-4", [2, 3, 4], []),
    ("the first", [1], []),
    ("all", [1, 2, 3, 4, 5], []),
    ("choose 1, 2 and 3", [1, 2, 3], []),
    ("select all; exclude 4", [1, 2, 3, 5], [4]),
    ("take 1, 3; exclude 4, 5", [1, 3], [4, 5]),
    ("please use 2", [2], []),
]


@pytest.mark.parametrize(("text", "taken", "excluded"), CHOICES)
def test_numbers_choose_concepts(vocabulary: Vocabulary, text: str, taken: list[int], excluded: list[int]) -> None:
    """Those of the list that was shown."""
    offered = read(vocabulary, "patients with laceration").open_term
    assert offered is not None
    assert len(offered.candidates) == 5
    study = read(vocabulary, "patients with laceration", text)
    (term,) = study.entry[0].terms
    assert [choice.concept for choice in term.choices] == [offered.candidates[n - 1] for n in (*taken, *excluded)]
    assert [choice.excluded for choice in term.choices] == [False] * len(taken) + [True] * len(excluded)
    assert all(choice.descendants and not choice.mapped for choice in term.choices)


def test_a_choice_says_what_comes_with_it(vocabulary: Vocabulary) -> None:
    """Descendants or not, mapped concepts or not."""
    study = read(vocabulary, "patients with laceration", "1 and 2 without descendants, including mapped")
    (term,) = study.entry[0].terms
    assert [(choice.descendants, choice.mapped) for choice in term.choices] == [(False, True)] * 2


@pytest.mark.parametrize("text", ["7", "0", "1, 99", "exclude 1", "1; exclude 9", "1 and maybe 2", "that one", "1-99"])
def test_a_choice_of_nothing_is_asked_back(vocabulary: Vocabulary, text: str) -> None:
    """The question stays."""
    study = read(vocabulary, "patients with laceration", text)
    assert study.asks
    assert study.question == "concept"


def test_a_name_of_the_list_chooses_it(vocabulary: Vocabulary) -> None:
    """As its number does."""
    study = read(vocabulary, "patients with laceration", "Laceration of hand")
    assert [choice.concept.name for choice in study.entry[0].terms[0].choices] == ["Laceration of hand"]


def test_other_messages_leave_the_choice_open(vocabulary: Vocabulary) -> None:
    """And fill what they fill."""
    study = read(vocabulary, "patients with laceration", "women only", "2")
    assert study.sex is not None
    assert study.question == "prior_days"
