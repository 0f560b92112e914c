"""Emergencies and concerns, counted: how many nobody has looked at, and how often people say that they were none."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from proxy.traces.backend import Connection, TraceBackend
from proxy.traces.emergencies import EMERGENCY_JUDGE
from proxy.traces.fact_query import FactQuery, TurnFilter
from proxy.traces.labels import labels_of
from proxy.traces.query import open_backend, select_values

Group = tuple[str, str, str | None]


@dataclass(slots=True)
class AlarmCount:
    """Turns with the same alarm, of the same kind, that the same layer decided."""

    alarm: str
    kind: str
    layer: str | None
    turns: int
    confirmed: int = 0
    """Turns of which a person says that there was danger, or reason for concern."""
    false_alarms: int = 0

    @property
    def open(self) -> int:
        """Turns that nobody has labelled."""
        return self.turns - self.confirmed - self.false_alarms


def count_open(backend: TraceBackend, chatbots: frozenset[str]) -> int:
    """Return how many emergencies and concerns of some chatbots nobody has labelled.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    wanted = TurnFilter(chatbots, alarm="any", labelling="unlabelled", labelled_judge=EMERGENCY_JUDGE)
    with open_backend(backend, "ro") as connection:
        return FactQuery(connection, wanted).count()


def count_alarms(backend: TraceBackend, wanted: TurnFilter) -> list[AlarmCount]:
    """Return what the emergencies and concerns that a filter matches came to, the most frequent first.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    wanted = replace(wanted, alarm=wanted.alarm or "any", labelling=None)
    with open_backend(backend, "ro") as connection:
        counts = {group: AlarmCount(*group, turns) for group, turns in _groups(connection, wanted).items()}
        given = labels_of(connection)
        said = {turn: label.verdict for turn, of in given.items() for label in of if label.judge == EMERGENCY_JUDGE}
        denied = {turn for turn, verdict in said.items() if verdict == "accept"}
        for group, turns in _groups(connection, wanted, said.keys() - denied).items():
            counts[group].confirmed = turns
        for group, turns in _groups(connection, wanted, denied).items():
            counts[group].false_alarms = turns
    return sorted(counts.values(), key=lambda one: (-one.turns, one.alarm, one.kind, one.layer or ""))


def _groups(connection: Connection, wanted: TurnFilter, turns: set[str] | None = None) -> Mapping[Group, int]:
    query = FactQuery(connection, wanted)
    where, values = query.where, query.values
    if turns is not None:
        which, more = select_values(connection, "of_turns", turns, "text")
        where, values = f"{where} AND t.turn_id IN ({which})", values | more
    rows = connection.execute(
        f"SELECT t.alarm, t.kind, t.layer, count(*) FROM {query.tables} WHERE {where} GROUP BY 1, 2, 3", values
    )
    return {(alarm, kind or "unknown", layer): turns for alarm, kind, layer, turns in rows}
