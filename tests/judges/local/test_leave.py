"""Leave that a source does not give."""

import pytest

from judges.local.leave import permits
from judges.local.reading import read
from judges.local.text import normalise

PLAIN = "Medicine helps many people, and doses differ."
FORBIDS = "Do not suddenly stop taking the medicine."


def permitted(sentence: str, source: str) -> bool:
    return permits(read(normalise(sentence)), read(normalise(source)))


@pytest.mark.parametrize(
    "sentence",
    [
        "You can skip your tablets.",
        "It is fine for you to halve the dose.",
        "There is no harm in leaving out your pills.",
        "Feel free to change the dose.",
        "There is nothing wrong with stopping your medication.",
        "There is no need to worry about missing an injection.",
        "You might have a beer.",
    ],
)
def test_leave_is_what_a_prescriber_must_decide(sentence: str) -> None:
    """However it is phrased; a source that gives the same leave may be restated."""
    assert permitted(sentence, PLAIN)
    assert not permitted(sentence, sentence)


@pytest.mark.parametrize(
    "sentence", ["You can ask about your tablets.", "Some people skip their tablets.", "You can change the lights."]
)
def test_other_sentences_give_no_leave(sentence: str) -> None:
    """Neither leave for other things, nor the telling of what people do."""
    assert not permitted(sentence, PLAIN)


def test_a_prohibition_is_lifted_by_leaving_out_its_negation() -> None:
    """In most of its words; what keeps the negation, or is about something else, lifts nothing."""
    assert permitted("Suddenly stop taking the medicine.", FORBIDS)
    assert not permitted("Never suddenly stop taking the medicine.", FORBIDS)
    assert not permitted("The medicine helps.", FORBIDS)
    assert not permitted("Suddenly stop taking the medicine.", "Suddenly stop taking the medicine.")
