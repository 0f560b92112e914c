"""One structured call a message: what code makes of a model's answer, and what it does not believe."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from assistants.hippocrates.study import Group, State, Study, SubGroup
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


def named(words: str, english: str = "") -> Mapping[str, Any]:
    """Return an answer with one more name, that of a concept of another entry event."""
    entry = [ENTRY, {"concepts": [words]}]
    return {"study": STUDY | {"entry": entry}, "names": [*NAMES, {"words": words, "english": english}]}


def said(**evidence: str) -> Mapping[str, Any]:
    return {"evidence": [{"slot": slot, "words": words} for slot, words in (EVIDENCE | evidence).items()]}


def dated(start: str, end: str) -> Mapping[str, Any]:
    entry = ENTRY | {"dates": {"start": start, "end": end}}
    return {"study": STUDY | {"entry": [entry]}}


UNFOUNDED: dict[str, tuple[str, Mapping[str, Any]]] = {
    "a concept without words": ("", named("", "celecoxib")),
    "letters of a word": ("", named("gastro", "celecoxib")),
    "a part of a concept id": (", concept 11180845", named("concept 1118084")),
    "an id that only the answer gives": ("", named("observation", "concept 1118084")),
    "a name for later": ("", {"names": [*NAMES, {"words": "concept 1118084", "english": ""}]}),
    "what was not taken": ("", {"not_taken": ["12,345 persons"]}),
    "what cannot be expressed": ("", {"not_expressible": [{"words": "cheap", "nearest": ""}]}),
    "what is unclear": ("", {"unclear": [{"words": "soon", "question": "When?"}]}),
    "a number in what is nearest": ("", {"not_expressible": [{"words": "Adults", "nearest": "4,321 persons."}]}),
    "a number in a question": ("", {"unclear": [{"words": "Adults", "question": "Is 400 mg meant?"}]}),
    "a long question": ("", {"unclear": [{"words": "Adults", "question": "Which? " * 30}]}),
    "words of an event": ("", {"study": STUDY | {"entry": [ENTRY | {"words": "gastrointestinal; approved"}]}}),
    "words of a rule": ("", {"study": STUDY | {"rules": [RULE | {"words": "no celecoxib, as agreed"}]}}),
    "a name of the cohort": ("", {"study": STUDY | {"name": "Approved"}, **said(name="Adults")}),
    "a country": ("", {"query": {"countries": ["5,555 patients"]}, **said(query="Adults")}),
    "a slot without evidence": ("", {"study": STUDY | {"sex": "female"}}),
    "a slot that was not removed": ("", {"study": STUDY | {"sex": "female"}, **said(removed="Adults")}),
    "a query without evidence": ("", {"query": {"countries": ["Spain"]}}),
    "evidence without words": ("", {"study": STUDY | {"sex": "female"}, **said(sex="")}),
    "a place in two lines": (
        " in New\n Atlantis",
        {"query": {"countries": ["New\n Atlantis"]}, **said(query="Adults")},
    ),
    "another year": (" in 2015", dated("2015-01-01", "2017-12-31")),
    "another day": (" in 2015", dated("2015-06-17", "2015-12-31")),
    "the first day there is": (" in 2015", dated("0001-01-01", "2015-12-31")),
}


@pytest.mark.parametrize(("more", "fields"), UNFOUNDED.values(), ids=UNFOUNDED)
async def test_what_the_messages_do_not_hold_changes_nothing(
    vocabulary: Vocabulary, more: str, fields: Mapping[str, Any]
) -> None:
    """Nor is it shown: the model's own words have a lead, few letters, and no numbers of its own."""
    wrong = understood(**{"study": STUDY, **fields})
    reader = Answers(wrong, wrong)
    step = await read(vocabulary, reader, MESSAGE + more)
    assert (step.state, step.query, step.unread) == (State(), None, True)
    assert len(reader.cases[1]["problems"]) == 1, reader.cases[1]["problems"]


async def test_no_words_stand_in_no_message(vocabulary: Vocabulary) -> None:
    """A message of punctuation marks names no concept."""
    names, evidence = [{"words": "", "english": "celecoxib"}], [{"slot": "entry", "words": ""}]
    answer = understood({"entry": [{"concepts": [""]}]}, names=names, evidence=evidence)
    assert (await read(vocabulary, Answers(answer, answer), "?!")).state == State()


FOUNDED: dict[str, tuple[str, Mapping[str, Any]]] = {
    "a whole concept id": (", concept 1118084", named("concept 1118084")),
    "words in several lines": ("", {"not_taken": ["a year\n of observation"]}),
    "words of a script without spaces": ("、喘息の患者", named("喘息", "asthma")),
    "a listed country": ("", {"query": {"countries": ["Germany"]}, **said(query="Adults")}),
    "a place of the message": (" in Atlantis", {"query": {"countries": ["Atlantis"]}, **said(query="in Atlantis")}),
    "pieces of words": ("", {"study": STUDY | {"entry": [ENTRY | {"words": "Adults; hemorrhage"}]}}),
    "a year": (" in 2015", dated("2015-01-01", "2015-12-31")),
    "before and after": (" after 2010 and before 2015", dated("2011-01-01", "2014-12-31")),
    "days": (" 17.6.2015 to 30 March 2016", dated("2015-06-17", "2016-03-30")),
    "a number of the message": ("", {"unclear": [{"words": "30 days", "question": "Is day 30 one of the 30 days?"}]}),
}


@pytest.mark.parametrize(("more", "fields"), FOUNDED.values(), ids=FOUNDED)
async def test_what_the_messages_hold_is_read(vocabulary: Vocabulary, more: str, fields: Mapping[str, Any]) -> None:
    """At once."""
    answer = understood(**{"study": STUDY, **fields})
    step = await read(vocabulary, Answers(answer), MESSAGE + more)
    assert (step.state.study, step.query) == (answer.study, answer.query)
    assert "\n" not in str(answer)


async def test_what_is_removed_needs_one_word_for_it(vocabulary: Vocabulary) -> None:
    """As "drop that" for a rule and an age."""
    before = await read(vocabulary, Answers(understood(STUDY)))
    left = {name: slot for name, slot in STUDY.items() if name not in ("rules", "age")}
    answer = understood(left, names=[], evidence=[{"slot": "removed", "words": "drop that"}])
    step = await Understander(vocabulary).read(before, [MESSAGE], "drop that", Answers(answer))
    assert step.state.study == Study.model_validate(left)


async def test_a_choice_needs_evidence(vocabulary: Vocabulary) -> None:
    """A message about something else chooses no concept."""
    study = {"entry": [{"concepts": ["incident otitis"]}]}
    evidence = [{"slot": "entry[0]", "words": "incident otitis"}]
    names = [{"words": "incident otitis", "english": "incident otitis"}]
    opened = await read(vocabulary, Answers(understood(study, names=names, evidence=evidence)), "incident otitis")
    picks = [{"words": "incident otitis", "include": [1], "exclude": [], "descendants": True}]
    answer = understood(study, names=[], evidence=[{"slot": "frame", "words": "thanks"}], picks=picks)
    step = await Understander(vocabulary).read(opened, [], "thanks", Answers(answer, answer))
    assert (step.state, step.unread) == (opened.state, True)


async def test_a_model_that_fails_changes_nothing(vocabulary: Vocabulary) -> None:
    """The researcher is told."""
    before = (await read(vocabulary, Answers(understood(STUDY)))).state
    step = await read(vocabulary, Answers(None), "only men", before)
    assert (step.state, step.unread) == (before, True)


async def test_an_earlier_message_that_was_read_once_is_read_again(vocabulary: Vocabulary) -> None:
    """As after a restart: that the model fails meanwhile is not kept for a message whose reply did not say so."""
    understander = Understander(vocabulary)
    assert (await understander.read(Step(), [], MESSAGE, Answers(None), is_last=False)).unread
    assert not (await understander.read(Step(), [], MESSAGE, Answers(understood(STUDY)), is_last=False)).unread


@pytest.mark.parametrize("slot", ["criteria", "groups"])
def test_a_group_has_fifty_members_at_most(slot: str) -> None:
    """Of either kind, and so has a group in it."""
    criterion = {"event": {"concepts": ["celecoxib"]}}
    member = criterion if slot == "criteria" else {"criteria": [criterion]}
    Group.model_validate({slot: [member] * 50})
    for made, group in ((Group, {slot: [member] * 51}), (SubGroup, {"criteria": [criterion] * 51})):
        with pytest.raises(ValidationError, match="at most 50"):
            made.model_validate(group)


async def test_words_that_nothing_holds_are_shown(vocabulary: Vocabulary) -> None:
    """What the model did not take, and what it overlooked."""
    message = f"{MESSAGE}, living in a rural area, untreated"
    step = await read(vocabulary, Answers(understood(STUDY, not_taken=["living in a rural area"])), message)
    assert step.unused == ("living in a rural area", "untreated")


@pytest.mark.parametrize(
    ("more", "lost"),
    [
        (" and not both", ("not both",)),
        (", geen warfarine, nooit zonder", ("geen warfarine nooit zonder",)),
        (", nicht vor und nach", ("nicht vor", "nach")),
        (" och aldrig före", ("aldrig före",)),
        (" и без", ("без",)),
        (" seen at ED", ("seen at ed",)),
        (" and", ()),
    ],
)
async def test_no_word_that_may_turn_the_meaning_is_passed_over(
    vocabulary: Vocabulary, more: str, lost: tuple[str, ...]
) -> None:
    """In any language; only an "and" between two pieces may stand in neither."""
    assert (await read(vocabulary, Answers(understood(STUDY)), MESSAGE + more)).unused == lost


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
    evidence = [{"slot": "query", "words": "databases with celecoxib in Spain"}]
    asked = understood({}, names=named, evidence=evidence, query=query)
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


async def test_what_stands_in_the_state_may_be_said_again(vocabulary: Vocabulary) -> None:
    """As a place that nobody lists, and a year."""
    query = {"countries": ["Atlantis"]}
    first = understood(**dated("2015-01-01", "2015-12-31"), query=query, **said(query="in Atlantis"))
    step = await read(vocabulary, Answers(first), f"{MESSAGE} in 2015, in Atlantis")
    evidence = [{"slot": "entry", "words": "until May 20"}, {"slot": "query", "words": "1000 persons"}]
    fields = {"names": [], "evidence": evidence, "query": query | {"min_persons": 1000}}
    more = understood(**dated("2015-01-01", "2015-05-20") | fields)
    step = await Understander(vocabulary).read(step, [], "only until May 20, with 1000 persons", Answers(more))
    assert (step.state.study, step.query) == (more.study, more.query)
