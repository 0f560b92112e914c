"""Estimates figures with confidence intervals from the cluster bootstrap. Pure.

Replies from one checkpoint, and ratings of one reply, are correlated, so clusters are resampled whole (Davison and Hinkley 1997,
Bootstrap Methods and their Application, section 3.8). The ends are percentiles (Efron and Tibshirani 1993, chapter 13).
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000

Cluster = tuple[str, ...]
Table = NDArray[np.float64]
"""Array of shape (clusters, columns): the sums of each cluster."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % interval. A value that cannot be estimated is None."""

    value: float | None = None
    low: float | None = None
    """Lower end of the interval; None for fewer than two clusters. If all clusters agree, both ends equal the value, although the
    value is uncertain."""
    high: float | None = None


def sum_by_cluster(entries: Iterable[tuple[Cluster, Sequence[float]]], width: int) -> Table:
    """Return the sums of the entries of every cluster.

    Returns:
        One row for each cluster, sorted, so that resampling does not depend on the order of the entries.
    """
    sums: dict[Cluster, Table] = {}
    for cluster, numbers in entries:
        sums[cluster] = sums.get(cluster, np.zeros(width)) + np.asarray(numbers, dtype=float)
    return np.array([sums[cluster] for cluster in sorted(sums)]).reshape(len(sums), width)


def ratio(table: Table, seed: int) -> Estimate:
    """Return the sum of the second column divided by the sum of the first: the weighted mean of clusters.

    Clusters without weight are left out. Few clusters make percentile intervals too narrow (Cameron, Gelbach and Miller
    2008): simulated shares of 2/3 that vary between clusters (beta 4, 2; 12 replies each) were covered by 85 % of the
    intervals from 3 clusters, 90 % from 9, 94 % from 27.
    """
    return resampled(table[table[:, 0] > 0], lambda sums: sums[:, 1] / sums[:, 0], seed)


def resampled(table: Table, figure: Callable[[Table], Table], seed: int) -> Estimate:
    """Estimate a figure from the sums of all clusters, with the interval from resampled clusters.

    Args:
        table: One row of sums for each cluster.
        figure: Returns a figure for each row of sums; NaN if it is undefined.
    """
    if not len(table):
        return Estimate()
    value = float(figure(table.sum(axis=0, keepdims=True))[0])
    if np.isnan(value):
        return Estimate()
    drawn = resample_counts(len(table), seed) @ table if len(table) > 1 else table[:0]
    return with_interval(value, figure(drawn))


def resample_counts(clusters: int, seed: int, resamples: int = RESAMPLES) -> NDArray[np.int64]:
    """Return the number of draws of each cluster in each resample: shape (resamples, clusters)."""
    return np.random.default_rng(seed).multinomial(clusters, np.full(clusters, 1 / clusters), size=resamples)


def with_interval(value: float, resampled: Table) -> Estimate:
    """Return a value with the 95 % percentile interval of its resamples; NaN values are ignored."""
    defined = resampled[~np.isnan(resampled)]
    if not len(defined):
        return Estimate(value)
    low, high = np.percentile(defined, [2.5, 97.5])
    return Estimate(value, float(low), float(high))
