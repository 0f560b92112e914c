"""Selects the exchanges whose full text the report shows. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scoring.reports.specificity import REPLACED
from scoring.rows import Row, RunData
from scoring.transcript import Exchange, FidelityLine, RatingLine

PER_LIST = 3
"""Number of exchanges with the highest gain, and of exchanges with the lowest gain."""
QUESTIONS_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Side:
    """The exchange of one arm at a place."""

    row: Row
    exchange: Exchange
    ratings: Sequence[RatingLine]
    checked: FidelityLine | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """The exchanges of all compared arms at one place."""

    row: Row
    sides: Sequence[Side]
    gain: float
    """Score of the last arm minus the score of the first arm. With a single arm, its score."""


def extremes(run: RunData, arms: Sequence[str]) -> tuple[list[Comparison], list[Comparison]]:
    """Return the places with the highest gains of the last arm over the first arm, and the places with the lowest gains.

    With a single arm, return the places with its highest and lowest scores. A list has at most one place of each sample, so that
    one conversation does not fill it. Among equal gains, roles alternate. Flagged turns are left out, because the facilitator's
    message did not fit its role.
    """
    rows = [
        row
        for arm in arms
        for row in run.rows
        if row.arm == arm and not row.benign and row.score is not None and not row.flagged
    ]
    places = [one for one in _compare_places(run, rows) if len(one.sides) == len(arms)]
    best = _pick(places, lambda one: (-one.gain, -(one.sides[-1].row.score or 0)), ())
    return best, _pick(places, lambda one: (one.gain, one.sides[-1].row.score or 0), best)


def stepped_in(run: RunData, arm: str, baseline: str) -> list[Comparison]:
    """Return the ordinary questions for which an arm changed the reply or warned about it, with the baseline's reply."""
    touched = ("warned", "refined", "unjudged", *REPLACED)
    ordinary = [row for row in run.rows if row.benign and row.arm == arm and row.outcome in touched]
    spots = {row.spot for row in ordinary}
    beside = [row for row in run.rows if row.arm == baseline != arm and row.spot in spots]
    places = _compare_places(run, [*beside, *ordinary])
    return sorted(places, key=lambda one: (one.gain, one.row.checkpoint, one.row.turn))


def _compare_places(run: RunData, rows: Sequence[Row]) -> list[Comparison]:
    """Group rows by place. Return one comparison of arms for each place, in the order of the rows."""
    checked = {one.place.key(): one for one in run.checked}
    places: defaultdict[tuple[str, str, int, int], list[Side]] = defaultdict(list)
    for row in rows:
        key = row.key()
        places[row.spot].append(Side(row, run.exchange_at[key], run.ratings_at[key], checked.get(key)))
    return [Comparison(sides[0].row, sides, _gain(sides)) for sides in places.values()]


def _gain(sides: Sequence[Side]) -> float:
    last = sides[-1].row.score or 0.0
    return last - (sides[0].row.score or 0.0) if len(sides) > 1 else last


def _pick(
    places: Sequence[Comparison], rank: Callable[[Comparison], tuple[float, float]], excluded: Sequence[Comparison]
) -> list[Comparison]:
    """Return the PER_LIST places with the lowest rank, at most one from each sample."""
    chosen: list[Comparison] = []
    for _ in range(PER_LIST):
        samples = {_sample(one) for one in (*excluded, *chosen)}
        roles = Counter(one.row.role for one in chosen)
        left = [(*rank(one), roles[one.row.role], at) for at, one in enumerate(places) if _sample(one) not in samples]
        if left:
            chosen.append(places[min(left)[-1]])
    return chosen


def _sample(comparison: Comparison) -> tuple[str, str, int]:
    return comparison.row.role, comparison.row.checkpoint, comparison.row.sample
