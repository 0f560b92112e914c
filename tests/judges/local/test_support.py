"""How far sources carry a sentence."""

import pytest

from judges.local.support import IMPLIED, best, index
from judges.local.text import normalise, read
from tests.judges.local.material import REPAIRS, SUPPORTED, UNSUPPORTED, VOICES


def degree(sentence: str) -> float:
    reading = read(normalise(sentence))
    return best(reading, [index(VOICES), index(REPAIRS)], frozenset(reading.content)).degree


@pytest.mark.parametrize("sentence", SUPPORTED)
def test_paraphrase_is_supported(sentence: str) -> None:
    """A sentence that says in other words what a source says is supported."""
    assert degree(sentence) >= IMPLIED


@pytest.mark.parametrize("sentence", UNSUPPORTED)
def test_changed_or_invented_sentence_is_not_supported(sentence: str) -> None:
    """A changed number, drug, unit, negation, condition or certainty is not supported, however alike the words."""
    assert degree(sentence) < IMPLIED


def test_quote_is_verbatim() -> None:
    """The quote stands in the source, letter by letter."""
    support = best(read("The heating and wiring are the landlord's duty."), [index(VOICES), index(REPAIRS)])
    assert support.source_id == "repairs"
    assert support.quote is not None
    assert support.quote in REPAIRS.text


def test_denial_meets_denial_in_other_words() -> None:
    """Keeping on is what "do not stop" says."""
    assert degree("You should keep taking your medicine.") >= IMPLIED


def test_contradiction_is_not_outweighed_by_a_lesser_match() -> None:
    """The sentence that is contradicted decides, not another one that shares fewer words and contradicts nothing."""
    support = best(read("You can stop taking your medicine suddenly."), [index(REPAIRS), index(VOICES)])
    assert support.conflict
    assert support.source_id == "voices"


def test_nothing_supports_without_sources() -> None:
    """Without sources nothing is supported."""
    assert best(read("Voices are common."), ()).degree == 0.0
