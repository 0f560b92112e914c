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


FEW = st.sampled_from(["", "a", "b", "c"])


@given(
    st.dictionaries(st.tuples(FEW, FEW, st.booleans()), WEIGHTS),
    st.lists(st.tuples(FEW, st.booleans()), min_size=2, max_size=12),
)
def test_pairs_of_a_text_have_their_weights(
    weights: dict[tuple[str, str, bool], float], text: list[tuple[str, bool]]
) -> None:
    """Words that follow each other, and words with one between; a word and itself, and the empty word; not what ends no pair."""
    words = [word for word, _ in text]
    asked = [
        *zip(words[1:], text[2:], [False] * len(text), strict=False),
        *zip(words, text[2:], [True] * len(text), strict=False),
    ]
    pairs = Pairs([(*pair, weight) for pair, weight in weights.items()])
    codes = np.array([code(word) for word in words])
    numbers, found = pairs.find(codes, np.where([ends for _, ends in text], codes, 0))
    known = {
        number: weights[first, second, apart]
        for number, (first, (second, ends), apart) in enumerate(asked)
        if ends and (first, second, apart) in weights
    }
    assert dict(zip(numbers.tolist(), found.tolist(), strict=True)) == known
