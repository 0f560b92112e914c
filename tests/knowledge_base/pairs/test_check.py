"""A whole knowledge base is checked: where pairs stand, what gates say, what is lacking."""

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
    """A topic without pairs, a focus without a required aspect."""
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
    """By its id, with what to do."""
    problems = find_problems([pair(**changes)], TAXONOMY, SECTIONS)
    assert problems[0].startswith("bluthochdruck-definition-1: ")
    assert said in problems[0]


def test_a_wording_of_two_clusters_is_named_with_both_pairs() -> None:
    """Also where an expert has accepted them: case, punctuation and white space do not tell wordings apart."""
    other = pair("Bluthochdruck, was bedeutet er?", id="b", cluster="d", variants=("was bedeutet Bluthochdruck",))
    assert find_problems([pair(review=review()), other], TAXONOMY, SECTIONS)[0] == (
        "wording 'was bedeutet Bluthochdruck' belongs to two clusters: bluthochdruck-definition-1 and b; remove it from one of them"
    )


def test_a_wording_that_may_not_stand_for_its_question_is_named() -> None:
    """With its pair."""
    given = pair(variants=("Habe ich Bluthochdruck?",))
    assert find_problems([given], TAXONOMY, SECTIONS)[0].startswith(
        "bluthochdruck-definition-1: wording: asks for a diagnosis: 'Habe ich Bluthochdruck?': Was ist Bluthochdruck?"
    )
    assert find_problems([given.model_copy(update={"review": review()})], TAXONOMY, SECTIONS) == LACKING


def test_what_an_expert_has_accepted_need_not_pass_the_gates() -> None:
    """It must stand in its place all the same."""
    assert find_problems([pair(quotes=(), review=review())], TAXONOMY, SECTIONS) == LACKING
    assert "paragraph" in find_problems([pair(document="gicht", review=review())], TAXONOMY, SECTIONS)[0]
