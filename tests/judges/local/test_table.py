"""Weights laid out flat say what a dict would."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from judges.local.table import Pairs, Table, code, hashes

WORDS = st.text(st.characters(exclude_categories=("Cs", "Z", "C")), max_size=8)
WEIGHTS = st.floats(-10, 10)


@given(st.dictionaries(WORDS, WEIGHTS), st.lists(WORDS, max_size=20))
def test_a_table_finds_what_a_dict_would(weights: dict[str, float], asked: list[str]) -> None:
    """Of known and unknown features alike, in their order; an empty table knows none."""
    wanted = [*asked, *weights]
    places, found = Table(hashes(weights), weights.values()).find(hashes(wanted))
    assert [wanted[place] for place in places] == [one for one in wanted if one in weights]
    assert found.tolist() == [weights[one] for one in wanted if one in weights]


RUNS = st.lists(WORDS, max_size=3).map(tuple)


@given(st.dictionaries(RUNS, st.integers(1, 3)), st.lists(RUNS, max_size=20))
def test_marks_are_found_as_in_a_dict(marks: dict[tuple[str, ...], int], asked: list[tuple[str, ...]]) -> None:
    """Unknown runs of words have none."""
    wanted = [*asked, *marks]
    assert Table(hashes(marks), marks.values(), np.uint8).each(hashes(wanted)).tolist() == [
        marks.get(run, 0) for run in wanted
    ]


FEW = st.sampled_from(["", "a", "b", "c"])


@given(st.dictionaries(st.tuples(FEW, FEW, st.booleans()), WEIGHTS), st.lists(FEW, min_size=2, max_size=12))
def test_pairs_of_a_text_have_their_weights(weights: dict[tuple[str, str, bool], float], text: list[str]) -> None:
    """Words that follow each other, and words with one between; also a word and itself, and the empty word."""
    asked = [
        *zip(text[1:], text[2:], [False] * len(text), strict=False),
        *zip(text, text[2:], [True] * len(text), strict=False),
    ]
    pairs = Pairs([(*pair, weight) for pair, weight in weights.items()])
    numbers, found = pairs.find(np.array([code(word) for word in text]))
    assert [asked[number] for number in numbers] == [pair for pair in asked if pair in weights]
    assert found.tolist() == [weights[pair] for pair in asked if pair in weights]
