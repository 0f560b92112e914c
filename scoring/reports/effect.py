"""Computes `effect` in summary.json: the difference between the treated arm and the baseline. Pure."""

from collections.abc import Sequence
from typing import Any

from scoring.rows import Row
from scoring.statistics.estimate import Estimate
from scoring.statistics.paired import Difference, compare_arms
from scoring.statistics.power import smallest_effect


def effect(rows: Sequence[Row], baseline: str, treated: str, seed: int) -> dict[str, Any]:
    """Return the paired differences of two arms: overall, by role, without flagged turns, and without emergency texts."""
    unflagged = [row for row in rows if not row.flagged]
    without_emergencies = [row for row in rows if row.outcome != "emergency"]
    smallest, reason = smallest_effect(rows, baseline, treated)
    return {
        "baseline": baseline,
        "treated": treated,
        **paired_difference(rows, baseline, treated, seed),
        "smallest_detectable": smallest,
        "smallest_detectable_reason": reason or None,
        "by_role": {
            role: paired_difference([row for row in rows if row.role == role], baseline, treated, seed)
            for role in sorted({row.role for row in rows})
        },
        "excluding_flagged": paired_difference(unflagged, baseline, treated, seed),
        "excluding_emergencies": paired_difference(without_emergencies, baseline, treated, seed),
    }


def paired_difference(rows: Sequence[Row], first: str, second: str, seed: int) -> dict[str, Any]:
    """Return the differences between two arms as JSON data: the second arm minus the first."""
    result = compare_arms(rows, first, second, seed=seed)
    return {
        "pairs": result.acceptable.n,
        "clusters": result.clusters,
        "acceptable": difference(result.acceptable),
        "good": difference(result.good),
        "mean": difference(result.mean),
    }


def difference(result: Difference) -> dict[str, Any]:
    """Return a difference as JSON data."""
    return {"difference": result.estimate.value, "interval": ends(result.estimate), "p": result.p}


def with_intervals(**estimates: Estimate) -> dict[str, Any]:
    """Return estimates as JSON data: the value of each, and all intervals under `interval`."""
    values: dict[str, Any] = {name: one.value for name, one in estimates.items()}
    return values | {"interval": {name: ends(one) for name, one in estimates.items()}}


def ends(estimate: Estimate) -> list[float] | None:
    """Return a confidence interval as the JSON list `[low, high]`; None if the estimate has no interval."""
    return None if estimate.low is None or estimate.high is None else [estimate.low, estimate.high]
