"""Without a language model: what the form reads, and that it reads nothing else."""

from pathlib import Path

import pytest
import yaml

from assistants.hippocrates.cdm import count_cohort
from assistants.hippocrates.cohort import build_cohort
from assistants.hippocrates.form import ANY_TIME, TEXTS, Form, asked_next
from assistants.hippocrates.study import (
    Age,
    Criterion,
    Event,
    FixedExit,
    ObservationExit,
    Rule,
    State,
    TreatmentExit,
    Window,
)
from assistants.hippocrates.understand import Step
from assistants.hippocrates.vocabulary import Vocabulary

ANSWERS = yaml.safe_load(TEXTS.read_text(encoding="utf-8"))["answers"]
NEW_USERS = ("first celecoxib", "none", "none", "Gastrointestinal hemorrhage", "none", "18 or older", "none", "30 days")
BLEEDING = ("gastrointestinal hemorrhage", "365", "none", "none", "none", "none", "end of observation")
UNTIL = {  # the messages after which each question is asked
    "entry": (),
    "concept": ("fracture",),
    "observation": ("celecoxib",),
    "include": ("celecoxib", "365"),
    "exclude": ("celecoxib", "365", "none"),
    "age": ("celecoxib", "365", "none", "none"),
    "sex": ("celecoxib", "365", "none", "none", "none"),
    "exit": ("celecoxib", "365", "none", "none", "none", "none"),
    "": NEW_USERS,
}


@pytest.fixture(scope="module")
def form(vocabulary: Vocabulary) -> Form:
    return Form(vocabulary)


def fold(form: Form, *messages: str) -> Step:
    step = Step()
    for message in messages:
        step = form.read(step, message)
    return step


def test_the_questions_lead_to_new_users(form: Form) -> None:
    """Each answer fills its slot, in the order of the questions."""
    study = fold(form, *NEW_USERS).state.study
    event = Event(concepts=("Gastrointestinal hemorrhage",), words="Gastrointestinal hemorrhage")
    criterion = Criterion(event=event, bound="exactly", count=0, window=Window(end=-1))
    assert study.entry == (Event(concepts=("celecoxib",), first=True, words="first celecoxib"),)
    assert study.rules == (Rule(criterion=criterion, words=event.words),)
    assert (study.prior_days, study.age, study.sex, study.exit) == (None, Age(least=18), None, FixedExit(days=30))


@pytest.mark.parametrize(("messages", "persons"), [(NEW_USERS, 1800), (BLEEDING, 479)])
def test_the_form_reaches_the_reference_counts(
    messages: tuple[str, ...], persons: int, form: Form, vocabulary: Vocabulary, eunomia: Path
) -> None:
    """The two cohorts of the documentation, counted on Eunomia; what can be done with them is said."""
    state = fold(form, *messages).state
    assert state.question is None
    assert "“databases for this cohort”" in form.question(state)
    assert count_cohort(eunomia, build_cohort(state, vocabulary)).persons == persons


@pytest.mark.parametrize(("asked", "before"), UNTIL.items())
def test_the_form_asks_one_thing_after_the_other(asked: str, before: tuple[str, ...], form: Form) -> None:
    """A question is asked as long as the study has one open, with examples that the form reads."""
    state = fold(form, *before).state
    assert (asked_next(state) or "") == asked
    assert ("“start again”" in form.question(state)) == (state.question is None) == (not asked)


@pytest.mark.parametrize(
    ("asked", "example"), [(name, one["example"]) for name in UNTIL if name for one in ANSWERS[name]]
)
def test_each_example_is_read(asked: str, example: str, form: Form) -> None:
    """What is shown as an answer is one, whatever its letter case, spaces around it and full stop."""
    step = fold(form, *UNTIL[asked])
    after = form.read(step, f" {example.upper()}. ")
    assert after.state != step.state
    assert not after.note


@pytest.mark.parametrize("example", [one["example"] for one in ANSWERS[ANY_TIME]])
@pytest.mark.parametrize("asked", UNTIL)
def test_commands_are_read_at_any_time(asked: str, example: str, form: Form) -> None:
    """Commands and searches are no answers, so that they leave the cohort alone."""
    step = fold(form, *UNTIL[asked])
    after = form.read(step, example)
    assert after.understanding is not None
    assert after.state == step.state or example == "start again"


MORE = [*"not no without never recent twice 1 ? ! 🙂".split(), "in 2015", "over 65", "at least 2", ", 365", "\nmale"]


@pytest.mark.parametrize("more", MORE)
@pytest.mark.parametrize("asked", [name for name in UNTIL if name])
def test_nothing_of_a_message_is_dropped(asked: str, more: str, form: Form) -> None:
    """More words around an answer make it no answer: nothing is changed, and the note says so."""
    step = fold(form, *UNTIL[asked])
    for example in [one["example"] for one in ANSWERS[asked]]:
        for message in (f"{example} {more}", f"{more} {example}", f"{example}, {more}", f"{example} and {more}"):
            after = form.read(step, message)
            same = form.read(step, example).state.study
            assert after.state.study != same or same == step.state.study, message
            if after.state != step.state:  # offered to choose from, under all its words
                assert after.state.open_terms
                assert more in after.state.open_terms[0].words
            else:
                assert "No language model is set up" in after.note
                assert after.understanding is None


@pytest.mark.parametrize(
    "message",
    [
        "patients with incident stroke in 2015",
        "Patients with streptococcal sore throat, none in the year before",
        "non-hemorrhagic stroke",
        "low hemoglobin",
        "celecoxib or ibuprofen",
        "hospitalized gout",
        "pacientes con gota",
        "I want to study bleeding",
        "databases with stroke in the UK who are over 65?",
        "databases without gout",
        "how many patients with gout",
        "aged 18 or older",
        "celecoxib" + " " * 600 + "not",
        "-celecoxib",
        "",
        "1",
    ],
)
@pytest.mark.parametrize("asked", ["entry", "include", "exclude"])
def test_what_is_no_answer_changes_nothing(message: str, asked: str, form: Form) -> None:
    """Sentences of researchers, some of which were once read in part."""
    step = fold(form, *UNTIL[asked])
    after = form.read(step, message)
    assert (after.state, after.understanding) == (step.state, None)
    assert f"“{ANSWERS[asked][0]['example']}”" in after.note


@pytest.mark.parametrize(
    ("asked", "message", "reason"),
    [
        ("entry", "celecoxib twice", "“celecoxib twice”"),
        ("include", "celecoxib twice, 90 days before", "“celecoxib twice”"),
        ("include", "celecoxib, 0 days before", "out of range"),
        ("concept", "1, 1", "numbers 1 to"),
        ("concept", "1; exclude 1", "numbers 1 to"),
        ("concept", "77", "numbers 1 to"),
        ("observation", "99999", "out of range"),
        ("age", "65 to 18", "out of range"),
        ("age", "121 or older", "out of range"),
    ],
)
def test_the_note_says_why(asked: str, message: str, reason: str, form: Form) -> None:
    """An answer of the right form that cannot be taken is told why."""
    assert reason in fold(form, *UNTIL[asked], message).note


def test_windows_and_exits(form: Form) -> None:
    """Days after entry begin with the day of entry, days before end the day before; several rules stand beside each other."""
    rules = ("ibuprofen", "ibuprofen, 90 days before", "ibuprofen, 1 day after", "none", "stroke", "none")
    step = fold(form, *UNTIL["include"], *rules)
    windows = [criterion.window for rule in step.state.study.rules for criterion in rule.criteria]
    assert windows == [Window(), Window(start=-90, end=-1), Window(start=0, end=1), Window(end=-1)]
    exits = {
        "30 days": FixedExit(days=30),
        "end of treatment": TreatmentExit(gap=30),
        "end of treatment, gap 60 days": TreatmentExit(gap=60),
        "end of observation": ObservationExit(),
    }
    for message, expected in exits.items():
        assert fold(form, *UNTIL["exit"], message).state.study.exit == expected


def test_treatment_ends_only_where_a_drug_starts_the_cohort(form: Form) -> None:
    """A cohort of a condition has no drug whose end could be the exit."""
    step = fold(form, *BLEEDING[:-1], "end of treatment")
    assert step.state.study.exit is None
    assert "no drug" in step.note


def test_spaces_are_not_counted(form: Form) -> None:
    """A line that is broken, or words far apart, are the same answer."""
    assert fold(form, "gastrointestinal \n hemorrhage").state == fold(form, "gastrointestinal hemorrhage").state


def test_a_name_that_begins_with_first_is_a_name(form: Form) -> None:
    """Whole names of the vocabulary come before any reading of their words."""
    assert fold(form, "first degree burn").state.study.entry[0].first is False


def test_words_that_may_be_a_name_are_offered_whole(form: Form) -> None:
    """Where both the words and what follows "first" may be meant, the form asks about all of the words."""
    step = fold(form, "first degree")
    assert step.state.open_terms[0].words == "first degree"


def test_concepts_are_chosen_by_number(form: Form) -> None:
    """Numbers stand for what the question lists; "none" takes the words out of the cohort."""
    step = fold(form, *UNTIL["concept"])
    candidates = step.state.chosen["fracture"].candidates
    assert all(one.name in form.question(step.state) for one in candidates)
    chosen = form.read(step, "1, 3; exclude 2").state.chosen["fracture"]
    expected = [(candidates[0], False), (candidates[2], False), (candidates[1], True)]
    assert [(one.concept, one.excluded) for one in chosen.choices] == expected
    assert form.read(step, "none").state == State()
    step = fold(form, *UNTIL["include"], "ibuprofen", "fracture", "none")
    assert step.state == fold(form, *UNTIL["include"], "ibuprofen").state


@pytest.mark.parametrize(
    ("message", "concepts", "countries"),
    [
        ("databases with stroke", ["stroke"], ()),
        ("Databases with celecoxib and stroke.", ["celecoxib", "stroke"], ()),
        ("databases with celecoxib and stroke in the UK", ["celecoxib", "stroke"], ("the UK",)),
        ("databases with stroke in Deutschland", ["stroke"], ("Deutschland",)),
    ],
)
def test_searches(message: str, concepts: list[str], countries: tuple[str, ...], form: Form) -> None:
    """A search names concepts and a country; all of its words are one or the other."""
    understanding = fold(form, message).understanding
    assert understanding is not None
    assert understanding.query is not None
    assert understanding.query.concepts == tuple((one,) for one in concepts)
    assert understanding.query.countries == countries
    assert [one.words for one in understanding.names] == concepts


@pytest.mark.parametrize("more", [" in Atlantis", " and nonsense", " without stroke"])
def test_a_search_with_unknown_words_is_none(more: str, form: Form) -> None:
    """A place or a concept that nothing knows is not passed over."""
    step = fold(form, f"databases with celecoxib{more}")
    assert step.understanding is None
    assert "the vocabulary has no name" in step.note
    assert ("“Atlantis” is no known country or region" in step.note) == ("Atlantis" in more)


@pytest.mark.parametrize("asked", UNTIL)
def test_the_forms_of_the_open_question_are_named(asked: str, form: Form) -> None:
    """By their examples; when the cohort is complete, the commands."""
    note = fold(form, *UNTIL[asked], "over 65, please").note
    assert all(f"“{one['example']}”" in note for one in ANSWERS[asked or ANY_TIME])


@pytest.mark.parametrize(
    "message", ["none", "male", "2 days", "first none", "18 to 65", "end of treatment", "start again"]
)
@pytest.mark.parametrize("asked", ["entry", "include", "exclude"])
def test_an_answer_to_another_question_is_no_concept(asked: str, message: str, form: Form) -> None:
    """Although words of the vocabulary are like it."""
    step = fold(form, *UNTIL[asked])
    after = form.read(step, message)
    assert after.state.study.concepts.keys() <= {"celecoxib"}
    if message not in ("none", "start again"):
        assert after.state == step.state
    if asked == "entry" and message != "start again":
        assert f"“{message.removeprefix('first ')}” answers another question" in after.note


def test_a_cohort_has_fifty_rules_at_most(form: Form) -> None:
    """The note to the next one says so."""
    step = fold(form, *UNTIL["include"], *["ibuprofen"] * 51)
    assert len(step.state.study.rules) == 50
    assert "50 rules" in step.note


def test_help_lists_all_forms(form: Form) -> None:
    """What may be answered is said on request."""
    note = fold(form, "help").note
    assert all(f"“{one['example']}”" in note for answers in ANSWERS.values() for one in answers)
