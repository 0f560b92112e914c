"""One structured call a message: what code makes of a model's answer, and what it does not believe."""

from collections.abc import Mapping
from typing import Any

import pytest

from assistants.hippocrates.study import State, Study
from assistants.hippocrates.understand import Reader, Step, Understander, Understanding
from assistants.hippocrates.vocabulary import Vocabulary

MESSAGE = "Adults with gastrointestinal hemorrhage, a year of observation before, no celecoxib in the 30 days before"
ENTRY = {"concepts": ["gastrointestinal hemorrhage"], "words": "with gastrointestinal hemorrhage"}
RULE = {
    "criterion": {
        "event": {"concepts": ["celecoxib"]},
        "bound": "exactly",
        "count": 0,
        "window": {"start": -30, "end": -1},
    },
    "words": "no celecoxib in the 30 days before",
}
STUDY = {"entry": [ENTRY], "prior_days": 365, "age": {"least": 18}, "rules": [RULE]}
NAMES = [{"words": one, "english": one} for one in ("gastrointestinal hemorrhage", "celecoxib")]
EVIDENCE = {
    "age": "Adults",
    "entry[0]": "with gastrointestinal hemorrhage",
    "prior_days": "a year of observation before",
    "rules[0]": "no celecoxib in the 30 days before",
}


def understood(study: Mapping[str, Any], **more: Any) -> Understanding:
    """Return what a model answers."""
    fields: dict[str, Any] = {"names": NAMES, "picks": [], "query": None, "wishes": [], "not_taken": []}
    evidence = [{"slot": slot, "words": words} for slot, words in EVIDENCE.items()]
    fields |= {"evidence": evidence, "not_expressible": [], "unclear": []} | more
    return Understanding.model_validate({"study": study, **fields})


class Answers:
    """A reader that gives some answers, one after another, and keeps what it was asked."""

    def __init__(self, *answers: Understanding | None) -> None:
        self.answers, self.cases = list(answers), list[Mapping[str, Any]]()

    async def __call__(self, case: Mapping[str, Any]) -> Understanding | None:
        self.cases.append(case)
        return self.answers.pop(0)


async def read(vocabulary: Vocabulary, reader: Reader, message: str = MESSAGE, state: State | None = None) -> Step:
    return await Understander(vocabulary).read(Step(state or State()), [], message, reader)


async def test_a_message_fills_the_study_and_finds_its_concepts(vocabulary: Vocabulary) -> None:
    """Ids come from the vocabulary, by the words' English names."""
    step = await read(vocabulary, Answers(understood(STUDY)))
    assert step.state.study == Study.model_validate(STUDY)
    ids = {words: [one.concept.concept_id for one in term.choices] for words, term in step.state.chosen.items()}
    assert ids == {"gastrointestinal hemorrhage": [192671], "celecoxib": [1118084]}
    assert (step.unused, step.unread, step.state.question) == ((), False, "exit")


WRONG: dict[str, Understanding] = {
    "a concept that nobody named": understood(
        STUDY | {"entry": [{"concepts": ["stroke"]}]}, names=[*NAMES, {"words": "stroke", "english": "stroke"}]
    ),
    "evidence that does not stand in the message": understood(STUDY, evidence=[{"slot": "age", "words": "over 18"}]),
    "a concept without a name": understood(STUDY, names=NAMES[:1]),
    "a number that nobody gave": understood(
        STUDY | {"post_days": 45}, evidence=[{"slot": "rules[0]", "words": EVIDENCE["rules[0]"]}]
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
async def test_what_contradicts_the_message_is_told_once_and_then_changes_nothing(
    vocabulary: Vocabulary, wrong: Understanding
) -> None:
    """The second answer counts if it is right."""
    reader = Answers(wrong, wrong)
    step = await read(vocabulary, reader)
    assert (step.state, step.unread) == (State(), True)
    assert "problems" not in reader.cases[0]
    assert reader.cases[1]["problems"]
    assert (await read(vocabulary, Answers(wrong, understood(STUDY)))).state.study == Study.model_validate(STUDY)


async def test_a_model_that_fails_changes_nothing(vocabulary: Vocabulary) -> None:
    """The researcher is told."""
    before = (await read(vocabulary, Answers(understood(STUDY)))).state
    step = await read(vocabulary, Answers(None), "only men", before)
    assert (step.state, step.unread) == (before, True)


async def test_words_that_nothing_holds_are_shown(vocabulary: Vocabulary) -> None:
    """What the model did not take, and what it overlooked."""
    message = f"{MESSAGE}, living in a rural area, untreated"
    step = await read(vocabulary, Answers(understood(STUDY, not_taken=["living in a rural area"])), message)
    assert step.unused == ("living in a rural area", "untreated")


async def test_a_message_is_read_once_in_the_same_state(vocabulary: Vocabulary) -> None:
    """So a conversation that is sent again, or goes on, costs one call a message."""
    understander, reader = Understander(vocabulary), Answers(understood(STUDY))
    first = await understander.read(Step(), [], MESSAGE, reader)
    assert await understander.read(Step(), [], MESSAGE, reader) == first


async def test_concepts_are_chosen_among_those_that_were_offered(vocabulary: Vocabulary) -> None:
    """Other numbers choose nothing, and words that the chosen entry lacks are kept in view."""
    study = {"entry": [{"concepts": ["incident otitis"]}]}
    names = [{"words": "incident otitis", "english": "incident otitis"}]
    opened = await read(
        vocabulary,
        Answers(understood(study, names=names, evidence=[{"slot": "entry[0]", "words": "incident otitis"}])),
        "patients with incident otitis",
    )
    (term,) = opened.state.open_terms
    assert term.candidates
    picks = {"words": "incident otitis", "include": [1], "exclude": [], "descendants": True}
    picked = understood(study, names=[], evidence=[{"slot": "picks", "words": "the first one"}], picks=[picks])
    step = await Understander(vocabulary).read(opened, [], "the first one", Answers(picked))
    chosen = step.state.chosen["incident otitis"]
    assert [one.concept for one in chosen.choices] == [term.candidates[0]]
    assert "incident" in chosen.unmatched
    other = understood(study, names=[], evidence=[{"slot": "picks", "words": "99"}], picks=[picks | {"include": [99]}])
    refused = await Understander(vocabulary).read(opened, [], "99", Answers(other, other))
    assert (refused.state, refused.unread) == (opened.state, True)


async def test_a_question_about_databases_goes_on_with_the_last_one(vocabulary: Vocabulary) -> None:
    """Its words need not be said again."""
    query = {"concepts": [["celecoxib"]], "countries": ["Spain"]}
    named = [{"words": "celecoxib", "english": "celecoxib"}]
    frame = [{"slot": "frame", "words": "databases with celecoxib in Spain"}]
    asked = understood({}, names=named, evidence=frame, query=query)
    first = await read(vocabulary, Answers(asked), "databases with celecoxib in Spain")
    more = understood(
        {},
        names=[],
        evidence=[{"slot": "query.countries", "words": "and Norway"}],
        query=query | {"countries": ["Norway"]},
    )
    reader = Answers(more)
    second = await Understander(vocabulary).read(first, [], "and Norway?", reader)
    assert reader.cases[0]["query_before"]["countries"] == ["Spain"]
    assert (second.query, second.unread) == (more.query, False)
