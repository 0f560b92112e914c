"""BM25 search: a question finds its section, and a follow-up finds the section of the previous exchange."""

import time
from pathlib import Path

import pytest

from knowledge_base.bm25 import SectionIndex, stems
from knowledge_base.library import Library, Source, load

FOLDER = Path(__file__).parents[2] / "knowledge_base" / "schizophrenia"
ANSWERED_BY = {
    "What is schizophrenia?": "what-is-schizophrenia",
    "What causes schizophrenia?": "causes",
    "Is it genetic?": "causes",
    "At what age does it start?": "who-gets-it",
    "why do I hear voices": "symptoms",
    "How is schizophrenia diagnosed?": "diagnosis-and-early-signs",
    "Can schizophrenia be cured?": "course-and-outlook",
    "what treatments are there": "treatment-overview",
    "What is clozapine?": "medication-and-side-effects",
    "how long until the meds work?": "medication-and-side-effects",
    "What is CBT?": "talking-therapies",
    "how do I find a support group": "support-groups",
    "I was just diagnosed, what now?": "newly-diagnosed",
    "my brother refuses to see a doctor": "reluctance-to-seek-help",
    "is it a split personality": "myths-and-stigma",
    "how do I notice I'm getting ill again?": "daily-living-and-relapse",
    "I don't shower anymore": "hygiene-and-self-care",
    "can I drink beer?": "diet-exercise-sleep-alcohol",
    "how do I quit smoking?": "general-health",
    "can I smoke weed?": "illegal-drugs",
    "I feel sad all the time": "depression-and-suicidal-thoughts",
    "which websites can I trust": "further-help",
    "my son has schizophrenia, how do I help him?": "relationships-and-family",
    "can they keep me in hospital?": "rights",
    "can I have children?": "sex-and-family-planning",
    "I'm lonely": "social-life",
    "how can I relax?": "stress",
    "should I tell my boss?": "work-and-study",
    "what is an advance directive": "advance-directives",
}


@pytest.fixture(scope="module")
def index() -> SectionIndex:
    """Return the index of the shipped knowledge base."""
    return load(FOLDER).index


@pytest.mark.parametrize(("question", "section"), ANSWERED_BY.items())
def test_a_question_finds_its_section(index: SectionIndex, question: str, section: str) -> None:
    """Everyday words are enough."""
    assert section in [choice.id for choice in index.choose(question, "", 3)]


@pytest.mark.parametrize("question", ["", "?!", "hello", "who are you?", "what's the capital of France"])
def test_a_section_that_shares_no_word_is_not_chosen(index: SectionIndex, question: str) -> None:
    """A greeting or a different subject finds no section."""
    assert index.choose(question, "", 3) == []


def test_a_follow_up_keeps_the_section_of_the_exchange_before(index: SectionIndex) -> None:
    """The word "simply" occurs in another section, which does not replace the section of the previous exchange."""
    before = "What is clozapine?\nClozapine is used when at least two other antipsychotics have not helped enough."
    assert index.search("Can you explain that more simply?", 1)[0].id != "medication-and-side-effects"
    ids = [choice.id for choice in index.choose("Can you explain that more simply?", before, 3)]
    assert "medication-and-side-effects" in ids
    assert index.choose("and why?", before, 3)[0].id == "medication-and-side-effects"


def test_a_new_subject_is_found_whatever_was_said_before(index: SectionIndex) -> None:
    """The previous exchange does not displace the sections of a complete question."""
    before = "At what age does it start?\nIt most often starts in the late teens or the twenties."
    assert index.choose("how do I quit smoking?", before, 3)[0].id == "general-health"


def test_choices_are_limited_scored_and_explained(index: SectionIndex) -> None:
    """Sections come best first, with the words in common as reason. Equal questions have equal results."""
    choices = index.choose("Does stress at work make voices worse?", "", 2)
    assert len(choices) == 2
    assert choices == index.choose("Does stress at work make voices worse?", "", 2)
    assert choices[0].id == "stress"
    assert "stress" in choices[0].reason
    assert choices[0].score >= choices[1].score


def test_stems_and_stop_words_are_those_of_the_language() -> None:
    """A German section is found with an inflected form of its word."""
    assert stems("the running dogs") == ["run", "dog"]
    library = Library(
        [
            Source("karten", "Karten", "Gesperrte Karten.", "Ihre Karte wird sofort gesperrt."),
            Source("zinsen", "Zinsen", "Zinsen.", "Die Zinsen steigen."),
        ],
        "german",
    )
    assert [choice.id for choice in library.index.choose("Wie sperre ich meine Karten?", "", 3)] == ["karten"]


def test_a_library_without_words_chooses_nothing() -> None:
    """A search in an empty library returns no section."""
    assert Library([]).index.choose("What is it?", "", 3) == []


def test_a_huge_question_is_searched_for_quickly(index: SectionIndex) -> None:
    """Only the end of a long query is used."""
    started = time.process_time()
    for unit in ("what is abcdefgh? ", "abcdefghij", "a and what ", " "):
        index.choose(unit * (1_000_000 // len(unit)), unit * 100_000, 3)
    assert time.process_time() - started < 1
