"""Validates the file that a rater returns against the key of its page, and converts it into ratings. Pure."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from models.unique_keys import DuplicateKeyError, refuse_duplicates
from models.validation_errors import describe_faults
from scoring.people.sheet import Key
from scoring.transcript import HUMAN, Line, Place, RatingLine

MAX_PROBLEMS = 5
"""Maximum number of problems of one kind to report. A wrong file has a problem in each rating."""


class ReturnError(Exception):
    """A returned file is invalid. `problems` has one message for each problem."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = list(problems)


class ItemRating(Line):
    """A rater's rating of one item."""

    id: str
    score: Literal[0, 1, 2, 3, 4] | None
    """Score, 0 to 4; None: not rated yet."""
    answered: Literal[0, 1, 2, "nothing"] | None
    """How fully the reply answers, 0 to 2. `nothing`: the sources have no answer. None: not rated yet."""
    note: str = ""
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0


class RatingFile(Line):
    """The file that a rater downloads from the page and returns."""

    page: str
    rater: str
    ratings: tuple[ItemRating, ...]


class TwinRatings(Line):
    """Both ratings of a reply that was shown twice."""

    place: Place
    first: ItemRating
    second: ItemRating


class SelfAgreement(Line):
    """Self-agreement of a rater: both ratings of all replies shown twice. Stored as RUN/rating/self-NAME.json."""

    page: str
    rater: str
    twins: tuple[TwinRatings, ...]

    @property
    def same(self) -> int:
        return sum(pair.first.score == pair.second.score for pair in self.twins)

    @property
    def within_one(self) -> int:
        return sum(abs((pair.first.score or 0) - (pair.second.score or 0)) <= 1 for pair in self.twins)


@dataclass(frozen=True, slots=True)
class AcceptedRatings:
    """The ratings of a valid file."""

    ratings: tuple[RatingLine, ...]
    """One rating for each reply. For a reply shown twice, the first rating."""
    twins: SelfAgreement
    replies: int
    """Number of different replies on the page."""
    seconds: float
    """Median time for an item, in seconds."""


def parse(text: str | bytes) -> RatingFile:
    """Parse a file that a rater downloaded from a page.

    Raises:
        ReturnError: The text is not such a file.
    """
    try:
        refuse_duplicates(text)
        return RatingFile.model_validate_json(text)
    except DuplicateKeyError as error:
        raise ReturnError([str(error)]) from None
    except ValidationError as error:
        remedy = "give the file that the page's Download saves"
        raise ReturnError(_shorten([f"{fault}; {remedy}" for fault in describe_faults(error)])) from error


def key_of(returned: RatingFile, keys: Mapping[str, Key]) -> Key:
    """Return the key of the rated page.

    Args:
        keys: The keys of the run, by page.

    Raises:
        ReturnError: The run has no such page, or the page was made for another rater.
    """
    key = keys.get(returned.page)
    if key is None:
        pages = ", ".join(f"{key.page} ({key.rater})" for key in keys.values()) or "none"
        raise ReturnError([
            f"page {returned.page!r} of {returned.rater!r} does not belong to this run (pages: {pages}). "
            "Give the run from which the page was exported. Import its ratings before you export again"
        ])  # fmt: skip
    if key.rater != returned.rater:
        raise ReturnError([
            f"rater is {returned.rater!r}, but page {key.page} was made for {key.rater!r}; "
            "each rater must use their own page and must not edit the downloaded file"
        ])  # fmt: skip
    return key


def accept(returned: RatingFile, key: Key, *, partial: bool = False) -> AcceptedRatings:
    """Convert a rater's file into ratings.

    Args:
        partial: Accept a file in which some items are not rated.

    Raises:
        ReturnError: An id is unknown or a duplicate, or an item is not rated and `partial` is false.
    """
    ratings_by_id = {one.id: one for one in returned.ratings}
    problems = _shorten([f"id {id!r} is not on page {key.page}" for id in ratings_by_id if id not in key.items])
    times = Counter(one.id for one in returned.ratings)
    problems += _shorten([f"id {id!r} is rated {n} times: keep one rating" for id, n in times.items() if n > 1])
    if not problems and not partial:
        problems += list(_missing(ratings_by_id, key))
    if problems:
        raise ReturnError(problems)
    by_reply: dict[str, list[ItemRating]] = defaultdict(list)
    for id, key_item in key.items.items():
        if id in ratings_by_id and ratings_by_id[id].score is not None:
            by_reply[key_item.place.key()].append(ratings_by_id[id])
    pairs = [
        TwinRatings(place=key.items[two[0].id].place, first=two[0], second=two[1])
        for two in by_reply.values()
        if two[1:]
    ]
    return AcceptedRatings(
        tuple(_rating_line(key, some[0]) for some in by_reply.values()),
        SelfAgreement(page=key.page, rater=key.rater, twins=tuple(pairs)),
        sum(key_item.twin_of is None for key_item in key.items.values()),
        median([one.seconds for some in by_reply.values() for one in some] or [0.0]),
    )


def _missing(ratings_by_id: Mapping[str, ItemRating], key: Key) -> Iterator[str]:
    without = "finish the page and download again, or accept an incomplete file with --partial"
    scores = [id for id in key.items if id not in ratings_by_id or ratings_by_id[id].score is None]
    answers = [id for id in key.items if id not in scores and ratings_by_id[id].answered is None]
    for ids, field in ((scores, "a score"), (answers, "how much they answered")):
        if ids:
            yield f"{len(ids)} of {len(key.items)} items are missing {field} (the first is {ids[0]!r}); {without}"


def _rating_line(key: Key, rating: ItemRating) -> RatingLine:
    answered = None if rating.answered == "nothing" else rating.answered
    place, rater = key.items[rating.id].place, HUMAN + key.rater
    return RatingLine(place=place, rater=rater, score=rating.score, answered=answered, reason=rating.note)


def _shorten(problems: Sequence[str]) -> list[str]:
    more = len(problems) - MAX_PROBLEMS
    return [*problems[:MAX_PROBLEMS], *([f"and {more} more problems of that kind"] if more > 0 else [])]
