"""How far raters agree: with each other, and a model with people. Pure.

Scores of None (unscored) are left out, as if the rater had not been asked. Items are resampled for the intervals;
resamples in which all scores are the same have no alpha or kappa, and are left out of these.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import krippendorff
import numpy as np
from numpy.typing import NDArray

from scoring.statistics.estimate import SEED, Estimate, Table, ratio, resample_counts, sum_by_cluster, with_interval

Ratings = Mapping[str, Mapping[str, float | None]]
"""Scores by rater and item, 0 to 4; halves may occur, since medians of raters are scores too."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far some raters agree on the items that at least two of them scored."""

    n: int
    within_one: Estimate
    """Share of pairs of scores of an item that differ by 1 at most."""
    exact: Estimate
    """Share of pairs of scores of an item that are the same."""
    alpha: Estimate
    """Ordinal alpha (Krippendorff 2011, Computing Krippendorff's alpha-reliability); None where all scores are the
    same."""
    kappa: Estimate
    """Quadratic weighted kappa (Cohen 1968) of two raters; None for more, and where all scores are the same."""


def overall(ratings: Ratings, *, seed: int = SEED) -> Agreement:
    """Measure the agreement of all raters together."""
    scores = _by_item(ratings)
    pairs = [((item,), abs(a - b)) for item, given in scores.items() for a, b in combinations(given, 2)]
    sums = sum_by_cluster(((item, (1, apart <= 1, apart == 0)) for item, apart in pairs), 3)
    return Agreement(
        len(scores),
        within_one=ratio(sums[:, [0, 1]], seed),
        exact=ratio(sums[:, [0, 2]], seed),
        alpha=_alpha(list(scores.values()), seed),
        kappa=_kappa([(given[0], given[1]) for given in scores.values()], seed) if len(ratings) == 2 else Estimate(),
    )


def pairwise(ratings: Ratings, *, seed: int = SEED) -> dict[tuple[str, str], Agreement]:
    """Measure the agreement of every two raters, by their names in alphabetical order."""
    return {
        (one, other): overall({one: ratings[one], other: ratings[other]}, seed=seed)
        for one, other in combinations(sorted(ratings), 2)
    }


@dataclass(frozen=True, slots=True)
class Ceiling:
    """A model's agreement with people beside that of people with each other: it can hardly be asked to reach more."""

    model: dict[str, Agreement]
    """With each human."""
    humans_together: Agreement
    shortfall: Estimate
    """Share within 1 of pairs of humans less that of pairs of the model and a human, on items that the model and at
    least two humans scored; 0 or less when the model agrees with people as well as they do with each other."""


def against_humans(ratings: Ratings, model: str, *, seed: int = SEED) -> Ceiling:
    """Put a model's agreement with each human beside that of the humans with each other.

    Args:
        model: The rater among `ratings` that is a model; all others are human.

    Raises:
        ValueError: `ratings` has no such rater.
    """
    if model not in ratings:
        raise ValueError(f"no ratings by {model!r}; there are those by {', '.join(sorted(ratings)) or 'nobody'}")
    people = {rater: given for rater, given in ratings.items() if rater != model}
    with_each = {rater: overall({model: ratings[model], rater: people[rater]}, seed=seed) for rater in sorted(people)}
    together = overall(people, seed=seed)
    return Ceiling(with_each, together, _shortfall(ratings[model], people, seed))


def _shortfall(model: Mapping[str, float | None], people: Ratings, seed: int) -> Estimate:
    entries = []
    for item, given in _by_item(people).items():
        score = model.get(item)
        if score is not None:
            near = [abs(a - b) <= 1 for a, b in combinations(given, 2)]
            reached = [abs(score - human) <= 1 for human in given]
            entries.append(((item,), (len(near), sum(near), len(reached), sum(reached))))
    if not entries:
        return Estimate()
    sums = sum_by_cluster(entries, 4)
    value = float(_less(sums.sum(axis=0)))
    return (
        Estimate(value) if len(sums) < 2 else with_interval(value, _less((resample_counts(len(sums), seed) @ sums).T))
    )


def _less(sums: Table) -> Table:
    pairs, near, reaches, reached = sums
    return np.asarray(near / pairs - reached / reaches)


def _by_item(ratings: Ratings) -> dict[str, list[float]]:
    """Return the scores of each item that at least two raters scored, in the order of the raters."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for given in ratings.values():
        for item, score in given.items():
            if score is not None:
                found[item].append(score)
    return {item: found[item] for item in sorted(found) if len(found[item]) > 1}


def _alpha(items: Sequence[Sequence[float]], seed: int) -> Estimate:
    domain = sorted({score for given in items for score in given})
    counts = np.array([[given.count(value) for value in domain] for given in items]).reshape(len(items), len(domain))

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
    """Return quadratic weighted kappa: the value from scikit-learn, its resamples from moments, which is 50 times as
    fast.

    With quadratic weights kappa is 1 - E[(a - b)^2] / (E[a^2] + E[b^2] - 2 E[a] E[b]) (Fleiss and Cohen 1973).
    """
    if len({score for pair in pairs for score in pair}) < 2:
        return Estimate()
    from sklearn.metrics import cohen_kappa_score

    # Weights go by a label's position, so all labels are named; and labels are integers, so halves are doubled.
    ones, others = ([round(2 * score) for score in side] for side in zip(*pairs, strict=True))
    value = float(cohen_kappa_score(ones, others, labels=list(range(9)), weights="quadratic"))
    table = np.array([(1, a, b, a * a + b * b, (a - b) ** 2) for a, b in pairs], dtype=float)
    return (
        Estimate(value) if len(table) < 2 else with_interval(value, kappas(resample_counts(len(table), seed) @ table))
    )


def kappas(sums: Table) -> Table:
    """Return quadratic weighted kappa of each line of sums: n, a, b, a^2 + b^2, (a - b)^2; NaN where all scores are the
    same."""
    n, a, b, squares, gaps = sums.T
    chance = squares / n - 2 * a * b / n**2
    return np.where(chance > 1e-9, 1 - gaps / n / np.where(chance > 1e-9, chance, 1), np.nan)
