"""Measures the agreement of raters with each other, and of a model with people. Pure.

Unscored replies (None) are left out. Intervals come from resampled items. Alpha and kappa are undefined if all scores are equal,
so resamples with equal scores are left out.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import krippendorff
import numpy as np
from numpy.typing import NDArray

from scoring.statistics.estimate import (
    Estimate,
    Table,
    ratio,
    resample_counts,
    resampled,
    sum_by_cluster,
    with_interval,
)

Ratings = Mapping[str, Mapping[str, float | None]]
"""Scores, 0 to 4, by rater and item. A score may be the median of several raters, so halves can occur."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of raters on the items that at least two raters scored."""

    n: int
    within_one: Estimate
    """Share of pairs of scores of an item that differ by at most 1."""
    exact: Estimate
    """Share of pairs of scores of an item that are equal."""
    alpha: Estimate
    """Ordinal alpha (Krippendorff 2011, Computing Krippendorff's alpha-reliability); None if all scores are equal."""
    kappa: Estimate
    """Quadratic weighted kappa (Cohen 1968); None for more than two raters, or if all scores are equal."""


def overall(ratings: Ratings, *, seed: int) -> Agreement:
    """Measure the agreement of all raters together."""
    scores = _by_item(ratings)
    pairs = [((item,), abs(a - b)) for item, of_item in scores.items() for a, b in combinations(of_item, 2)]
    sums = sum_by_cluster(((item, (1, apart <= 1, apart == 0)) for item, apart in pairs), 3)
    return Agreement(
        len(scores),
        within_one=ratio(sums[:, [0, 1]], seed),
        exact=ratio(sums[:, [0, 2]], seed),
        alpha=_alpha(list(scores.values()), seed),
        kappa=_kappa([(of_item[0], of_item[1]) for of_item in scores.values()], seed)
        if len(ratings) == 2
        else Estimate(),
    )


def pairwise(ratings: Ratings, *, seed: int) -> dict[tuple[str, str], Agreement]:
    """Measure the agreement of every pair of raters, by their names in alphabetical order."""
    return {
        (one, other): overall({one: ratings[one], other: ratings[other]}, seed=seed)
        for one, other in combinations(sorted(ratings), 2)
    }


def shortfall(model: Mapping[str, float | None], people: Ratings, *, seed: int) -> Estimate:
    """Return how much less a model agrees with people than people agree with each other.

    Agreement is the share of pairs of scores that differ by at most 1. The result is the agreement of pairs of people minus that
    of pairs of the model and a person, on items that the model and at least two people scored. The result is 0 or less if the
    model agrees with people at least as well as people agree with each other.
    """
    entries = []
    for item, of_item in _by_item(people).items():
        score = model.get(item)
        if score is not None:
            near = [abs(a - b) <= 1 for a, b in combinations(of_item, 2)]
            reached = [abs(score - human) <= 1 for human in of_item]
            entries.append(((item,), (len(near), sum(near), len(reached), sum(reached))))
    if not entries:
        return Estimate()

    def less(sums: Table) -> Table:
        pairs, near, reaches, reached = sums.T
        return np.asarray(near / pairs - reached / reaches)

    return resampled(sum_by_cluster(entries, 4), less, seed)


def _by_item(ratings: Ratings) -> dict[str, list[float]]:
    """Return the scores of each item that at least two raters scored, in the order of the raters."""
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for of_rater in ratings.values():
        for item, score in of_rater.items():
            if score is not None:
                scores[item].append(score)
    return {item: scores[item] for item in sorted(scores) if len(scores[item]) > 1}


def _alpha(items: Sequence[Sequence[float]], seed: int) -> Estimate:
    domain = sorted({score for of_item in items for score in of_item})
    counts = np.array([[of_item.count(value) for value in domain] for of_item in items]).reshape(
        len(items), len(domain)
    )

    def alpha(counted: NDArray[np.int64]) -> float:
        if np.count_nonzero(counted.sum(axis=0)) < 2:
            return np.nan
        return float(krippendorff.alpha(value_counts=counted, value_domain=domain, level_of_measurement="ordinal"))

    value = alpha(counts)
    if np.isnan(value):
        return Estimate()
    if len(items) < 2:
        return Estimate(value)
    drawn = resample_counts(len(items), seed)
    return with_interval(value, np.array([alpha(np.repeat(counts, times, axis=0)) for times in drawn]))


def _kappa(pairs: Sequence[tuple[float, float]], seed: int) -> Estimate:
    return resampled(np.array([(1, a, b, a * a + b * b, (a - b) ** 2) for a, b in pairs]), kappas, seed)


def kappas(sums: Table) -> Table:
    """Return the quadratic weighted kappa of each row of sums: n, a, b, a^2 + b^2, (a - b)^2; NaN if all scores are equal.

    With quadratic weights kappa is 1 - E[(a - b)^2] / (E[a^2] + E[b^2] - 2 E[a] E[b]) (Fleiss and Cohen 1973), which is 50 times
    as fast as a table of counts for each resample.
    """
    n, a, b, squares, gaps = sums.T
    chance = squares / n - 2 * a * b / n**2
    return np.where(chance > 1e-9, 1 - gaps / n / np.where(chance > 1e-9, chance, 1), np.nan)
