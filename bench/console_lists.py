"""Measures the latency of the console's lists with 100,000 traced turns.

python -m bench.console_lists                        first writes a file of 100,000 turns, which takes two minutes
python -m bench.console_lists --turns 5000           shorter
python -m bench.console_lists --url postgresql://caf@127.0.0.1/empty --password-env PGPASSWORD    uses an empty database
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.figures import percentile, save, write_table
from bench.processes import ROOT
from bench.script import IMPROVISED, questions, reply
from judges.observation import Assertion, Claims, Crisis, Problem, Screening, Sign
from judges.verdict import Exchange, Judgement
from knowledge_base.library import Library, load
from models.usage import Call, Usage
from proxy.traces.backend import Database, Row, TraceBackend
from proxy.traces.counts import count_sections, count_turns
from proxy.traces.emergencies import count_alarms, count_open, search_emergencies
from proxy.traces.fact_query import TurnFilter
from proxy.traces.labels import Label, add
from proxy.traces.query import iterate_traces
from proxy.traces.search import find_neighbours, search_turns
from proxy.traces.sqlite import encode
from proxy.traces.store import TraceStore
from proxy.traces.trace import Attempt, Outcome, SelectedSource, ShownWarning, Trace

DAYS = 30
TARGET_MS = 200.0
ROUNDS = 20
BATCH = 100
CHATBOTS, KEYS = ("schizophrenia", "depression", "clinic"), 12
DANGERS = (
    "I want to end my life tonight.", "The voices tell me to hurt my brother.", "I took thirty pills an hour ago.",
)  # fmt: skip
RARE_WORD = "zwieback"
"""A word that occurs in one of 5,000 messages."""


def main() -> int:
    """Print the latency of each list, and return 1 if the p95 of a list exceeds TARGET_MS."""
    parser = argparse.ArgumentParser(prog="bench.console_lists", description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=100_000, help="number of turns to write (%(default)s)")
    parser.add_argument(
        "--file", type=Path, help="trace file of an earlier run; default: a new one, deleted at the end"
    )
    parser.add_argument("--url", help="address of an empty PostgreSQL database, instead of a file")
    parser.add_argument("--password-env", help="environment variable with the password of that database")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="caf-console-lists-") as folder:
        where: TraceBackend = options.file or Path(folder) / "traces.db"
        if options.url:
            where = Database(options.url, options.password_env)
        now = time.time()
        if not (isinstance(where, Path) and where.exists()):
            fill(where, options.turns, now)
        figures = measure(where, now)
    columns = ("p50", "p95", "cpu")
    rows = {name: (*ms, "too long" if ms[1] > TARGET_MS else "") for name, ms in figures.items()}
    print("\n" + write_table("ms", (*columns, ""), rows))
    flat = {f"{name}: {what}": ms for name, of in figures.items() for what, ms in zip(columns, of, strict=True)}
    save(flat, ROOT / "bench" / "console_lists.json")
    return int(any(p95 > TARGET_MS for _, p95, _ in figures.values()))


def fill(where: TraceBackend, count: int, now: float) -> None:
    """Write turns in the way of a trace store, and some labels. Print the CPU per turn and the size of the file."""
    labelled = [trace for trace in write(where, count, now) if trace.concern or trace.outcome == "emergency"]
    for trace in labelled[:: max(1, len(labelled) // 300)]:
        add(where, trace.turn_id, Label("emergency", "accept", labelled=now))
    if isinstance(where, Path):
        [*write(where.with_name("without-facts.db"), min(count, 5_000), now, facts=False)]


def write(where: TraceBackend, count: int, now: float, *, facts: bool = True) -> Iterator[Trace]:
    """Write turns and yield them. At the end, print the CPU and the bytes per turn.

    Args:
        facts: Whether to write the facts of each turn too.
    """
    store = TraceStore(where, "full", DAYS + 1)
    writer = store._writer
    writer.open()
    spent, length = 0.0, 0
    rows: list[Row] = []
    for n, trace in enumerate(make_turns(count, now), start=1):
        begun = time.thread_time()
        if facts:
            row = store._row(trace)
            assert row is not None
        else:
            row = Row(trace.turn_id, trace.conversation_id, trace.started, trace.chatbot, trace.outcome, encode(trace))
        rows.append(row)
        length += len(row.body)
        if len(rows) == BATCH or n == count:
            writer.write(rows)
            rows = []
        spent += time.thread_time() - begun
        yield trace
    writer.close()
    size = f", {where.stat().st_size / count:,.0f} bytes of the file" if isinstance(where, Path) else ""
    print(
        f"{count} turns {'with' if facts else 'without'} facts, each: {spent / count * 1e6:,.0f} us of the writer's CPU, "
        f"{length / count:,.0f} bytes of body{size}"
    )


def make_turns(count: int, now: float) -> Iterator[Trace]:
    """Yield turns of the last DAYS days, oldest first, four turns per conversation. The same `count` gives the same turns."""
    chance = random.Random(0)
    library = load(ROOT / "knowledge_base" / "schizophrenia")
    earlier: list[str] = []
    for n in range(count):
        if n % 4 == 0:
            earlier = [f"{chance.getrandbits(128):032x}"]
        yield make_turn(chance, library, earlier[0], n % 4 + 1, now - DAYS * 86_400 * (1 - n / count))


def make_turn(chance: random.Random, library: Library, conversation: str, number: int, started: float) -> Trace:
    """Return the trace of a turn of a guarded chatbot with model judges."""
    outcome: Outcome = chance.choices(
        ("accepted", "warned", "refined", "fallback", "unjudged", "emergency"), (72, 9, 12, 3, 2, 2)
    )[0]
    sources = chance.sample(library.sources, 3)
    question = chance.choice(questions(sources[0])) + " " + " ".join(chance.sample(sources[1].text.split(), 12))
    is_danger = outcome == "emergency" or chance.random() < 0.02
    if is_danger:
        question = f"{chance.choice(DANGERS)} {question}"
    if chance.random() < 1 / 5000:
        question += f" {RARE_WORD}"
    draft = reply(sources[0], chance)
    if outcome not in ("accepted", "emergency"):
        draft += " " + " ".join(chance.sample(IMPROVISED, 2))
    sign = Sign(
        kind=chance.choice(("self_harm", "harm_to_others", "medical")), quote=question[:40], who="user", when="now"
    )
    local = Judgement(
        "emergency", "local", "reject" if outcome == "emergency" else "warn" if is_danger else "accept",
        "emergency" if is_danger else None, "", chance.lognormvariate(-1, 0.4),
        1.0 if chance.random() < 0.3 else 0.7, Crisis(signs=[sign] if is_danger else []),
    )  # fmt: skip
    problems = [] if outcome == "accepted" else [Problem(kind="beyond", quote=draft[-80:], severity=2)]
    screening = Screening(problems=problems, adds=False)
    raw = screening.model_dump_json()
    swift = [
        Judgement(judge, "swift", "reject" if problems else "accept", rule if problems else None, "",
                  chance.lognormvariate(7, 0.5), None, screening, Exchange("swift", "4f2a" * 16, raw))
        for judge, rule in (("source_fidelity", "unsupported"), ("transparency", "undisclosed"), ("role", "role"))
    ]  # fmt: skip
    claims = Claims(
        assertions=[Assertion(text=one, support="stated", source_id=sources[0].id, quote=one, topic=None)
                    for one in draft.split(". ")[:9]],
        admits_not_from_sources="no", asks_to_verify="weak",
    )  # fmt: skip
    chief = [
        replace(one, stage="chief", verdict="warn" if outcome == "warned" else "reject", observation=claims,
                ms=chance.lognormvariate(8, 0.4), exchange=Exchange("chief", "9b1c" * 16, claims.model_dump_json()))
        for one in swift
    ] if outcome not in ("accepted", "emergency") else []  # fmt: skip
    attempts = [Attempt("draft", 0, draft, [sources[0].id], 900.0, [], ["source"], swift + chief)]
    if outcome == "refined":
        kind = chance.choice(("mended", "refinement"))
        attempts.append(Attempt(kind, 0, reply(sources[0], chance), [sources[0].id], 4_000.0))  # type: ignore[arg-type]
    if outcome == "accepted" and chance.random() < 0.05:
        attempts[0] = replace(attempts[0], citations=["not_in_sources"])
    steps = [
        "select",
        "draft",
        "reply.swift",
        *(["reply.chief"] if chief else []),
        *(["refine"] if len(attempts) > 1 else []),
    ]
    calls = [
        Call(
            step,
            "gpt",
            chance.lognormvariate(7, 0.5),
            Usage(chance.randint(800, 6_000), chance.randint(10, 320)),
            0.002,
            None,
        )
        for step in steps
    ]
    return Trace(
        turn_id=f"{chance.getrandbits(128):032x}",
        conversation_id=conversation,
        key_id=f"key-{chance.randrange(KEYS)}",
        chatbot=chance.choices(CHATBOTS, (90, 9, 1))[0],
        filter="on",
        started=started,
        turn=number,
        user_message=question,
        selected=[SelectedSource(one.id, "model", "its summary names what is asked") for one in sources],
        selection_note="the question is about the first section, and touches the others",
        sources_in_use=[one.id for one in sources],
        warnings_shown=[ShownWarning("undisclosed", "Say what is not from your sources.", 1, 5)] if number > 1 else [],
        emergency=[local],
        concern=sign.kind if is_danger and outcome != "emergency" else None,
        attempts=attempts if outcome != "emergency" else [],
        replies=[attempts[-1].text],
        outcome=outcome,
        error="upstream_timeout" if chance.random() < 0.005 else None,
        calls=calls if outcome != "emergency" else [],
        ms=sum(call.ms for call in calls),
    )


def measure(where: TraceBackend, now: float) -> dict[str, tuple[float, float, float]]:
    """Return (p50 latency, p95 latency, mean CPU of this process) of each list, in ms, by list name."""
    chance = random.Random(1)
    every = TurnFilter()
    sample = [trace["turn_id"] for trace, _ in zip(iterate_traces(where, since=now - 86_400), range(50), strict=False)]
    deep = [search_turns(where, TurnFilter(until=now - day * 86_400), limit=1).next for day in range(0, DAYS, 5)]

    def search(name: str, **wanted: Any) -> tuple[str, Callable[[], object]]:
        return name, lambda: search_turns(where, TurnFilter(**wanted), texts=True)

    month = now - DAYS * 86_400
    lists = dict(
        [
            search("all"),
            ("all, deep pages", lambda: search_turns(where, every, before=chance.choice(deep), texts=True)),
            ("next and previous", lambda: find_neighbours(where, every, chance.choice(sample))),
            ("next and previous of few", lambda: find_neighbours(where, TurnFilter(words=RARE_WORD), chance.choice(sample))),
            search("one chatbot of 1 %", chatbots=frozenset({"clinic"})),
            search("another's chatbots", chatbots=frozenset({"nobody's"})),
            search("outcome", outcomes=frozenset({"fallback"})),
            search("errors", outcomes=frozenset({"error"})),
            search("judge and verdict", judge="role", verdict="reject"),
            search("rule", rule="undisclosed"),
            search("rule without violations", rule="none"),
            search("concerns of a kind", alarm="concern", danger="medical"),
            search("mended", mended=True),
            search("no source, one chatbot", no_source=True, chatbots=frozenset({"clinic"})),
            search("key", key="key-3"),
            search("a day", since=now - 10 * 86_400, until=now - 9 * 86_400),
            search("labelled", labelling="labelled"),
            search("unlabelled", labelling="unlabelled"),
            search("false alarms", labelling="false_alarm"),
            search("a frequent word", words="symptoms"),
            search("a rare word", words=RARE_WORD),
            search("a missing word", words="xylophone"),
            search("a rare word, one chatbot", words=RARE_WORD, chatbots=frozenset({"clinic"})),
            ("id begins", lambda: search_turns(where, TurnFilter(id_begins=chance.choice(sample)[:6]), texts=True)),
            ("all at once", lambda: search_turns(where, TurnFilter(
                chatbots=frozenset({"clinic", "depression"}), outcomes=frozenset({"refined"}), judge="role", key="key-1",
                mended=True, labelling="unlabelled", words="medication", since=now - 20 * 86_400), texts=True)),
            ("emergencies", lambda: search_emergencies(where, every, texts=True)),
            ("open emergencies of one chatbot", lambda: search_emergencies(
                where, TurnFilter(chatbots=frozenset({"clinic"})), only_open=True, texts=True)),
            ("number of open emergencies", lambda: count_open(where, frozenset(CHATBOTS))),
            ("share of correct alarms", lambda: count_alarms(where, every)),
            ("turns that cite a section", lambda: search_turns(where, TurnFilter(cited="medication-and-side-effects"), texts=True)),
            ("counts of a day by the hour", lambda: count_turns(where, every, since=now - 86_400, until=now, width=3_600)),
            ("counts of a month by the day", lambda: count_turns(where, every, since=month, until=now, width=86_400)),
            ("counts of a month by the hour", lambda: count_turns(where, every, since=month, until=now, width=3_600)),
            ("sections of a month", lambda: count_sections(where, "schizophrenia", since=month)),
        ]
    )  # fmt: skip
    return {name: run(ask) for name, ask in lists.items()}


def run(ask: Callable[[], object]) -> tuple[float, float, float]:
    """Load a list repeatedly, and return (p50 latency, p95 latency, mean CPU) in ms."""
    ask()
    took, begun = [], time.process_time()
    for _ in range(ROUNDS):
        start = time.perf_counter()
        ask()
        took.append((time.perf_counter() - start) * 1000)
    return percentile(took, 0.5), percentile(took, 0.95), (time.process_time() - begun) / ROUNDS * 1000


if __name__ == "__main__":
    sys.exit(main())
