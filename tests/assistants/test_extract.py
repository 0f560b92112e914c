"""Extraction: sentences that fit a question, and that can stand where they are put."""

from assistants.extract import answer, section

TEA = section(
    "tea", "Tea", "Tea grows on hills. It likes rain. Farmers pick leaves.\n\nBoiling water makes tea bitter."
)
DOGS = section("dogs", "Dogs", "Dogs drink water. Puppies sleep a lot.\n\nCats are no dogs.")


def test_a_sentence_brings_the_one_it_leans_on() -> None:
    """A pronoun would mean nothing alone."""
    found = answer("Which likes rain?", "", [TEA], most=2)
    assert found is not None
    assert found.text == "Tea grows on hills. It likes rain."


def test_paragraphs_stay_apart() -> None:
    """Sentences of one are on one line."""
    found = answer("tea hills bitter", "", [TEA])
    assert found is not None
    assert found.text.startswith("Tea grows on hills.")
    assert "\n\nBoiling water" in found.text


def test_a_section_that_barely_touches_the_question_is_left_out() -> None:
    """One shared word is not enough beside a section that answers."""
    found = answer("does boiling water make tea bitter", "", [DOGS, TEA])
    assert found is not None
    assert found.ids == ("tea",)


def test_coverage_is_the_share_of_the_question_that_is_spoken_of() -> None:
    """A word that no section has counts against it."""
    found = answer("tea and zebras", "", [TEA])
    assert found is not None
    assert found.coverage == 0.5


def test_no_answer_is_made_up() -> None:
    """When no sentence has a word of the question, or there is no section."""
    assert answer("zebras", "", [TEA]) is None
    assert answer("zebras", "", []) is None


def test_headings_within_a_section_are_no_sentences() -> None:
    """Imported documents have them; an answer is made of what stands below."""
    rent = section("rent", "Rent", "The rent is due on Mondays.\n\n## Raising the rent\n\nIt may rise once a year.")
    assert [sentence.text for sentence in rent.sentences] == ["The rent is due on Mondays.", "It may rise once a year."]
