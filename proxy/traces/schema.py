"""The database schema of traces, for SQLite and PostgreSQL, and the statements that write facts.

turns         one row per turn: its trace
labels        labels that people give to turns
turn_facts    the facts of each turn; `id` grows with its start and is the order of lists
turn_texts    text for word search, if texts are stored
fact_values   values that many turns share, by `value_id`: configured ids and names, no conversation content

When a turn is deleted, its other rows are deleted too: in a database by foreign keys, in a file by triggers, which also work when
an older caf deletes it.
"""

from collections.abc import Collection, Iterable
from typing import Any, NamedTuple

from proxy.traces.facts import TurnFacts, value_id

ROWID_BITS = 20
"""Low bits of an id, which distinguish turns of the same millisecond. The high bits hold the millisecond."""
_COLUMNS = {
    "chatbot": "text", "key_id": "text", "outcome": "text", "would": "text", "error": "text", "filter": "text",
    "number": "bigint", "ms": "double precision", "alarm": "text", "kind": "text", "layer": "text", "mended": "bigint",
    "no_source": "bigint", "calls": "bigint", "prompt_tokens": "bigint", "completion_tokens": "bigint",
    "cost": "double precision", "verdicts": "bigint", "flagged": "bigint", "chosen": "bigint", "cited": "bigint",
    "steps": "bigint", "times": "text",
}  # fmt: skip
_SHARED = ("verdicts", "flagged", "chosen", "cited", "steps")
"""Columns that hold the id of a value in `fact_values`."""


# SQLite has its own `rowid`, the order of arrival. In PostgreSQL ids sort by their bytes (COLLATE "C"), so that a prefix search is
# a range.
_SQLITE = {"id": "text", "bytes": "blob", "key": "INTEGER", "rowid": "", "of_turn": "", "of_fact": ""}
_POSTGRESQL = {
    "id": 'text COLLATE "C"', "bytes": "bytea", "key": "bigint", "rowid": ", rowid bigint GENERATED ALWAYS AS IDENTITY",
    "of_turn": "REFERENCES turns ON DELETE CASCADE", "of_fact": "REFERENCES turn_facts ON DELETE CASCADE",
}  # fmt: skip
_TURNS = (
    """CREATE TABLE IF NOT EXISTS turns (
        turn_id {id} PRIMARY KEY, conversation_id {id} NOT NULL, started double precision NOT NULL, chatbot text NOT NULL,
        outcome text NOT NULL, body {bytes} NOT NULL{rowid}
    )""",
    "CREATE INDEX IF NOT EXISTS turns_by_conversation ON turns (conversation_id, started)",
    "CREATE INDEX IF NOT EXISTS turns_by_start ON turns (started)",
)
_LABELS = (
    """CREATE TABLE IF NOT EXISTS labels (
        turn_id {id} NOT NULL {of_turn}, judge text NOT NULL, verdict text NOT NULL, choice integer NOT NULL, note text NOT NULL,
        labelled double precision NOT NULL, sections text NOT NULL{rowid}
    )""",
    "CREATE INDEX IF NOT EXISTS labels_by_turn ON labels (turn_id)",
)
_NULLABLE = ("would", "error", "alarm", "kind", "layer", "cost")
_FACTS = (
    "CREATE TABLE IF NOT EXISTS turn_facts (id {key} PRIMARY KEY, turn_id {id} {of_turn} NOT NULL UNIQUE, "
    "started double precision NOT NULL, "
    + ", ".join(f"{name} {type_}{'' if name in _NULLABLE else ' NOT NULL'}" for name, type_ in _COLUMNS.items())
    + ")",
    "CREATE INDEX IF NOT EXISTS turn_alarms ON turn_facts (id) WHERE alarm IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS turn_texts (id {key} PRIMARY KEY {of_fact}, text text NOT NULL)",
    "CREATE TABLE IF NOT EXISTS fact_values (id bigint PRIMARY KEY, value text NOT NULL)",
)
_TRIGGERS = [
    f"""CREATE TRIGGER IF NOT EXISTS {name} AFTER DELETE ON {of}
    BEGIN DELETE FROM {table} WHERE {key} = OLD.{key}; END"""
    for name, of, table, key in (
        ("labels_go_with_their_turn", "turns", "labels", "turn_id"),
        ("facts_go_with_their_turn", "turns", "turn_facts", "turn_id"),
        ("texts_go_with_their_facts", "turn_facts", "turn_texts", "id"),
    )
]
FILE_TABLES = [*(statement.format(**_SQLITE) for statement in (*_TURNS, *_LABELS, *_FACTS)), *_TRIGGERS]

DATABASE_STEPS: list[list[str]] = [
    [statement.format(**_POSTGRESQL) for statement in step]
    for step in (
        _TURNS,
        _LABELS,
        # tables without the `turns` they refer to: no foreign key would delete their rows
        ("DROP TABLE IF EXISTS turn_texts, turn_facts", *_FACTS),
    )
]
"""Migration steps of a database. A released step never changes; a later step corrects its mistakes."""

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
"""Turns without facts, written by an older caf. The newest come first, since people look at them first."""
COUNT_NOT_INDEXED = "SELECT (SELECT count(*) FROM turns) - (SELECT count(*) FROM turn_facts)"


class Turn(NamedTuple):
    """A turn stored in `turns`, with its facts."""

    turn_id: str
    started: float
    facts: TurnFacts


def stand_in_statements(tables: Collection[str]) -> list[str]:
    """Return statements that create empty temporary tables for the ones that a file of an older caf lacks."""
    statements = [one for one in FILE_TABLES if one.startswith("CREATE TABLE") and one.split()[5] not in tables]
    return [one.replace("CREATE TABLE IF NOT EXISTS", "CREATE TEMP TABLE") for one in statements]


def add_statements(turns: Iterable[Turn]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the statements that write the facts of turns, each with its values. Existing facts of a turn stay."""
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
    # In a fixed order, so that two concurrent writers of the same values cannot deadlock.
    ordered = [{"id": number, "value": shared[number]} for number in sorted(shared)]
    return [(sql, values) for sql, values in ((ADD_VALUE, ordered), (ADD_FACTS, rows), (ADD_TEXT, texts)) if values]


def start_ms(started: float) -> int:
    """Return the start of a turn in whole milliseconds, limited to the 42 bits that an id has for it."""
    return int(min(max(started * 1000, 0.0), 2.0**42))


def first_id(started: float) -> int:
    """Return the smallest possible id of a turn that began at this Unix time or later."""
    return start_ms(started) << ROWID_BITS
