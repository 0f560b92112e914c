"""Lists of turns: a filter returns exactly what filtering the traces themselves would, page by page, whatever happens meanwhile."""

import random
import sqlite3
import time
import typing
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from judges.observation import Crisis, Sign
from judges.verdict import Judgement
from models.usage import Call, Usage
from proxy.traces import store as trace_store
from proxy.traces.backend import Database, TraceBackend
from proxy.traces.counts import count_sections, count_turns
from proxy.traces.emergencies import search_emergencies
from proxy.traces.fact_query import TurnFilter
from proxy.traces.facts import decode_ms, derive_facts, encode_ms, fold
from proxy.traces.labels import Label, add, labels
from proxy.traces.query import iterate_traces, list_turns, open_backend, purge
from proxy.traces.search import COUNT_TO, find_neighbours, read_turn, search_turns
from proxy.traces.store import TraceStore
from proxy.traces.trace import Attempt, SelectedSource, Trace
from tests.postgres_server import PASSWORD, PASSWORD_ENV
from tests.proxy.traces.test_store import SECRET, stored, trace, wait_for

START = 1_700_000_000.0
WORDS = ("Angst", "STRASSE", "straße", "ångström", "50%", "a_b", "back\\slash", "sleep", "sleepless", "薬", "it's")
JUDGES, RULES = ("emergency", "role", "transparency"), ("role", "undisclosed", None)
VERDICTS = ("accept", "warn", "reject", "unjudged")
OUTCOMES = ("emergency", "fallback", "unjudged", "refined", "warned", "accepted", "unfiltered")
KINDS = ("self_harm", "medical", "unknown")


def some_traces(count: int) -> list[Trace]:
    """Make traces of all sorts, in no order."""
    chance = random.Random(7)

    def judged(judge: str) -> Judgement:
        seen = Crisis(signs=[Sign(kind="self_harm", quote="Angst", who="user", when=chance.choice(("now", "past")))])
        stage = chance.choice(("local", "swift", "chief"))
        return Judgement(
            judge, stage, chance.choice(VERDICTS), chance.choice(RULES), "", chance.random() * 9, chance.choice((1.0, 0.4)),
            seen if judge == "emergency" else None,
        )  # fmt: skip

    def text() -> str:
        return " ".join(chance.choices(WORDS, k=chance.randint(0, 4)))

    def attempt(choice: int) -> Attempt:
        citations = chance.sample(("causes", "sleep", "not_in_sources", "own_role", "made up"), chance.randint(0, 2))
        kind = chance.choice(("draft", "mended", "refinement"))
        return Attempt(
            kind, choice, text(), citations, 1.0, judgements=[judged(chance.choice(JUDGES[1:])) for _ in range(2)]
        )

    return [
        Trace(
            turn_id=f"{chance.choice('ab')}{n:03}",
            conversation_id=f"{chance.choice('abc')}{chance.randrange(20)}",
            key_id=chance.choice(("key", "other")),
            chatbot=chance.choice(("info", "clinic", "x'y")),
            filter=chance.choice(("on", "shadow")),
            started=START + chance.choice((0, 0.0004, 0.001, 1, 2.5)) * chance.randrange(100),
            user_message=text(),
            selected=[SelectedSource("causes", "model", "")] if chance.random() < 0.5 else [],
            sources_in_use=["sleep"] if chance.random() < 0.5 else [],
            emergency=[judged("emergency") for _ in range(chance.randrange(3))],
            concern=chance.choice((None, None, *KINDS)),
            attempts=[attempt(chance.randrange(2)) for _ in range(chance.randrange(3))],
            replies=[chance.choice((None, text())) for _ in range(2)],
            outcome=chance.choice(OUTCOMES),
            would=chance.choice((None, None, "emergency")),
            error=chance.choice((None, None, None, "upstream_timeout")),
            calls=[Call(chance.choice(("draft", "reply.swift")), "m", chance.random() * 1e4, Usage(chance.randrange(99), 7),
                        chance.choice((None, 0.5)), None) for _ in range(chance.randrange(4))],
            ms=chance.random() * 1e4,
        )
        for n in range(count)
    ]  # fmt: skip


def alarm_of(one: dict[str, typing.Any]) -> str | None:
    if "emergency" in (one["outcome"], one["would"]):
        return "emergency"
    return "concern" if one["concern"] else None


def kind_of(one: dict[str, typing.Any]) -> str:
    signs = [
        s
        for j in reversed(one["emergency"])
        for s in (j["observation"] or {"signs": []})["signs"]
        if s["when"] == "now"
    ]
    return one["concern"] or (signs[0]["kind"] if signs else "unknown")


def judgements_of(one: dict[str, typing.Any]) -> list[dict[str, typing.Any]]:
    return [*one["emergency"], *(j for attempt in one["attempts"] for j in attempt["judgements"])]


def delivered(one: dict[str, typing.Any]) -> list[dict[str, typing.Any]]:
    last = {attempt["choice"]: attempt for attempt in one["attempts"]}
    return [] if one["error"] or one["outcome"] in ("emergency", "fallback") else [*last.values()]


def is_denied(one: dict[str, typing.Any], given: list[Label]) -> bool:
    flagged = {"emergency"} if alarm_of(one) else set()
    for attempt in one["attempts"]:
        last = {j["judge"]: j["verdict"] for j in attempt["judgements"]}
        flagged |= {judge for judge, verdict in last.items() if verdict in ("warn", "reject")}
    return any(label.verdict == "accept" and label.judge in flagged for label in given)


def matches(one: dict[str, typing.Any], wanted: TurnFilter, given: list[Label]) -> bool:
    """Say whether a trace meets a filter, from the trace alone."""
    alarm, text = alarm_of(one), fold(" ".join([one["user_message"], *(reply or "" for reply in one["replies"])]))
    cited = [citation for attempt in delivered(one) for citation in attempt["citations"]]
    used = bool(one["selected"] or one["sources_in_use"])
    no_source = "not_in_sources" in cited or bool(delivered(one) and not used and not cited)
    mended = one["filter"] != "shadow" and any(attempt["kind"] == "mended" for attempt in one["attempts"])
    given = [label for label in given if wanted.labelled_judge in (None, label.judge)]
    asked = [
        (name, getattr(wanted, name)) for name in ("judge", "rule", "verdict") if getattr(wanted, name) is not None
    ]
    return all(
        (
            wanted.chatbots is None or one["chatbot"] in wanted.chatbots,
            not wanted.outcomes or ("error" if one["error"] else one["outcome"]) in wanted.outcomes,
            not asked or any(all(j[name] == value for name, value in asked) for j in judgements_of(one)),
            wanted.alarm is None or (alarm is not None and wanted.alarm in ("any", alarm)),
            wanted.danger is None or (alarm is not None and kind_of(one) == wanted.danger),
            wanted.mended in (None, mended),
            wanted.no_source in (None, no_source),
            wanted.key in (None, one["key_id"]),
            wanted.since is None or one["started"] >= wanted.since,
            wanted.until is None or one["started"] < wanted.until,
            {None: True, "labelled": bool(given), "unlabelled": not given, "false_alarm": is_denied(one, given)}[wanted.labelling],
            all(word in text for word in fold(wanted.words).split()),
            wanted.conversation in (None, one["conversation_id"]),
            one["turn_id"].startswith(wanted.id_begins) or one["conversation_id"].startswith(wanted.id_begins),
        )
    )  # fmt: skip


def subsets(*values: str) -> st.SearchStrategy[frozenset[str]]:
    return st.frozensets(st.sampled_from(values), max_size=2)


def rarely(values: st.SearchStrategy[typing.Any], default: object = None) -> st.SearchStrategy[typing.Any]:
    return st.one_of(st.just(default), st.just(default), values)


TIMES = st.integers(0, 250_000).map(lambda n: START + n / 1000)
FILTERS = st.builds(
    TurnFilter,
    chatbots=rarely(subsets("info", "clinic", "x'y")),
    outcomes=rarely(subsets(*OUTCOMES, "error"), frozenset()),
    judge=rarely(st.sampled_from((*JUDGES, "none"))),
    rule=rarely(st.sampled_from(("role", "undisclosed"))),
    verdict=rarely(st.sampled_from(VERDICTS)),
    danger=rarely(st.sampled_from(KINDS)),
    alarm=rarely(st.sampled_from(("emergency", "concern", "any"))),
    mended=rarely(st.booleans()),
    no_source=rarely(st.booleans()),
    key=rarely(st.sampled_from(("key", "other"))),
    since=rarely(TIMES),
    until=rarely(TIMES),
    labelling=rarely(st.sampled_from(("labelled", "unlabelled", "false_alarm"))),
    labelled_judge=rarely(st.sampled_from(JUDGES)),
    words=rarely(
        st.lists(st.sampled_from((*WORDS, "SLEEP", "%", "_", "\\", "gst", " ", "Å")), max_size=2).map(" ".join), ""
    ),
    conversation=rarely(st.sampled_from(("a1", "b2", "c3"))),
    id_begins=rarely(st.sampled_from(("a", "b0", "a00", "c", "%", "'")), ""),
)


@pytest.fixture(scope="module", params=["file", "database"])
def corpus(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TraceBackend]:
    """Traces of all sorts, some of them labelled."""
    with pytest.MonkeyPatch.context() as patched:
        place: TraceBackend = tmp_path_factory.mktemp("corpus") / "traces.db"
        if request.param == "database":
            patched.setenv(PASSWORD_ENV, PASSWORD)
            place = Database(request.getfixturevalue("postgres").database(), PASSWORD_ENV)
        traces, chance = some_traces(150), random.Random(1)
        stored(place, *traces)
        for one in chance.sample(traces, 40):
            verdict: typing.Literal["accept", "reject"] = chance.choice(("accept", "reject"))
            add(place, one.turn_id, Label(chance.choice(JUDGES), verdict, labelled=1.0))
        yield place


NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""Each example asks a database a dozen times."""


@pytest.fixture(scope="module")
def contents(corpus: TraceBackend) -> tuple[list[dict[str, typing.Any]], dict[str, list[Label]]]:
    """All traces and their labels, as they are stored."""
    return [*iterate_traces(corpus)], labels(corpus)


@settings(max_examples=60, deadline=None, phases=NO_SHRINKING)
@given(wanted=FILTERS, limit=st.integers(5, 60))
def test_a_filter_returns_what_filtering_the_traces_would(
    corpus: TraceBackend,
    contents: tuple[list[dict[str, typing.Any]], dict[str, list[Label]]],
    wanted: TurnFilter,
    limit: int,
) -> None:
    """Whatever is combined, whatever stands in the texts; pages of it one after the other are the whole, newest first."""
    place, (every, given) = corpus, contents
    expected = [one["turn_id"] for one in every if matches(one, wanted, given.get(one["turn_id"], []))]
    page = search_turns(place, wanted, limit=limit, texts=True)
    assert (page.total, page.at_least, page.to_index) == (len(expected), False, 0)
    turns = page.turns
    while page.next is not None:
        assert len(page.turns) == limit
        page = search_turns(place, wanted, before=page.next, limit=limit)
        assert page.total is None
        turns = turns + page.turns
    assert sorted(turn.line.turn_id for turn in turns) == sorted(expected)
    starts = [int(turn.line.started * 1000) for turn in turns]
    assert starts == sorted(starts, reverse=True)
    by_id = {one["turn_id"]: one for one in every}
    for turn in turns[:limit]:
        assert turn.message == by_id[turn.line.turn_id]["user_message"]
        assert list(turn.labels) == [replace(label, sections=()) for label in given.get(turn.line.turn_id, [])]
    for place_of, turn in enumerate(turns[:3]):
        beside = find_neighbours(place, wanted, turn.line.turn_id)
        assert beside.newer == (turns[place_of - 1].line.turn_id if place_of else None)
        assert beside.older == (turns[place_of + 1].line.turn_id if place_of + 1 < len(turns) else None)


def test_an_index_of_trigrams_changes_no_result(database: Database) -> None:
    """It makes words that are rare fast to search; an administrator may add it."""
    stored(database, *some_traces(150))
    wanted = [TurnFilter(words=word) for word in (*WORDS, "%", "_", "\\", "gst")]
    before = [search_turns(database, one, limit=200) for one in wanted]
    with open_backend(database, "rw") as connection:
        there = connection.execute("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'").fetchone()
        if there is None:
            pytest.skip("needs pg_trgm: apt-get install postgresql-contrib")
        connection.execute("CREATE EXTENSION pg_trgm")
        connection.execute("CREATE INDEX ON turn_texts USING gin (text gin_trgm_ops)")
    assert [search_turns(database, one, limit=200) for one in wanted] == before


def test_an_exact_id_of_another_tenant_is_no_turn(place: TraceBackend) -> None:
    """Not even an error tells that it is there."""
    stored(place, trace("mine", chatbot="info"), trace("theirs", chatbot="clinic"))
    assert read_turn(place, "mine", {"info"})["turn_id"] == "mine"  # type: ignore[index]
    assert read_turn(place, "theirs", {"info"}) is None
    assert read_turn(place, "thei") is None
    assert read_turn(place, "theirs")["chatbot"] == "clinic"  # type: ignore[index]
    assert search_turns(place, TurnFilter(chatbots=frozenset())).turns == []


def test_turns_that_come_while_somebody_pages_shift_nothing(place: TraceBackend) -> None:
    """The second page goes on where the first ended, and the first is not asked for again."""
    start = time.time() - 60
    stored(place, *(trace(f"t{n}", started=start + n) for n in range(6)))
    first = search_turns(place, TurnFilter(), limit=3)
    stored(place, *(trace(f"new{n}", started=start + 10 + n) for n in range(3)))
    second = search_turns(place, TurnFilter(), before=first.next, limit=3)
    assert [turn.line.turn_id for page in (first, second) for turn in page.turns] == [
        "t5",
        "t4",
        "t3",
        "t2",
        "t1",
        "t0",
    ]
    assert second.next is None
    purge(place, turn="t3")
    assert search_turns(place, TurnFilter(), before=first.next, limit=3) == second


def test_counting_stops_at_a_bound(place: TraceBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """A total of very many turns would take longer than the page."""
    monkeypatch.setattr("proxy.traces.search.COUNT_TO", 5)
    stored(place, *(trace(f"t{n}") for n in range(7)))
    page = search_turns(place, TurnFilter(), limit=2)
    assert (len(page.turns), page.total, page.at_least) == (2, 5, True)
    assert COUNT_TO == 1_000


def test_a_place_that_is_no_place_is_no_crash(place: TraceBackend) -> None:
    """It comes from an address that somebody may type."""
    stored(place, trace())
    assert search_turns(place, TurnFilter(), before=-1).turns == []
    assert search_turns(place, TurnFilter(), before=-(2**70)).turns == []
    assert len(search_turns(place, TurnFilter(), before=2**70).turns) == 1
    assert find_neighbours(place, TurnFilter(), "nobody") == find_neighbours(place, TurnFilter(), "turn-1")


# --- redaction, deletion ---


def tables(place: TraceBackend) -> str:
    """Return all that is derived, as text."""
    with open_backend(place, "ro") as connection:
        names = ("turn_facts", "turn_texts", "fact_values")
        return repr([[tuple(row) for row in connection.execute(f"SELECT * FROM {name}")] for name in names])


def test_what_is_redacted_is_found_by_no_word(place: TraceBackend) -> None:
    """Facts hold no text: not of people, nor of models that cite what does not exist. The kind of danger stays."""
    now = Sign(kind="self_harm", quote=SECRET, who="user", when="now")
    alarm = Judgement("emergency", "local", "reject", "emergency", SECRET, 0.1, 1.0, Crisis(signs=[now]))
    stored(place, trace(emergency=[alarm], outcome="emergency"), trace("other"), store="redacted")
    facts = tables(place).lower()
    assert "sensitive_topic" in facts
    assert "causes" in facts
    assert not any(word.lower() in facts for word in SECRET.split())
    assert search_turns(place, TurnFilter(words="characters")).turns == []
    (one,) = search_emergencies(place, TurnFilter(), texts=True).emergencies
    assert (one.turn.kind, one.turn.layer, one.signs[0].quote) == ("self_harm", "explicit", "")
    assert one.turn.message == f"[{len(SECRET)} characters]"


@pytest.mark.parametrize("how", ["purge", "age", "an older caf"])
def test_facts_and_texts_go_with_their_turn(place: TraceBackend, how: str) -> None:
    """Whoever deletes it; what is left says how many went, and when."""
    long_ago = time.time() - 40 * 86_400
    stored(place, trace("gone", "c1", user_message="Forgetmenot", started=long_ago if how == "age" else time.time()))
    stored(place, trace("kept", "c2", user_message="Rosemary"))
    if how == "purge":
        assert purge(place, conversation="c1") == 1
    elif how == "an older caf":
        with open_backend(place, "rw") as connection:
            connection.execute("DELETE FROM turns WHERE turn_id = 'gone'")
    facts = tables(place)
    assert "forgetmenot" not in facts
    assert "gone" not in facts
    assert [turn.line.turn_id for turn in search_turns(place, TurnFilter()).turns] == ["kept"]


def test_rebuilding_the_file_leaves_facts_with_their_turns(path: Path) -> None:
    """SQLite numbers rows anew then."""
    stored(path, *(trace(f"t{n}", user_message=f"word{n} end") for n in range(9)))
    purge(path, turn="t3")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
    (only,) = search_turns(path, TurnFilter(words="word7"), texts=True).turns
    assert (only.line.turn_id, only.message) == ("t7", "word7 end")
    stored(path, *(trace(f"u{n}", user_message=f"word{n}0 end") for n in range(9)))
    assert len(search_turns(path, TurnFilter()).turns) == 17


# --- traces of an older caf ---


def older(path: Path, *traces: Trace) -> None:
    """Write a file as a caf does that knows no facts."""
    stored(path, *traces)
    with closing(sqlite3.connect(path)) as connection:
        for name in ("turn_texts", "turn_facts", "fact_values"):
            connection.execute(f"DROP TABLE {name}")
        connection.execute("DROP TRIGGER facts_go_with_their_turn")


def test_an_older_file_can_be_read_before_a_proxy_opens_it(path: Path) -> None:
    """Lists say how many turns they lack; what needs no facts works as ever."""
    older(path, *(trace(f"t{n}", f"c{n}") for n in range(3)))
    path.chmod(0o400)
    page = search_turns(path, TurnFilter())
    assert (page.turns, page.total, page.to_index) == ([], 0, 3)
    assert search_emergencies(path, TurnFilter()).to_index == 3
    assert count_turns(path, TurnFilter(), since=START, until=START + 9, width=1).to_index == 3
    assert count_sections(path, "info").turns == 0
    assert find_neighbours(path, TurnFilter(), "t1").newer is None
    assert len(list_turns(path)) == 3
    path.chmod(0o600)
    assert purge(path, conversation="c1") == 1


def test_turns_of_an_older_file_come_into_the_lists_while_the_proxy_runs(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The newest first, and no turn waits for it; one that cannot be read costs itself; then all is as if it had been new."""
    traces = some_traces(300)
    new = path.parent / "new" / "traces.db"
    stored(new, *traces)
    older(path, *traces)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE turns SET body = 'nonsense' WHERE turn_id = ?", (traces[7].turn_id,))
        connection.commit()
    monkeypatch.setattr(trace_store, "INDEX_EVERY_S", 0.2)
    store = TraceStore(path, "full", 1e6)
    store.start()
    wait_for(lambda: search_turns(path, TurnFilter()).turns)
    page = search_turns(path, TurnFilter(), limit=10)
    assert page.to_index > 0
    assert page.turns[0].line.started == max(one.started for one in traces)
    store.record(trace("now", outcome="warned"))
    wait_for(lambda: "now" in [turn.line.turn_id for turn in search_turns(path, TurnFilter()).turns])
    monkeypatch.setattr(trace_store, "INDEX_EVERY_S", 0.0)
    wait_for(lambda: search_turns(path, TurnFilter()).to_index == 0)
    store.close()
    ids = [
        {turn.line.turn_id: turn.kind for turn in search_turns(where, TurnFilter(alarm="any"), limit=999).turns}
        for where in (path, new)
    ]
    assert ids[0] == {turn: kind for turn, kind in ids[1].items() if turn != traces[7].turn_id}
    assert len(search_turns(path, TurnFilter(), limit=999).turns) == 301


def test_an_older_database_gets_facts_too(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """By as many workers as there are."""
    with monkeypatch.context() as before:
        before.setattr(trace_store, "derive_facts", None)
        before.setattr(trace_store, "INDEX_EVERY_S", 60)
        stored(database, *some_traces(100))
    assert search_turns(database, TurnFilter()).to_index == 100
    stores = [TraceStore(database, "full", 1e6) for _ in range(2)]
    for store in stores:
        store.start()
    wait_for(lambda: search_turns(database, TurnFilter()).to_index == 0, 10)
    for store in stores:
        store.close()
    assert len(search_turns(database, TurnFilter(), limit=999).turns) == 100


def test_facts_that_cannot_be_derived_cost_no_trace(place: TraceBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are derived later, if at all."""
    monkeypatch.setattr(trace_store, "derive_facts", None)
    assert stored(place, trace()).dropped == 0
    assert len(list_turns(place)) == 1


def test_odd_characters_cost_neither_turn_nor_facts(place: TraceBackend) -> None:
    """A message may hold what a database cannot, and a judge's rule is whatever its author wrote."""
    judged = Judgement("ro\x00le", "local", "warn", "r\ud800", "")
    attempt = Attempt("draft", 0, "x", [], 1.0, judgements=[judged])
    store = stored(place, trace(user_message="a\x00b \ud800 zwieback", attempts=[attempt]))
    assert store.dropped == 0
    assert [turn.line.turn_id for turn in search_turns(place, TurnFilter(words="ZWIEBACK")).turns] == ["turn-1"]


# --- emergencies, counts ---


def alarmed(turn_id: str, started: float, *judgements: Judgement, **changes: object) -> Trace:
    return trace(turn_id, started=started, emergency=list(judgements), **changes)


def crisis(stage: typing.Any, verdict: typing.Any, score: float | None = None, when: typing.Any = "now") -> Judgement:
    sign = Sign(kind="medical", quote=f"said to {stage}", who="user", when=when)
    return Judgement("emergency", stage, verdict, "emergency", "", 0.1, score, Crisis(signs=[sign]))


def test_the_inbox_has_each_emergency_and_concern_with_its_layers(place: TraceBackend) -> None:
    """What decided, what was quoted, and whether somebody has said what it was."""
    stored(
        place,
        alarmed("none", START, crisis("local", "accept", 0.1)),
        alarmed("explicit", START + 1, crisis("local", "reject", 1.0), outcome="emergency"),
        alarmed("learned", START + 2, crisis("local", "warn", 0.4), concern="medical", outcome="accepted"),
        alarmed("stage", START + 3, crisis("local", "warn", 0.4), crisis("swift", "reject"), outcome="emergency"),
        alarmed("shadow", START + 4, crisis("local", "reject", 0.9), would="emergency", filter="shadow", chatbot="x"),
    )
    inbox = search_emergencies(place, TurnFilter(), texts=True)
    assert [(one.turn.line.turn_id, one.turn.alarm, one.turn.kind, one.turn.layer) for one in inbox.emergencies] == [
        ("shadow", "emergency", "medical", "learned"),
        ("stage", "emergency", "medical", "swift"),
        ("learned", "concern", "medical", "learned"),
        ("explicit", "emergency", "medical", "explicit"),
    ]
    assert [(sign.layer, sign.quote) for sign in inbox.emergencies[1].signs] == [
        ("learned", "said to local"),
        ("swift", "said to swift"),
    ]
    assert inbox.open == 4
    add(place, "stage", Label("emergency", "accept"))
    add(place, "explicit", Label("emergency", "reject"))
    add(place, "learned", Label("role", "reject"))
    inbox = search_emergencies(place, TurnFilter(chatbots=frozenset({"info"})), only_open=True)
    assert [(one.turn.line.turn_id, one.signs[0].quote) for one in inbox.emergencies] == [("learned", "")]
    assert inbox.open == 1
    denied = search_turns(place, TurnFilter(labelling="false_alarm", labelled_judge="emergency"))
    assert [turn.line.turn_id for turn in denied.turns] == ["stage"]


def test_counts_are_those_of_the_traces(corpus: TraceBackend) -> None:
    """Outcomes, calls, tokens and money; times of steps to 2.5 %; no bucket is left out."""
    every = [*iterate_traces(corpus)]
    counts = count_turns(corpus, TurnFilter(), since=START, until=START + 300, width=50)
    assert [bucket.start for bucket in counts.buckets] == [START + 50 * n for n in range(6)]
    assert [bucket.turns for bucket in counts.buckets] == [
        sum(START + 50 * n <= one["started"] < START + 50 * (n + 1) for one in every) for n in range(6)
    ]
    total = counts.all
    calls = [call for one in every for call in one["calls"]]
    assert total.outcomes == Counter("error" if one["error"] else one["outcome"] for one in every)
    assert total.alarms == Counter(alarm for one in every if (alarm := alarm_of(one)))
    assert total.calls == len(calls)
    assert total.prompt_tokens == sum(call["usage"]["prompt_tokens"] for call in calls)
    assert total.completion_tokens == 7 * len(calls)
    assert total.cost == sum(call["cost"] or 0 for call in calls)
    times = sorted(call["ms"] for call in calls if call["step"] == "draft")
    assert total.steps["draft"].count == len(times)
    assert total.steps["draft"].p50 == pytest.approx(times[(len(times) - 1) // 2], rel=0.026)
    assert total.steps["turn"].count == len(every)
    few = count_turns(corpus, TurnFilter(words="sleepless", key="key"), since=START, until=START + 300, width=300)
    assert few.all.turns == search_turns(corpus, TurnFilter(words="sleepless", key="key")).total


@pytest.mark.parametrize(("modes", "cited"), [(["source"], '["causes"]'), ([], "[]")])
def test_reply_of_a_wrapped_chatbot_cites_what_it_was_judged_against(modes: list[str], cited: str) -> None:
    """It writes no citations; what it rests on is what the client is sent as the reply's citations."""
    reply = Attempt("draft", 0, "Genes and stress.", [], 2.0, modes=modes)
    assert derive_facts(trace(outcome="accepted", attempts=[reply]), None).cited == cited


def test_sections_are_counted_by_turns(corpus: TraceBackend) -> None:
    """Those that were selected, and those that the delivered reply cites; nothing that a model made up."""
    every = [one for one in iterate_traces(corpus) if one["chatbot"] == "info"]
    use = count_sections(corpus, "info")
    assert use.turns == len(every)
    assert use.chosen == {"causes": sum(bool(one["selected"]) for one in every)}
    cited: Counter[str] = Counter()
    for one in every:
        in_use = {*one["sources_in_use"], *(source["id"] for source in one["selected"])}
        cited.update(in_use & {citation for attempt in delivered(one) for citation in attempt["citations"]})
    assert use.cited == cited


@given(st.floats(0.06, 1e6))
def test_times_are_exact_to_some_percent(ms: float) -> None:
    """In one character."""
    assert decode_ms(encode_ms(ms)) == pytest.approx(ms, rel=0.026)
    assert len(encode_ms(ms)) == 1


@pytest.mark.parametrize("ms", [0.0, -1.0, float("inf"), float("nan"), 1e300])
def test_a_time_that_is_none_costs_nothing(ms: float) -> None:
    """Clocks jump."""
    assert decode_ms(encode_ms(ms)) >= 0
