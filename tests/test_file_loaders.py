"""One loader of YAML and one of JSON read every file, and both refuse duplicate keys, with file and line."""

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cli.file_kind import kind_of
from facilitators import facilitator
from judges.evaluation.journal import Journal
from judges.prompt import load_prompt
from knowledge_base.front_matter import split_front_matter
from knowledge_base.library import load as load_library
from models.answer_cache import AnswerCache
from models.recording import Replaying
from models.scripted import load_rules
from models.unique_keys import DuplicateKeyError, load_json, load_yaml
from proxy.auth.keys import load as load_keys
from proxy.config.config import load_config
from scenarios import checkpoint, own_questions, questions, tables
from scenarios.exchange import ImportPlan
from scenarios.exchange import load as import_rows
from scenarios.scenario_files import load_all
from scoring import experiment
from scoring.folder import RunFolder
from scoring.people import folder as people
from scoring.people.returned_ratings import parse
from scoring.transcript import Exchange

ROOT = Path(__file__).parent.parent
LOADERS = {
    "json.loads", "json.load", "orjson.loads", "yaml.load", "yaml.safe_load", "yaml.compose", "yaml.load_all", "yaml.safe_load_all",
    "model_validate_json", "validate_json",
}  # fmt: skip
OTHERS = {
    "models/unique_keys.py": "the loaders",
    # Bodies, and texts within them, which come from the network.
    "assistants/health/memory.py": "rows that it wrote itself",
    "assistants/hippocrates/proposal.py": "a cohort that the assistant made",
    "assistants/hippocrates/turns.py": "arguments of tool calls",
    "assistants/hippocrates/webapi.py": "answers of WebAPI",
    "bench/__main__.py": "output of a process",
    "bench/attacks/products.py": "requests that it makes itself",
    "bench/guests.py": "answers of the proxy",
    "bench/health/planning.py": "recorded completions",
    "bench/load.py": "answers of the proxy",
    "bench/modes.py": "answers of the proxy",
    "cli/conversation.py": "answers of the proxy",
    "models/answer.py": "answers of upstreams",
    "models/assembly.py": "answers of upstreams",
    "models/engine.py": "answers of upstreams",
    "models/relay.py": "answers of upstreams",
    "models/streamed_calls.py": "arguments of tool calls",
    "models/structured.py": "answers of models",
    "proxy/api/forwarded_usage.py": "answers of upstreams",
    "proxy/console/playground.py": "requests",
    "proxy/state/delivered_calls.py": "arguments of tool calls",
    "proxy/turn/actions.py": "arguments of tool calls",
    "proxy/protocol/json_text.py": "drafts",
    "proxy/protocol/messages.py": "requests",
    "scoring/arm.py": "answers of servers",
    # What CAF alone writes, and no person.
    "judges/evaluation/proposer.py": "a case as JSON",
    "judges/local/classifier.py": "weights of the package",
    "judges/local/reply.py": "words of the package",
    "proxy/api/responses/store.py": "kept responses",
    "proxy/audit/chain.py": "the audit log, whose hashes cover each line",
    "proxy/audit/folder.py": "the audit log, whose hashes cover each line",
    "proxy/state/redis_conversations.py": "states in Redis",
    "proxy/traces/counts.py": "a column of the trace database",
    "proxy/traces/fact_query.py": "columns of the trace database",
    "proxy/traces/labels.py": "a column of the trace database",
    "proxy/traces/redaction.py": "a copy of a trace",
    "proxy/traces/search.py": "a column of the trace database",
    "proxy/traces/sqlite.py": "a column of the trace database",
    "cli/starter/files.py": "a value that is about to be written",
    "scenarios/exchange.py": "lines that it wrote itself",
    # Marks of a text, or a second look at what has been read without duplicates.
    "judges/evaluation/journal.py": "after refuse_duplicates",
    "proxy/auth/keys.py": "after refuse_duplicates",
    "scoring/folder.py": "after refuse_duplicates, and a copy of a manifest",
    "scoring/people/folder.py": "after refuse_duplicates",
    "scoring/people/returned_ratings.py": "after refuse_duplicates",
}
"""Files that read YAML or JSON otherwise, and what they read: no file that a person writes or hands over."""


def loaders_of(path: Path) -> Iterator[str]:
    """Yield what a module reads YAML or JSON with, other than our loaders; also where it is passed on uncalled."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module in ("json", "orjson", "yaml"):
            yield from (alias.name for alias in node.names)
        if isinstance(node, ast.Attribute):
            name = f"{node.value.id}.{node.attr}" if isinstance(node.value, ast.Name) else node.attr
            if name in LOADERS or node.attr in LOADERS:
                yield name


def test_every_file_is_read_by_one_of_two_loaders() -> None:
    """A new site that reads YAML or JSON uses `load_yaml` or `load_json`, or says above what it reads."""
    modules = (
        path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in ("tests", ".venv", "build")
    )
    assert {str(path.relative_to(ROOT)) for path in modules if any(loaders_of(path))} == OTHERS.keys()
    for name, reads in OTHERS.items():
        assert "after refuse_duplicates" not in reads or "refuse_duplicates(" in (ROOT / name).read_text()


KEYS = st.text('ab\u00e9\U0001f600"\\\n:#{}[] ', max_size=4)
VALUES = st.none() | st.booleans() | st.integers() | KEYS
TREES = st.recursive(
    VALUES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)


@given(TREES, st.sampled_from([None, 1]), st.booleans())
def test_what_has_no_duplicate_is_read_as_ever(tree: Any, indent: int | None, ascii: bool) -> None:
    """By both loaders, whatever the keys."""
    text = json.dumps(tree, indent=indent, ensure_ascii=ascii)
    assert load_json(text) == json.loads(text)
    written = yaml.safe_dump(tree, allow_unicode=not ascii, default_flow_style=indent is None)
    assert load_yaml(written) == yaml.safe_load(written)


@given(st.lists(TREES, min_size=1, max_size=3), KEYS, TREES, st.integers(0, 3))
def test_a_duplicate_is_found_wherever_it_is(before: list[Any], key: str, value: Any, depth: int) -> None:
    """At any depth, behind any other value; the line is that of the second key."""
    name, inner = json.dumps(key), json.dumps(value)
    inside = f'{{\n{name}: {inner},\n"other": {json.dumps(before)},\n{name}: {inner}\n}}'
    text = '[\n{"a": ' * depth + inside + "}]" * depth
    with pytest.raises(DuplicateKeyError, match="duplicate key") as caught:
        load_json(text)
    assert caught.value.lineno == depth + 4 or key == "other"
    with pytest.raises(yaml.MarkedYAMLError, match="duplicate key") as marked:
        load_yaml(text)
    assert marked.value.problem_mark is not None
    assert marked.value.problem_mark.line + 1 == depth + 4 or key == "other"


@pytest.mark.parametrize(
    "text",
    ["a: 1\nb: 2\na: 3", "on: 1\ntrue: 2", "1: a\n1: b", "'a': 1\na: 2", "- {a: 1, a: 2}", "x: &x {a: 1, a: 2}\ny: *x"],
)
def test_keys_are_compared_as_they_are_read(text: str) -> None:
    """Not as they are written."""
    with pytest.raises(yaml.MarkedYAMLError, match="duplicate key"):
        load_yaml(text)


@pytest.mark.parametrize(
    "text",
    [
        "a: &a {x: 1}\nb: {<<: *a, x: 2}\nc: {<<: *a, y: 1}",
        "d: {k: &b {<<: &a {x: 1}, x: 2}}\nc: {<<: *b, x: 3}",
        "a: &a {x: 1}\nb: &b {y: 1}\nc:\n  <<: *a\n  <<: *b",
        "1: a\n'1': b",
        "",
        "a: &a [*a]",
    ],
)
def test_merged_keys_are_no_duplicates(text: str) -> None:
    """What `<<` brings may be given otherwise; a key of another type is another key."""
    assert repr(load_yaml(text)) == repr(yaml.safe_load(text))


def test_deep_nesting_crashes_nothing() -> None:
    """It is too deep, or it is read."""
    for opening, closing in (("[", "]"), ("{a: ", "}"), ("- ", ""), ('{"a": ', "}")):
        for load in (load_yaml, load_json):
            with pytest.raises((yaml.YAMLError, ValueError, RecursionError)):
                load(opening * 100_000 + closing * 100_000)


TWICE = '{"KEY": 1,\n"KEY": 2}'
FRONT = "---\nKEY: 1\nKEY: 2\n---\nText.\n"
READERS: dict[str, tuple[str, str, Callable[[Path], Any]]] = {
    "configuration": ("a.yaml", "KEY: 1\nKEY: 2\n", load_config),
    "scenarios": ("a.yaml", "KEY: 1\nKEY: 2\n", lambda path: load_all([path])),
    "rows": ("a.jsonl", '{"response": "x"}\n{"KEY": 1, "KEY": 2}\n', lambda path: load_all([path])),
    "checkpoint": ("a.yaml", "KEY: 1\nKEY: 2\n", checkpoint.load),
    "questions": ("a.yaml", "KEY: 1\nKEY: 2\n", questions.load),
    "own questions": ("a.jsonl", '{"question": "x"}\n{"KEY": 1, "KEY": 2}\n', own_questions.load),
    "experiment": ("a.yaml", "KEY: 1\nKEY: 2\n", experiment.load),
    "table, jsonl": ("a.jsonl", '{"a": "x"}\n{"KEY": 1, "KEY": 2}\n', lambda path: tables.read(path, None)),
    "table, json": ("a.json", f"[{TWICE}]", lambda path: tables.read(path, None)),
    "table, cell": ("a.csv", 'response,expect\nx,"{""KEY"": 1, ""KEY"": 2}"\n', lambda path: import_rows(path, ImportPlan())),
    "script": ("a.yaml", "- reply: x\n- reply: x\n  KEY: 1\n  KEY: 2\n", load_rules),
    "recording": ("a.jsonl", '{"key": "k", "content": "c"}\n{"KEY": 1, "KEY": 2}\n', Replaying),
    "answers": ("a.jsonl", '{"KEY": 1}\n{"KEY": 1, "KEY": 2}\n', AnswerCache),
    "keys": ("keys.json", TWICE, load_keys),
    "transcripts": ("transcripts.jsonl", '\n{"KEY": 1, "KEY": 2}\n', lambda path: RunFolder(path.parent).read(Exchange)),
    "manifest": ("manifest.json", TWICE, lambda path: RunFolder(path.parent).manifest()),
    "key of a page": ("key-a.json", TWICE, people.key_in),
    "checkpoints of a run": ("checkpoints.json", TWICE, lambda path: people.checkpoints(path.parent)),
    "ratings": ("a.json", TWICE, lambda path: parse(path.read_bytes())),
    "journal": ("journal.jsonl", '{"KEY": 1}\n{"KEY": 1, "KEY": 2}\n', lambda path: Journal(path.parent)),
    "section": ("sections/a.md", FRONT, lambda path: load_library(path.parent)),
    "prompt": ("a.md", FRONT, load_prompt),
    "facilitator": ("a.md", FRONT, facilitator.load),
    "front matter": ("a.md", FRONT, lambda path: split_front_matter(path.read_text())),
}  # fmt: skip
WITHOUT_PLACE = {"ratings": "the caller names the file", "front matter": "the same", "table, cell": "the row"}


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("key", ["expect", "id", "\u00e9"])
def test_a_duplicate_in_a_file_is_refused_with_its_place(tmp_path: Path, reader: str, key: str) -> None:
    """Whatever reads the file says which key it is, in which file and line."""
    name, text, read = READERS[reader]
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text.replace("KEY", key), encoding="utf-8")
    path.chmod(0o600)
    with pytest.raises(Exception, match=f"duplicate key '{key}'") as caught:
        read(path)
    problem = str(caught.value)
    if reader not in WITHOUT_PLACE:
        line = 1 + text[: text.rindex("KEY")].count("\n")
        assert name.rpartition("/")[2] in problem
        assert f"line {line}" in problem or f":{line}:" in problem


def test_what_a_file_is_does_not_hide_a_duplicate(tmp_path: Path) -> None:
    """`caf check` tells rows from families by their first line."""
    (tmp_path / "a.json").write_text('{"response": "x", "response": "y"}\n')
    problems: list[str] = []
    assert kind_of(tmp_path / "a.json", problems) is None
    assert ["duplicate key 'response'" in problem for problem in problems] == [True]
