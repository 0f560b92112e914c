"""Agreement of raters, against hand-computed values and the libraries' own examples."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from scoring.statistics.agreement import kappas, overall, pairwise, shortfall
from scoring.statistics.estimate import Estimate

# Krippendorff 2011, section D, and the example of the library: four observers, twelve units, ordinal alpha .815.
OBSERVERS = {
    "A": [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    "B": [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    "C": [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    "D": [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
}


def by_item(scores):
    return {f"i{n:02}": score for n, score in enumerate(scores)}


def ratings(**given):
    return {rater: by_item(scores) for rater, scores in given.items()}


def test_alpha_of_krippendorffs_example():
    """Ordinal alpha .815, with missing scores; the unit that a single observer scored is no item."""
    one = overall(ratings(**OBSERVERS), seed=1)
    assert one.alpha.value == pytest.approx(0.815, abs=0.0005)
    assert one.alpha.low < 0.815 < one.alpha.high
    assert one.n == 11
    assert one.kappa == Estimate()


def test_shares_of_three_raters_are_of_pairs():
    """Scores 4 4 2 make three pairs, one the same and within 1; 1 2 one pair more that is within 1."""
    one = overall(ratings(ann=[4, 1], bob=[4, 2], cem=[2, None]), seed=1)
    assert (one.n, one.exact.value, one.within_one.value) == (2, 0.25, 0.5)


def test_kappa_against_a_hand_computed_value():
    """Pairs 0-0, 2-2, 4-4, 4-2: E(a-b)^2 = 1; E a^2 + E b^2 - 2 E a E b = 9 + 6 - 10 = 5; kappa = .8."""
    assert overall(ratings(ann=[0, 2, 4, 4], bob=[0, 2, 4, 2]), seed=1).kappa.value == pytest.approx(0.8)


def test_medians_may_be_halves():
    """A median of 2.5 is half a point from 3, in kappa as well."""
    one = overall(ratings(ann=[2.5, 0, 4, 1.5], bob=[3, 0, 4, 3]), seed=1)
    assert (one.within_one.value, one.exact.value) == (0.75, 0.5)
    # E(a-b)^2 = 2.5 / 4; E a^2 = 24.5 / 4, E b^2 = 34 / 4, E a E b = 2 * 2.5.
    assert one.kappa.value == pytest.approx(1 - 2.5 / (24.5 + 34 - 40))


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=15))
def test_kappa_of_resamples_is_that_of_scikit_learn(pairs):
    """The moments that resamples go by and the library's confusion matrix tell the same."""
    sums = np.array([(1, a, b, a * a + b * b, (a - b) ** 2) for a, b in pairs], dtype=float).sum(axis=0, keepdims=True)
    if len({score for pair in pairs for score in pair}) == 1:
        assert np.isnan(kappas(sums)[0])
    else:
        theirs = cohen_kappa_score(*zip(*pairs, strict=True), weights="quadratic", labels=list(range(5)))
        assert kappas(sums)[0] == pytest.approx(theirs)


def test_raters_who_always_agree():
    """All shares and coefficients are 1."""
    one = overall(ratings(ann=[0, 1, 2, 3, 4], bob=[0, 1, 2, 3, 4]), seed=1)
    assert (one.within_one, one.exact) == (Estimate(1, 1, 1), Estimate(1, 1, 1))
    assert (one.alpha, one.kappa) == (Estimate(1, 1, 1), Estimate(1, 1, 1))


def test_one_score_only_has_no_coefficient():
    """Where all is 4 nobody can tell agreement from habit: None, without a warning from a library."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one = overall(ratings(ann=[4, 4, 4], bob=[4, 4, 4]), seed=1)
    assert (one.exact.value, one.alpha, one.kappa) == (1, Estimate(), Estimate())


def test_nothing_in_common_is_no_agreement():
    """Raters of different items, a rater alone, nobody."""
    for one in (
        overall({"ann": {"x": 1}, "bob": {"y": 2}}, seed=1),
        overall({"ann": {"x": 1}}, seed=1),
        overall({}, seed=1),
    ):
        assert (one.n, one.within_one, one.alpha, one.kappa) == (0, Estimate(), Estimate(), Estimate())


def test_intervals_resample_items():
    """Forty items by coin: the interval of the exact share is near that of a binomial share, and the same every
    time."""
    rng = np.random.default_rng(4)
    given = ratings(ann=rng.integers(0, 5, 40).tolist(), bob=rng.integers(0, 5, 40).tolist())
    one = overall(given, seed=1)
    share = one.exact.value
    assert one.exact.high - one.exact.low == pytest.approx(2 * 1.96 * (share * (1 - share) / 40) ** 0.5, abs=0.06)
    assert one.alpha.low < 0 < one.alpha.high
    assert one.kappa.low < 0 < one.kappa.high
    assert one == overall(given, seed=1)
    assert one != overall(given, seed=2)


def test_pairs_go_by_name():
    """Every two raters once, each as if they were alone."""
    given = ratings(bob=[1, 2, 3], ann=[1, 2, 4], cem=[4, None, 4])
    found = pairwise(given, seed=1)
    assert list(found) == [("ann", "bob"), ("ann", "cem"), ("bob", "cem")]
    assert found["ann", "cem"].n == 2
    assert found["ann", "cem"].within_one.value == 0.5
    assert found["ann", "bob"] == overall(ratings(ann=[1, 2, 4], bob=[1, 2, 3]), seed=1)


def test_model_stands_beside_the_human_ceiling():
    """People agree on three of four items within 1, the model with them on half; a model that says what Ann says is as near to
    Bob as she is, and nearer to her; one person is no ceiling."""
    people = ratings(ann=[4, 4, 0, 0], bob=[4, 3, 1, 4])
    one = shortfall(by_item([4, 1, 4, 2]), people, seed=1)
    assert one.value == pytest.approx(0.75 - 0.25)
    assert one.low < 0.5 < one.high
    people = ratings(ann=[4, 1, 0], bob=[4, 4, 1])
    assert shortfall(people["ann"], people, seed=1).value == pytest.approx(2 / 3 - 5 / 6)
    assert shortfall(people["ann"], ratings(ann=[4, 1, 0]), seed=1) == Estimate()
