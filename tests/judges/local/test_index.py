"""A source, prepared."""

from dataclasses import replace

from judges.local.index import ADJACENT, NEAR, Index
from judges.local.reading import lexeme
from judges.local.table import hashes
from tests.judges.local.material import VOICES

PREPARED = Index(replace(VOICES, title="Voices", text="Doctors treat hallucinations. Tablets calm patients."))


def marks(*runs: str) -> list[int]:
    """Return what a prepared source knows of some runs of words."""
    asked = [tuple(lexeme(word).concept for word in run.split()) for run in runs]
    return PREPARED.together.each(hashes(asked)).tolist()


def test_words_stand_together_within_a_sentence() -> None:
    """Two that follow each other are told from two in the other order or with others between; sentences are kept apart."""
    assert marks("doctors treat", "treat doctors", "doctors hallucinations") == [ADJACENT, NEAR, NEAR]
    assert marks("doctors treat hallucinations", "doctors hallucinations treat") == [NEAR, 0]
    assert marks("hallucinations tablets", "doctors patients") == [0, 0]


def test_title_has_words_but_no_places() -> None:
    """What a title names is known, but it is no evidence."""
    assert [PREPARED.postings.get(lexeme(word).concept) for word in ("voices", "tablets", "zebras")] == [(), (1,), None]


def test_a_sentence_stands_among_its_neighbours() -> None:
    """The first has none before it, the last none behind it."""
    first, second = PREPARED.sentences
    assert PREPARED.around(0) == [first, second] == PREPARED.around(1)
    assert Index(VOICES).around(1) == Index(VOICES).sentences[:3]
