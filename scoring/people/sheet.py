"""Selects and orders the replies for one rater, and makes the key that maps their ids back to replies. Pure.

The rater is blind: ids are random, and the sheet shows neither the arm nor the verdicts of a reply. The key stays in the run.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from random import Random

from scenarios.checkpoint import Message
from scoring.transcript import Exchange, Line, Place


@dataclass(frozen=True, slots=True)
class Item:
    """One reply on a sheet, for a rater to rate."""

    id: str
    exchange: Exchange
    """The exchange with the reply. Only the key contains its place."""
    history: tuple[Message, ...]
    twin_of: str | None = None
    """Id of an earlier item with the same reply; None: the reply was not shown before."""


class KeyItem(Line):
    """The reply with a given id: its place in the run, and its twin."""

    place: Place
    twin_of: str | None = None


class Key(Line):
    """The key of one page, which maps its ids to replies. Stored as RUN/rating/key-NAME.json."""

    page: str
    rater: str
    seed: int
    items: dict[str, KeyItem]
    """Places of the replies by id, in the order of the page."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The replies for one rater, in order."""

    rater: str
    seed: int
    items: tuple[Item, ...]

    @property
    def page(self) -> str:
        """The id of the page, a hash of its content. So a browser does not restore the progress of another page."""
        items = [
            [i.id, [[m.role, m.content] for m in i.history], e.user_message, e.reply, e.citations]
            + [one.model_dump() for one in e.documents]
            for i in self.items
            for e in [i.exchange]
        ]
        return hashlib.sha256(json.dumps([self.rater, items]).encode()).hexdigest()[:16]

    def key(self) -> Key:
        items = {item.id: KeyItem(place=item.exchange.place, twin_of=item.twin_of) for item in self.items}
        return Key(page=self.page, rater=self.rater, seed=self.seed, items=items)


def sheet(
    exchanges: Iterable[Exchange],
    checkpoints: Mapping[str, Sequence[Message]],
    rater: str,
    *,
    items: int | None = None,
    duplicates: float = 0.1,
    seed: int,
) -> Sheet:
    """Make the sheet of one rater.

    Args:
        exchanges: All exchanges of the run. Exchanges without a reply are skipped.
        checkpoints: Messages before samples, by the name of the checkpoint or the id of the question.
        items: Maximum number of replies; None: all. With equal seeds, all raters get the same replies.
        duplicates: The share of replies to show twice, 0 to 0.5. The second showing comes half a sheet after the first.
        seed: Seed of all random choices.
    """
    replied = [one for one in exchanges if one.reply.strip()]
    histories = _histories(replied, checkpoints)
    order = select(replied, items, seed)
    lot = Random(f"{seed}/{rater}")
    lot.shuffle(order)
    lag = len(order) // 2
    twice = set(lot.sample(range(len(order) - lag), min(round(duplicates * len(order)), len(order) - lag)))
    ids = (f"{number:010x}" for number in lot.sample(range(16**10), len(order) + len(twice)))
    laid: list[Item] = []
    first: dict[int, str] = {}
    for position, exchange in enumerate(order):
        first[position] = next(ids)
        laid.append(Item(first[position], exchange, histories[exchange.place.key()]))
        if (back := position - lag) in twice:
            laid.append(Item(next(ids), order[back], histories[order[back].place.key()], first[back]))
    return Sheet(rater, seed, tuple(laid))


def select(exchanges: Sequence[Exchange], limit: int | None, seed: int) -> list[Exchange]:
    """Draw replies evenly from roles and arms. The draws are at the same places in all arms, for paired comparisons."""
    pool = sorted(exchanges, key=lambda one: one.place.key())
    if limit is None or limit >= len(pool):
        return pool
    lot = Random(seed)
    rank = {spot: lot.random() for spot in sorted({_spot(one) for one in pool})}
    roles = sorted({one.place.facilitator for one in pool})
    lot.shuffle(roles)
    arms = sorted({one.place.arm for one in pool})
    strata: dict[tuple[str, str], list[Exchange]] = defaultdict(list)
    for exchange in sorted(pool, key=lambda one: rank[_spot(one)]):
        strata[exchange.place.facilitator, exchange.place.arm].append(exchange)
    rounds = zip_longest(*(strata[role, arm] for role in roles for arm in arms))
    return [one for drawn in rounds for one in drawn if one is not None][:limit]


def _spot(exchange: Exchange) -> tuple[str, str, int, int]:
    """Return the place without its arm."""
    return exchange.place.facilitator, exchange.place.checkpoint, exchange.place.sample, exchange.place.turn


def _histories(
    exchanges: Iterable[Exchange], checkpoints: Mapping[str, Sequence[Message]]
) -> dict[str, tuple[Message, ...]]:
    """Return the messages before each reply, by `Place.key()`: those of the checkpoint, and the earlier turns."""
    conversations: dict[tuple[str, str, str, int], list[Message]] = {}
    before: dict[str, tuple[Message, ...]] = {}
    for exchange in sorted(exchanges, key=lambda one: one.place.turn):
        place = exchange.place
        sample = (place.arm, place.facilitator, place.checkpoint, place.sample)
        so_far = conversations.setdefault(sample, list(checkpoints.get(place.checkpoint, ())))
        before[place.key()] = tuple(so_far)
        so_far += exchange.messages()
    return before
