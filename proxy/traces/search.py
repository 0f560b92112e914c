"""Lists of turns, for people who look: filtered, the newest first, page by page.

Reads what the writer has derived of each turn (`facts.py`). Turns of an older caf get their facts while a proxy runs; until then
they are in no list, and `Page.to_index` says how many they are.
"""

import json
import sqlite3
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from proxy.traces.backend import Connection, TraceBackend
from proxy.traces.fact_tables import COUNT_NOT_INDEXED, first_id
from proxy.traces.facts import Alarm, Layer, fold
from proxy.traces.file import decode
from proxy.traces.labels import Label, labels_of
from proxy.traces.query import TurnLine, Verdict, has_facts, open_backend

COUNT_TO = 1_000
"""How far the turns that match are counted."""
HIGHEST_ID = 2**63 - 1

Labelling = Literal["labelled", "unlabelled", "false_alarm"]
"""false_alarm: a person says `accept` of a judge whose last word was `warn` or `reject`."""


@dataclass(frozen=True, slots=True)
class TurnFilter:
    """Which turns: those that meet every condition given. The default meets all."""

    chatbots: frozenset[str] | None = None
    """Only these; None: all. What a key may see goes here: the empty set matches nothing."""
    outcomes: frozenset[str] = frozenset()
    """Any of these; empty: all. `error` stands for turns that ended in one, which match no other."""
    judge: str | None = None
    """Turns that have one judgement, of whatever stage, with this judge, rule and verdict, as far as they are given."""
    rule: str | None = None
    verdict: str | None = None
    concerns: frozenset[str] = frozenset()
    """Turns with a concern of one of these kinds; with `emergencies`, either."""
    emergencies: frozenset[str] = frozenset()
    """Turns with an emergency of one of these kinds, in shadow one that would have been."""
    alarm: Alarm | Literal["any"] | None = None
    """Turns with an emergency, a concern, or either."""
    mended: bool | None = None
    no_source: bool | None = None
    """Turns whose reply says that the sources do not answer it, or that had no source at all."""
    cited: str | None = None
    """Turns whose delivered reply cites this section."""
    key: str | None = None
    since: float | None = None
    """Unix time, seconds: turns that began then or later."""
    until: float | None = None
    """Turns that began before."""
    labelling: Labelling | None = None
    labelled_judge: str | None = None
    """Of labels, those about this judge alone."""
    words: str = ""
    """Words, each of which stands somewhere in the user's message or the delivered replies, also within a longer word. Only stored
    texts are searched. Leave it empty for whoever may not see texts: that something matches tells what was said."""
    conversation: str | None = None
    """The id of a conversation."""
    id_begins: str = ""
    """What the id of the turn or of its conversation begins with."""


@dataclass(frozen=True, slots=True)
class ListedTurn:
    """One turn in a list."""

    id: int
    """Its place among all turns, for `before`. Above what JavaScript holds exactly: write it as text."""
    line: TurnLine
    """What `caf trace list` shows of it; each different verdict once."""
    key_id: str
    filter: str
    alarm: Alarm | None
    kind: str | None
    """The kind of danger."""
    layer: Layer | None
    """What decided that there is danger."""
    mended: bool
    no_source: bool
    calls: int
    cost: float | None
    labels: tuple[Label, ...]
    message: str
    """The user's message as it is stored, in redacted storage its length; empty unless texts are asked for."""
    reply: str
    """The first reply that was delivered, likewise."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some turns, the newest first."""

    turns: list[ListedTurn]
    next: int | None
    """The `before` of the next page; None: this is the last."""
    total: int | None
    """How many turns match, counted up to `COUNT_TO`; None on later pages."""
    at_least: bool
    """Whether there are more than `total`."""
    to_index: int
    """How many turns are still without facts, and so in no list."""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The turns beside one, by their ids; None: there is none."""

    newer: str | None
    older: str | None


def search_turns(
    backend: TraceBackend, wanted: TurnFilter, *, before: int | None = None, limit: int = 50, texts: bool = False
) -> Page:
    """Return a page of the turns that a filter matches, the newest first.

    A page that is asked for again has the same turns, however many have come since: `before` is a place, not a number of turns.

    Args:
        backend: Where the traces are.
        wanted: The filter.
        before: The `next` of the page before; None: the first page.
        limit: How many turns at most.
        texts: Whether to read messages and replies as well.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    with open_backend(backend, "ro") as connection:
        to_index = count_to_index(connection)
        if not has_facts(connection):
            return Page([], None, 0, False, to_index)
        query = FactQuery(connection, wanted)
        most = limit if before is not None else max(limit, COUNT_TO)
        ids = query.ids(before, most + 1)
        page = ids[:limit]
        return Page(
            turns=_read_turns(connection, page, texts),
            next=page[-1] if len(ids) > limit else None,
            total=min(len(ids), most) if before is None else None,
            at_least=before is None and len(ids) > most,
            to_index=to_index,
        )


def neighbours(backend: TraceBackend, wanted: TurnFilter, turn_id: str) -> Neighbours:
    """Return the turns next to one among those that a filter matches; it need not match itself.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    with open_backend(backend, "ro") as connection:
        place = _place(connection, turn_id)
        if place is None:
            return Neighbours(None, None)
        query = FactQuery(connection, wanted)
        newer, older = query.ids_after(place, 1), query.ids(place, 1)
        names = _turn_ids(connection, [*newer, *older])
        return Neighbours(names.get(newer[0]) if newer else None, names.get(older[0]) if older else None)


def read_turn(backend: TraceBackend, turn_id: str, chatbots: Collection[str] | None = None) -> dict[str, Any] | None:
    """Return one trace as `query.show` does, or None where there is none with exactly this id, of one of these chatbots.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    with open_backend(backend, "ro") as connection:
        row = connection.execute("SELECT body FROM turns WHERE turn_id = :id", {"id": turn_id}).fetchone()
    trace = None if row is None else decode(row[0])
    return trace if trace is not None and (chatbots is None or trace["chatbot"] in chatbots) else None


def chatbots_of(backend: TraceBackend, conversation: str) -> set[str]:
    """Return the chatbots that have turns with exactly this id of a conversation: clients choose ids, and may choose the same.

    Raises:
        TraceError: The traces are not there or not readable.
    """
    with open_backend(backend, "ro") as connection:
        rows = connection.execute(
            "SELECT DISTINCT chatbot FROM turns WHERE conversation_id = :conversation", {"conversation": conversation}
        )
        return {chatbot for (chatbot,) in rows}


class FactQuery:
    """A filter as SQL, for one connection."""

    def __init__(self, connection: Connection, wanted: TurnFilter) -> None:
        self._connection = connection
        self._database = not isinstance(connection, sqlite3.Connection)
        self.values: dict[str, Any] = {}
        self._words = list(dict.fromkeys(fold(wanted.words).split()))
        self.conditions = [*self._plain_conditions(wanted), *self._looked_up_conditions(wanted)]

    def ids(self, before: int | None, limit: int) -> list[int]:
        """Return the ids of matching turns, the newest first."""
        place = HIGHEST_ID if before is None else min(max(before, -1), HIGHEST_ID)
        return self._ids("t.id < :place", "DESC", place, limit)

    def ids_after(self, place: int, limit: int) -> list[int]:
        """Return the ids of matching turns that are newer than one, the oldest first."""
        return self._ids("t.id > :place", "ASC", place, limit)

    def count(self) -> int:
        """Return how many turns match."""
        statement = f"SELECT count(*) FROM {self.tables} WHERE {self.where}"
        (count,) = self._connection.execute(statement, self.values).fetchone()
        return int(count)

    @property
    def tables(self) -> str:
        """What stands after FROM. In a file the texts are gone through first, and facts looked up of those alone that match."""
        return "turn_texts x CROSS JOIN turn_facts t" if self._words else "turn_facts t"

    @property
    def where(self) -> str:
        """What stands after WHERE."""
        return " AND ".join(self.conditions) or "TRUE"

    def _ids(self, place_is: str, order: Literal["ASC", "DESC"], place: int, limit: int) -> list[int]:
        along = "x" if self._words else "t"
        rows = self._connection.execute(
            f"SELECT t.id FROM {self.tables} WHERE {place_is.replace('t.', f'{along}.')} AND {self.where} "
            f"ORDER BY {along}.id {order} LIMIT :limit",
            {**self.values, "place": place, "limit": limit},
        )
        return [id for (id,) in rows]

    def _plain_conditions(self, wanted: TurnFilter) -> Iterable[str]:
        if self._words:
            yield "t.id = x.id"
            for number, word in enumerate(self._words):
                yield self._contains(f"w{number}", word)
        if wanted.chatbots is not None:
            yield f"t.chatbot IN ({self._list('chatbot', sorted(wanted.chatbots))})"
        if wanted.outcomes:
            named = self._list("outcome", sorted(wanted.outcomes))
            yield f"(CASE WHEN t.error IS NULL THEN t.outcome ELSE 'error' END) IN ({named})"
        if wanted.concerns or wanted.emergencies:
            kinds = {"emergency": wanted.emergencies, "concern": wanted.concerns}
            either = [
                f"(t.alarm = '{alarm}' AND t.kind IN ({self._list(alarm, sorted(of))}))"
                for alarm, of in kinds.items()
                if of
            ]
            yield f"({' OR '.join(either)})"
        if wanted.alarm is not None or wanted.concerns or wanted.emergencies:
            yield "t.alarm IS NOT NULL"
        if wanted.alarm not in (None, "any"):
            yield f"t.alarm = {self._value('alarm', wanted.alarm)}"
        for name, flag in (("mended", wanted.mended), ("no_source", wanted.no_source)):
            if flag is not None:
                yield f"t.{name} = {int(flag)}"
        if wanted.key is not None:
            yield f"t.key_id = {self._value('key', wanted.key)}"
        along = "x" if self._words else "t"
        if wanted.since is not None:
            yield f"{along}.id >= {self._value('since_id', first_id(wanted.since))}"
            yield f"t.started >= {self._value('since', wanted.since)}"
        if wanted.until is not None:
            yield f"{along}.id < {self._value('until_id', first_id(wanted.until + 0.002))}"
            yield f"t.started < {self._value('until', wanted.until)}"

    def _looked_up_conditions(self, wanted: TurnFilter) -> Iterable[str]:
        if (wanted.judge, wanted.rule, wanted.verdict) != (None, None, None):
            yield f"t.verdicts IN ({self._items('verdicts', self._values_with(wanted), 'bigint')})"
        if wanted.cited is not None:
            yield f"t.cited IN ({self._items('cited', self._citations_of(wanted.cited), 'bigint')})"
        if wanted.conversation is not None:
            of = f"conversation_id = {self._value('conversation', wanted.conversation)}"
            yield f"t.turn_id IN (SELECT turn_id FROM turns WHERE {of})"
        if wanted.id_begins:
            first = self._value("first", wanted.id_begins)
            last = self._value("last", wanted.id_begins + "\U0010ffff")
            begins = f"SELECT turn_id FROM turns WHERE {{0}} >= {first} AND {{0}} < {last}"
            yield f"t.turn_id IN ({begins.format('turn_id')} UNION ALL {begins.format('conversation_id')})"
        if wanted.labelling is not None:
            turns = self._items("labelled", self._labelled(wanted.labelling, wanted.labelled_judge), "text")
            yield f"t.turn_id {'NOT IN' if wanted.labelling == 'unlabelled' else 'IN'} ({turns})"

    def _contains(self, name: str, word: str) -> str:
        if not self._database:
            return f"instr(x.text, {self._value(name, word)}) > 0"
        if not self._has_trigrams:
            return f"strpos(x.text, {self._value(name, word)}) > 0"  # takes half the time of LIKE
        escaped = word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return f"x.text LIKE {self._value(name, f'%{escaped}%')}"

    @cached_property
    def _has_trigrams(self) -> bool:
        """Tell whether somebody has made an index of pg_trgm, which serves LIKE alone."""
        return self._connection.execute(_TRIGRAMS).fetchone() is not None

    def _values_with(self, wanted: TurnFilter) -> list[int]:
        """Return the sets of verdicts that have one as wanted."""
        asked = (wanted.judge, wanted.verdict, wanted.rule)
        used = self._connection.execute(
            "SELECT id, value FROM fact_values WHERE id IN (SELECT verdicts FROM turn_facts)"
        )
        return [
            id
            for id, value in used
            if any(
                all(given in (None, said) for given, said in zip(asked, (judge, verdict, rule), strict=True))
                for judge, _, verdict, rule in json.loads(value)
            )
        ]

    def _citations_of(self, section: str) -> list[int]:
        """Return the sets of cited sections that one is in."""
        used = self._connection.execute("SELECT id, value FROM fact_values WHERE id IN (SELECT cited FROM turn_facts)")
        return [id for id, value in used if section in json.loads(value)]

    def _labelled(self, labelling: Labelling, judge: str | None) -> list[str]:
        """Return the ids of turns with a label; for false alarms, of those where a person denies what a judge has flagged."""
        given = {
            turn: [one for one in of if judge in (None, one.judge)] for turn, of in labels_of(self._connection).items()
        }
        if labelling != "false_alarm":
            return [turn for turn, of in given.items() if of]
        denied = {turn: {one.judge for one in of if one.verdict == "accept"} for turn, of in given.items()}
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
        statement, more = items_of(self._connection, name, values, type)
        self.values |= more
        return statement


def items_of(
    connection: Connection, name: str, values: Collection[str] | Collection[int], type: Literal["text", "bigint"]
) -> tuple[str, dict[str, str]]:
    """Return a query that yields these values, whose number has no bound, and what to bind for it."""
    is_file = isinstance(connection, sqlite3.Connection)
    each, json_type = ("json_each", "text") if is_file else ("json_array_elements_text", "json")
    query = f"SELECT CAST(value AS {type}) FROM {each}(CAST(:{name} AS {json_type}))"
    return query, {name: json.dumps([*values])}


def count_to_index(connection: Connection) -> int:
    """Return how many turns have no facts yet."""
    statement = COUNT_NOT_INDEXED if has_facts(connection) else "SELECT count(*) FROM turns"
    (turns,) = connection.execute(statement).fetchone()
    return int(turns)


_TRIGRAMS = "SELECT 1 FROM pg_indexes WHERE tablename = 'turn_texts' AND indexdef LIKE '%gin_trgm_ops%'"
_SHOWN = (
    "t.id, t.turn_id, u.conversation_id, t.started, t.chatbot, t.number, t.outcome, t.would, t.error, t.ms, t.prompt_tokens, "
    "t.completion_tokens, t.key_id, t.filter, t.alarm, t.kind, t.layer, t.mended, t.no_source, t.calls, t.cost, v.value"
)


def _read_turns(connection: Connection, ids: Sequence[int], texts: bool) -> list[ListedTurn]:
    """Return turns by their ids, in this order; those that were deleted meanwhile are left out."""
    which, values = items_of(connection, "ids", ids, "bigint")
    statement = (
        f"SELECT {_SHOWN}{', u.body' if texts else ''} FROM turn_facts t JOIN turns u ON u.turn_id = t.turn_id "
        f"JOIN fact_values v ON v.id = t.verdicts WHERE t.id IN ({which}) ORDER BY t.id DESC"
    )
    rows = [*connection.execute(statement, values)]
    given = labels_of(connection, [row[1] for row in rows])
    return [_listed(row, given) for row in rows]


def _listed(row: Any, given: Mapping[str, Sequence[Label]]) -> ListedTurn:
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
        labels=tuple(given.get(turn_id, ())),
        message=trace["user_message"],
        reply=next((reply for reply in trace["replies"] if reply), ""),
    )  # fmt: skip


def _place(connection: Connection, turn_id: str) -> int | None:
    if not has_facts(connection):
        return None
    row = connection.execute("SELECT id FROM turn_facts WHERE turn_id = :id", {"id": turn_id}).fetchone()
    return None if row is None else int(row[0])


def _turn_ids(connection: Connection, ids: Sequence[int]) -> dict[int, str]:
    which, values = items_of(connection, "ids", ids, "bigint")
    return dict(
        tuple(row) for row in connection.execute(f"SELECT id, turn_id FROM turn_facts WHERE id IN ({which})", values)
    )
