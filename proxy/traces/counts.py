"""Counts turns over time and uses of sections, from the facts of turns. The console's plots and tables use these counts."""

import json
import sqlite3
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

from proxy.traces.backend import Connection, TraceBackend
from proxy.traces.fact_query import OUTCOME, FactQuery, TurnFilter
from proxy.traces.facts import decode_ms
from proxy.traces.query import open_backend, select_values
from proxy.traces.schema import first_id
from proxy.traces.search import count_to_index

MOST_BUCKETS = 200
"""Maximum number of buckets of a count over time."""


@dataclass(frozen=True, slots=True)
class StepTimes:
    """Number and percentiles of the durations of a step, in milliseconds, accurate to 2.5 %."""

    count: int
    p50: float
    p95: float


@dataclass(slots=True)
class Bucket:
    """Counts of one time interval."""

    start: float
    """Unix time, seconds."""
    outcomes: Counter[str] = field(default_factory=Counter)
    """Turns by outcome. A turn that ended in an error counts only as `error`."""
    alarms: Counter[str] = field(default_factory=Counter)
    """Turns by alarm: `emergency` or `concern`."""
    mended: int = 0
    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    """Cost of all calls; None: no called model has a price."""
    steps: dict[str, StepTimes] = field(default_factory=dict)
    """Durations by step: `turn` for the whole turn; a call's step as in the trace (`draft`, `reply.swift`, `reply.chief`, `refine`,
    `select`); `NAME.local` for a judge without a model. A step that runs twice in a turn counts twice."""

    @property
    def turns(self) -> int:
        return self.outcomes.total()

    def _add(self, row: Sequence[Any]) -> None:
        outcome, alarm, turns, mended, calls, prompt, completion, cost = row
        self.outcomes[outcome] += turns
        if alarm is not None:
            self.alarms[alarm] += turns
        self.mended += int(mended)
        self.calls += int(calls)
        self.prompt_tokens += int(prompt)
        self.completion_tokens += int(completion)
        if cost is not None:
            self.cost = (self.cost or 0.0) + cost


@dataclass(frozen=True, slots=True)
class Counts:
    """The result of `count_turns`."""

    buckets: list[Bucket]
    """Consecutive intervals, oldest first, including empty ones."""
    all: Bucket
    """The total of all buckets."""
    to_index: int
    """Number of turns without facts, which are not counted yet."""


@dataclass(frozen=True, slots=True)
class SectionUse:
    """How often the sections of a chatbot's knowledge base were used."""

    turns: int
    chosen: Mapping[str, int]
    """Number of turns that selected a section, by id, most frequent first. Sections that were never selected are missing."""
    cited: Mapping[str, int]
    """Number of turns whose delivered reply cites a section, by id, most frequent first."""


def count_turns(backend: TraceBackend, turn_filter: TurnFilter, *, since: float, until: float, width: float) -> Counts:
    """Count turns between two times, in buckets of equal width.

    Args:
        backend: The storage of the traces.
        turn_filter: The turns to count; its own `since` and `until` apply as well.
        since: Start of the first bucket (Unix time, seconds).
        until: End of the last bucket (Unix time, seconds).
        width: Width of a bucket in seconds, at least 1; increased if there would be more than `MOST_BUCKETS`.

    Raises:
        TraceError: The traces do not exist or cannot be read.
    """
    width = max(width, 1.0, (until - since) / MOST_BUCKETS)
    total, all_times = Bucket(since), defaultdict[str, Counter[str]](Counter)
    buckets: list[Bucket] = []
    with open_backend(backend, "ro") as connection:
        query = FactQuery(connection, turn_filter)
        names: dict[int, list[str]] = {}
        while (start := since + len(buckets) * width) < until:
            bucket, times = Bucket(start), defaultdict[str, Counter[str]](Counter)
            for *row, steps, characters in _read_bucket(connection, query, start, min(start + width, until)):
                if steps not in names:
                    names |= _values(connection, [steps])
                bucket._add(row)
                total._add(row)
                for place, step in enumerate(names[steps]):  # the times of a turn are in the order of its steps
                    times[step].update(characters[place :: len(names[steps])])
            bucket.steps = _percentiles(times)
            for step, counts in times.items():
                all_times[step].update(counts)
            buckets.append(bucket)
        total.steps = _percentiles(all_times)
        return Counts(buckets, total, count_to_index(connection))


def count_sections(
    backend: TraceBackend, chatbot: str, *, since: float = 0.0, until: float | None = None
) -> SectionUse:
    """Return how often the sections of a chatbot's knowledge base were selected and cited.

    Raises:
        TraceError: The traces do not exist or cannot be read.
    """
    with open_backend(backend, "ro") as connection:
        query = FactQuery(connection, TurnFilter(chatbots=frozenset({chatbot}), since=since, until=until))
        rows = connection.execute(
            f"SELECT t.chosen, t.cited, count(*) FROM {query.tables} WHERE {query.where} GROUP BY t.chosen, t.cited",
            query.values,
        )
        counts = {"chosen": Counter[int](), "cited": Counter[int]()}
        for chosen, cited, turns in rows:
            counts["chosen"][chosen] += turns
            counts["cited"][cited] += turns
        ids = {use: _sections(connection, values) for use, values in counts.items()}
    return SectionUse(counts["chosen"].total(), dict(ids["chosen"].most_common()), dict(ids["cited"].most_common()))


def _read_bucket(connection: Connection, query: FactQuery, since: float, until: float) -> Iterable[Any]:
    """Return the grouped counts of one bucket. Each bucket has its own query, because grouping all at once would sort all turns."""
    join = "group_concat(t.times, '')" if isinstance(connection, sqlite3.Connection) else "string_agg(t.times, '')"
    return connection.execute(
        f"SELECT {OUTCOME}, t.alarm, count(*), sum(t.mended), sum(t.calls), sum(t.prompt_tokens), "
        f"sum(t.completion_tokens), sum(t.cost), t.steps, {join} FROM {query.tables} "
        f"WHERE t.id >= :bucket AND t.id < :bucket_end AND {query.where} GROUP BY 1, 2, t.steps",
        query.values | {"bucket": first_id(since), "bucket_end": first_id(until)},
    )


def _percentiles(times: Mapping[str, Mapping[str, int]]) -> dict[str, StepTimes]:
    """Return number and percentiles by step. `times` counts, for each step, the characters of `facts.encode_ms`."""
    return {step: _percentiles_of(counts) for step, counts in sorted(times.items())}


def _percentiles_of(counts: Mapping[str, int]) -> StepTimes:
    characters = sorted(counts)
    up_to = [*accumulate([counts[character] for character in characters])]
    total = up_to[-1]
    p50, p95 = (decode_ms(characters[bisect_left(up_to, share * total)]) for share in (0.5, 0.95))
    return StepTimes(total, p50, p95)


def _sections(connection: Connection, counts: Counter[int]) -> Counter[str]:
    sections: Counter[str] = Counter()
    for number, ids in _values(connection, counts).items():
        for id in ids:
            sections[id] += counts[number]
    return sections


def _values(connection: Connection, numbers: Collection[int]) -> dict[int, list[str]]:
    selected, values = select_values(connection, "numbers", numbers, "bigint")
    rows = connection.execute(f"SELECT id, value FROM fact_values WHERE id IN ({selected})", values)
    return {number: json.loads(value) for number, value in rows}
