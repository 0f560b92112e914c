"""Corrects rates and means for the error of a model rater, with replies that people rated too. Pure.

The method assumes independent replies. Replies of one checkpoint are not independent, so the intervals are too narrow.
It also assumes the same error on labelled and unlabelled replies, so draw the labelled replies at random from both arms.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from scoring.statistics.estimate import RESAMPLES, Estimate

FEWEST = 5
"""Minimum number of labelled replies of each kind for an estimate of the model's error."""
FEWEST_PAIRS = 10
"""Minimum number of labelled replies for an approximately normal mean of the model's error."""
HIGHEST = 4
"""The highest possible score."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """A corrected figure with its interval, or the reason why it is missing."""

    estimate: Estimate
    labelled: int
    reason: str = ""
    """Why there is no estimate; empty if there is one."""


def rogan_gladen(labelled: Sequence[tuple[bool, bool]], model: Sequence[bool], *, seed: int) -> Corrected:
    """Correct the share of acceptable replies for the model's errors.

    (share + specificity - 1) / (sensitivity + specificity - 1), clipped to 0..1 (Rogan and Gladen 1978). The interval
    resamples both the labelled replies and the model's verdicts. In a resample with chance performance any rate is
    possible, so it counts as 0 for the lower end and as 1 for the upper end.

    Args:
        labelled: For each reply, whether the model and whether a human finds it acceptable.
        model: The model's verdicts on the replies to estimate the share of.
    """
    cells = np.array([[sum(pair == (m, h) for pair in labelled) for h in (False, True)] for m in (False, True)])
    unacceptable, fine = cells.sum(axis=0)
    if not model:
        return Corrected(Estimate(), len(labelled), "the model has not rated any reply")
    if min(unacceptable, fine) < FEWEST:
        few = (
            f"{fine} acceptable and {unacceptable} unacceptable replies by human label; label at least {FEWEST} of each"
        )
        return Corrected(Estimate(), len(labelled), few)
    sensitivity, specificity = float(cells[1, 1] / fine), float(cells[0, 0] / unacceptable)
    if sensitivity + specificity <= 1:
        chance = f"the model is not better than chance: sensitivity {sensitivity:.2f}, specificity {specificity:.2f}"
        return Corrected(Estimate(), len(labelled), chance)
    share = sum(model) / len(model)
    value = min(1.0, max(0.0, (share + specificity - 1) / (sensitivity + specificity - 1)))
    low, high = _ends(cells, share, len(model), seed)
    return Corrected(Estimate(value, low, high), len(labelled))


def _ends(cells: NDArray[np.int64], share: float, n: int, seed: int) -> tuple[float, float]:
    """Resample pairs and verdicts by drawing the counts of their kinds, which equals drawing replies with replacement."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(cells.sum(), cells.ravel() / cells.sum(), size=RESAMPLES).reshape(-1, 2, 2)
    shares = rng.binomial(n, share, size=RESAMPLES) / n
    unacceptable, fine = drawn.sum(axis=1).T
    specificity = drawn[:, 0, 0] / np.maximum(unacceptable, 1)
    sensitivity = drawn[:, 1, 1] / np.maximum(fine, 1)
    usable = (np.minimum(unacceptable, fine) > 0) & (sensitivity + specificity > 1)
    scale = np.where(usable, sensitivity + specificity - 1, 1)
    values = np.clip((shares + specificity - 1) / scale, 0, 1)
    low = np.percentile(np.where(usable, values, 0), 2.5)
    high = np.percentile(np.where(usable, values, 1), 97.5)
    return float(low), float(high)


def prediction_powered(labelled: Sequence[tuple[float, float]], unlabelled: Sequence[float]) -> Corrected:
    """Correct the model's mean score by its mean error on labelled replies, clipped to 0..4.

    mean(model, unlabelled) + mean(human - model, labelled), with the normal interval whose variance is the sum of those
    of the two means (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, Prediction-powered inference, Science 382,
    algorithm 1), variances over n - 1.

    Args:
        labelled: Scores by the model and by a human.
        unlabelled: Scores by the model of other replies.
    """
    if len(labelled) < FEWEST_PAIRS or len(unlabelled) < 2:
        few = f"{len(labelled)} labelled and {len(unlabelled)} other replies; it takes at least {FEWEST_PAIRS} and 2"
        return Corrected(Estimate(), len(labelled), few)
    errors = np.array([human - model for model, human in labelled])
    scores = np.array(unlabelled, dtype=float)
    value = scores.mean() + errors.mean()
    half = stats.norm.ppf(0.975) * np.sqrt(scores.var(ddof=1) / len(scores) + errors.var(ddof=1) / len(errors))
    clipped = np.clip([value, value - half, value + half], 0, HIGHEST)
    return Corrected(Estimate(*(float(number) for number in clipped)), len(labelled))
