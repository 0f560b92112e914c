"""Emergencies and concerns: the inbox of turns in which somebody may be in danger, and the number of false alarms."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from proxy.traces.backend import Connection, TraceBackend
from proxy.traces.fact_query import FactQuery, TurnFilter
from proxy.traces.facts import Layer, layer_of
from proxy.traces.labels import labels_of
from proxy.traces.query import open_backend, select_values
from proxy.traces.search import ListedTurn, search_turns
from proxy.traces.sqlite import decode

EMERGENCY_JUDGE = "emergency"


@dataclass(frozen=True, slots=True)
class SeenSign:
    """What one layer of the emergency judge found in the user's message."""

    layer: Layer | None
    verdict: str
    kind: str | None
    """The kind of danger; None if the layer named none, or the trace is redacted."""
    who: str | None
    """`user`, or `someone_else` whom the user mentions; None like `kind`, or if texts were not requested."""
    quote: str
    """The user's words; empty unless texts are requested and stored."""
    score: float | None


@dataclass(frozen=True, slots=True)
class Emergency:
    """A turn with an emergency or a concern."""

    turn: ListedTurn
    """The turn. Its `alarm`, `kind` and `layer` are the result of the emergency judge; its `labels` are the reviews by people."""
    signs: tuple[SeenSign, ...]
    """The results of the layers that ran, in order, with one entry per sign. A layer without signs has one entry."""


@dataclass(frozen=True, slots=True)
class Inbox:
    """A page of emergencies, newest first."""

    emergencies: list[Emergency]
    next: int | None
    """The `before` of the next page; None: this is the last page."""
    open: int
    """Number of matching turns without a label, on all pages."""
    to_index: int
    """Number of stored turns that are not in lists yet, because their facts are not derived."""


@dataclass(slots=True)
class AlarmCount:
    """Counts of the turns with the same alarm, kind of danger and deciding layer."""

    alarm: str
    kind: str
    layer: str | None
    turns: int
    confirmed: int = 0
    """Number of turns that a person labelled as an emergency or a concern."""
    false_alarms: int = 0

    @property
    def open(self) -> int:
        """Number of turns without a label."""
        return self.turns - self.confirmed - self.false_alarms


def search_emergencies(
    backend: TraceBackend,
    turn_filter: TurnFilter,
    *,
    only_open: bool = False,
    before: int | None = None,
    limit: int = 50,
    texts: bool = False,
) -> Inbox:
    """Return a page of the turns with an emergency or a concern that a filter matches, newest first.

    Args:
        backend: The storage of the traces.
        turn_filter: The filter. Without `alarm`, it matches both emergencies and concerns.
        only_open: Leave out turns that a person has labelled.
        before: The `next` of the previous page; None: the first page.
        limit: Maximum number of turns.
        texts: Whether to read messages, replies and quotes as well.

    Raises:
        TraceError: The traces do not exist or cannot be read.
    """
    turn_filter = replace(turn_filter, alarm=turn_filter.alarm or "any")
    open_ones = replace(turn_filter, labelling="unlabelled", labelled_judge=EMERGENCY_JUDGE)
    page = search_turns(backend, open_ones if only_open else turn_filter, before=before, limit=limit, texts=texts)
    with open_backend(backend, "ro") as connection:
        selected, values = select_values(connection, "turns", [turn.line.turn_id for turn in page.turns], "text")
        rows = connection.execute(f"SELECT turn_id, body FROM turns WHERE turn_id IN ({selected})", values)
        traces = {turn_id: decode(body) for turn_id, body in rows}
        count = FactQuery(connection, open_ones).count()
    return Inbox(
        emergencies=[
            Emergency(turn, tuple(_signs(traces[turn.line.turn_id], texts)))
            for turn in page.turns
            if turn.line.turn_id in traces
        ],
        next=page.next,
        open=count,
        to_index=page.to_index,
    )


def count_open(backend: TraceBackend, chatbots: frozenset[str]) -> int:
    """Return the number of emergencies and concerns of some chatbots without a label.

    Raises:
        TraceError: The traces do not exist or cannot be read.
    """
    turn_filter = TurnFilter(chatbots, alarm="any", labelling="unlabelled", labelled_judge=EMERGENCY_JUDGE)
    with open_backend(backend, "ro") as connection:
        return FactQuery(connection, turn_filter).count()


def count_alarms(backend: TraceBackend, turn_filter: TurnFilter) -> list[AlarmCount]:
    """Count the emergencies and concerns that a filter matches, by alarm, kind and layer, most frequent first.

    Raises:
        TraceError: The traces do not exist or cannot be read.
    """
    turn_filter = replace(turn_filter, alarm=turn_filter.alarm or "any", labelling=None)
    with open_backend(backend, "ro") as connection:
        counts = {group: AlarmCount(*group, turns) for group, turns in _groups(connection, turn_filter).items()}
        labels_by_turn = labels_of(connection)
        verdict_by_turn = {
            turn: label.verdict
            for turn, labels in labels_by_turn.items()
            for label in labels
            if label.judge == EMERGENCY_JUDGE
        }
        denied = {turn for turn, verdict in verdict_by_turn.items() if verdict == "accept"}
        for group, turns in _groups(connection, turn_filter, verdict_by_turn.keys() - denied).items():
            counts[group].confirmed = turns
        for group, turns in _groups(connection, turn_filter, denied).items():
            counts[group].false_alarms = turns
    return sorted(counts.values(), key=lambda one: (-one.turns, one.alarm, one.kind, one.layer or ""))


def _signs(trace: dict[str, Any], texts: bool) -> Iterator[SeenSign]:
    for judgement in trace["emergency"]:
        seen = (judgement["observation"] or {}).get("signs", ())
        for sign in [sign for sign in seen if sign["when"] == "now"] or [{}]:
            yield SeenSign(
                layer=layer_of(judgement["stage"], judgement["score"]),
                verdict=judgement["verdict"],
                kind=sign.get("kind"),
                who=sign.get("who") if texts else None,
                quote=sign.get("quote", "") if texts else "",
                score=judgement["score"],
            )


def _groups(
    connection: Connection, turn_filter: TurnFilter, turns: set[str] | None = None
) -> Mapping[tuple[str, str, str | None], int]:
    query = FactQuery(connection, turn_filter)
    where, values = query.where, query.values
    if turns is not None:
        selected, more = select_values(connection, "of_turns", turns, "text")
        where, values = f"{where} AND t.turn_id IN ({selected})", values | more
    rows = connection.execute(
        f"SELECT t.alarm, t.kind, t.layer, count(*) FROM {query.tables} WHERE {where} GROUP BY 1, 2, 3", values
    )
    return {(alarm, kind or "unknown", layer): turns for alarm, kind, layer, turns in rows}
