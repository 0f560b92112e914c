"""Analysis of texts with the word lists of each language."""

from typing import get_args

import pytest

from knowledge_base.bm25 import Language
from knowledge_base.pairs.words import Words
from tests.knowledge_base.pairs.examples import TAXONOMY, pair

WORDS = Words("german")


@pytest.mark.parametrize("language", get_args(Language))
def test_every_language_has_lists(language: Language) -> None:
    """Each language has number words up to ten or twelve, negations, warnings, and a template for offers."""
    words = Words(language)
    assert words.reword(pair(), "Q?", "A.").recommendation.endswith(("Q?", "Q??"))
    assert len(words._numbers) in (9, 11)
    assert words._negations
    assert all(words._warnings)
    assert words._abbreviations
    assert {*words.marks.values()} == {"yes", "no"}


def test_numbers_are_read_from_figures_and_words() -> None:
    """Number words from two to twelve count. One does not count, because it is also an article."""
    assert WORDS.numbers("Zwei von 1.000, 1,5 mg, ein Mal, 140/90") == {"2", "1.000", "1,5", "140", "90"}


def test_a_negation_is_a_word_of_its_own() -> None:
    """Negations match whole words, ignoring case."""
    assert WORDS.is_negated("Nicht heute.")
    assert not WORDS.is_negated("Die Nichte kommt.")
    assert Words("english").is_negated("You shouldn’t.")


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Eins. Zwei! Drei?", ["Eins.", "Zwei!", "Drei?"]),
        ("Obst, z. B. Äpfel, hilft. Gut so.", ["Obst, z. B. Äpfel, hilft.", "Gut so."]),
        ("Es sind ca. 8 Liter. Dr. Weiß weiß es.", ["Es sind ca. 8 Liter.", "Dr. Weiß weiß es."]),
        ("Ein\nSatz ohne Ende", ["Ein Satz ohne Ende"]),
        ("", []),
    ],
)
def test_a_text_is_divided_into_sentences(text: str, sentences: list[str]) -> None:
    """Abbreviations do not end a sentence."""
    assert WORDS.split_sentences(text) == sentences


def test_abbreviations_are_those_of_the_language() -> None:
    """Each language has its own list of abbreviations."""
    assert Words("english").split_sentences("Ask Dr. Miller, e.g. Anna. No. Wait.") == [
        "Ask Dr. Miller, e.g. Anna.",
        "No.",
        "Wait.",
    ]
    assert Words("norwegian").split_sentences("Spis f.eks. Epler. Ja.") == ["Spis f.eks. Epler.", "Ja."]
    assert Words("german").split_sentences("Es ist f.eks. Gut.") == ["Es ist f.eks.", "Gut."]


def test_quotes_touch_sentences() -> None:
    """A quote may be part of a sentence or span several sentences."""
    text = "Eins ist da. Zwei ist da. Drei."
    assert WORDS.quoted_sentences(text, ["ist da. Zwei"]) == "Eins ist da. Zwei ist da."
    assert WORDS.quoted_sentences(text, ["Zwei"]) == "Zwei ist da."
    assert WORDS.quoted_sentences(text, ["Eins ist da. Zwei ist da."]) == "Eins ist da. Zwei ist da."


def test_what_is_asked_is_told_from_how_the_focus_is_named() -> None:
    """The stems of a question are split into stems that name the focus and other stems."""
    focus = TAXONOMY.focus("bluthochdruck")
    assert WORDS.split_stems("Welche Ursachen hat hoher Blutdruck?", focus) == ({"ursach"}, {"hoh", "blutdruck"})
    assert [one.id for one in WORDS.foci_in("Was ist Schwermut?", TAXONOMY.foci)] == ["depression"]


@pytest.mark.parametrize(
    ("question", "answer", "complexity", "offer"),
    [
        ("Was ist Bluthochdruck?", "Kurz.", "beginner", "Möchten Sie wissen: Was ist Bluthochdruck?"),
        ("Was ist denn dieser Bluthochdruck, von dem alle reden?", "Kurz.", "standard", ""),
        ("Was ist Bluthochdruck?", "lang " * 26, "complex", ""),
    ],
)
def test_a_pair_is_as_complex_as_its_texts(question: str, answer: str, complexity: str, offer: str) -> None:
    """Only beginner questions get a recommendation."""
    reworded = WORDS.reword(pair(), question, answer)
    assert (reworded.complexity, reworded.recommendation) == (complexity, offer)
