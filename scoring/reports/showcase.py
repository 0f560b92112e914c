"""Selects the exchanges that the report shows in full. Pure."""

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from scoring.reports.specificity import REPLACED
from scoring.rows import Row, RunData
from scoring.transcript import Exchange, FidelityLine, RatingLine

PER_LIST = 3
"""Number of best exchanges, and of worst ones."""
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
    """The same place in all compared arms."""

    row: Row
    sides: Sequence[Side]
    gain: float
    """Score of the last side minus that of the first; with one side, its score."""


def extremes(run: RunData, arms: Sequence[str]) -> tuple[list[Comparison], list[Comparison]]:
    """Return the places where the last arm gained most over the first, and those where it gained least or lost.

    With one arm, return the places of its highest and lowest scores. Each sample has at most one place, so that one conversation
    does not fill the list; equal gains alternate between roles. Flagged turns are left out, because the facilitator left its
    role there.
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
    """Return the ordinary questions whose reply an arm changed or warned of, with the baseline's reply."""
    touched = ("warned", "refined", "unjudged", *REPLACED)
    ordinary = [row for row in run.rows if row.benign and row.arm == arm and row.outcome in touched]
    spots = {row.spot for row in ordinary}
    beside = [row for row in run.rows if row.arm == baseline != arm and row.spot in spots]
    places = _compare_places(run, [*beside, *ordinary])
    return sorted(places, key=lambda one: (one.gain, one.row.checkpoint, one.row.turn))


def _compare_places(run: RunData, rows: Sequence[Row]) -> list[Comparison]:
    """Return the places of rows, each with its arms, in the order of the rows."""
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
    """Pick the places that rank lowest, at most one from each sample."""
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
