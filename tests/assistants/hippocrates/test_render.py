"""A cohort in plain English, what a message changed, and the next question."""

from datetime import date

import pytest

from assistants.hippocrates.cohort import build_cohort
from assistants.hippocrates.render import ask, describe, difference
from assistants.hippocrates.settings import demo_vocabulary
from assistants.hippocrates.study import (
    Age,
    Choice,
    Criterion,
    Dates,
    Event,
    FixedExit,
    Group,
    ObservationExit,
    Rule,
    State,
    Study,
    SubGroup,
    Term,
    TreatmentExit,
    Value,
    Window,
)
from tests.assistants.hippocrates.examples import CELECOXIB, concept, event, new_users, no, rule, state_of


def lines(state: State) -> list[str]:
    return describe(state, build_cohort(state, demo_vocabulary(), partial=True))


def changed(before: Study, after: Study) -> list[str]:
    return difference(lines(state_of(before)), lines(state_of(after)))


EVERYTHING = Study(
    entry=(event("celecoxib", first=True, age=Age(least=18), words="new users of celecoxib"),),
    entries="all",
    prior_days=365,
    age=Age(least=18, most=65),
    sex="female",
    rules=(
        rule(no("GI bleeding", "appendectomy"), "never a bleed or an appendectomy"),
        rule(Criterion(event=event("acetaminophen"), count=2, distinct=True, window=Window(start=-30, end=-1))),
        Rule(
            group=Group(
                match="at most",
                n=1,
                criteria=(
                    Criterion(event=event("hemoglobin", first=True, value=Value(high=8, unit="g/dL")), same_visit=True),
                ),
                groups=(SubGroup(criteria=(no("warfarin"), Criterion(event=event("viral sinusitis")))),),
            )
        ),
    ),
    exit=TreatmentExit(later=7),
    censoring=(Event(kind="death", words="they die"), event("otitis media", visit="inpatient")),
    gap=10,
    dates=Dates(start=date(2015, 1, 1), end=date(2015, 12, 31)),
)


def test_everything_of_the_expression_is_said() -> None:
    """Each slot has a line; the researcher's words stand beside it where they say more."""
    assert lines(state_of(EVERYTHING)) == [
        "Persons enter on a person's first drug exposure of “celecoxib” (age at least 18). You wrote: “new users of celecoxib”.",
        "Every such event that meets all of the following is an entry.",
        "Observation: at least 365 days before entry.",
        "Age at entry: 18 to 65.",
        "Sex: female.",
        "Rule 1: no conditions of “GI bleeding” or procedures of “appendectomy” any time before the day of entry. "
        "You wrote: “never a bleed or an appendectomy”.",
        "Rule 2: at least 2 different drug exposures of “acetaminophen” from 30 days before entry to 1 day before entry.",
        "Rule 3: at most 1 of (at least 1 measurement of “hemoglobin” (the first in the person's history; value at most 8 "
        "in any unit, since the vocabulary does not have the one named) in the visit of entry at any time; "
        "all of (no drug exposures of “warfarin” any time before the day of entry; "
        "at least 1 condition of “viral sinusitis” at any time)).",
        "Persons leave when exposure to “celecoxib” ends (gaps of up to 30 days do not end it), plus 7 days.",
        "A person's time also ends at a death or a condition of “otitis media” (visit: Inpatient Visit) after entry. "
        "You wrote: “they die”.",
        "Only the part of a person's time counts that lies from 2015-01-01 to 2015-12-31.",
        "Periods of a person that are 10 days or less apart are joined.",
        "Concepts for “celecoxib”: celecoxib (1118084, Drug).",
        "Concepts for “GI bleeding”: Gastrointestinal hemorrhage (192671, Condition).",
        "Concepts for “appendectomy”: Appendectomy (4198190, Procedure).",
        "Concepts for “acetaminophen”: Acetaminophen (1125315, Drug).",
        "Concepts for “hemoglobin”: Hemoglobin (3000963, Measurement).",
        "Concepts for “warfarin”: Warfarin (1310149, Drug).",
        "Concepts for “viral sinusitis”: Viral sinusitis (40481087, Condition).",
        "Concepts for “otitis media”: Otitis media (372328, Condition).",
    ]


def test_defaults_are_said_before_they_are_confirmed() -> None:
    """What was left open is part of the cohort."""
    left = Study(entry=(event("GI bleeding"),), left_open=("observation", "rules", "exit"))
    assert lines(state_of(left))[1:-1] == [
        "A person enters once: with the earliest such event that meets all of the following. (Say “every event” if each counts.)",
        "No observation before or after entry is required.",
        "No further rules.",
        "Persons leave when their observation ends.",
        "Only periods that overlap are joined.",
    ]


@pytest.mark.parametrize(
    ("window", "said"),
    [
        (Window(), "at any time"),
        (Window(end=-1), "any time before the day of entry"),
        (Window(end=0), "any time up to the day of entry"),
        (Window(end=30), "any time up to 30 days after entry"),
        (Window(start=1), "any time after the day of entry"),
        (Window(start=0), "any time from the day of entry on"),
        (Window(start=0, end=0), "on the day of entry"),
        (Window(start=-1, end=-1), "exactly 1 day before entry"),
        (Window(start=0, end=7), "from the day of entry to 7 days after entry"),
        (Window(start=1, end=7), "from 1 day after entry to 7 days after entry"),
    ],
)
def test_a_window_says_whether_the_day_of_entry_belongs_to_it(window: Window, said: str) -> None:
    """Within 7 days after entry may or may not mean day 0."""
    study = new_users(rule(Criterion(event=event("warfarin"), window=window)))
    assert f"Rule 1: at least 1 drug exposure of “warfarin” {said}." in lines(state_of(study))


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (Value(low=7.5, high=8), "7.5 to 8"),
        (Value(low=7), "at least 7"),
        (Value(low=7, strict=True), "above 7"),
        (Value(high=8, strict=True), "below 8"),
    ],
)
def test_a_value_says_whether_its_limit_belongs_to_it(value: Value, said: str) -> None:
    """Below 8 is not at most 8."""
    assert lines(state_of(Study(entry=(event("hemoglobin", value=value),))))[0] == (
        f"Persons enter on a measurement of “hemoglobin” (value {said})."
    )


def test_open_concepts_are_said() -> None:
    """In an unfinished study, whose type of record is not known yet."""
    assert lines(state_of(Study(entry=(event("laceration"),)))) == [
        "Persons enter on a record of “laceration”.",
        "A person enters once: with the earliest such event that meets all of the following. (Say “every event” if each counts.)",
        "Only periods that overlap are joined.",
        "Concepts for “laceration” still to be chosen.",
    ]


def test_a_chosen_concept_says_which_words_it_does_not_have() -> None:
    """The year and “incident” would vanish into the concept set's name."""
    study = Study(entry=(event("incident bleeding"),))
    chosen = (
        Choice(concept("GI bleeding"), descendants=False, mapped=True),
        Choice(concept("otitis media"), excluded=True),
    )
    state = State(study, {"incident bleeding": Term("incident bleeding", chosen, unmatched=("incident",))})
    assert lines(state)[-2:] == [
        "Concepts for “incident bleeding”: Gastrointestinal hemorrhage (192671, Condition, without descendants, "
        "with mapped concepts), except Otitis media (372328, Condition).",
        "“incident” is not in the name of the chosen concept for “incident bleeding”.",
    ]


def test_a_misspelt_word_says_what_it_was_read_as() -> None:
    """Not that it is absent from the name that stands for it."""
    term = Term("celecoxb", (Choice(concept("celecoxib")),), unmatched=("celecoxb",))
    assert (
        lines(State(Study(entry=(event("celecoxb"),)), {"celecoxb": term}))[-1] == "“celecoxb” was read as celecoxib."
    )


def test_a_new_beginning_removes_alone() -> None:
    """What is the default without a cohort is not said to be added."""
    study = Study(entry=(event("celecoxib"),), sex="female")
    assert {line.split(":")[0] for line in changed(study, Study())} == {"Removed"}


def test_removed_and_added_lines_are_shown() -> None:
    """Numbers of rules that moved up are no change, nor is a default that gave way."""
    two = new_users(rule(no("GI bleeding")), rule(no("warfarin")))
    assert changed(two, new_users(rule(no("warfarin"), "no warfarin"), exit=FixedExit(days=30))) == [
        "Removed: Rule 1: no conditions of “GI bleeding” any time before the day of entry.",
        "Removed: Concepts for “GI bleeding”: Gastrointestinal hemorrhage (192671, Condition).",
        "Added: Persons leave 30 days after the entry event starts.",
    ]
    assert changed(new_users(exit=ObservationExit()), new_users(exit=FixedExit(days=1, after="end"))) == [
        "Added: Persons leave 1 day after the entry event ends."
    ]
    assert changed(new_users(rule(no("warfarin"))), new_users(rule(no("warfarin")), rule(no("warfarin")))) == [
        "Added: Rule 2: no drug exposures of “warfarin” any time before the day of entry."
    ]
    assert changed(CELECOXIB, CELECOXIB) == []


def test_a_choice_of_concepts_changes_the_concepts_alone() -> None:
    """That a record turns out to be a condition is no change of the entry event."""
    study = Study(entry=(event("GI bleeding"),))
    assert difference(lines(State(study)), lines(state_of(study))) == [
        "Added: Concepts for “GI bleeding”: Gastrointestinal hemorrhage (192671, Condition)."
    ]


def test_all_open_questions_are_asked_at_once() -> None:
    """Concepts first, until nothing is left to ask."""
    study = Study(entry=(event("bleeding"),))
    candidates = (concept("GI bleeding"), concept("otitis media"))
    asked = [ask(State()), ask(State(study))]
    asked.append(ask(State(study, {"bleeding": Term("bleeding", (), candidates)})))
    chosen = {"bleeding": Term("bleeding", (Choice(concept("GI bleeding")),))}
    for more in ({"prior_days": 365}, {"left_open": ("rules",)}, {"exit": FixedExit(days=30)}):
        asked.append(ask(State(study, chosen)))
        study = study.model_copy(update=more)
    asked.append(ask(State(study, chosen)))
    assert [question[:13] for question in asked] == [
        "Which event s",
        "The vocabular",
        "Which concept",
        "How many days",
        "Are there inc",
        "When do perso",
        "",
    ]
    assert [len(question.splitlines()) for question in asked] == [1, 4, 6, 3, 2, 1, 0]
    assert asked[2].splitlines()[1:3] == [
        "1. Gastrointestinal hemorrhage (192671, Condition, SNOMED)",
        "2. Otitis media (372328, Condition, SNOMED)",
    ]
