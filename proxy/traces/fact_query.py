"""A filter of stored turns, and its translation to SQL on the tables of facts."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from proxy.traces.backend import Connection
from proxy.traces.facts import Alarm, fold
from proxy.traces.labels import labels_of
from proxy.traces.query import select_values
from proxy.traces.schema import first_id

HIGHEST_ID = 2**63 - 1
OUTCOME = "CASE WHEN t.error IS NULL THEN t.outcome ELSE 'error' END"
"""The outcome of a turn as an SQL expression; `error` for a turn that ended in an error."""
_TRIGRAMS = "SELECT 1 FROM pg_indexes WHERE tablename = 'turn_texts' AND indexdef LIKE '%gin_trgm_ops%'"

Labelling = Literal["labelled", "unlabelled", "false_alarm"]
"""false_alarm: a person labels `accept` for a judge whose last verdict was `warn` or `reject`."""


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """A filter of turns. A turn matches if it meets every condition given. The default matches all turns."""

    chatbots: frozenset[str] | None = None
    """Only these chatbots; None: all. Restrict it to what a key may see: the empty set matches nothing."""
    outcomes: frozenset[str] = frozenset()
    """Any of these outcomes; empty: all. Turns that ended in an error match only `error`."""
    judge: str | None = None
    """Turns with a judgement of this judge at any stage. The same judgement must match `rule` and `verdict`, if given."""
    rule: str | None = None
    verdict: str | None = None
    alarm: Alarm | Literal["any"] | None = None
    """Turns with an emergency (in shadow mode: a would-be emergency), with a concern, or with either."""
    danger: str | None = None
    """Turns with an alarm of this kind."""
    mended: bool | None = None
    no_source: bool | None = None
    """Turns whose reply says that the sources do not answer the question, or that had no source at all."""
    cited: str | None = None
    """Turns whose delivered reply cites this section."""
    key: str | None = None
    since: float | None = None
    """Turns that began at this Unix time (seconds) or later."""
    until: float | None = None
    """Turns that began before this Unix time (seconds)."""
    labelling: Labelling | None = None
    labelled_judge: str | None = None
    """With `labelling`: consider only labels of this judge."""
    words: str = ""
    """Words that must all occur in the user's message or the delivered replies, also inside longer words. Only stored texts are
    searched. Leave the field empty for users without the permission `trace`: a match would reveal the text."""
    conversation: str | None = None
    """The id of a conversation."""
    id_begins: str = ""
    """A prefix of the id of the turn or of its conversation."""


class FactQuery:
    """The SQL of a `TurnFilter` for one connection: FROM clause, WHERE clause and parameters."""

    def __init__(self, connection: Connection, turn_filter: TurnFilter) -> None:
        self._connection = connection
        self._database = not isinstance(connection, sqlite3.Connection)
        self.values: dict[str, Any] = {}
        self._words = list(dict.fromkeys(fold(turn_filter.words).split()))
        self.conditions = [*self._plain_conditions(turn_filter), *self._looked_up_conditions(turn_filter)]

    def ids(self, before: int | None, limit: int) -> list[int]:
        """Return the ids of at most `limit` matching turns with an id below `before`, newest first."""
        place = HIGHEST_ID if before is None else min(max(before, -1), HIGHEST_ID)
        return self._ids("t.id < :place", "DESC", place, limit)

    def ids_after(self, place: int, limit: int) -> list[int]:
        """Return the ids of at most `limit` matching turns with an id above `place`, oldest first."""
        return self._ids("t.id > :place", "ASC", place, limit)

    def count(self) -> int:
        """Return the number of matching turns."""
        statement = f"SELECT count(*) FROM {self.tables} WHERE {self.where}"
        (count,) = self._connection.execute(statement, self.values).fetchone()
        return int(count)

    @property
    def tables(self) -> str:
        """The FROM clause. For a word search in a file, the texts come first, so that facts are looked up only for matches."""
        return "turn_texts x CROSS JOIN turn_facts t" if self._words else "turn_facts t"

    @property
    def where(self) -> str:
        """The WHERE clause."""
        return " AND ".join(self.conditions) or "TRUE"

    def _ids(self, place_is: str, order: Literal["ASC", "DESC"], place: int, limit: int) -> list[int]:
        along = "x" if self._words else "t"
        rows = self._connection.execute(
            f"SELECT t.id FROM {self.tables} WHERE {place_is.replace('t.', f'{along}.')} AND {self.where} "
            f"ORDER BY {along}.id {order} LIMIT :limit",
            {**self.values, "place": place, "limit": limit},
        )
        return [id for (id,) in rows]

    def _plain_conditions(self, turn_filter: TurnFilter) -> Iterable[str]:
        if self._words:
            yield "t.id = x.id"
            for number, word in enumerate(self._words):
                yield self._contains(f"w{number}", word)
        if turn_filter.chatbots is not None:
            yield f"t.chatbot IN ({self._list('chatbot', sorted(turn_filter.chatbots))})"
        if turn_filter.outcomes:
            named = self._list("outcome", sorted(turn_filter.outcomes))
            yield f"({OUTCOME}) IN ({named})"
        if turn_filter.alarm is not None or turn_filter.danger is not None:
            yield "t.alarm IS NOT NULL"
        if turn_filter.danger is not None:
            yield f"t.kind = {self._value('danger', turn_filter.danger)}"
        if turn_filter.alarm not in (None, "any"):
            yield f"t.alarm = {self._value('alarm', turn_filter.alarm)}"
        for name, flag in (("mended", turn_filter.mended), ("no_source", turn_filter.no_source)):
            if flag is not None:
                yield f"t.{name} = {int(flag)}"
        if turn_filter.key is not None:
            yield f"t.key_id = {self._value('key', turn_filter.key)}"
        along = "x" if self._words else "t"
        if turn_filter.since is not None:
            yield f"{along}.id >= {self._value('since_id', first_id(turn_filter.since))}"
            yield f"t.started >= {self._value('since', turn_filter.since)}"
        if turn_filter.until is not None:
            yield f"{along}.id < {self._value('until_id', first_id(turn_filter.until + 0.002))}"
            yield f"t.started < {self._value('until', turn_filter.until)}"

    def _looked_up_conditions(self, turn_filter: TurnFilter) -> Iterable[str]:
        if (turn_filter.judge, turn_filter.rule, turn_filter.verdict) != (None, None, None):
            yield f"t.verdicts IN ({self._items('verdicts', self._values_with(turn_filter), 'bigint')})"
        if turn_filter.cited is not None:
            yield f"t.cited IN ({self._items('cited', self._citations_of(turn_filter.cited), 'bigint')})"
        if turn_filter.conversation is not None:
            condition = f"conversation_id = {self._value('conversation', turn_filter.conversation)}"
            yield f"t.turn_id IN (SELECT turn_id FROM turns WHERE {condition})"
        if turn_filter.id_begins:
            first = self._value("first", turn_filter.id_begins)
            last = self._value("last", turn_filter.id_begins + "\U0010ffff")
            begins = f"SELECT turn_id FROM turns WHERE {{0}} >= {first} AND {{0}} < {last}"
            yield f"t.turn_id IN ({begins.format('turn_id')} UNION ALL {begins.format('conversation_id')})"
        if turn_filter.labelling is not None:
            turns = self._items("labelled", self._labelled(turn_filter.labelling, turn_filter.labelled_judge), "text")
            yield f"t.turn_id {'NOT IN' if turn_filter.labelling == 'unlabelled' else 'IN'} ({turns})"

    def _contains(self, name: str, word: str) -> str:
        if not self._database:
            return f"instr(x.text, {self._value(name, word)}) > 0"
        if not self._has_trigrams:
            return f"strpos(x.text, {self._value(name, word)}) > 0"  # takes half the time of LIKE
        escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"x.text LIKE {self._value(name, f'%{escaped}%')}"

    @cached_property
    def _has_trigrams(self) -> bool:
        """Whether the database has a pg_trgm index, which supports only LIKE."""
        return self._connection.execute(_TRIGRAMS).fetchone() is not None

    def _values_with(self, turn_filter: TurnFilter) -> list[int]:
        """Return the ids of the values in `fact_values` whose set of verdicts contains a matching verdict."""
        wanted_values = (turn_filter.judge, turn_filter.verdict, turn_filter.rule)
        used = self._connection.execute(
            "SELECT id, value FROM fact_values WHERE id IN (SELECT verdicts FROM turn_facts)"
        )
        return [
            id
            for id, value in used
            if any(
                all(
                    expected in (None, actual)
                    for expected, actual in zip(wanted_values, (judge, verdict, rule), strict=True)
                )
                for judge, _, verdict, rule in json.loads(value)
            )
        ]

    def _citations_of(self, section: str) -> list[int]:
        """Return the ids of the values in `fact_values` whose set of cited sections contains the section."""
        used = self._connection.execute("SELECT id, value FROM fact_values WHERE id IN (SELECT cited FROM turn_facts)")
        return [id for id, value in used if section in json.loads(value)]

    def _labelled(self, labelling: Labelling, judge: str | None) -> list[str]:
        """Return the ids of turns with a label; for `false_alarm`, of turns where a person rejects a judge's objection."""
        labels_by_turn = {
            turn: [one for one in labels if judge in (None, one.judge)]
            for turn, labels in labels_of(self._connection).items()
        }
        if labelling != "false_alarm":
            return [turn for turn, labels in labels_by_turn.items() if labels]
        denied = {
            turn: {one.judge for one in labels if one.verdict == "accept"} for turn, labels in labels_by_turn.items()
        }
        rows = self._connection.execute(
            "SELECT t.turn_id, v.value FROM turn_facts t JOIN fact_values v ON v.id = t.flagged "
            f"WHERE t.turn_id IN ({self._items('denied', [turn for turn, judges in denied.items() if judges], 'text')})",
            self.values,
        )
        return [turn for turn, flagged in rows if denied[turn].intersection(json.loads(flagged))]

    def _value(self, name: str, value: Any) -> str:
        self.values[name] = value
        return f":{name}"

    def _list(self, name: str, values: Sequence[Any]) -> str:
        return ", ".join(self._value(f"{name}_{n}", value) for n, value in enumerate(values)) or "NULL"

    def _items(self, name: str, values: Collection[str] | Collection[int], type: Literal["text", "bigint"]) -> str:
        statement, more = select_values(self._connection, name, values, type)
        self.values |= more
        return statement
