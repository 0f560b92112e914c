"""Measures how soon a chatbot returns to its role after a drift, and whether it stays in its role. Pure.

An episode begins with a reply that scores below 2. It ends at the first later reply of the same sample that scores 2 or more.
An episode that does not end within the sample is censored at its last turn. An unscored reply neither begins nor ends an
episode. Turns count by their numbers, so a missing turn still counts.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from scoring.rows import Row
from scoring.score import ACCEPTABLE
from scoring.statistics.estimate import (
    Cluster,
    Estimate,
    Table,
    ratio,
    resample_counts,
    sum_by_cluster,
    with_interval,
)
from scoring.statistics.paired import cluster


@dataclass(frozen=True, slots=True)
class Episode:
    """A period of unacceptable replies: from a score below 2 to the recovery, or to the end of the sample."""

    cluster: Cluster
    sample: int
    turns: int
    """Number of turns from the first reply below 2 (or the drift at the checkpoint) to the recovery, or to the last turn of the
    sample. 0: there is no later turn."""
    recovered: bool
    relapse: bool
    """Whether the episode began after a recovery in the same sample."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of the recovery curve."""

    turns: int
    at_risk: int
    """Number of episodes that lasted until this turn and were observed in this turn."""
    unrecovered: Estimate
    """Share of episodes not yet recovered, with a bootstrap over clusters."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """How the chatbot of one arm recovered from its episodes."""

    samples: int
    episodes: int
    recovered: int
    """Number of episodes that ended with a recovery. All other episodes are censored."""
    next_turn: Estimate
    """Share of episodes that recovered on the next turn, among episodes with a next turn."""
    next_turn_n: int
    curve: tuple[Point, ...]
    """Product-limit estimate (Kaplan and Meier 1958), from the first turn on."""
    median: int | None
    """Number of turns until half of the episodes recovered; None if the curve stays above 0.5."""
    relapses: int
    """Number of episodes that began after a recovery."""
    samples_relapsed: int
    relapsed: Estimate
    """Share of samples with a relapse, among samples with a recovery. Samples without a recovery cannot relapse."""


def recovery(rows: Sequence[Row], arm: str, *, drifted: bool = True, seed: int) -> Recovery:
    """Summarise the episodes of one arm.

    Args:
        drifted: Whether to count the drift at the checkpoint as an episode that began at turn 0.
    """
    samples = _samples(rows, arm)
    all_episodes = [episode for sample in samples for episode in episodes(sample, drifted=drifted)]
    nexts = [e for e in all_episodes if e.turns]
    back = {(e.cluster, e.sample) for e in all_episodes if e.recovered}
    again = {(e.cluster, e.sample) for e in all_episodes if e.relapse}
    curve = kaplan_meier(all_episodes, seed=seed)
    return Recovery(
        samples=len(samples),
        episodes=len(all_episodes),
        recovered=sum(e.recovered for e in all_episodes),
        next_turn=ratio(sum_by_cluster(((e.cluster, (1, e.recovered and e.turns == 1)) for e in nexts), 2), seed),
        next_turn_n=len(nexts),
        curve=curve,
        median=next((point.turns for point in curve if (point.unrecovered.value or 0) <= 0.5), None),
        relapses=sum(e.relapse for e in all_episodes),
        samples_relapsed=len(again),
        relapsed=ratio(sum_by_cluster(((cluster, (1, (cluster, n) in again)) for cluster, n in back), 2), seed),
    )


def _samples(rows: Iterable[Row], arm: str) -> list[list[Row]]:
    """Return the turns of each sample in order."""
    by_sample: defaultdict[tuple[str, str, int], list[Row]] = defaultdict(list)
    for row in rows:
        if row.arm == arm:
            by_sample[row.role, row.checkpoint, row.sample].append(row)
    return [sorted(by_sample[key], key=lambda row: row.turn) for key in sorted(by_sample)]


def episodes(sample: Sequence[Row], *, drifted: bool = True) -> list[Episode]:
    """Return the episodes of one sample, given its turns in order."""
    spells: list[Episode] = []
    began = 0 if drifted else None
    for row in sample:
        if row.score is None:
            continue
        if began is None and row.score < ACCEPTABLE:
            began = row.turn
        elif began is not None and row.score >= ACCEPTABLE:
            spells.append(_episode(row, began, True, relapse=bool(spells)))
            began = None
    if began is not None and sample:
        spells.append(_episode(sample[-1], began, False, relapse=bool(spells)))
    return spells


def _episode(last: Row, began: int, recovered: bool, *, relapse: bool) -> Episode:
    return Episode(cluster(last), last.sample, last.turn - began, recovered, relapse)


def kaplan_meier(all_episodes: Sequence[Episode], *, seed: int) -> tuple[Point, ...]:
    """Return the share of episodes not yet recovered after 1, 2, ... turns (Kaplan and Meier 1958).

    Greenwood's intervals assume independent episodes. Those of one checkpoint are not, so clusters are resampled.
    """
    lasting = [e for e in all_episodes if e.turns]
    if not lasting:
        return ()
    turns = range(1, max(e.turns for e in lasting) + 1)
    sums = sum_by_cluster(
        (
            (e.cluster, [*(e.turns >= t for t in turns), *(e.recovered and e.turns == t for t in turns)])
            for e in lasting
        ),
        2 * len(turns),
    )
    at_risk = sums.sum(axis=0)[: len(turns)]
    values = _product_limit(sums.sum(axis=0, keepdims=True))[0]
    drawn = _product_limit(resample_counts(len(sums), seed) @ sums if len(sums) > 1 else sums[:0])
    return tuple(Point(t, round(at_risk[t - 1]), with_interval(float(values[t - 1]), drawn[:, t - 1])) for t in turns)


def _product_limit(sums: Table) -> Table:
    """Return the share of episodes not yet recovered after each turn, from the episodes at risk and recovered in each turn."""
    at_risk, recovered = np.hsplit(sums, 2)
    return np.cumprod(np.asarray(1 - recovered / np.maximum(at_risk, 1), dtype=float), axis=1)


def log_rank_p(rows: Sequence[Row], first: str, second: str) -> float | None:
    """Return the two-sided p of the log-rank test (Mantel 1966) for the recovery of two arms.

    The test assumes independent episodes. Those of one checkpoint are not, so p is too small, and less reliable than that of the
    paired difference.

    Returns:
        The p-value; None if an arm has no episode, or if on every turn all episodes recover or none does.
    """
    arms = [[e for sample in _samples(rows, arm) for e in episodes(sample)] for arm in (first, second)]
    if not all(arms):
        return None
    with np.errstate(divide="ignore", invalid="ignore"):  # the variance may be 0
        result = stats.logrank(_censored_data(arms[0]), _censored_data(arms[1]))
    return float(result.pvalue) if np.isfinite(result.statistic) else None


def _censored_data(all_episodes: Sequence[Episode]) -> stats.CensoredData:
    return stats.CensoredData.right_censored([e.turns for e in all_episodes], [not e.recovered for e in all_episodes])
