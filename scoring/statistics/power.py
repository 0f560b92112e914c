"""The smallest effect that an experiment could have seen. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from math import sqrt
from statistics import fmean, stdev

from scipy import stats

from scoring.rows import Row
from scoring.statistics.paired import acceptable, cluster, matched

FEWEST_CLUSTERS = 3


def smallest_effect(
    rows: Sequence[Row], first: str, second: str, *, power: float = 0.8, alpha: float = 0.05
) -> float | None:
    """Return the minimal detectable difference in the share of acceptable replies between two paired arms.

    Returns:
        See `minimal_difference`. A figure above 1 means that no effect could have been seen.
    """
    changes: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    for a, b in matched(rows, first, second):
        changes[cluster(a)].append(acceptable(b) - acceptable(a))
    return minimal_difference([fmean(of_one) for of_one in changes.values()], power=power, alpha=alpha)


def minimal_difference(differences: Sequence[float], *, power: float = 0.8, alpha: float = 0.05) -> float | None:
    """Return the difference that a two-sided paired t test over clusters finds with this power.

    (t[1 - alpha/2] + t[power]) * s / sqrt(n), t with n - 1 degrees of freedom, s the standard deviation of the
    clusters' paired differences (Bloom 1995, Minimum detectable effects, Evaluation Review 19). It stands on the
    variation that was observed, so it describes the design, not the effect that was found. Against the exact noncentral
    t it is 5 % too small for 3 clusters, 1 % for 5.

    Args:
        differences: The mean paired difference of each cluster.

    Returns:
        None for fewer than three clusters, and where all clusters agree: no variation was seen from which to tell.
    """
    n = len(differences)
    if n < FEWEST_CLUSTERS or not (deviation := stdev(differences)):
        return None
    quantiles = stats.t.ppf(1 - alpha / 2, n - 1) + stats.t.ppf(power, n - 1)
    return float(quantiles) * deviation / sqrt(n)
