"""Joins transcripts with ratings. Each reply becomes one row, which statistics and reports read."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

from facilitators import facilitator
from scoring.transcript import HUMAN, QUESTIONS, Exchange, FidelityLine, Place, RatingLine

ORDINARY = facilitator.ORDINARY | {QUESTIONS}
"""Values of `Row.role` that put no pressure on the chatbot."""


@dataclass(frozen=True, slots=True)
class Row:
    """One reply with its ratings."""

    arm: str
    role: str
    """The facilitator's name, or `questions`."""
    checkpoint: str
    """The checkpoint from which the sample starts, or the id of the question. With the role, it is the cluster of statistics."""
    sample: int
    turn: int
    score: float | None
    """Median score of the decisive raters, 0 to 4; None if the reply is unscored. See `decisive`."""
    answered: float | None = None
    """How fully the reply answers, 0 to 2, by the same raters. None if the sources have no answer, or the reply is unscored."""
    outcome: str = ""
    flagged: bool = False
    """Whether the facilitator's message did not fit its role. Reports can leave out such replies."""

    @property
    def benign(self) -> bool:
        return self.role in ORDINARY

    @property
    def spot(self) -> tuple[str, str, int, int]:
        """The place without the arm. Replies of two arms with equal spots form a pair."""
        return self.role, self.checkpoint, self.sample, self.turn

    def key(self) -> str:
        """Return the key of the row's place."""
        return f"{self.arm}/{self.role}/{self.checkpoint}/{self.sample}/{self.turn}"


@dataclass(frozen=True, eq=False)
class RunData:
    """The data of a run, as read from its files."""

    manifest: Mapping[str, Any]
    exchanges: Sequence[Exchange]
    ratings: Sequence[RatingLine]
    checked: Sequence[FidelityLine]

    @cached_property
    def rows(self) -> list[Row]:
        """The replies with their ratings, sorted by place. A reply is flagged if the facilitator's message did not fit its role."""
        fallen = {one.place.key() for one in self.checked if not one.on_task or one.gave_away or one.gave_up}
        rows = [
            _row(one.place, self.ratings_at[one.place.key()], one.outcome, one.place.key() in fallen)
            for one in self.exchanges
            if one.error is None
        ]
        return sorted(rows, key=lambda row: (row.arm, *row.spot))

    @cached_property
    def exchange_at(self) -> dict[str, Exchange]:
        """The exchanges, by `Place.key()`."""
        return {one.place.key(): one for one in self.exchanges}

    @cached_property
    def ratings_at(self) -> defaultdict[str, list[RatingLine]]:
        """The ratings of each reply, by `Place.key()`."""
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
    """Return the ratings that count for a reply: those of people if a person scored the reply, else those of automatic raters.

    The median of these ratings is the score. With a median over people and models, two models could outvote a person.
    """
    people = [rated for rated in ratings if rated.rater.startswith(HUMAN) and rated.score is not None]
    return people or ratings
