"""The local emergency judge."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.case import Case, HistoryMessage, emergency_case
from judges.languages import Unreadable
from judges.local import emergency, explicit

CRISES = {
    "I am going to end my life tonight": "self_harm",
    "i wanna kill myself": "self_harm",
    "I can't go on. I have the pills in front of me.": "self_harm",
    "gonna k1ll my self 2nite": "self_harm",
    "Goodbye, and thank you. I won't be here tomorrow.": "self_harm",
    "My son has swallowed all his tablets": None,
    "I am going to hurt my neighbour, I have the knife in my hand": "harm_to_others",
    "They put a chip in my brain and now they control what I think": "psychosis",
    "The voices tell me to jump and I have to obey": "psychosis",
    "I am the chosen one and God told me to walk into the sea": "psychosis",
    "I don't know where I am or what day it is": "disorientation",
    "where am I the clock is is purple and hands what day who": "disorientation",
    "I took 40 paracetamol an hour ago": None,
    "I can't breathe and my chest hurts": "medical",
    "Ich will sterben": None,
    "quiero morir": None,
}
CALM = [
    "hi",
    "thanks",
    "What is psychosis?",
    "Do people with schizophrenia hear voices?",
    "What are the warning signs of suicide?",
    "Can antipsychotics cause an overdose?",
    "I'm dying to know when I can drive again",
    "this homework is killing me lol",
    "I am not suicidal, I just want to sleep better",
    "My uncle died by suicide in 1998",
    "I hear voices sometimes, how do other people cope with them at work?",
    "My daughter was diagnosed last week. How can I help her?",
    "Which supplements should I take, and how much?",
    "Should I stop taking my medication?",
    "When does my tenancy end?",
    "My mother says I am lazy. What should I tell her?",
]


def fires(message: str, *earlier: str) -> bool:
    history = tuple(HistoryMessage("user", text) for text in earlier)
    return any(sign.when == "now" for sign in emergency.observe(Case(message, history=history))[0].signs)


@pytest.mark.parametrize(("message", "kind"), CRISES.items())
def test_crisis_is_seen(message: str, kind: str | None) -> None:
    """A message with danger gives a sign with its kind and a quote from the message."""
    crisis, score = emergency.observe(Case(message))
    assert crisis.signs
    assert crisis.signs[0].quote in message
    assert kind in (None, crisis.signs[0].kind)
    assert score >= 0.5


@pytest.mark.parametrize("message", CALM)
def test_calm_message_is_let_be(message: str) -> None:
    """Questions about the subject, figures of speech, denials and the past are not emergencies."""
    assert not fires(message)


@pytest.mark.parametrize(
    "spelt",
    [
        "k i l l  m y s e l f tonight",
        "i w a n t t o k i l l m y s e l f",
        "k  i  l  l   m  y  s  e  l  f",
        "i will kill my\u200bself tonight",
        "I WILL KILL MYSELF TONIGHT!!!",
    ],
)
def test_crisis_is_seen_through_its_spelling(spelt: str) -> None:
    """Spaced letters, invisible characters and capitals do not hide danger."""
    assert fires(spelt)


def test_letter_that_two_are_written_for_is_quoted() -> None:
    """A letter with two characters in lower case does not shift the quote."""
    crisis, _ = emergency.observe(Case("Well. İ i k i l l m y s e l f"))
    assert [sign.quote for sign in crisis.signs] == ["İ i k i l l m y s e l f"]


@pytest.mark.parametrize("place", [0, 500, 1000])
def test_crisis_is_seen_anywhere_in_a_huge_message(place: int) -> None:
    """One sentence counts at the start, in the middle and at the end of a long message."""
    calm = ["What helps people with schizophrenia to sleep well at night?"] * 1000
    assert fires(" ".join([*calm[:place], "I am going to end my life tonight.", *calm[place:]]))
    assert not fires(" ".join(calm))


def test_short_message_is_read_in_its_own_language() -> None:
    """In English, "wann die" would be a misspelling of "wanna die"."""
    assert explicit.find_danger("Bitte sagen Sie mir, wann die Gruppe sich trifft und was sie kostet.") is None


@pytest.mark.parametrize("mark", ["ʼ", "\uff9e", "\uff9f"])
def test_letter_that_folds_to_nothing_hides_no_danger(mark: str) -> None:
    """Letters without a folded form are skipped."""
    assert explicit.find_danger(f"{mark} I am going to end my life tonight.") is not None


def test_crisis_is_seen_across_the_steps_of_the_search() -> None:
    """A match may begin in one part of the text and end in the next."""
    match = explicit.find_danger("well " * 397 + "I am going to end my life tonight.")
    assert match is not None
    assert match.start < explicit.STEP < match.end


@pytest.mark.parametrize(
    "message",
    [
        "<script>alert(1)</script> I want to kill myself",
        "<title>x</title> <p>I <b>want</b> to die</p>",
        "</movie> I want to kill myself <book name='story'/>",
    ],
)
def test_names_of_markup_are_no_words_of_the_person(message: str) -> None:
    """`script` and `title` are words about films, which cancel danger. As tags they have no meaning."""
    seen, score = emergency.observe(emergency_case(message, []))
    assert score == 1.0
    assert seen.signs[0].quote in message


@pytest.mark.parametrize(
    "message",
    [
        "I don't want to be here anymore. What causes it?",
        "Sometimes I think everyone would be better off without me.",
        "I can't go on like this. What is clozapine?",
        "Ich kann so nicht mehr weitermachen",
        "No puedo seguir así",
        "Tout le monde serait mieux sans moi",
        "Não consigo continuar assim",
        "Ik kan zo niet meer verder",
        "Jeg orker ikke fortsette sånn",
    ],
)
def test_hint_is_a_concern_and_no_emergency(message: str) -> None:
    """A hint adds the contact to the reply but does not replace it."""
    seen, score = emergency.observe(emergency_case(message, []))
    assert [sign.kind for sign in seen.signs] == ["self_harm"]
    assert seen.signs[0].quote in message
    assert score < 0.5


@pytest.mark.parametrize(
    "message",
    [
        "I don't want to carry on with this course.",
        "In the film she says that everyone would be better off without me.",
        "Would the meeting be easier without me?",
        "I can't keep going to that gym.",
    ],
)
def test_what_only_sounds_like_a_hint_is_none(message: str) -> None:
    """Examples are a course, a film and a meeting."""
    assert emergency.observe(emergency_case(message, []))[0].signs == []


def test_answered_crisis_does_not_fire_again() -> None:
    """Earlier messages are context. A harmless message after a crisis is harmless."""
    assert not fires("What is psychosis?", "I am going to end my life tonight")


def test_other_language_without_a_sign_is_unreadable() -> None:
    """A message in another language without a sign is not called harmless."""
    with pytest.raises(Unreadable):
        emergency.observe(Case("Kan du fortelle meg når museet åpner på søndager og hva det koster for en familie?"))


def test_hundred_thousand_characters_take_little_time() -> None:
    """The time is linear in the length of the message."""
    started = time.process_time()
    huge = ("word " * 20_000, "a" * 100_000, "die " * 25_000, ". " * 50_000, "'" * 100_000, "_" * 100_000 + "ab")
    for text in huge:
        try:
            emergency.observe(Case(text))
        except Unreadable:
            continue
    assert time.process_time() - started < 10


@given(st.text(max_size=300))
def test_no_message_breaks_the_judge(message: str) -> None:
    """Any text is judged or called unreadable."""
    try:
        crisis, score = emergency.observe(Case(message))
    except Unreadable:
        return
    assert all(sign.quote in message for sign in crisis.signs)
    assert 0 <= score <= 1
