"""What comes back from a rater: taken when it fits its page, told apart when it does not."""

import json

import pytest

from scoring.people.returned_ratings import ReturnError, accept, key_of, parse
from scoring.people.sheet import sheet
from tests.scoring.people.made_up_run import exchanges

KEY = sheet(exchanges(), {}, "anna", duplicates=0.25, seed=1).key()
IDS = list(KEY.items)
TWINS = {id: keyed.twin_of for id, keyed in KEY.items.items() if keyed.twin_of}


def file(changes: dict[str, dict | None] | None = None, **more: object) -> str:
    """Return a complete file, with these changes by id; None leaves the rating out."""
    given = {id: {"id": id, "score": 3, "answered": 2, "note": "", "seconds": 8} for id in IDS}
    for id, change in (changes or {}).items():
        given[id] = None if change is None else given[id] | change
    ratings = [one for one in given.values() if one is not None]
    return json.dumps({"page": KEY.page, "rater": "anna", "ratings": ratings} | more)


def problems(text: str, **more: bool) -> list[str]:
    with pytest.raises(ReturnError) as caught:
        accept(returned := parse(text), key_of(returned, {KEY.page: KEY}), **more)
    return caught.value.problems


def test_a_rating_goes_where_its_id_is_from():
    """With its score, its answer and its note."""
    text = file({IDS[0]: {"score": 0, "answered": "nothing", "note": "no sources"}})
    accepted = accept(parse(text), KEY)
    merge_ratings = {one.place.key(): one for one in accepted.ratings}
    one = merge_ratings[KEY.items[IDS[0]].place.key()]
    assert (one.rater, one.score, one.answered, one.reason) == ("human:anna", 0, None, "no sources")
    assert {other.score for key, other in merge_ratings.items() if key != one.place.key()} == {3}
    assert len(accepted.ratings) == accepted.replies == len(IDS) - len(TWINS) == 48
    assert accepted.seconds == 8


def test_the_first_of_two_ratings_counts_and_both_are_kept_aside():
    """A reply that was shown twice must not weigh twice."""
    twin, first = next(iter(TWINS.items()))
    accepted = accept(parse(file({twin: {"score": 1}})), KEY)
    (merge_ratings,) = [one for one in accepted.ratings if one.place == KEY.items[twin].place]
    assert merge_ratings.score == 3
    pair = next(pair for pair in accepted.twins.twins if pair.first.id == first)
    assert (pair.second.id, pair.second.score) == (twin, 1)
    assert (len(accepted.twins.twins), accepted.twins.same, accepted.twins.within_one) == (12, 11, 11)


def test_what_is_missing_is_counted_and_refused():
    """With the way out; an item that is not in the file is missing like one without a score."""
    told = problems(file({IDS[0]: None, IDS[1]: {"score": None}, IDS[2]: {"answered": None}}))
    assert told[0].startswith(f"2 of 60 items are missing a score (the first is {IDS[0]!r})")
    assert told[1].startswith(f"1 of 60 items are missing how much they answered (the first is {IDS[2]!r})")
    assert all("--partial" in one for one in told)


def test_partial_takes_what_has_a_score():
    """Of two ratings of a reply the one that is there."""
    twin, first = next(iter(TWINS.items()))
    alone = next(id for id in IDS if id not in TWINS and id not in TWINS.values())
    text = file({first: {"score": None}, twin: {"score": 1}, alone: None})
    accepted = accept(parse(text), KEY, partial=True)
    by_place = {one.place.key(): one.score for one in accepted.ratings}
    assert by_place[KEY.items[first].place.key()] == 1
    assert KEY.items[alone].place.key() not in by_place
    assert len(accepted.twins.twins) == 11


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "Invalid JSON"),
        ("[" * 100_000, "Invalid JSON"),
        ("[]", "expected a mapping of keys to values; give the file that the page's Download saves"),
        ('{"ratings": 3}', "page: is missing"),
        (file(more=1), "more: is not a known key"),
        (file({IDS[4]: {"score": 5}}), "ratings.4.score: invalid value 5: expected 0, 1, 2, 3 or 4"),
        (file({IDS[4]: {"score": "3"}}), "ratings.4.score: invalid value '3': expected 0, 1, 2, 3 or 4"),
        (file({IDS[4]: {"answered": 3}}), "ratings.4.answered: invalid value 3: expected 0, 1, 2 or 'nothing'"),
        (file({IDS[4]: {"seconds": -1}}), "ratings.4.seconds: invalid value -1: expected at least 0"),
        (file(page="feed"), f"page 'feed' of 'anna' does not belong to this run (pages: {KEY.page} (anna))"),
        (file(rater="ben"), f"rater is 'ben', but page {KEY.page} was made for 'anna'"),
        (file({IDS[4]: {"id": "f00"}}), f"id 'f00' is not on page {KEY.page}"),
        (file({IDS[4]: {"id": IDS[5]}}), f"id {IDS[5]!r} is rated 2 times"),
    ],
)
def test_faults_name_the_value_and_the_id(text: str, says: str):
    """So that whoever has the file finds the place; --partial excuses none of them."""
    assert problems(text, partial=True)[0].startswith(says)


def test_a_file_of_the_wrong_kind_is_told_briefly():
    """And not once for each of its ratings."""
    told = problems(file({id: {"score": 9} for id in IDS}))
    assert len(told) == 6
    assert told[-1] == "and 55 more problems of that kind"
