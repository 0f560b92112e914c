"""Queries and purging of stored traces, for both backends."""

import json
import math
import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

from proxy.traces import sqlite as trace_file
from proxy.traces.backend import Connection, Database, TraceBackend, TraceError
from proxy.traces.judged_draft import judgements_of
from proxy.traces.sqlite import decode
from proxy.traces.trace import Outcome


@dataclass(frozen=True, slots=True)
class Verdict:
    """A judge's verdict on a choice or on the user's message."""

    judge: str
    stage: str
    verdict: str


@dataclass(frozen=True, slots=True)
class TurnLine:
    """A stored turn as `caf trace list` shows it."""

    turn_id: str
    conversation_id: str
    started: float
    """Unix time, seconds."""
    chatbot: str
    turn: int
    outcome: str
    would: str | None
    """In shadow mode: the outcome that the filter would have had."""
    error: str | None
    ms: float
    verdicts: tuple[Verdict, ...]
    prompt_tokens: int
    completion_tokens: int
    question: str = ""
    """The stored user message, if the list includes it."""


def list_turns(
    backend: TraceBackend,
    *,
    limit: int = 20,
    chatbot: str | None = None,
    outcome: Outcome | None = None,
    conversation: str | None = None,
    since: float | None = None,
    turns: Collection[str] | None = None,
) -> list[TurnLine]:
    """Return the newest turns, newest first.

    Args:
        limit: Maximum number of turns.
        conversation: The id of a conversation, or a unique prefix of it.
        since: Unix time in seconds; only turns that started then or later.
        turns: Only turns with these ids.

    Raises:
        TraceError: The traces do not exist or cannot be read, or the prefix of the id is not unique.
    """
    with open_backend(backend, "ro") as connection:
        if conversation is not None:
            conversation = resolve(connection, "conversation_id", conversation)
        filters = {"chatbot": chatbot, "outcome": outcome, "conversation_id": conversation}
        values: dict[str, Any] = {column: value for column, value in filters.items() if value is not None}
        conditions = [f"{column} = :{column}" for column in values]
        if since is not None:
            conditions.append("started >= :since")
            values["since"] = since
        if turns is not None:
            selected, ids = select_values(connection, "turns", turns, "text")
            conditions.append(f"turn_id IN ({selected})")
            values |= ids
        where = " AND ".join(conditions) or "TRUE"
        rows = connection.execute(
            f"SELECT body FROM turns WHERE {where} ORDER BY started DESC, rowid DESC LIMIT :limit",
            {**values, "limit": limit},
        )
        return [_line(decode(body)) for (body,) in rows]


def show(backend: TraceBackend, turn_id: str) -> dict[str, Any]:
    """Return one trace as a JSON object with the fields of `proxy.traces.trace.Trace`.

    Args:
        turn_id: The id of the turn, or a unique prefix of it.

    Raises:
        TraceError: The traces do not exist or cannot be read, or the id matches no turn or several.
    """
    with open_backend(backend, "ro") as connection:
        full_id = resolve(connection, "turn_id", turn_id)
        (body,) = connection.execute("SELECT body FROM turns WHERE turn_id = :id", {"id": full_id}).fetchone()
        return decode(body)


def earlier_traces(backend: TraceBackend, trace: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the traces of the same conversation that began before this one, oldest first.

    Raises:
        TraceError: The traces do not exist or cannot be read.
    """
    with open_backend(backend, "ro") as connection:
        rows = connection.execute(
            "SELECT body FROM turns WHERE conversation_id = :conversation AND started < :started ORDER BY started, rowid",
            {"conversation": trace["conversation_id"], "started": trace["started"]},
        )
        return [decode(body) for (body,) in rows]


def iterate_traces(
    backend: TraceBackend, *, chatbot: str | None = None, since: float | None = None
) -> Iterator[dict[str, Any]]:
    """Yield the traces, oldest first.

    Args:
        since: Unix time in seconds; only turns that started then or later.

    Raises:
        TraceError: The traces do not exist or cannot be read.
    """
    with open_backend(backend, "ro") as connection:
        rows = connection.execute(
            "SELECT body FROM turns WHERE started >= :since AND chatbot = coalesce(:chatbot, chatbot) ORDER BY started, rowid",
            {"since": 0.0 if since is None else since, "chatbot": chatbot},
        )
        for (body,) in rows:
            yield decode(body)


def purge(
    backend: TraceBackend,
    *,
    everything: bool = False,
    conversation: str | None = None,
    turn: str | None = None,
    older_than_days: float | None = None,
    begun_before: float = math.inf,
) -> int:
    """Delete traces permanently and return their number. Give exactly one criterion; ids may be unique prefixes.

    Turns that began at or after `begun_before` (Unix time, seconds) are kept.

    Raises:
        TraceError: The traces do not exist, are not writable or are in use by another program, or the id is not unique.
        TypeError: No criterion is given.
    """
    with open_backend(backend, "rw") as connection:
        condition: tuple[str, str | float] = ("TRUE", 0)
        if conversation is not None:
            condition = "conversation_id = :value", resolve(connection, "conversation_id", conversation)
        elif turn is not None:
            condition = "turn_id = :value", resolve(connection, "turn_id", turn)
        elif older_than_days is not None:
            condition = "started < :value", time.time() - older_than_days * 86_400
        elif not everything:
            raise TypeError("purge: expected everything, conversation, turn or older_than_days")
        where, value = condition
        chosen = {"value": value, "before": begun_before}
        deleted_count = connection.execute(f"DELETE FROM turns WHERE {where} AND started < :before", chosen).rowcount
        _scrub(backend, connection, deleted_count)
        return deleted_count


def resolve(connection: Connection, column: Literal["turn_id", "conversation_id"], begins: str) -> str:
    """Return the only id that equals the given text or begins with it. An exact match wins.

    Raises:
        TraceError: No id matches, or several do.
    """
    noun = "turn" if column == "turn_id" else "conversation"
    rows = connection.execute(
        f"SELECT DISTINCT {column} FROM turns WHERE {column} >= :first AND {column} < :last ORDER BY {column} LIMIT 3",
        {"first": begins, "last": begins + "\U0010ffff"},
    )
    ids = [str(id) for (id,) in rows]
    if begins in ids or len(ids) == 1:
        return begins if begins in ids else ids[0]
    if not ids:
        raise TraceError(f"no {noun} has the id {begins!r}; `caf trace list` shows the stored turns")
    raise TraceError(f"the {noun} id {begins!r} is ambiguous: it matches {', '.join(ids)}; give more characters")


def select_values(
    connection: Connection, name: str, values: Collection[str] | Collection[int], type: Literal["text", "bigint"]
) -> tuple[str, dict[str, str]]:
    """Return a query that yields any number of values, and the binding of its parameter `name`."""
    is_file = isinstance(connection, sqlite3.Connection)
    function, json_type = ("json_each", "text") if is_file else ("json_array_elements_text", "json")
    query = f"SELECT CAST(value AS {type}) FROM {function}(CAST(:{name} AS {json_type}))"
    return query, {name: json.dumps([*values])}


@contextmanager
def open_backend(backend: TraceBackend, mode: Literal["ro", "rw"]) -> Iterator[Connection]:
    """Open the storage for the duration of the block.

    Raises:
        TraceError: There are no traces, the backend holds other data, or it cannot be used.
    """
    if isinstance(backend, Database):
        from proxy.traces.postgresql import connect  # imported late: most proxies do not need its library

        with connect(backend) as connection:
            yield connection
    else:
        with trace_file.open_file(backend, mode) as file:
            yield file


def _scrub(backend: TraceBackend, connection: Connection, deleted_count: int) -> None:
    """Remove the text of deleted turns from the storage.

    Raises:
        TraceError: The text is still in the log of the file.
    """
    if not isinstance(connection, sqlite3.Connection):
        connection.execute("VACUUM turns, turn_facts, turn_texts")
    elif not trace_file.scrub(connection):
        raise TraceError(
            f"{backend}: {deleted_count} turns are deleted, but their text is still in {backend}-wal, because another "
            "program is reading the file; end that program and run the same command again"
        )


def _line(trace: dict[str, Any]) -> TurnLine:
    usages = [call["usage"] for call in trace["calls"]]
    return TurnLine(
        turn_id=trace["turn_id"],
        conversation_id=trace["conversation_id"],
        started=trace["started"],
        chatbot=trace["chatbot"],
        turn=trace["turn"],
        outcome=trace["outcome"],
        would=trace.get("would"),  # older traces lack it
        error=trace["error"],
        ms=trace["ms"],
        verdicts=tuple(Verdict(j["judge"], j["stage"], j["verdict"]) for j in judgements_of(trace)),
        prompt_tokens=sum(usage["prompt_tokens"] for usage in usages),
        completion_tokens=sum(usage["completion_tokens"] for usage in usages),
        question=trace["user_message"],
    )
