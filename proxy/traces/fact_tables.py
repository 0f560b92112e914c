"""The tables of the facts of turns, in a file and in a database: derived from the traces, and gone with them.

turn_facts    a row for each turn; `id` grows with its start, and is what lists go along
turn_texts    what is searched for words, where texts are stored
fact_values   values that many turns share, by `value_id`; ids and names of ours, nothing of a turn
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from proxy.traces.facts import TurnFacts, value_id

ROWID_BITS = 20
"""Of an id, those that tell turns apart which began in the same millisecond; the others hold that."""
_COLUMNS = {
    "chatbot": "text", "key_id": "text", "outcome": "text", "would": "text", "error": "text", "filter": "text",
    "number": "bigint", "ms": "double precision", "alarm": "text", "kind": "text", "layer": "text", "mended": "bigint",
    "no_source": "bigint", "calls": "bigint", "prompt_tokens": "bigint", "completion_tokens": "bigint",
    "cost": "double precision", "verdicts": "bigint", "flagged": "bigint", "chosen": "bigint", "cited": "bigint",
    "steps": "bigint", "times": "text",
}  # fmt: skip
_SHARED = ("verdicts", "flagged", "chosen", "cited", "steps")
"""Columns that hold the number of a value in `fact_values`."""


def _create_statements(key: str, turn: str, fact: str) -> list[str]:
    """Return the statements that make the tables.

    Args:
        key: The type of the key.
        turn: The type of the id of a turn, and what ties facts to it where the backend does so itself.
        fact: What ties a text to its facts.
    """
    columns = ", ".join(
        f"{name} {type_}" + ("" if name in ("would", "error", "alarm", "kind", "layer", "cost") else " NOT NULL")
        for name, type_ in _COLUMNS.items()
    )
    return [
        f"CREATE TABLE IF NOT EXISTS turn_facts (id {key} PRIMARY KEY, turn_id {turn} NOT NULL UNIQUE, "
        f"started double precision NOT NULL, {columns})",
        "CREATE INDEX IF NOT EXISTS turn_alarms ON turn_facts (id) WHERE alarm IS NOT NULL",
        f"CREATE TABLE IF NOT EXISTS turn_texts (id {key} PRIMARY KEY {fact}, text text NOT NULL)",
        "CREATE TABLE IF NOT EXISTS fact_values (id bigint PRIMARY KEY, value text NOT NULL)",
    ]


FILE_TABLES = [
    *_create_statements("INTEGER", "text", ""),
    # In the file, so that it holds whatever deletes a turn, also an older caf.
    """CREATE TRIGGER IF NOT EXISTS facts_go_with_their_turn AFTER DELETE ON turns
    BEGIN DELETE FROM turn_facts WHERE turn_id = OLD.turn_id; END""",
    """CREATE TRIGGER IF NOT EXISTS texts_go_with_their_facts AFTER DELETE ON turn_facts
    BEGIN DELETE FROM turn_texts WHERE id = OLD.id; END""",
]
DATABASE_TABLES = [
    "DROP TABLE IF EXISTS turn_texts, turn_facts",  # of turns that somebody dropped: nothing would delete from them
    *_create_statements(
        "bigint", 'text COLLATE "C" REFERENCES turns ON DELETE CASCADE', "REFERENCES turn_facts ON DELETE CASCADE"
    ),
]

ADD_VALUE = "INSERT INTO fact_values (id, value) VALUES (:id, :value) ON CONFLICT (id) DO NOTHING"
ADD_FACTS = (
    f"INSERT INTO turn_facts (id, turn_id, started, {', '.join(_COLUMNS)}) "
    f"SELECT (CAST(:start_ms AS bigint) << {ROWID_BITS}) | (rowid & {(1 << ROWID_BITS) - 1}), turn_id, started, "
    f"{', '.join(f'CAST(:{name} AS {type_})' for name, type_ in _COLUMNS.items())} "
    "FROM turns WHERE turn_id = :turn_id ON CONFLICT (turn_id) DO NOTHING"
)
ADD_TEXT = (
    "INSERT INTO turn_texts (id, text) SELECT id, CAST(:text AS text) FROM turn_facts "
    "WHERE turn_id = :turn_id ON CONFLICT (id) DO NOTHING"
)
NOT_INDEXED = """
SELECT turn_id, started, chatbot, outcome, body FROM turns u
WHERE started <= :at AND NOT EXISTS (SELECT 1 FROM turn_facts t WHERE t.turn_id = u.turn_id)
ORDER BY started DESC LIMIT :limit
"""
"""Turns without facts: those of an older caf. The newest first, since they are looked at first."""
COUNT_NOT_INDEXED = "SELECT (SELECT count(*) FROM turns) - (SELECT count(*) FROM turn_facts)"


class Turn(NamedTuple):
    """A turn that is in `turns`, and its facts."""

    turn_id: str
    started: float
    facts: TurnFacts


def add_statements(turns: Iterable[Turn]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the statements that write the facts of turns, each with the values to run it with; facts that a turn has stay."""
    shared: dict[int, str] = {}
    rows, texts = [], []
    for turn_id, started, facts in turns:
        values: dict[str, Any] = {name: getattr(facts, name) for name in _COLUMNS}
        for name in _SHARED:
            number = value_id(values[name])
            shared[number], values[name] = values[name], number
        values |= {"mended": int(facts.mended), "no_source": int(facts.no_source)}
        rows.append(values | {"turn_id": turn_id, "start_ms": start_ms(started)})
        if facts.text:
            texts.append({"turn_id": turn_id, "text": facts.text})
    # In one order, or two that write the same ones at the same time might wait for each other.
    ordered = [{"id": number, "value": shared[number]} for number in sorted(shared)]
    return [(sql, values) for sql, values in ((ADD_VALUE, ordered), (ADD_FACTS, rows), (ADD_TEXT, texts)) if values]


def start_ms(started: float) -> int:
    """Return the start of a turn in whole milliseconds, within what an id has room for."""
    return int(min(max(started * 1000, 0.0), 2.0**42))


def first_id(started: float) -> int:
    """Return an id that no turn which began at that Unix time, or later, lies below."""
    return start_ms(started) << ROWID_BITS
