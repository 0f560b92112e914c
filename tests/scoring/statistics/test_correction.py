"""Corrections for the model rater's error, against hand-computed numbers and simulated raters."""

import numpy as np
import pytest

from scoring.statistics.correction import prediction_powered, rogan_gladen
from scoring.statistics.estimate import Estimate


def pairs(both, model_only, human_only, neither):
    """Return (model, human) verdicts, so many of each kind."""
    kinds = ((True, True), both), ((True, False), model_only), ((False, True), human_only), ((False, False), neither)
    return [pair for pair, times in kinds for _ in range(times)]


def verdicts(yes, no):
    return [True] * yes + [False] * no


# Rates


def test_rate_against_the_formula():
    """Sensitivity .8, specificity .9, the model says 30 %: (.3 + .9 - 1) / (.8 + .9 - 1) = 2 / 7."""
    one = rogan_gladen(pairs(40, 5, 10, 45), verdicts(30, 70), seed=1)
    assert one.labelled == 100
    assert one.estimate.value == pytest.approx(2 / 7)
    assert one.estimate.low < 2 / 7 < one.estimate.high
    assert one.reason == ""


@pytest.mark.parametrize(("yes", "value"), [(0, 0), (5, 0), (100, 1), (85, 1)])
def test_rate_stays_between_0_and_1(yes, value):
    """A share beyond what the errors explain is held to the end."""
    assert rogan_gladen(pairs(40, 5, 10, 45), verdicts(yes, 100 - yes), seed=1).estimate.value == value


@pytest.mark.parametrize(
    ("labelled", "model", "reason"),
    [
        (pairs(10, 10, 10, 10), verdicts(5, 5), "not better than chance: sensitivity 0.50, specificity 0.50"),
        (pairs(2, 8, 8, 2), verdicts(5, 5), "not better than chance"),
        (pairs(40, 2, 2, 2), verdicts(5, 5), "42 acceptable and 4 unacceptable replies"),
        ([], verdicts(5, 5), "0 acceptable and 0 unacceptable replies"),
        (pairs(10, 0, 0, 10), [], "not rated any reply"),
    ],
)
def test_rate_that_cannot_be_corrected_says_why(labelled, model, reason):
    """No better than chance, too few labels of a kind, nothing to correct."""
    one = rogan_gladen(labelled, model, seed=1)
    assert one.estimate == Estimate()
    assert reason in one.reason


def test_model_barely_above_chance_leaves_nearly_everything_open():
    """Resamples at or below chance could mean any rate."""
    estimate = rogan_gladen(pairs(6, 4, 4, 6), verdicts(50, 50), seed=1).estimate
    assert estimate.value == pytest.approx(0.5)
    assert (estimate.low, estimate.high) == (0, 1)


def test_interval_covers_the_true_rate():
    """200 experiments with a rater who errs in 15 %: about 95 % of the intervals hold the true 70 %."""
    rng = np.random.default_rng(11)
    hits = 0
    for n in range(200):
        human = rng.random(220) < 0.7
        model = human ^ (rng.random(220) < 0.15)
        labelled = [(bool(m), bool(h)) for m, h in zip(model[:100], human[:100], strict=True)]
        estimate = rogan_gladen(labelled, model[100:].tolist(), seed=n).estimate
        hits += estimate.low <= 0.7 <= estimate.high
    assert 0.91 <= hits / 200 <= 0.99


# Means


def test_mean_against_hand_computed_values():
    """Ten labels, half of them 1 below the model: -0.5; others 2 and 3 by turns: 2.5 - 0.5 = 2."""
    one = prediction_powered([(3, 3), (3, 2)] * 5, [2, 3] * 20)
    # Variances over n - 1: 40 / 4 / 39 / 40 of the mean score, 10 / 4 / 9 / 10 of the mean error.
    half = 1.959964 * (10 / 39 / 40 + 2.5 / 9 / 10) ** 0.5
    assert one.estimate.value == pytest.approx(2)
    assert (one.estimate.low, one.estimate.high) == (pytest.approx(2 - half), pytest.approx(2 + half))


def test_mean_from_too_few_labels_says_why():
    """Nine labels, or a single other reply, are nothing to be normal about."""
    for one in (prediction_powered([(3, 3)] * 9, [3, 4]), prediction_powered([(3, 3)] * 10, [3])):
        assert one.estimate == Estimate()
        assert "it takes at least 10 and 2" in one.reason


def test_mean_of_a_biased_rater_is_put_right():
    """A model that gives 1 too much: its own mean is off by 1, 95 % of the corrected intervals hold the truth."""
    rng = np.random.default_rng(12)
    hits, values = 0, []
    for _ in range(400):
        human = rng.integers(0, 4, size=200)
        model = human + (rng.random(200) < 0.9)
        labelled = list(zip(model[:60].tolist(), human[:60].tolist(), strict=True))
        estimate = prediction_powered(labelled, model[60:].tolist()).estimate
        hits += estimate.low <= 1.5 <= estimate.high
        values.append(estimate.value)
    assert np.mean(values) == pytest.approx(1.5, abs=0.03)
    assert 0.92 <= hits / 400 <= 0.97
