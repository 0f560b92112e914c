"""The inbox of emergencies: turns in which somebody may be in danger, with what was seen, and whether a person has looked."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from proxy.traces.backend import TraceBackend
from proxy.traces.fact_query import FactQuery, TurnFilter
from proxy.traces.facts import Layer, layer_of
from proxy.traces.file import decode
from proxy.traces.query import open_backend, select_values
from proxy.traces.search import ListedTurn, search_turns

EMERGENCY_JUDGE = "emergency"


@dataclass(frozen=True, slots=True)
class SeenSign:
    """What one layer of the emergency judge made of the message."""

    layer: Layer | None
    verdict: str
    kind: str | None
    """None: it named none, or the trace is redacted."""
    who: str | None
    """`user`, or `someone_else` whom the user tells of; None as for the kind, and unless texts are asked for."""
    quote: str
    """The user's words; empty unless texts are asked for and stored."""
    score: float | None


@dataclass(frozen=True, slots=True)
class Emergency:
    """A turn with an emergency or a concern."""

    turn: ListedTurn
    """`alarm`, `kind` and `layer` are what it came to; `labels` what people say of it."""
    signs: tuple[SeenSign, ...]
    """What each layer that was asked has seen, in order; a layer that has seen several signs is there several times."""
    is_open: bool
    """Whether nobody has labelled the emergency judge's verdict on it."""


@dataclass(frozen=True, slots=True)
class Inbox:
    """Some emergencies, the newest first."""

    emergencies: list[Emergency]
    next: int | None
    """The `before` of the next page; None: this is the last."""
    open: int
    """How many are open among all that the filter matches, on whatever page and whether open ones are asked for or not."""
    to_index: int
    """How many turns are still without facts, and so in no list."""


def search_emergencies(
    backend: TraceBackend,
    wanted: TurnFilter,
    *,
    only_open: bool = False,
    before: int | None = None,
    limit: int = 50,
    texts: bool = False,
) -> Inbox:
    """Return a page of the turns with an emergency or a concern that a filter matches, the newest first.

    Args:
        backend: Where the traces are.
        wanted: The filter; without `alarm`, `emergencies` or `concerns` it is all of them.
        only_open: Leave out those that a person has labelled.
        before: The `next` of the page before; None: the first page.
        limit: How many at most.
        texts: Whether to read messages, replies and quotes as well.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    wanted = replace(wanted, alarm=wanted.alarm or "any")
    open_ones = replace(wanted, labelling="unlabelled", labelled_judge=EMERGENCY_JUDGE)
    page = search_turns(backend, open_ones if only_open else wanted, before=before, limit=limit, texts=texts)
    with open_backend(backend, "ro") as connection:
        which, values = select_values(connection, "turns", [turn.line.turn_id for turn in page.turns], "text")
        rows = connection.execute(f"SELECT turn_id, body FROM turns WHERE turn_id IN ({which})", values)
        traces = {turn_id: decode(body) for turn_id, body in rows}
        count = FactQuery(connection, open_ones).count()
    return Inbox(
        emergencies=[
            _emergency(turn, traces[turn.line.turn_id], texts) for turn in page.turns if turn.line.turn_id in traces
        ],
        next=page.next,
        open=count,
        to_index=page.to_index,
    )


def _emergency(turn: ListedTurn, trace: dict[str, Any], texts: bool) -> Emergency:
    is_open = all(label.judge != EMERGENCY_JUDGE for label in turn.labels)
    return Emergency(turn, tuple(_signs(trace, texts)), is_open)


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
