"""Studies over Eunomia's concepts, for tests."""

from typing import Any

from assistants.hippocrates.cohort import build_cohort
from assistants.hippocrates.settings import demo_vocabulary
from assistants.hippocrates.study import (
    Age,
    Choice,
    Criterion,
    Event,
    FixedExit,
    Json,
    Rule,
    State,
    Study,
    Term,
    Window,
)
from assistants.hippocrates.vocabulary import Concept

IDS = {
    "GI bleeding": 192671,
    "celecoxib": 1118084,
    "viral sinusitis": 40481087,
    "otitis media": 372328,
    "osteoarthritis": 80180,
    "warfarin": 1310149,
    "acetaminophen": 1125315,
    "hemoglobin": 3000963,
    "appendectomy": 4198190,
    "inpatient visit": 9201,
}
BEFORE, AFTER = Window(end=-1), Window(start=1)


def event(*concepts: str, **more: Any) -> Event:
    return Event(concepts=concepts, **more)


def no(*concepts: str, window: Window = BEFORE) -> Criterion:
    return Criterion(event=event(*concepts), bound="exactly", count=0, window=window)


def rule(criterion: Criterion, words: str = "") -> Rule:
    return Rule(criterion=criterion, words=words)


GI_BLEED = Study(entry=(event("GI bleeding"),), prior_days=365)
NEW_USERS = Study(entry=(event("celecoxib", first=True),))
CELECOXIB = NEW_USERS.model_copy(
    update={"age": Age(least=18), "rules": (rule(no("GI bleeding")),), "exit": FixedExit(days=30)}
)


def new_users(*rules: Rule, **more: Any) -> Study:
    return NEW_USERS.model_copy(update={"rules": rules, **more})


def concept(words: str) -> Concept:
    found = demo_vocabulary().get(IDS[words])
    assert found is not None
    return found


def state_of(study: Study) -> State:
    """Choose the concepts of `IDS`; all other words stay open."""
    return State(study, {one: Term(one, (Choice(concept(one)),)) for one in study.concepts if one in IDS})


def built(study: Study, *, partial: bool = False) -> Json:
    return build_cohort(state_of(study), demo_vocabulary(), partial=partial)
