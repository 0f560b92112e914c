"""Lists of turns, for people who look: filtered, the newest first, page by page.

Reads what the writer has derived of each turn (`facts.py`). Turns of an older caf get their facts while a proxy runs; until then
they are in no list, and `Page.to_index` says how many they are.
"""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proxy.traces.backend import Connection, TraceBackend
from proxy.traces.fact_query import FactQuery, TurnFilter
from proxy.traces.facts import Alarm, Layer
from proxy.traces.labels import Label, labels_of
from proxy.traces.query import TurnLine, Verdict, open_backend, select_values
from proxy.traces.schema import COUNT_NOT_INDEXED
from proxy.traces.sqlite import decode

COUNT_TO = 1_000
"""How far the turns that match are counted."""


@dataclass(frozen=True, slots=True)
class ListedTurn:
    """One turn in a list."""

    id: int
    """Its place among all turns, for `before`. Above what JavaScript holds exactly: write it as text."""
    line: TurnLine
    """What `caf trace list` shows of it; each different verdict once."""
    key_id: str
    filter: str
    alarm: Alarm | None
    kind: str | None
    """The kind of danger."""
    layer: Layer | None
    """What decided that there is danger."""
    mended: bool
    no_source: bool
    calls: int
    cost: float | None
    labels: tuple[Label, ...]
    message: str
    """The user's message as it is stored, in redacted storage its length; empty unless texts are asked for."""
    reply: str
    """The first reply that was delivered, likewise."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some turns, the newest first."""

    turns: list[ListedTurn]
    next: int | None
    """The `before` of the next page; None: this is the last."""
    total: int | None
    """How many turns match, counted up to `COUNT_TO`; None on later pages."""
    at_least: bool
    """Whether there are more than `total`."""
    to_index: int
    """How many turns are still without facts, and so in no list."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The turns beside one, by their ids; None: there is none."""

    newer: str | None
    older: str | None


def search_turns(
    backend: TraceBackend, turn_filter: TurnFilter, *, before: int | None = None, limit: int = 50, texts: bool = False
) -> Page:
    """Return a page of the turns that a filter matches, the newest first.

    A page that is asked for again has the same turns, however many have come since: `before` is a place, not a number of turns.

    Args:
        backend: Where the traces are.
        turn_filter: The filter.
        before: The `next` of the page before; None: the first page.
        limit: How many turns at most.
        texts: Whether to read messages and replies as well.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    with open_backend(backend, "ro") as connection:
        query = FactQuery(connection, turn_filter)
        most = limit if before is not None else max(limit, COUNT_TO)
        ids = query.ids(before, most + 1)
        page = ids[:limit]
        return Page(
            turns=_read_turns(connection, page, texts),
            next=page[-1] if len(ids) > limit else None,
            total=min(len(ids), most) if before is None else None,
            at_least=before is None and len(ids) > most,
            to_index=count_to_index(connection),
        )


def find_neighbours(backend: TraceBackend, turn_filter: TurnFilter, turn_id: str) -> Neighbours:
    """Return the turns next to one among those that a filter matches; it need not match itself.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    with open_backend(backend, "ro") as connection:
        row = connection.execute("SELECT id FROM turn_facts WHERE turn_id = :id", {"id": turn_id}).fetchone()
        if row is None:
            return Neighbours(None, None)
        (place,) = row
        query = FactQuery(connection, turn_filter)
        newer, older = query.ids_after(place, 1), query.ids(place, 1)
        names = _turn_ids(connection, [*newer, *older])
        return Neighbours(names.get(newer[0]) if newer else None, names.get(older[0]) if older else None)


def read_turn(backend: TraceBackend, turn_id: str, chatbots: Collection[str] | None = None) -> dict[str, Any] | None:
    """Return one trace as `query.show` does, or None where there is none with exactly this id, of one of these chatbots.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    with open_backend(backend, "ro") as connection:
        row = connection.execute("SELECT body FROM turns WHERE turn_id = :id", {"id": turn_id}).fetchone()
    trace = None if row is None else decode(row[0])
    return trace if trace is not None and (chatbots is None or trace["chatbot"] in chatbots) else None


def chatbots_of(backend: TraceBackend, conversation: str) -> set[str]:
    """Return the chatbots that have turns with exactly this id of a conversation: clients choose ids, and may choose the same.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    with open_backend(backend, "ro") as connection:
        rows = connection.execute(
            "SELECT DISTINCT chatbot FROM turns WHERE conversation_id = :conversation", {"conversation": conversation}
        )
        return {chatbot for (chatbot,) in rows}


def count_to_index(connection: Connection) -> int:
    """Return how many turns have no facts yet."""
    (turns,) = connection.execute(COUNT_NOT_INDEXED).fetchone()
    return int(turns)


_SHOWN = (
    "t.id, t.turn_id, u.conversation_id, t.started, t.chatbot, t.number, t.outcome, t.would, t.error, t.ms, t.prompt_tokens, "
    "t.completion_tokens, t.key_id, t.filter, t.alarm, t.kind, t.layer, t.mended, t.no_source, t.calls, t.cost, v.value"
)


def _read_turns(connection: Connection, ids: Sequence[int], texts: bool) -> list[ListedTurn]:
    """Return turns by their ids, in this order; those that were deleted meanwhile are left out."""
    selected, values = select_values(connection, "ids", ids, "bigint")
    statement = (
        f"SELECT {_SHOWN}{', u.body' if texts else ''} FROM turn_facts t JOIN turns u ON u.turn_id = t.turn_id "
        f"JOIN fact_values v ON v.id = t.verdicts WHERE t.id IN ({selected}) ORDER BY t.id DESC"
    )
    rows = [*connection.execute(statement, values)]
    labels_by_turn = labels_of(connection, [row[1] for row in rows])
    return [_listed(row, labels_by_turn) for row in rows]


def _listed(row: Any, labels_by_turn: Mapping[str, Sequence[Label]]) -> ListedTurn:
    (id, turn_id, conversation_id, started, chatbot, number, outcome, would, error, ms, prompt_tokens, completion_tokens,
     key_id, filter, alarm, kind, layer, mended, no_source, calls, cost, verdicts, *body) = row  # fmt: skip
    trace: dict[str, Any] = decode(body[0]) if body else {"user_message": "", "replies": []}
    return ListedTurn(
        id=id,
        line=TurnLine(
            turn_id, conversation_id, started, chatbot, number, outcome, would, error, ms,
            tuple(Verdict(judge, stage, verdict) for judge, stage, verdict, _ in json.loads(verdicts)),
            prompt_tokens, completion_tokens,
        ),
        key_id=key_id,
        filter=filter,
        alarm=alarm,
        kind=kind,
        layer=layer,
        mended=bool(mended),
        no_source=bool(no_source),
        calls=calls,
        cost=cost,
        labels=tuple(labels_by_turn.get(turn_id, ())),
        message=trace["user_message"],
        reply=next((reply for reply in trace["replies"] if reply), ""),
    )  # fmt: skip


def _turn_ids(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    selected, values = select_values(connection, "ids", ids, "bigint")
    return dict(
        tuple(row) for row in connection.execute(f"SELECT id, turn_id FROM turn_facts WHERE id IN ({selected})", values)
    )
