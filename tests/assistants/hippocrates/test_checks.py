"""What is wrong with an expression is said, whoever wrote it."""

import copy
from typing import Any

import pytest

from assistants.hippocrates.checks import check
from assistants.hippocrates.cohort import CannotBuild, build_cohort
from assistants.hippocrates.vocabulary import Vocabulary
from tests.assistants.hippocrates.conftest import read

Json = dict[str, Any]


@pytest.fixture
def expression(vocabulary: Vocabulary) -> Json:
    text = "New users of celecoxib, 18 or older, women, 365 prior days. No GI bleeding in the year before entry"
    built = build_cohort(read(vocabulary, text))
    assert check(built, vocabulary) == []
    return built


def put(whole: Any, path: str, value: Any) -> None:
    *way, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    for step in way:
        whole = whole[step]
    if value is None:
        del whole[last]
    else:
        whole[last] = value


WINDOW = "InclusionRules/2/expression/CriteriaList/0/StartWindow"
FAULTS = [
    ("PrimaryCriteria", None, "error", "Field required"),
    ("PrimaryCriteria/CriteriaList", [], "error", "No event starts the cohort"),
    (
        "PrimaryCriteria/CriteriaList/0",
        {"ConditionOccurrence": {"CodesetId": 0}},
        "error",
        "belongs to the domain Drug",
    ),
    ("PrimaryCriteria/CriteriaList/0", {"DrugExposure": {"CodesetId": 7}}, "error", "7"),
    ("PrimaryCriteria/CriteriaList/0", {"DrugExposure": {}}, "error", "has no concepts"),
    ("PrimaryCriteria/CriteriaList/0", {"PayerPlanPeriod": {"CodesetId": 0}}, "error", "none that is built here"),
    ("InclusionRules/2", None, "error", "Nothing uses this concept set"),
    ("ConceptSets/0/expression/items/0/concept/CONCEPT_ID", 999_999, "error", "not in the vocabulary"),
    ("ConceptSets/0/expression/items/0/concept/CONCEPT_NAME", "aspirin", "error", "is 'celecoxib'"),
    ("ConceptSets/0/expression/items/0/concept/DOMAIN_ID", "Device", "error", "of the domain Drug"),
    ("ConceptSets/0/expression/items/0/isExcluded", True, "error", "includes no concept"),
    (f"{WINDOW}/Start", {"Days": 700, "Coeff": -1}, "warning", "looks 700 days back"),
    (f"{WINDOW}/End", {"Days": 30, "Coeff": 1}, "warning", "looks 30 days ahead"),
    ("EndStrategy", {"CustomEra": {"DrugCodesetId": 1, "GapDays": 30, "Offset": 0}}, "error", "DrugEra does not look"),
    ("CensoringCriteria", [{"DrugExposure": {"CodesetId": 1}}], "error", "DrugExposure does not look"),
]


@pytest.mark.parametrize(("path", "value", "severity", "text"), FAULTS)
def test_a_fault_is_found(
    vocabulary: Vocabulary, expression: Json, path: str, value: Any, severity: str, text: str
) -> None:
    """Each changes one thing of a cohort that is in order."""
    broken = copy.deepcopy(expression)
    put(broken, path, value)
    problems = check(broken, vocabulary)
    assert [one for one in problems if one.severity == severity and text in one.text], problems


def test_a_rule_that_excludes_the_entry_event_itself_is_an_error(vocabulary: Vocabulary, expression: Json) -> None:
    """Nobody would be left."""
    built = build_cohort(read(vocabulary, "patients with GI bleeding. no GI bleeding on or before entry"))
    assert [one.text for one in check(built, vocabulary) if one.severity == "error"] == [
        "It excludes the very event that starts the cohort, so nobody is left."
    ]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("women, 18 or older", "No event starts the cohort"),
        ("patients with laceration", "still to be chosen"),
        ("patients with GI bleeding. exit at the end of treatment", "no drug starts the cohort"),
        (
            "patients with GI bleeding. at least 2 appendectomy or peptic ulcer before entry",
            "cannot be counted together",
        ),
    ],
)
def test_what_cannot_be_built_says_why(vocabulary: Vocabulary, text: str, why: str) -> None:
    """To the researcher, in words."""
    with pytest.raises(CannotBuild, match=why):
        build_cohort(read(vocabulary, text))
