"""The text classifier: windows, features, and scores."""

from math import log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judges.local.classifier import (
    MAX_CACHED_WORDS,
    MAX_PENALTY,
    MIN_SENTENCE_TOKENS,
    WINDOW,
    TextClassifier,
    letter_runs,
    to_score,
    word_features,
)

CALM = ["is", "it", "normal", "to", "sleep", "badly", "."]


SORTS = {"a": TextClassifier(0, {"die": 1.0}, {}), "b": TextClassifier(0, {"sleep": 1.0}, {})}


def evidence(**weights: float) -> TextClassifier:
    return TextClassifier(-1.0, {"die": 3.0, "sleep": -3.0, "want _ die": 1.0, **weights}, SORTS)


def test_known_words_move_the_margin() -> None:
    """Words with positive weights raise the margin, words with negative weights lower it."""
    assert evidence().strongest_window(["i", "die"]).margin > -1 > evidence().strongest_window(["i", "sleep"]).margin


def test_pairs_count_with_a_word_between() -> None:
    """Two words with one word between them are a feature."""
    assert "want _ die" in word_features(["i", "want", "to", "die"])


def test_one_sentence_counts_wherever_it_stands_in_a_long_text() -> None:
    """The window with the decisive sentence is found among many harmless ones."""
    calm = CALM * WINDOW
    for before in (0, 3, WINDOW):
        tokens = [*calm[: before * len(CALM)], "i", "want", "to", "die", "die", "die", ".", *calm[before * len(CALM) :]]
        window = evidence().strongest_window(tokens)
        assert window.margin > 0
        assert "die" in tokens[window.start : window.end]
    assert evidence().strongest_window(calm).margin < 0


def test_telling_sentence_is_the_one_that_speaks_for_the_class() -> None:
    """Of a window's sentences, only those with a positive margin are returned."""
    tokens = [*CALM, "i", "want", "to", "die", "."]
    telling = evidence().strong_sentences(tokens, evidence().strongest_window(tokens))
    assert [tokens[s.start : s.end] for s in telling] == [["i", "want", "to", "die", "."]]


def test_sort_is_the_one_whose_weights_speak_most() -> None:
    """The kind of a text is the one with the largest sum."""
    assert (evidence().kind_of(["die"]), evidence().kind_of(["sleep"])) == ("a", "b")


LEARNED = {
    "die": 3.0,
    "sleep": -3.0,
    "": 0.5,
    "want _ die": 1.0,
    "^ i": 0.25,
    " _ i": -0.75,
    "i want": 0.125,
    "#<di": 2.0,
    "#eep": -1.0,
    "die .": 0.75,
    "to _ .": 0.5,
    ". i": 0.375,
    ". _ die": -0.625,
}
TOLL = 0.25
SPOKEN = st.lists(st.sampled_from(["", "i", "want", "to", "die", "sleep", "400", ".", "?"]), max_size=150)


def summed(tokens: list[str], start: int = 0, end: int | None = None) -> float:
    """Return the margin of a range of tokens, feature by feature. Pairs count where they end."""
    words = word_features(tokens)[3 * start : None if end is None else 3 * end]
    runs = [run for token in tokens[start:end] for run in letter_runs(token)]
    known = [[LEARNED[feature] for feature in features if feature in LEARNED] for features in (words, runs)]
    return -1.0 + sum(sum(weights) / sqrt(len(weights) or 1) for weights in known)


@given(SPOKEN)
def test_margin_is_the_sum_over_the_features(tokens: list[str]) -> None:
    """The features are words, pairs and letter runs."""
    assert TextClassifier(-1.0, LEARNED, {}).margin(tokens) == pytest.approx(summed(tokens))


@given(SPOKEN, st.integers(0, 150), st.integers(0, 150))
def test_a_stretch_is_weighed_as_if_nothing_stood_beside_it(tokens: list[str], one: int, other: int) -> None:
    """Pairs across its edges do not count."""
    start, end = sorted((one, other))
    [window] = TextClassifier(-1.0, LEARNED, {}).weigh_spans(tokens, [(start, end)])
    assert window.margin == pytest.approx(summed(tokens[start:end]))


@given(
    SPOKEN | st.lists(st.sampled_from(["i", "want", "to", "die", "sleep", ".", "?"]), min_size=WINDOW + 1, max_size=150)
)
def test_no_window_is_stronger_than_the_strongest(tokens: list[str]) -> None:
    """The candidates are windows of whole sentences, and longer sentences alone."""
    ends: list[int] = []
    for n, token in enumerate(tokens, 1):
        ended = token in (".", "?") and tokens[n : n + 1] not in ([], ["."], ["?"])
        if ended or n == len(tokens) or n - (ends[-1] if ends else 0) == WINDOW:
            ends.append(n)
    starts = [0, *ends[:-1]]
    spans = [(start, next((end for end in ends if end - start >= WINDOW), len(tokens))) for start in starts]
    spans += [(start, end) for start, end in zip(starts, ends, strict=False) if end - start >= MIN_SENTENCE_TOKENS]
    if len(tokens) <= WINDOW:
        spans = [(0, len(tokens))]
    window = TextClassifier(-1.0, LEARNED, {}, penalty=TOLL).strongest_window(tokens)
    toll = min(MAX_PENALTY, TOLL * log(len(set(spans))))
    assert (window.start, window.end) in spans
    assert window.margin == pytest.approx(summed(tokens, window.start, window.end) - toll)
    assert window.margin == pytest.approx(max(summed(tokens, *span) for span in spans) - toll)


def test_what_was_asked_before_makes_no_difference() -> None:
    """Results do not depend on earlier calls, or on the size of the word cache."""
    learned = TextClassifier(-1.0, LEARNED, {})
    numbered = [word for n in range(2 * MAX_CACHED_WORDS) for word in ("i", f"w{n}", "die", ".")]
    for text in (["i", "sleep", ".", "die", "."] * 12, ["i", "want", ".", "die", "."] * 12, numbered, numbered[::-1]):
        assert learned.strongest_window(text) == TextClassifier(-1.0, LEARNED, {}).strongest_window(text)


def test_letter_runs_mark_the_edges_of_a_word() -> None:
    """Runs include the beginning and end of a word. Numbers have no runs."""
    assert {"#<di", "#ie>"} <= set(letter_runs("die"))
    assert letter_runs("400") == []


@given(st.floats(-1e9, 1e9))
def test_score_is_a_share(margin: float) -> None:
    """Every score is from 0 to 1, with 0.5 at the threshold."""
    assert 0 <= to_score(margin) <= 1
    assert to_score(0) == 0.5
