"""Weighing words: windows, features, and scores."""

from hypothesis import given
from hypothesis import strategies as st

from judges.local.evidence import WINDOW, Evidence, letter_runs, share, word_features

CALM = ["is", "it", "normal", "to", "sleep", "badly", "."]


SORTS = {"a": Evidence(0, {"die": 1.0}, {}), "b": Evidence(0, {"sleep": 1.0}, {})}


def evidence(**weights: float) -> Evidence:
    return Evidence(-1.0, {"die": 3.0, "sleep": -3.0, "want _ die": 1.0, **weights}, SORTS)


def test_known_words_move_the_margin() -> None:
    """A word that was learned for the class raises the margin, one learned against it lowers it."""
    assert evidence().strongest(["i", "die"]).margin > -1 > evidence().strongest(["i", "sleep"]).margin


def test_pairs_count_with_a_word_between() -> None:
    """Two words with one between them are a feature."""
    assert "want _ die" in word_features(["i", "want", "to", "die"])


def test_one_sentence_counts_wherever_it_stands_in_a_long_text() -> None:
    """The window around the decisive sentence is found amid many calm ones."""
    calm = CALM * WINDOW
    for before in (0, 3, WINDOW):
        tokens = [*calm[: before * len(CALM)], "i", "want", "to", "die", "die", "die", ".", *calm[before * len(CALM) :]]
        window = evidence().strongest(tokens)
        assert window.margin > 0
        assert "die" in tokens[window.start : window.end]
    assert evidence().strongest(calm).margin < 0


def test_telling_sentence_is_the_one_that_speaks_for_the_class() -> None:
    """Of a window's sentences, those that tell are named, not the calm ones beside them."""
    tokens = [*CALM, "i", "want", "to", "die", "."]
    telling = evidence().telling(tokens, evidence().strongest(tokens))
    assert [tokens[s.start : s.end] for s in telling] == [["i", "want", "to", "die", "."]]


def test_sort_is_the_one_whose_weights_speak_most() -> None:
    """The sort of a text is the one with the largest sum."""
    assert (evidence().sort(["die"]), evidence().sort(["sleep"])) == ("a", "b")


def test_letter_runs_mark_the_edges_of_a_word() -> None:
    """Runs of letters know where a word begins and ends; numbers have none."""
    assert {"#<di", "#ie>"} <= set(letter_runs("die"))
    assert letter_runs("400") == []


@given(st.floats(-1e9, 1e9))
def test_score_is_a_share(margin: float) -> None:
    """Every margin is a score in 0 to 1, one half at the threshold."""
    assert 0 <= share(margin) <= 1
    assert share(0) == 0.5
