"""What is wrong with an expression is said, whoever wrote it."""

import copy
from typing import Any

import pytest

from assistants.hippocrates.checks import check, contradictions
from assistants.hippocrates.cohort import build_cohort
from assistants.hippocrates.settings import demo_vocabulary
from assistants.hippocrates.study import (
    Age,
    Choice,
    Criterion,
    Group,
    Json,
    Rule,
    State,
    Study,
    SubGroup,
    Term,
    Value,
    Window,
)
from tests.assistants.hippocrates.examples import AFTER, BEFORE, IDS, built, concept, event, new_users, no, rule

YEAR_BEFORE = Window(start=-365, end=-1)


def problems(expression: Json) -> list[str]:
    return [f"{one.severity}: {one.where}: {one.text}" for one in check(expression, demo_vocabulary())]


@pytest.fixture
def expression() -> Json:
    rules = rule(no("GI bleeding", window=YEAR_BEFORE))
    expression = built(new_users(rules, age=Age(least=18), sex="female", prior_days=365))
    assert problems(expression) == []
    return expression


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
    (
        "PrimaryCriteria/CriteriaList/0",
        {"ConditionOccurrence": {"CodesetId": 0}},
        "error",
        "entry event 1: ConditionOccurrence does not look at celecoxib (1118084), which is of the domain Drug.",
    ),
    ("PrimaryCriteria/CriteriaList/0", {"PayerPlanPeriod": {"CodesetId": 0}}, "error", "PayerPlanPeriod does not look"),
    ("InclusionRules/2", None, "error", "Nothing uses this concept set"),
    (
        "ConceptSets/0/expression/items/0/concept/STANDARD_CONCEPT",
        "N",
        "warning",
        "celecoxib (1118084) is not a standard",
    ),
    (
        f"{WINDOW}/Start",
        {"Days": 700, "Coeff": -1},
        "warning",
        "reaches 700 days before entry, but only 365 days of observation",
    ),
    (f"{WINDOW}/End", {"Days": 30, "Coeff": 1}, "warning", "Require 30, or accept that days without observation"),
    ("EndStrategy", {"CustomEra": {"DrugCodesetId": 1, "GapDays": 30, "Offset": 0}}, "error", "DrugEra does not look"),
    ("CensoringCriteria", [{"DrugExposure": {"CodesetId": 1}}], "error", "DrugExposure does not look"),
]


@pytest.mark.parametrize(("path", "value", "severity", "text"), FAULTS)
def test_a_fault_is_found(expression: Json, path: str, value: Any, severity: str, text: str) -> None:
    """Each changes one thing of a cohort that is in order."""
    broken = copy.deepcopy(expression)
    put(broken, path, value)
    assert [one for one in problems(broken) if one.startswith(severity) and text in one], problems(broken)


def test_a_rule_that_excludes_the_entry_event_itself_is_an_error() -> None:
    """Nobody would be left; so, too, if each of two entry events is excluded by a rule of its own."""
    until = Window(end=0)
    one = Study(entry=(event("GI bleeding"),), rules=(rule(no("GI bleeding", window=until)),))
    two = one.model_copy(update={"entry": (*one.entry, event("warfarin"))})
    both = two.model_copy(update={"rules": (*two.rules, rule(no("warfarin", window=until)))})
    found = [
        [text for text in problems(built(study)) if "entry event: It contradicts" in text] for study in (one, two, both)
    ]
    assert list(map(len, found)) == [1, 0, 1]
    assert "“GI bleeding” any time up to the day of entry” and rule “no drug exposures of “warfarin”" in found[2][0]


def test_concepts_that_are_still_to_be_chosen_contradict_none() -> None:
    """Nobody knows yet whether they are the same."""
    until, before = (rule(no("laceration", window=window)) for window in (Window(end=0), BEFORE))
    needed = rule(Criterion(event=event("sprain"), window=BEFORE))
    for study in (Study(entry=(event("sprain"),), rules=(until,)), new_users(before, needed)):
        assert [*contradictions(built(study, partial=True), demo_vocabulary())] == []
    same = new_users(before, rule(Criterion(event=event("laceration"), window=BEFORE)))
    assert len([*contradictions(built(same, partial=True), demo_vocabulary())]) == 1


def some(*concepts: str, window: Window = YEAR_BEFORE, count: int = 1, **more: Any) -> Criterion:
    return Criterion(event=event(*concepts), window=window, count=count, **more)


def most(count: int, window: Window, **more: Any) -> Criterion:
    return Criterion(event=event("warfarin"), bound="at most", window=window, count=count, **more)


def first(*concepts: str, n: int) -> Criterion:
    return Criterion(event=event(*concepts, first=True), bound="exactly", window=BEFORE, count=n)


def any_of(*criteria: Criterion) -> Rule:
    return Rule(group=Group(match="any", criteria=criteria))


CONTRADICTIONS = [
    ((rule(no("warfarin")), rule(some("warfarin"))), True),
    ((rule(some("warfarin")), rule(no("warfarin", window=YEAR_BEFORE))), True),
    ((rule(no("warfarin", window=YEAR_BEFORE)), rule(some("warfarin", window=BEFORE))), False),
    ((rule(no("warfarin", window=YEAR_BEFORE)), rule(some("warfarin", window=AFTER))), False),
    ((rule(no("warfarin", window=Window(start=-30, end=-1))), rule(some("warfarin"))), False),
    ((rule(no("warfarin", window=Window(end=-30))), rule(some("warfarin"))), False),
    ((rule(most(0, BEFORE)), rule(some("warfarin"))), True),
    ((rule(no("warfarin")), rule(some("acetaminophen"))), False),
    ((rule(no("warfarin")), any_of(some("warfarin"), some("acetaminophen"))), False),
    ((rule(no("warfarin", "acetaminophen")), any_of(some("warfarin"), some("acetaminophen"))), True),
    ((rule(no("GI bleeding", "appendectomy")), rule(some("GI bleeding", "appendectomy"))), True),
    ((rule(no("GI bleeding")), rule(some("GI bleeding", "appendectomy"))), False),
    ((rule(first("warfarin", "acetaminophen", n=0)), rule(first("warfarin", n=1))), False),
    ((rule(first("warfarin", n=0)), rule(first("warfarin", n=1))), True),
    ((Rule(group=Group(groups=(SubGroup(criteria=(no("warfarin"), some("warfarin"))),))),), True),
    ((any_of(no("warfarin"), some("otitis media")), rule(some("warfarin"))), False),
    ((rule(most(1, BEFORE)), rule(some("warfarin", count=2))), True),
    ((rule(most(2, BEFORE)), rule(some("warfarin", count=2))), False),
    ((rule(most(1, BEFORE, distinct=True)), rule(some("warfarin", count=2))), False),
    ((rule(most(1, BEFORE, same_visit=True)), rule(some("warfarin", count=2))), False),
    (
        (rule(Criterion(event=event("warfarin", age=Age(least=65)), bound="exactly", count=0)), rule(some("warfarin"))),
        False,
    ),
]


@pytest.mark.parametrize(("rules", "contradict"), CONTRADICTIONS)
def test_rules_that_contradict_each_other_are_an_error(rules: tuple[Rule, ...], contradict: bool) -> None:
    """Whatever their order, and in groups: where the required window lies inside the excluded one."""
    expression = built(new_users(*rules, prior_days=365))
    assert any(one.startswith("error") and "contradicts" in one for one in problems(expression)) is contradict


def test_a_concept_below_an_excluded_one_contradicts_it() -> None:
    """The hierarchy of the vocabulary tells; not the other way round."""
    vocabulary = demo_vocabulary()
    product = vocabulary.get(max(vocabulary.descendants(IDS["acetaminophen"])))
    assert product is not None
    chosen = {words: Term(words, (Choice(concept(words)),)) for words in ("celecoxib", "acetaminophen")}
    chosen["tablets"] = Term("tablets", (Choice(product),))
    found = []
    for excluded, required in (("acetaminophen", "tablets"), ("tablets", "acetaminophen")):
        study = new_users(rule(no(excluded)), rule(some(required)), prior_days=365)
        expression = build_cohort(State(study, chosen), vocabulary)
        found.append(any("contradicts" in one for one in problems(expression)))
    assert found == [True, False]


def test_a_window_beyond_observation_is_told_once() -> None:
    """For records of two domains, too. One without an end looks at whatever was observed."""
    for window, found in ((Window(start=-30, end=30), 1), (BEFORE, 0), (AFTER, 0)):
        expression = built(new_users(rule(no("GI bleeding", "appendectomy", window=window)), prior_days=30))
        assert len(expression["InclusionRules"][0]["expression"]["CriteriaList"]) == 2
        assert ["reaches 30 days after entry" in one for one in problems(expression)] == [True] * found


def test_groups_are_checked_like_other_rules() -> None:
    """A fault in a group of a group is found."""
    groups = (SubGroup(criteria=(some("warfarin", window=Window(start=-900)),)),)
    expression = built(new_users(Rule(group=Group(groups=groups)), prior_days=365))
    assert [one for one in problems(expression) if "900 days before entry" in one]
    nested = expression["InclusionRules"][0]["expression"]["Groups"][0]["CriteriaList"][0]
    nested["Criteria"] = {"ConditionOccurrence": nested["Criteria"]["DrugExposure"]}
    assert [one for one in problems(expression) if "ConditionOccurrence does not look at Warfarin" in one]


@pytest.mark.parametrize(("unit", "why"), [(None, "No unit is named"), ("g/dL", "does not have the unit")])
def test_values_without_a_unit_are_a_warning(unit: str | None, why: str) -> None:
    """They are compared in the unit in which they were recorded."""
    expression = built(Study(entry=(event("hemoglobin", value=Value(low=8, unit=unit)),)))
    assert [why in one for one in problems(expression) if one.startswith("warning")] == [True]
