"""Weights laid out flat say what a dict would."""

from hypothesis import given
from hypothesis import strategies as st

from judges.local.table import Pairs, Table, hashes

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


@given(st.dictionaries(st.tuples(FEW, FEW, st.booleans()), WEIGHTS), st.lists(FEW, min_size=2, max_size=12))
def test_pairs_are_found_where_they_end(weights: dict[tuple[str, str, bool], float], text: list[str]) -> None:
    """Of words that follow each other, and of words with one between; also of a word and itself, and of the empty word."""
    places, found = Pairs([(*pair, weight) for pair, weight in weights.items()]).find(hashes(text))
    told = [
        (end, weights[pair])
        for apart in (False, True)
        for end in range(2, len(text))
        if (pair := (text[end - 1 - apart], text[end], apart)) in weights
    ]
    assert list(zip(places.tolist(), found.tolist(), strict=True)) == told
