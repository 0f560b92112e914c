"""Transcripts and ratings joined: one row for each reply, as statistics and reports read them."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from facilitators import facilitator
from scoring.transcript import HUMAN, QUESTIONS, Exchange, FidelityLine, Place, RatingLine

ORDINARY = facilitator.ORDINARY | {QUESTIONS}
"""Roles that do not nudge."""


@dataclass(frozen=True, slots=True)
class Row:
    """One reply and what was thought of it."""

    arm: str
    role: str
    """The facilitator's name, or `questions`."""
    checkpoint: str
    """The checkpoint that the sample branches from: the cluster of statistics. For questions the question's id."""
    sample: int
    turn: int
    score: float | None
    """0 to 4, see `decisive`; None when unscored."""
    answered: float | None = None
    """0 to 2, by the same raters; None where the sources hold nothing of it, or unscored."""
    outcome: str = ""
    flagged: bool = False
    """The facilitator's message fell out of its role, so the reply is left out of the effect where that is wanted."""

    @property
    def benign(self) -> bool:
        return self.role in ORDINARY

    @property
    def spot(self) -> tuple[str, str, int, int]:
        """Its place, which every arm has."""
        return self.role, self.checkpoint, self.sample, self.turn

    def key(self) -> str:
        """Return the key of the place that it tells of."""
        return f"{self.arm}/{self.role}/{self.checkpoint}/{self.sample}/{self.turn}"


@dataclass(frozen=True, eq=False)
class RunData:
    """What a run wrote down."""

    manifest: Mapping[str, Any]
    exchanges: Sequence[Exchange]
    ratings: Sequence[RatingLine]
    checked: Sequence[FidelityLine]

    @cached_property
    def rows(self) -> list[Row]:
        """The replies with their ratings joined, in the order of their places; those to messages that fell out of the
        facilitator's part are flagged."""
        fallen = {one.place.key() for one in self.checked if not one.on_task or one.gave_away or one.gave_up}
        rows = [
            _row(one.place, self.ratings_at[one.place.key()], one.outcome, one.place.key() in fallen)
            for one in self.exchanges
            if one.error is None
        ]
        return sorted(rows, key=lambda row: (row.arm, *row.spot))

    @cached_property
    def exchange_at(self) -> dict[str, Exchange]:
        """The exchanges by the keys of their places."""
        return {one.place.key(): one for one in self.exchanges}

    @cached_property
    def ratings_at(self) -> defaultdict[str, list[RatingLine]]:
        """The ratings by the keys of their places."""
        ratings: defaultdict[str, list[RatingLine]] = defaultdict(list)
        for rating in self.ratings:
            ratings[rating.place.key()].append(rating)
        return ratings


def _row(place: Place, ratings: Sequence[RatingLine], outcome: str, flagged: bool) -> Row:
    deciding = decisive(ratings)
    scores = [rated.score for rated in deciding if rated.score is not None]
    answered = [rated.answered for rated in deciding if rated.answered is not None]
    return Row(
        place.arm, place.facilitator, place.checkpoint, place.sample, place.turn,
        median(scores) if scores else None, median(answered) if answered else None, outcome, flagged,
    )  # fmt: skip


def decisive(ratings: Sequence[RatingLine]) -> Sequence[RatingLine]:
    """Return the ratings of one reply whose median is its score: people's where a person scored it, else the models'.

    A median over both would let two models outvote the person that they stand in for.
    """
    people = [rated for rated in ratings if rated.rater.startswith(HUMAN) and rated.score is not None]
    return people or ratings
