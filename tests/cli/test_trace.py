"""`caf trace`: turns are listed, told and deleted."""

import dataclasses
import json
import re
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import typer
from rich.cells import cell_len
from rich.console import Console

from cli.story import story
from cli.trace import parse_since
from cli.trace_output import print_turns
from judges.observation import Assertion, Claims, Crisis, Opinion, Sign
from judges.verdict import Exchange, Judgement
from models.usage import Call, Usage
from proxy.traces.query import list_turns
from proxy.traces.redaction import redact
from proxy.traces.sqlite import decode, encode
from proxy.traces.store import TraceStore
from proxy.traces.trace import Attempt, SelectedSource, ShownWarning, Trace
from tests.cli.conftest import Caf

CLAIMS = Claims(
    assertions=[
        Assertion(text="Fish oil helps.", support="unsupported", source_id=None, quote=None, topic="supplements"),
        Assertion(text="Stress can.", support="implied", source_id="stress", quote="Stress may trigger", topic=None),
    ],
    admits_not_from_sources="no",
    asks_to_verify="weak",
)
TURN = Trace(
    turn_id="7f3a91c2d4e5f60718293a4b5c6d7e8f",
    conversation_id="91c2aaaa",
    key_id="keyless",
    chatbot="schizophrenia",
    filter="on",
    started=time.time() - 60,
    turn=3,
    user_message="Which supplements?\nAnd how much?",
    memory="history",
    selected=[SelectedSource("stress", "model", "asks what helps"), SelectedSource("diet", "chatbot", "")],
    selection_note="two parts",
    sources_in_use=["stress", "diet"],
    evidence=[
        SelectedSource("causes", "whole", ""),
        SelectedSource("sleep", "model", "asks for nights"),
        SelectedSource("stress", "draft", "words: fish, oil"),
        SelectedSource("diet", "question", "words: supplement"),
        SelectedSource("rights", "quote", ""),
    ],
    warnings_shown=[ShownWarning("role", "You are no therapist.", 2, 6)],
    emergency=[
        Judgement(
            "emergency",
            "local",
            "accept",
            ms=0.1,
            observation=Crisis(signs=[Sign(kind="self_harm", quote="hurt me", who="user", when="past")]),
        )
    ],
    attempts=[
        Attempt(
            "draft",
            0,
            "Fish oil helps.",
            ["stress"],
            12.5,
            ["cites 'strss', which is no source"],
            ["source", "default"],
            [
                Judgement("source_fidelity", "local", "reject", "unsupported_claims", "not supported", 0.2, 0.9, CLAIMS),
                Judgement("transparency", "local", "reject", "sensitive_topic", "supplements", 0.2, 0.9, CLAIMS),
                Judgement("tone", "chief", "accept", observation=Opinion(verdict="accept", reason="kind"),
                          exchange=Exchange("gpt-5", "abcdef0123456789", "{...}")),
                Judgement("no_prices", "swift", "accept"),
            ],
        ),
        Attempt("refinement", 0, "My sources do not say.", ["no_claims"], 20.0, [], ["default"], []),
    ],
    warnings_added=[ShownWarning("sensitive_topic", "You went beyond.", 3, 7)],
    replies=["My sources do not say."],
    outcome="refined",
    calls=[
        Call("draft", "chatbot", 11.0, Usage(1800, 20), 0.0021, None),
        Call("judge tone", "chief", 7.0, Usage(900, 5, estimated=True), None, "UpstreamTimeout", 3, cause="no answer: wait"),
    ],
    ms=21.0,
)  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Write a trace file with four turns, and a configuration that names it."""
    path = tmp_path / "data" / "traces.db"
    (tmp_path / "config.yaml").write_text(
        "models: {m: {engine: embedded}}\nchatbots: {p: {kind: passthrough, model: m}}\nprivacy: {path: data/traces.db}\n"
    )
    store = TraceStore(path, "full", 30)
    store.start()
    store.record(TURN)
    store.record(dataclasses.replace(TURN, turn_id="b" * 32, conversation_id="cc", outcome="accepted", attempts=[]))
    store.record(dataclasses.replace(TURN, turn_id="c" * 32, conversation_id="cc", started=time.time() - 10 * 86_400))
    store.record(dataclasses.replace(TURN, turn_id="d" * 32, chatbot="other", error="upstream_timeout"))
    store.close()
    return path


def test_the_list_tells_each_turn_in_a_line(caf: Caf, file: Path) -> None:
    """Time, short id, chatbot, outcome, duration and question, in 80 columns; an error comes before the question."""
    ended = caf("trace", "list")
    lines = ended.out.splitlines()
    assert ended.code == 0
    assert lines[0].split() == ["time", "turn", "chatbot", "outcome", "duration", "question"]
    assert len(lines) == 5
    assert max(map(len, lines)) <= 80
    line = next(line for line in lines if "7f3a91c2 " in line)
    assert re.fullmatch(
        r"\d\d-\d\d \d\d:\d\d  7f3a91c2  schizophrenia  refined     21 ms     Which supplements\? …", line
    )
    failed = next(line for line in lines if "dddddddd " in line)
    assert "other          error       21 ms     upstream_timeout; W…" in failed


@pytest.mark.parametrize(
    ("changes", "end"),
    [
        ({"user_message": "\u8aac" * 40}, "\u8aac" * 9 + " …"),
        ({"user_message": "a\u8aac" * 40}, "a\u8aac" * 6 + "a…"),
        ({"user_message": "\x1b[31mred"}, "\N{REPLACEMENT CHARACTER}[31mred"),
        ({"chatbot": "c" * 64, "ms": 12_345.0}, f"{'c' * 12}…  refined     12.3 s    Which supplements? …"),
        ({"would": "refined", "outcome": "unfiltered"}, "unfiltered  21 ms     would be refined; W…"),
    ],
)
def test_a_line_of_the_list_fits_80_columns(inside: Caf, tmp_path: Path, changes: dict[str, object], end: str) -> None:
    """Wide characters take two columns, control characters none of the terminal's."""
    path = tmp_path / "traces.db"
    store = TraceStore(path, "full", 30)
    store.start()
    store.record(dataclasses.replace(TURN, **changes))
    store.close()
    _, line = inside("trace", "list", "--file", "traces.db").out.splitlines()
    assert line.endswith(end)
    assert cell_len(line) <= 80


def test_a_text_that_is_not_stored_is_a_length_in_the_list(inside: Caf, tmp_path: Path) -> None:
    """As `privacy.store: redacted` keeps it."""
    store = TraceStore(tmp_path / "traces.db", "redacted", 30)
    store.start()
    store.record(TURN)
    store.close()
    assert "(32 characters, not" in inside("trace", "list", "--file", "traces.db").out


def test_a_wider_terminal_shows_more_of_the_question(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: Path
) -> None:
    """The list is as wide as the terminal."""
    monkeypatch.setattr("cli.trace_output.table_console", lambda width: Console(width=120))
    print_turns(list_turns(file), {})
    assert "Which supplements? And how much?" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--chatbot", "other"], "d"),
        (["--outcome", "accepted"], "b"),
        (["--conversation", "cc"], "bc"),
        (["--since", "2d"], "7bd"),
        (["--limit", "1", "--conversation", "cc"], "b"),
    ],
)
def test_the_list_can_be_narrowed(inside: Caf, file: Path, options: list[str], ids: str) -> None:
    """And printed as JSON for other programs."""
    turns = json.loads(inside("trace", "list", "--json", *options).out)
    assert sorted(turn["turn_id"][0] for turn in turns) == sorted(ids)
    assert "question" not in turns[0]
    assert turns[0]["verdicts"][0] == {"judge": "emergency", "stage": "local", "verdict": "accept"}


def test_a_list_of_nothing_says_so(inside: Caf, file: Path) -> None:
    """No such turns is an answer, not an error."""
    ended = inside("trace", "list", "--chatbot", "nobody")
    assert (ended.code, ended.out) == (0, f"no matching turns in {file}\n")
    assert json.loads(inside("trace", "list", "--chatbot", "nobody", "--json").out) == []


def test_traces_in_the_current_folder_need_no_configuration(inside: Caf, file: Path, tmp_path: Path) -> None:
    """`caf serve --upstream` has no configuration file and writes to ./data/traces.db; a named configuration comes first."""
    (tmp_path / "config.yaml").rename(tmp_path / "elsewhere.yaml")
    assert len(json.loads(inside("trace", "list", "--json").out)) == 4
    assert inside("trace", "list", "--chatbot", "nobody").out == "no matching turns in data/traces.db\n"
    (tmp_path / "elsewhere.yaml").write_text((tmp_path / "elsewhere.yaml").read_text().replace("traces.db", "none.db"))
    for ended in (
        inside("trace", "list", "--config", "elsewhere.yaml"),
        inside("trace", "list", env={"CAF_CONFIG": "elsewhere.yaml"}),
    ):
        assert ended.code == 2
        assert "none.db: no traces found" in ended.err


def test_a_turn_is_told_as_a_story(inside: Caf, file: Path) -> None:
    """Everything that happened, in the order in which it happened."""
    ended = inside("trace", "show", "7f3")
    assert ended.code == 0
    position = 0
    for said in (
        "Turn 7f3a91c2d4e5f60718293a4b5c6d7e8f\n",
        "21.0 ms, outcome refined\n",
        "turn 3 of conversation 91c2aaaa (continued, recognised by its history)\n",
        "User\n  Which supplements?\n  And how much?\n",
        "  emergency (local rules): accept, 0.1 ms\n    signs: “hurt me” kind self_harm, who user, when past\n",
        "  + stress, chosen by the selection model: asks what helps\n  + diet, chosen by the chatbot\n  note: two parts\n",
        "Evidence\n  causes: whole knowledge base\n  sleep: selected by the model (asks for nights)\n"
        "  stress: found by the draft (words: fish, oil)\n  diet: found by the question (words: supplement)\n"
        "  rights: found by a flagged quote\n",
        "  role (caused in turn 2, shown until turn 6): You are no therapist.\n",
        "Draft, at 12.5 ms\n  Fish oil helps.\n  citations: stress; "
        "reviewed against the cited sources and for statements without a source\n",
        "  hard check: cites 'strss', which is no source\n",
        "  source_fidelity (local rules): reject, rule unsupported_claims, score 0.90, 0.2 ms\n    because not supported\n",
        "    - unsupported, on supplements: Fish oil helps.\n",
        "    - implied in stress: Stress can.\n      source: “Stress may trigger”\n",
        "    asks to verify: weak\n",
        "  transparency (local rules): reject, rule sensitive_topic",
        "    same observation as source_fidelity (local rules)\n",
        "  tone (chief model): accept",
        "    reason: kind\n    model gpt-5, prompt abcdef012345; --json shows the answer\n",
        "  no_prices: accept, 0.0 ms\n",
        "Refinement, at 20.0 ms\n  My sources do not say.\n",
        "Delivered\n  My sources do not say.\n",
        "  sensitive_topic (caused in turn 3, shown until turn 7): You went beyond.\n",
        "  draft (chatbot): 11.0 ms, 1800 tokens in, 20 out, cost 0.002100\n",
        "  judge tone (chief): 7.0 ms, about 900 tokens in, 5 out, 3 tries, failed: no answer: wait\n",
    ):
        assert said in ended.out[position:], f"{said!r} is missing or not in its place in:\n{ended.out}"
        position = ended.out.index(said, position)


def test_a_turn_can_be_had_raw(inside: Caf, file: Path) -> None:
    """With all that the story leaves out, such as the judge's own words."""
    turn = json.loads(inside("trace", "show", "7f3", "--json").out)
    assert turn["attempts"][0]["judgements"][2]["exchange"]["raw"] == "{...}"


@pytest.mark.parametrize("memory", ["fresh", "pair", "explicit", "missed"])
def test_stories_of_odd_turns_can_be_told(memory: str) -> None:
    """A redacted turn, one with an error, one with several choices and none of them text, one with nothing in it."""
    bare = Trace("t", "c", "k", "bot", "off", 0.0, memory=memory)  # type: ignore[arg-type]
    odd = dataclasses.replace(TURN, replies=[None, "two"], error="upstream_timeout", tool_calls=2)
    for turn in (bare, odd, redact(TURN)):
        told = "\n".join(text for _, _, text in story(decode(encode(turn))))
        assert f"conversation {turn.conversation_id}" in told
    assert "ended with the error upstream_timeout" in "\n".join(t for _, _, t in story(decode(encode(odd))))
    hidden = "\n".join(t for _, _, t in story(decode(encode(redact(TURN)))))
    assert "Fish oil" not in hidden
    assert "words: fish" not in hidden
    assert "stress: found by the draft ([16 characters])" in hidden


def test_a_story_cannot_command_the_terminal(inside: Caf, tmp_path: Path) -> None:
    """What users and models wrote is printed without control characters."""
    store = TraceStore(tmp_path / "t.db", "full", 30)
    store.start()
    store.record(dataclasses.replace(TURN, user_message="\x1b]0;title\x07 hello"))
    store.close()
    assert "\ufffd]0;title\ufffd hello" in inside("trace", "show", "7", "--file", "t.db").out


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["show", "zzz"], "no turn has the id 'zzz'"),
        (["show", ""], "the turn id '' is ambiguous"),
        (["list", "--conversation", "zzz"], "no conversation has the id 'zzz'"),
        (["list", "--file", "nowhere.db"], "nowhere.db: no traces found"),
        (["list", "--file", "config.yaml"], "config.yaml: the trace file cannot be used: file is not a database"),
        (["list", "--since", "yesterday"], "invalid time 'yesterday': expected an age such as 30m, 2h or 7d"),
        (["list", "--outcome", "fine"], "Invalid value for --outcome"),
        (["list", "--config", "nowhere.yaml"], "nowhere.yaml: the configuration cannot be read"),
        (["purge"], "expected exactly one of --conversation"),
        (["purge", "--all", "--turn", "b"], "expected exactly one of --conversation"),
        (["purge", "--all"], "without a terminal, confirm with --yes"),
        (["purge", "--turn", "zzz"], "no turn has the id 'zzz'"),
        (["purge", "--older-than", "-1"], "Invalid value for --older-than"),
    ],
)
def test_wrong_usage_says_why_and_deletes_nothing(inside: Caf, file: Path, command: list[str], said: str) -> None:
    """Exit code 2."""
    ended = inside("trace", *command)
    assert ended.code == 2
    assert said in " ".join(
        ended.err.replace("'--outcome'", "--outcome").replace("'--older-than'", "--older-than").split()
    )
    assert len(list_turns(file)) == 4


@pytest.mark.parametrize(
    ("options", "left", "said"),
    [
        (["--turn", "7f"], "bcd", "1 turn deleted\n"),
        (["--conversation", "cc"], "7d", "2 turns deleted\n"),
        (["--older-than", "7"], "7bd", "1 turn deleted\n"),
        (["--older-than", "0"], "", "4 turns deleted\n"),
        (["--all", "--yes"], "", "4 turns deleted\n"),
    ],
)
def test_purge_deletes_what_it_is_told(inside: Caf, file: Path, options: list[str], left: str, said: str) -> None:
    """And says how many turns that were."""
    ended = inside("trace", "purge", *options)
    assert (ended.code, ended.out) == (0, said)
    assert {turn.turn_id[0] for turn in list_turns(file)} == set(left)


def test_times_may_be_ages_or_dates() -> None:
    """`2h` is two hours ago, an ISO time is local time."""
    assert parse_since("2h") == pytest.approx(time.time() - 7_200, abs=5)
    assert parse_since("1.5d") == pytest.approx(time.time() - 1.5 * 86_400, abs=5)
    yesterday = datetime.now().replace(microsecond=0) - timedelta(days=1)
    assert parse_since(yesterday.isoformat()) == yesterday.timestamp()
    with pytest.raises(typer.BadParameter):
        parse_since("2 weeks")
