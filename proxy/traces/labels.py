"""Labels: verdicts that people give on turns. They are stored with the turn's trace and deleted with it."""

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
    """The choice whose draft the label refers to, from 0."""
    note: str = ""
    """The person's reason."""
    labelled: float = 0.0
    """Unix time, seconds."""
    sections: tuple[Source, ...] = ()
    """The cited sections with their text at the time of labelling. The label stays valid for that text if it changes later."""


def add(backend: TraceBackend, turn_id: str, label: Label) -> None:
    """Store a label. It replaces an earlier label of the same judge on the same choice.

    Args:
        turn_id: The id of the turn, or a unique prefix of it.

    Raises:
        TraceError: The traces do not exist or are not writable, or the id matches no turn or several.
    """
    sections = json.dumps([[source.id, source.title, source.text] for source in label.sections], ensure_ascii=False)
    with open_backend(backend, "rw") as connection:
        connection.execute(  # inserts nothing if the turn was purged meanwhile
            """INSERT INTO labels (turn_id, judge, verdict, choice, note, labelled, sections)
            SELECT turn_id, :judge, :verdict, :choice, :note, :labelled, :sections FROM turns WHERE turn_id = :turn_id""",
            {
                "turn_id": resolve(connection, "turn_id", turn_id), "judge": label.judge, "verdict": label.verdict,
                "choice": label.choice, "note": label.note, "labelled": label.labelled, "sections": sections,
            },
        )  # fmt: skip


def withdraw(backend: TraceBackend, turn_id: str, judge: str) -> None:
    """Delete the last label of a judge on a turn, if any. An earlier label then counts again.

    Args:
        turn_id: The complete id of the turn.

    Raises:
        TraceError: The traces do not exist or are not writable.
    """
    with open_backend(backend, "rw") as connection:
        last = "SELECT max(rowid) FROM labels WHERE turn_id = :turn_id AND judge = :judge"
        connection.execute(f"DELETE FROM labels WHERE rowid = ({last})", {"turn_id": turn_id, "judge": judge})


def labels(backend: TraceBackend) -> dict[str, list[Label]]:
    """Return the valid labels by turn id: the last one of each judge on each choice.

    Raises:
        TraceError: The traces do not exist or cannot be read.
    """
    with open_backend(backend, "ro") as connection:
        return _last_of_each(_rows(connection, backend, "sections"))


def labels_of(connection: Connection, turns: Collection[str] | None = None) -> dict[str, list[Label]]:
    """Return the valid labels of some turns, or of all, by turn id, without their sections."""
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
            raise TraceError(
                f"{backend}: cannot read the label of the judge {judge!r} on the turn {turn_id}: its stored sections are not a "
                f"JSON list of [id, title, text] ({error}); to remove the label, delete its conversation with "
                "`caf trace purge --conversation ID`"
            ) from error
        yield turn_id, Label(judge, verdict, choice, note, labelled, cited)


def as_data(labels: Iterable[Label]) -> list[dict[str, Any]]:
    """Return labels as JSON data, without the sections' texts."""
    fields = ("judge", "verdict", "choice", "note", "labelled")
    return [{field: getattr(label, field) for field in fields} for label in labels]
