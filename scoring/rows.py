"""Transcripts and ratings joined: one row for each reply, as statistics and reports read them."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from facilitators.facilitator import BENIGN
from scoring.transcript import HUMAN, QUESTIONS, Exchange, Place, RatingLine

ORDINARY = (QUESTIONS, BENIGN)
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

    def key(self) -> str:
        """Return the key of the place that it tells of."""
        return f"{self.arm}/{self.role}/{self.checkpoint}/{self.sample}/{self.turn}"


def join(
    exchanges: Sequence[Exchange], ratings: Iterable[RatingLine], flagged: frozenset[str] = frozenset()
) -> list[Row]:
    """Join exchanges with all their ratings, in the order of their places.

    Args:
        flagged: Keys of places whose facilitator's message fell out of its role.
    """
    given: dict[str, list[RatingLine]] = defaultdict(list)
    for rated in ratings:
        given[rated.place.key()].append(rated)
    rows = [_row(one.place, given[one.place.key()], one.outcome, one.place.key() in flagged) for one in exchanges]
    return sorted(rows, key=lambda r: (r.arm, r.role, r.checkpoint, r.sample, r.turn))


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
