"""`caf audit`: faults are found, with file, line and exit code."""

import json
import signal
import urllib.request
from pathlib import Path

import pytest

from proxy.audit.folder import chain_files
from proxy.audit.log import AuditLog
from tests.cli.conftest import Caf, Serve

CONFIG = "models: {m: {engine: embedded}}\nchatbots: {p: {kind: passthrough, model: m}}\n"


def write(folder: Path, count: int = 2) -> Path:
    log = AuditLog(folder, "second")
    log.start()
    for number in range(count):
        log.record("turn", turn=f"{number}", outcome="accepted")
    log.close()
    return chain_files(folder)[-1]


def test_a_log_that_stands_is_told_chain_by_chain(inside: Caf, tmp_path: Path) -> None:
    """Of the configuration's folder, when none is named."""
    (tmp_path / "config.yaml").write_text(CONFIG + "audit: {folder: data/audit}\n")
    first, second = write(tmp_path / "data" / "audit"), write(tmp_path / "data" / "audit", 3)
    ended = inside("audit", "verify")
    assert ended.code == 0, ended.err
    assert ended.out.splitlines() == [
        f"{first.name}  4 records, closed",
        f"{second.name}  5 records, closed",
        f"{tmp_path / 'data' / 'audit'}: no faults in 9 records",
    ]


def test_the_first_fault_is_told_with_file_and_line(inside: Caf, tmp_path: Path) -> None:
    """And the exit code is 1."""
    path = write(tmp_path / "a")
    path.write_bytes(path.read_bytes().replace(b'"turn":"1"', b'"turn":"2"'))
    ended = inside("audit", "verify", "a")
    assert ended.code == 1
    assert ended.out.splitlines() == [f"fault  a/{path.name}:3: the line does not match its hash: it was changed"]
    head = inside("audit", "head", "a")
    assert (head.code, head.out) == (1, "")
    assert f"a/{path.name}:3:" in head.err


def test_a_chain_without_its_end_is_told_and_found_by_its_head(inside: Caf, tmp_path: Path) -> None:
    """That is what keeping heads elsewhere is for."""
    path = write(tmp_path / "a")
    (tmp_path / "heads").write_text(inside("audit", "head", "a").out)
    assert inside("audit", "verify", "a", "--head", "heads").code == 0
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    ended = inside("audit", "verify", "a")
    assert ended.code == 0
    assert "not closed: the process crashed, or the end was cut off\n" in ended.out
    ended = inside("audit", "verify", "a", "--head", "heads")
    assert ended.code == 1
    assert ended.out.splitlines()[-1] == (
        f"fault  a/{path.name}:3: the chain ends here, but line 4 is kept elsewhere: the end was cut off"
    )
    path.write_bytes(path.read_bytes() + b'{"at":')
    assert "the end was cut off within a line" in inside("audit", "verify", "a").out


def test_a_log_that_was_emptied_does_not_stand(inside: Caf, tmp_path: Path) -> None:
    """Nothing to check is not all well."""
    (tmp_path / "a").mkdir()
    ended = inside("audit", "verify", "a")
    assert (ended.code, ended.out) == (1, "fault  a: found no chain\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("verify",), "no audit log is configured: set audit: {folder: data/audit}"),
        (("head",), "no audit log is configured"),
        (("verify", "gone"), "gone: cannot be read: No such file"),
        (("head", "gone"), "gone: cannot be read: No such file"),
        (("verify", ".", "--head", "gone"), "gone: cannot be read"),
        (("verify", ".", "--head", "config.yaml"), "line 1: expected NAME NUMBER HASH"),
        (("verify", ".", "--head", "empty"), "the file has no heads: write them with `caf audit head > FILE`"),
    ],
)
def test_wrong_usage_is_told_in_a_line(inside: Caf, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    """With what would be right, and exit code 2."""
    (tmp_path / "config.yaml").write_text(CONFIG)
    (tmp_path / "empty").write_text("")
    ended = inside("audit", *arguments)
    assert ended.code == 2
    assert said in ended.err


SERVED = """
models: {{m: {{engine: scripted, script: [{{reply: Hello.}}]}}}}
chatbots:
  bot:
    model: m
    role: You help.
    filter: {mode}
    emergency: {{contact: Call 112.}}
    refiner: null
    judges: [{{name: role, stages: [local]}}]
privacy: {{store: none, path: traces.db}}
audit: {{folder: audit}}
"""


def test_a_changed_configuration_begins_a_chain_of_its_own(inside: Caf, tmp_path: Path, serving: Serve) -> None:
    """With SIGHUP the old chain is closed and the new one names it; a stop closes that. Each outcome stands under its settings."""
    proxy = serving(config=SERVED.format(mode="on"))
    ask(proxy.address)
    (tmp_path / "config.yaml").write_text(SERVED.format(mode="off"))
    proxy.process.send_signal(signal.SIGHUP)
    assert proxy.process.stderr is not None
    while "reloaded" not in proxy.process.stderr.readline():
        pass
    ask(proxy.address)
    proxy.end(signal.SIGTERM)
    ended = inside("audit", "verify", "audit")
    assert ended.code == 0
    assert ended.out.count(", closed\n") == 2
    one, other = (
        [json.loads(line) for line in path.read_bytes().splitlines()] for path in chain_files(tmp_path / "audit")
    )
    assert [head["name"] for head in other[0]["before"]] == [chain_files(tmp_path / "audit")[0].name]
    for chain, mode in ((one, "on"), (other, "off")):
        assert [record["event"] for record in chain] == ["start", "config", "turn", "close"]
        assert (chain[1]["chatbots"], chain[2]["filter"]) == ({"bot": mode}, mode)


def ask(address: str) -> None:
    body = {"model": "bot", "messages": [{"role": "user", "content": "Hi"}]}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{address}/chat/completions", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=10) as response:
        assert response.status == 200
