"""Weights laid out flat say what a dict would."""

from hypothesis import given
from hypothesis import strategies as st

from judges.local.table import Followers, Table

WORDS = st.text(st.characters(exclude_categories=("Cs", "Z", "C")), min_size=1, max_size=8)
WEIGHTS = st.floats(-10, 10)


@given(st.dictionaries(WORDS, WEIGHTS), st.lists(WORDS, max_size=20))
def test_a_table_finds_what_a_dict_would(weights: dict[str, float], asked: list[str]) -> None:
    """Of known and unknown features alike, in their order; an empty table knows none."""
    wanted = [*asked, *weights]
    assert Table(weights).find(wanted) == [weights[one] for one in wanted if one in weights]


@given(st.dictionaries(st.tuples(st.one_of(st.just(""), WORDS), WORDS), WEIGHTS), WORDS)
def test_followers_are_those_of_their_first_word(weights: dict[tuple[str, str], float], other: str) -> None:
    """Each first word has its own, weights to the last digit; a word that begins no pair has none."""
    followers = Followers(weights)
    for first in {first for first, _ in weights} | {other}:
        assert followers.of(first) == ({b: w for (a, b), w in weights.items() if a == first} or None)
