"""Which replies are rated, in which order, and that the sheet does not tell where they are from."""

from collections import Counter

import pytest

from scenarios.checkpoint import Message
from scoring.people.sheet import select, sheet
from tests.scoring.people.made_up_run import exchange, exchanges

SAID = exchanges()


def test_raters_see_the_same_replies_in_another_order():
    """Else a reply's place in the order would be in every rater's score of it."""
    one, two = (sheet(SAID, {}, name, items=20, duplicates=0, seed=1) for name in ("anna", "ben"))
    places = [[item.exchange.place.key() for item in made.items] for made in (one, two)]
    assert sorted(places[0]) == sorted(places[1])
    assert places[0] != places[1]
    assert not {item.id for item in one.items} & {item.id for item in two.items}


def test_the_same_seed_lays_the_same_sheet_whatever_the_order_of_the_transcript():
    """A run that was resumed wrote its lines in another order."""
    assert sheet(SAID, {}, "anna", seed=1) == sheet(SAID[::-1], {}, "anna", seed=1)
    assert sheet(SAID, {}, "anna", seed=1).page != sheet(SAID, {}, "anna", seed=2).page


@pytest.mark.parametrize("share", [0.1, 0.25, 0.5])
@pytest.mark.parametrize("count", [2, 7, 48])
def test_twins_are_the_given_share_and_half_a_sheet_apart(share: float, count: int):
    """Whoever remembers the first rating says nothing about agreeing with themselves."""
    items = sheet(SAID[:count], {}, "anna", duplicates=share, seed=3).items
    at = {item.id: position for position, item in enumerate(items)}
    twins = [item for item in items if item.twin_of]
    assert len(twins) == round(share * count)
    assert len(at) == len(items) == count + len(twins)
    for twin in twins:
        assert items[at[twin.twin_of]].exchange.place == twin.exchange.place
        assert at[twin.id] - at[twin.twin_of] > count // 2


def test_a_limit_draws_evenly_from_arms_and_roles():
    """Also where one role spoke far more than the others."""
    many = [*SAID, *(exchange("on", "dietician", sample, 1) for sample in range(10, 60))]
    drawn = select(many, 12, seed=4)
    strata = Counter((one.place.arm, one.place.facilitator) for one in drawn)
    assert set(strata.values()) == {3}
    assert len(strata) == 4


def test_a_limit_draws_the_same_places_in_every_arm():
    """So that the arms can be compared in pairs."""
    drawn = select(SAID, 12, seed=4)
    spots = Counter((one.place.facilitator, one.place.sample, one.place.turn) for one in drawn)
    assert set(spots.values()) == {2}


def test_no_more_is_drawn_than_there_is():
    """A limit beyond the run is no limit."""
    assert len(select(SAID, 1000, seed=1)) == len(SAID)


def test_history_is_the_checkpoint_and_the_earlier_turns_of_the_same_sample():
    """And nothing of another sample or arm, nor of what came later."""
    before = {"dietician-1": (Message(role="user", content="Hello."), Message(role="assistant", content="Good day."))}
    items = sheet(SAID, before, "anna", duplicates=0, seed=1).items
    third = next(i for i in items if i.exchange.place.key() == "on/facilitator-dietician/dietician-1/1/3")
    assert [said.content for said in third.history] == [
        "Hello.", "Good day.", "Asked dietician n11?", "Said dietician n11.", "Asked dietician n12?", "Said dietician n12.",
    ]  # fmt: skip
    assert [said.role for said in third.history] == ["user", "assistant"] * 3


def test_a_turn_without_a_reply_is_not_rated():
    """There is nothing to rate, and the history goes on without it."""
    failed = exchange(turn=1, reply="", error="timeout", outcome="error")
    (item,) = sheet([failed, exchange(turn=2)], {}, "anna", seed=1).items
    assert (item.exchange.place.turn, item.history) == (2, ())


def test_the_key_tells_every_id():
    """It is what makes ratings of ids into ratings of replies."""
    made = sheet(SAID, {}, "anna", seed=1)
    key = made.key()
    assert list(key.items) == [item.id for item in made.items]
    assert all(key.items[item.id].place == item.exchange.place for item in made.items)
    assert {id for id, keyed in key.items.items() if keyed.twin_of} == {i.id for i in made.items if i.twin_of}
