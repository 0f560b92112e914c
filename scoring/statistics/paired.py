"""Computes the figures of an arm, and the paired difference between two arms. Pure.

A cluster is a role with one of its checkpoints, from which samples branch. Unscored replies do not count as acceptable: they
lower the shares, and are left out of means. The caller selects the rows, without `benign` ones and, if wanted, without `flagged`
ones.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from scoring.rows import Row
from scoring.score import ACCEPTABLE, GOOD
from scoring.statistics.estimate import Cluster, Estimate, ratio, sum_by_cluster
from scoring.statistics.exact import difference, share

DRAWS = 20_000
"""Number of random draws of the permutation test. Up to 14 clusters have fewer sign flips, so all flips are tried."""


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one arm."""

    n: int
    """Number of replies, including unscored ones."""
    unscored: int
    clusters: int
    acceptable: Estimate
    """Share of all replies, including unscored ones, that score 2 or more. See scoring/statistics/exact.py."""
    good: Estimate
    """Share of all replies, including unscored ones, that score 3 or more."""
    mean: Estimate
    """Mean score of the scored replies."""


def figures(rows: Sequence[Row], *, seed: int) -> Figures:
    """Return the figures of one arm, with intervals from the bootstrap over clusters."""
    sums = sum_by_cluster(
        ((cluster(r), (1, acceptable(r), good(r), r.score is not None, r.score or 0)) for r in rows), 5
    )
    return Figures(
        n=len(rows),
        unscored=sum(r.score is None for r in rows),
        clusters=len(sums),
        acceptable=share(sums[:, [0, 1]], seed),
        good=share(sums[:, [0, 2]], seed),
        mean=ratio(sums[:, [3, 4]], seed),
    )


def cluster(row: Row) -> Cluster:
    """Return the cluster of a reply: its role and checkpoint."""
    return row.role, row.checkpoint


def acceptable(row: Row) -> bool:
    """Return whether a reply has an acceptable score."""
    return row.score is not None and row.score >= ACCEPTABLE


def good(row: Row) -> bool:
    """Return whether a reply has a good score."""
    return row.score is not None and row.score >= GOOD


@dataclass(frozen=True, slots=True)
class Difference:
    """Paired difference of a figure: the second arm minus the first arm, on the same places."""

    n: int
    """Number of pairs of replies."""
    estimate: Estimate
    """Mean difference of the pairs, with the bootstrap over clusters. Intervals of shares are from scoring/statistics/exact.py."""
    p: float | None
    """See `permutation_p`; None without pairs."""


@dataclass(frozen=True, slots=True)
class Paired:
    """Paired differences of two arms, on the same places."""

    clusters: int
    acceptable: Difference
    good: Difference
    mean: Difference
    """Mean difference over the pairs in which both replies are scored."""


def compare_arms(rows: Sequence[Row], first: str, second: str, *, seed: int) -> Paired:
    """Return the differences of two arms, second minus first, on their shared places (role, checkpoint, sample, turn).

    Raises:
        ValueError: An arm has two rows for one place.
    """
    pairs = match_places(rows, first, second)
    scored = [(a, b) for a, b in pairs if a.score is not None and b.score is not None]
    return Paired(
        clusters=len({cluster(a) for a, _ in pairs}),
        acceptable=_difference(pairs, acceptable, seed, of_shares=True),
        good=_difference(pairs, good, seed, of_shares=True),
        mean=_difference(scored, lambda r: r.score or 0, seed, of_shares=False),
    )


def match_places(rows: Sequence[Row], first: str, second: str) -> list[tuple[Row, Row]]:
    """Return pairs of replies of two arms at the same place, in the order of the second arm.

    Raises:
        ValueError: An arm has two rows for one place.
    """
    first_rows, second_rows = _by_place(rows, first), _by_place(rows, second)
    return [(first_rows[place], row) for place, row in second_rows.items() if place in first_rows]


def _by_place(rows: Sequence[Row], arm: str) -> dict[tuple[str, str, int, int], Row]:
    by_place: dict[tuple[str, str, int, int], Row] = {}
    for row in rows:
        if row.arm == arm and by_place.setdefault(row.spot, row) is not row:
            raise ValueError(
                f"arm {arm!r} has two rows for {row.spot!r}: expected one row for each place; join the transcripts of a run once"
            )
    return by_place


def _difference(
    pairs: Sequence[tuple[Row, Row]], figure: Callable[[Row], float], seed: int, *, of_shares: bool
) -> Difference:
    changes = [(cluster(a), figure(b) - figure(a)) for a, b in pairs]
    sums = sum_by_cluster(((cluster_id, (1, change, abs(change))) for cluster_id, change in changes), 3)
    estimate = difference(sums, seed) if of_shares else ratio(sums[:, :2], seed)
    return Difference(len(pairs), estimate, permutation_p(sums[:, 1], seed) if pairs else None)


def permutation_p(sums: NDArray[np.float64], seed: int) -> float:
    """Return the two-sided p of the paired permutation test that flips the signs of clusters (Good 2005, section 3.2).

    Without an effect the arms of a cluster are exchangeable, so each cluster's sum of differences is equally likely with the
    opposite sign. All flips are tried for up to 14 clusters; otherwise `DRAWS` of them, with p = (1 + hits) / (1 + draws)
    (Phipson and Smyth 2010), never 0.

    Args:
        sums: The sum of differences of every cluster.
    """
    if len(sums) < 2:
        return 1.0  # With one cluster, both signs are equally far from zero.
    result = stats.permutation_test(
        (sums,), lambda flipped, axis: np.abs(flipped.sum(axis=axis)), permutation_type="samples", vectorized=True,
        n_resamples=DRAWS, alternative="greater", rng=np.random.default_rng(seed),
    )  # fmt: skip
    return float(result.pvalue)
