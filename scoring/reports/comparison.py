"""Compares two runs, for `caf drift compare`. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scoring.reports.effect import paired_difference
from scoring.reports.figures import number, percent, points, probability, signed
from scoring.rows import Row
from scoring.statistics.paired import match_places

SHARES = {"acceptable": "acceptable", "good": "good", "declined": "declined"}
NUMBERS = {
    "mean": "mean score",
    "answered": "answered",
    "grade": "reading grade",
    "words": "words",
    "calls": "calls",
    "ms_p50": "ms, median",
}
ORDINARY = {
    "answered_full": "ordinary: answered in full",
    "warned": "ordinary: warned",
    "refined": "ordinary: refined",
    "replaced": "ordinary: replaced",
}


def compare(
    summary_a: Mapping[str, Any],
    rows_a: Sequence[Row],
    summary_b: Mapping[str, Any],
    rows_b: Sequence[Row],
    *,
    names: tuple[str, str] = ("A", "B"),
    seed: int,
) -> str:
    """Return a text table: the figures of each arm in both runs, and the paired difference, second run minus first run.

    Args:
        names: Names of the runs, for the column heads.

    Raises:
        ValueError: No arm is in both runs.
    """
    arms = [arm for arm in summary_a["arms"] if arm in summary_b["arms"]]
    if not arms:
        arms_a, arms_b = (", ".join(map(repr, one["arms"])) or "none" for one in (summary_a, summary_b))
        raise ValueError(
            f"no arm is in both runs: {names[0]!r} has {arms_a}, {names[1]!r} {arms_b}; compare runs of one experiment"
        )
    parts = [_effects(summary_a, summary_b, names)]
    for arm in arms:
        parts.append(_table(f"arm {arm}", _figures(summary_a, summary_b, arm), names))
        parts.append(_change(arm, rows_a, rows_b, names, seed))
    for summary, name in ((summary_a, names[0]), (summary_b, names[1])):
        parts += [f"arm {arm}: only in {name}" for arm in summary["arms"] if arm not in arms]
    return "\n\n".join(part for part in parts if part) + "\n"


def _effects(a: Mapping[str, Any], b: Mapping[str, Any], names: tuple[str, str]) -> str:
    """Return the table of the effects in both runs: the treated arm minus the baseline."""
    first, second = a["effect"], b["effect"]
    if not first and not second:
        return ""
    units = {"acceptable": "acceptable, points", "good": "good, points", "mean": "mean score"}
    lines = [(title, *(_with_interval(one, measure) for one in (first, second))) for measure, title in units.items()]
    return _table("effect of the treated arm", lines, names)


def _with_interval(effect: Mapping[str, Any] | None, measure: str, *, with_p: bool = False) -> str:
    if not effect:
        return "–"
    estimate, write = effect[measure], signed if measure == "mean" else points
    if not estimate["interval"]:
        return write(estimate["difference"])
    low, high = map(write, estimate["interval"])
    p = f", p {probability(estimate['p'])}" if with_p else ""
    return f"{write(estimate['difference'])} ({low} to {high}{p})"


def _figures(a: Mapping[str, Any], b: Mapping[str, Any], arm: str) -> list[tuple[str, str, str]]:
    arm_a, arm_b = a["arms"][arm], b["arms"][arm]
    lines = [
        ("replies", str(arm_a["n"]), str(arm_b["n"])),
        ("unscored", str(arm_a["unscored"]), str(arm_b["unscored"])),
    ]
    lines += [(title, percent(arm_a[key], 1), percent(arm_b[key], 1)) for key, title in SHARES.items()]
    lines += [(title, number(arm_a[key], 2), number(arm_b[key], 2)) for key, title in NUMBERS.items()]
    ordinary = [one["benign"].get(arm, {}) for one in (a, b)]
    if any(ordinary):
        lines += [
            (title, percent(ordinary[0].get(key), 1), percent(ordinary[1].get(key), 1))
            for key, title in ORDINARY.items()
        ]
    return lines


def _change(arm: str, rows_a: Sequence[Row], rows_b: Sequence[Row], names: tuple[str, str], seed: int) -> str:
    """Return the paired difference of one arm between two runs, computed like that of two arms in one run."""
    nudged = ([row for row in rows if row.arm == arm and not row.benign] for rows in (rows_a, rows_b))
    rows = [replace(row, arm=run) for run, of_run in zip("ab", nudged, strict=True) for row in of_run]
    if not match_places(rows, "a", "b"):
        return f"arm {arm}: the runs have no place in common, so there is no paired difference"
    change = paired_difference(rows, "a", "b", seed)
    parts = ", ".join(
        f"{measure} {_with_interval(change, measure, with_p=True)}" for measure in ("acceptable", "good", "mean")
    )
    return f"arm {arm}, {names[1]} less {names[0]} on {change['pairs']} places of {change['clusters']} checkpoints: {parts}"


def _table(title: str, lines: Sequence[tuple[str, ...]], names: tuple[str, str]) -> str:
    every = [(title, *names), *lines]
    widths = [max(len(line[column]) for line in every) for column in range(3)]
    return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}".rstrip() for a, b, c in every)
