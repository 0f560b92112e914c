"""Checks of a whole knowledge base: places of pairs, gates, and missing pairs."""

import pytest

from knowledge_base.pairs.gates import find_problems
from tests.knowledge_base.pairs.examples import DOCUMENT, FIRST, TAXONOMY, pair, review

SECTIONS = {"bluthochdruck": DOCUMENT}
LACKING = [
    "focus 'pots': has no pair on Definition",
    "topic 'Seele': has no pair",
    "focus 'depression': has no pair on Definition",
]


def test_what_is_lacking_is_named() -> None:
    """A topic without pairs and a focus without a required aspect are problems."""
    assert find_problems([pair()], TAXONOMY, SECTIONS) == LACKING
    assert find_problems([], TAXONOMY, SECTIONS)[:2] == [
        "topic 'Herz': has no pair",
        "focus 'bluthochdruck': has no pair on Definition",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"topic": "Leber"}, "Leber / Blutdruck / bluthochdruck / Definition: is not in taxonomy.yaml"),
        ({"subtopic": ""}, "Herz /  / bluthochdruck"),
        ({"focus": "gicht"}, "Herz / Blutdruck / gicht"),
        ({"aspect": "Farbe"}, "bluthochdruck / Farbe"),
        ({"document": "gicht"}, "gicht.md: does not contain the pair's paragraph; build again, or delete the pair"),
        ({"context": FIRST + "!"}, "bluthochdruck.md: does not contain the pair's paragraph"),
        ({"quotes": ()}, "quote: the pair has no quotes: Was ist Bluthochdruck? Der Druck in den Adern ist zu hoch."),
    ],
)
def test_a_pair_that_does_not_belong_is_named(changes: dict[str, object], said: str) -> None:
    """The message has the id of the pair and a remedy."""
    problems = find_problems([pair(**changes)], TAXONOMY, SECTIONS)
    assert problems[0].startswith("bluthochdruck-definition-1: ")
    assert said in problems[0]


def test_a_wording_of_two_clusters_is_named_with_both_pairs() -> None:
    """Case, punctuation and white space do not distinguish wordings. Reviewed pairs are checked too."""
    other = pair("Bluthochdruck, was bedeutet er?", id="b", cluster="d", variants=("was bedeutet Bluthochdruck",))
    assert find_problems([pair(review=review()), other], TAXONOMY, SECTIONS)[0] == (
        "wording 'was bedeutet Bluthochdruck' belongs to two clusters: bluthochdruck-definition-1 and b; remove it from one of them"
    )


def test_a_wording_that_may_not_stand_for_its_question_is_named() -> None:
    """The message names the pair and the variant."""
    given = pair(variants=("Habe ich Bluthochdruck?",))
    assert find_problems([given], TAXONOMY, SECTIONS)[0].startswith(
        "bluthochdruck-definition-1: wording: asks for a diagnosis: 'Habe ich Bluthochdruck?': Was ist Bluthochdruck?"
    )
    assert find_problems([given.model_copy(update={"review": review()})], TAXONOMY, SECTIONS) == LACKING


def test_what_an_expert_has_accepted_need_not_pass_the_gates() -> None:
    """A reviewed pair must still be at a valid place."""
    assert find_problems([pair(quotes=(), review=review())], TAXONOMY, SECTIONS) == LACKING
    assert "paragraph" in find_problems([pair(document="gicht", review=review())], TAXONOMY, SECTIONS)[0]
