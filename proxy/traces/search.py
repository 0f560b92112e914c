"""Filtered lists of turns, newest first, page by page.

Reads the facts of turns (`facts.py`). Turns of an older caf get their facts while a proxy runs. Until then they are in no list, and
`Page.to_index` is their number.
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
"""Matching turns are counted up to this number."""


@dataclass(frozen=True, slots=True)
class ListedTurn:
    """One turn in a list."""

    id: int
    """Position of the turn among all turns, for `before`. JavaScript cannot represent it exactly, so send it as a string."""
    line: TurnLine
    """The fields that `caf trace list` shows, with each distinct verdict once."""
    key_id: str
    filter: str
    alarm: Alarm | None
    kind: str | None
    """The kind of danger."""
    layer: Layer | None
    """The layer that detected the danger."""
    mended: bool
    no_source: bool
    calls: int
    cost: float | None
    labels: tuple[Label, ...]
    message: str
    """The stored user message (its length if redacted); empty unless texts are requested."""
    reply: str
    """The stored text of the first delivered reply (its length if redacted); empty unless texts are requested."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page of turns, newest first."""

    turns: list[ListedTurn]
    next: int | None
    """The `before` of the next page; None: this is the last page."""
    total: int | None
    """Number of matching turns, counted up to `COUNT_TO`; None on later pages."""
    at_least: bool
    """Whether more than `total` turns match."""
    to_index: int
    """Number of stored turns that are not in lists yet, because their facts are not derived."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The ids of the next newer and next older turn; None: there is no such turn."""

    newer: str | None
    older: str | None


def search_turns(
    backend: TraceBackend, turn_filter: TurnFilter, *, before: int | None = None, limit: int = 50, texts: bool = False
) -> Page:
    """Return a page of the turns that a filter matches, newest first.

    A repeated request returns the same turns even after new ones have arrived, because `before` is a place, not an offset.

    Args:
        backend: The storage of the traces.
        turn_filter: The filter.
        before: The `next` of the previous page; None: the first page.
        limit: Maximum number of turns.
        texts: Whether to read messages and replies as well.

    Raises:
        TraceError: The traces do not exist or cannot be read.
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
    """Return the next newer and next older turn that a filter matches. The given turn need not match.

    Raises:
        TraceError: The traces do not exist or cannot be read.
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
    """Return one trace like `query.show`, or None if no turn of these chatbots has exactly this id.

    Raises:
        TraceError: The traces do not exist or cannot be read.
    """
    with open_backend(backend, "ro") as connection:
        row = connection.execute("SELECT body FROM turns WHERE turn_id = :id", {"id": turn_id}).fetchone()
    trace = None if row is None else decode(row[0])
    return trace if trace is not None and (chatbots is None or trace["chatbot"] in chatbots) else None


def chatbots_of(backend: TraceBackend, conversation: str) -> set[str]:
    """Return the chatbots with turns of exactly this conversation id. Clients choose ids, so several may use the same one.

    Raises:
        TraceError: The traces do not exist or cannot be read.
    """
    with open_backend(backend, "ro") as connection:
        rows = connection.execute(
            "SELECT DISTINCT chatbot FROM turns WHERE conversation_id = :conversation", {"conversation": conversation}
        )
        return {chatbot for (chatbot,) in rows}


def count_to_index(connection: Connection) -> int:
    """Return the number of turns without facts."""
    (turns,) = connection.execute(COUNT_NOT_INDEXED).fetchone()
    return int(turns)


_SHOWN = (
    "t.id, t.turn_id, u.conversation_id, t.started, t.chatbot, t.number, t.outcome, t.would, t.error, t.ms, t.prompt_tokens, "
    "t.completion_tokens, t.key_id, t.filter, t.alarm, t.kind, t.layer, t.mended, t.no_source, t.calls, t.cost, v.value"
)


def _read_turns(connection: Connection, ids: Sequence[int], texts: bool) -> list[ListedTurn]:
    """Return turns by their ids, newest first. Turns deleted meanwhile are left out."""
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
