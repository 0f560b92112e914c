"""Labels: the verdict that a person holds right, kept beside the turn's trace, and deleted with it."""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from knowledge_base.library import Source
from proxy.traces.backend import Connection, TraceBackend, TraceError
from proxy.traces.query import open_backend, resolve, select_values

RightVerdict = Literal["accept", "warn", "reject"]


@dataclass(frozen=True, slots=True)
class Label:
    """The verdict that a judge should have given."""

    judge: str
    verdict: RightVerdict
    choice: int = 0
    """Which choice's draft it is about, from 0."""
    note: str = ""
    """Why, in the person's words."""
    labelled: float = 0.0
    """Unix time, seconds."""
    sections: tuple[Source, ...] = ()
    """What the draft cites, as it read when the label was given: the label is about that text, whatever becomes of it."""


def add(backend: TraceBackend, turn_id: str, label: Label) -> None:
    """Keep a label; an earlier one of the same judge on the same choice no longer counts.

    Args:
        turn_id: the id of the turn or a unique beginning of it.

    Raises:
        TraceError: The traces are not there or not writable, or no turn or more than one has that id.
    """
    sections = json.dumps([[source.id, source.title, source.text] for source in label.sections], ensure_ascii=False)
    with open_backend(backend, "rw") as connection:
        connection.execute(  # of a turn that was purged meanwhile nothing is kept
            """INSERT INTO labels (turn_id, judge, verdict, choice, note, labelled, sections)
            SELECT turn_id, :judge, :verdict, :choice, :note, :labelled, :sections FROM turns WHERE turn_id = :turn_id""",
            {
                "turn_id": resolve(connection, "turn_id", turn_id), "judge": label.judge, "verdict": label.verdict,
                "choice": label.choice, "note": label.note, "labelled": label.labelled, "sections": sections,
            },
        )  # fmt: skip


def withdraw(backend: TraceBackend, turn_id: str, judge: str) -> None:
    """Take back the last label of a judge on a turn; an earlier one counts again. Without any, nothing happens.

    Args:
        turn_id: The whole id of the turn.

    Raises:
        TraceError: The traces are not there or not writable.
    """
    with open_backend(backend, "rw") as connection:
        last = "SELECT max(rowid) FROM labels WHERE turn_id = :turn_id AND judge = :judge"
        connection.execute(f"DELETE FROM labels WHERE rowid = ({last})", {"turn_id": turn_id, "judge": judge})


def labels(backend: TraceBackend) -> dict[str, list[Label]]:
    """Return the labels that count, by the turn's id: of each judge on each choice the last.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    with open_backend(backend, "ro") as connection:
        return _last_of_each(_rows(connection, backend, "sections"))


def labels_of(connection: Connection, turns: Collection[str] | None = None) -> dict[str, list[Label]]:
    """Return the labels that count of some turns, or of all, by the turn's id, without the sections that they hold."""
    return _last_of_each(_rows(connection, "", "'[]'", turns))


def _last_of_each(rows: Iterable[tuple[str, Label]]) -> dict[str, list[Label]]:
    last: dict[str, dict[tuple[str, int], Label]] = {}
    for turn_id, label in rows:
        of_turn = last.setdefault(turn_id, {})
        of_turn.pop((label.judge, label.choice), None)
        of_turn[label.judge, label.choice] = label
    return {turn_id: list(of_turn.values()) for turn_id, of_turn in last.items()}


def _rows(
    connection: Connection, backend: TraceBackend | str, sections: str, turns: Collection[str] | None = None
) -> Iterator[tuple[str, Label]]:
    where = "TRUE"
    values: dict[str, str] = {}
    if turns is not None:
        selected, values = select_values(connection, "turns", turns, "text")
        where = f"turn_id IN ({selected})"
    columns = f"turn_id, judge, verdict, choice, note, labelled, {sections}"
    rows = connection.execute(f"SELECT {columns} FROM labels WHERE {where} ORDER BY rowid", values)
    for turn_id, judge, verdict, choice, note, labelled, texts in rows:
        try:
            cited = tuple(Source(id, title, "", text) for id, title, text in json.loads(texts))
        except (ValueError, TypeError) as error:
            raise TraceError(f"{backend}: a label of the turn {turn_id} is damaged: {error}") from error
        yield turn_id, Label(judge, verdict, choice, note, labelled, cited)


def as_data(labels: Iterable[Label]) -> list[dict[str, Any]]:
    """Return labels for programs; the texts of the sections are the scenario's, not theirs."""
    fields = ("judge", "verdict", "choice", "note", "labelled")
    return [{field: getattr(label, field) for field in fields} for label in labels]
