"""What a sentence says, word by word."""

import pytest

from judges.local.reading import DENIED, OPEN, concepts, read_once

SAID = (
    "Should I not stop my 20 mg of clozapine, or is it the one for you?",
    "Twice and once, if the doctor says so: never more than 3 tablets.",
    "Thanks",
    "",
)


@pytest.mark.parametrize("text", SAID)
def test_concepts_are_those_of_the_whole_reading(text: str) -> None:
    """Where nothing but the concepts is asked for, the same are found."""
    assert concepts(text) == frozenset(read_once(text).content)


def test_polarity_names_what_is_not_affirmed() -> None:
    """Denied is what a negation stands before, open what depends on something else; the rest needs no mention."""
    said = read_once("Clozapine helps, but do not drink alcohol before lunch.")
    assert said.polarity == {"drink": DENIED, "alcohol": DENIED, "lunch": OPEN}
    assert not read_once("Clozapine helps many people.").polarity
