"""`caf key`."""

import json
from pathlib import Path

import pytest

from proxy.audit.folder import chain_files, verify
from proxy.auth.key_ring import KeyRing
from proxy.auth.keys import load
from tests.cli.conftest import Caf


def test_a_key_is_shown_once_and_works(inside: Caf, tmp_path: Path) -> None:
    """Standard output is the key and nothing else; the list has no secret."""
    made = inside(
        "key",
        "create",
        "clinic",
        "--file",
        "k.json",
        "--permission",
        "chat",
        "--permission",
        "trace",
        "--requests-per-minute",
        60,
    )
    assert made.code == 0, made.err
    text = made.out.strip()
    record = KeyRing(tmp_path / "k.json").find(text)
    assert record is not None
    assert (record.name, record.permissions, record.requests_per_minute) == ("clinic", ("chat", "trace"), 60)
    listed = inside("key", "list", "--file", "k.json").out
    assert f"{record.id}  clinic" in listed
    assert "60 requests/min" in listed
    assert text.split("-", 2)[2] not in listed


def test_a_revoked_key_stays_in_the_list(inside: Caf, tmp_path: Path) -> None:
    """Who it was stays known; revoking it again is an error."""
    text = inside("key", "create", "clinic", "--file", "k.json").out.strip()
    ident = text.split("-")[1]
    assert inside("key", "revoke", ident, "--file", "k.json").code == 0
    assert KeyRing(tmp_path / "k.json").find(text) is None
    assert "revoked" in inside("key", "list", "--file", "k.json").out
    assert inside("key", "revoke", ident, "--file", "k.json").code == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("create", "x", "--permission", "root", "--file", "k.json"), "permissions"),
        (("create", "", "--file", "k.json"), "name"),
        (("create", "x", "--daily-budget", "0", "--file", "k.json"), "'--daily-budget': 0: expected a number above 0"),
        (
            ("create", "x", "--daily-budget", "inf", "--file", "k.json"),
            "'--daily-budget': inf: expected a number above 0",
        ),
        (("create", "x\ny", "--file", "k.json"), "contains control characters: use printable characters only"),
        (("revoke", "00000000", "--file", "k.json"), "cannot be read: No such file"),
        (("list", "--file", "k.json"), "create it with `caf key create NAME`"),
    ],
)
def test_wrong_usage_is_told_and_nothing_written(
    inside: Caf, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    """With what would be right."""
    ended = inside("key", *arguments)
    assert ended.code == 2
    assert said in ended.err
    assert not (tmp_path / "k.json").exists()


def test_a_key_for_a_chatbot_that_is_not_there_is_not_made(inside: Caf, tmp_path: Path) -> None:
    """A misspelt name would lock somebody out; with --file alone nobody knows which there are."""
    audited(tmp_path)
    ended = inside("key", "create", "clinic", "--chatbot", "p", "--chatbot", "nosuch")
    assert ended.code == 2
    assert ended.err == "caf: --chatbot: 'nosuch': no such chatbot (configured: p)\n"
    assert not (tmp_path / "k.json").exists()
    assert inside("key", "create", "clinic", "--chatbot", "nosuch", "--file", "k.json").code == 0


def test_a_second_key_of_the_same_name_is_made_and_told(inside: Caf) -> None:
    """It may be meant as a replacement; a revoked one is none."""
    first = inside("key", "create", "app", "--file", "k.json")
    assert "has a key already" not in first.err
    ident = first.out.split("-")[1]
    second = inside("key", "create", "app", "--file", "k.json")
    assert second.code == 0
    assert f"caf: 'app' already has a key, which stays valid: {ident}\n" in second.err
    for one in (ident, second.out.split("-")[1]):
        inside("key", "revoke", one, "--file", "k.json")
    assert "has a key already" not in inside("key", "create", "app", "--file", "k.json").err


def audited(folder: Path, audit: str = "log") -> None:
    (folder / "config.yaml").write_text(
        "models: {m: {engine: embedded}}\nchatbots: {p: {kind: passthrough, model: m}}\n"
        f"keys: {{file: k.json}}\naudit: {{folder: {audit}}}\n"
    )


def recorded(folder: Path) -> list[tuple[str, str, str]]:
    """Return action, outcome and key of what was done by hand, from chains that stand."""
    assert verify(folder).faults == []
    lines = [json.loads(line) for path in chain_files(folder) for line in path.read_bytes().splitlines()]
    return [(one["action"], one["outcome"], one["key"]) for one in lines if one["event"] == "admin"]


def test_what_is_done_to_keys_is_in_the_audit_log(inside: Caf, tmp_path: Path) -> None:
    """By the key's random id; not whose it is, and nothing of its secret."""
    audited(tmp_path)
    text = inside("key", "create", "CLINIC").out.strip()
    ident = text.split("-")[1]
    assert inside("key", "revoke", ident).code == 0
    assert recorded(tmp_path / "log") == [("key_create", "done", ident), ("key_revoke", "done", ident)]
    raw = b"".join(path.read_bytes() for path in chain_files(tmp_path / "log"))
    record = load(tmp_path / "k.json")[ident]
    for secret in ("CLINIC", text.split("-", 2)[2], record.salt, record.hash):
        assert secret.encode() not in raw
    assert inside("audit", "verify").code == 0


def test_what_was_tried_in_vain_is_recorded_as_that(inside: Caf, tmp_path: Path) -> None:
    """A key that could not be kept is not said to be there."""
    audited(tmp_path)
    ended = inside("key", "create", "clinic", "--config", "config.yaml", "--file", "config.yaml/k.json")
    assert ended.code == 2
    assert "cannot be written" in ended.err
    assert [(action, outcome) for action, outcome, _ in recorded(tmp_path / "log")] == [("key_create", "failed")]


def test_without_its_record_nothing_is_done(inside: Caf, tmp_path: Path) -> None:
    """A log that cannot be begun stops the command, before there is a key."""
    audited(tmp_path, audit="k.json/log")
    (tmp_path / "k.json").write_text("[]")
    (tmp_path / "k.json").chmod(0o600)
    ended = inside("key", "create", "clinic")
    assert ended.code == 2
    assert "audit.folder: " in ended.err
    assert load(tmp_path / "k.json") == {}


def test_a_key_may_be_allowed_to_bring_evidence(inside: Caf, tmp_path: Path) -> None:
    """The help names the permission."""
    made = inside("key", "create", "shop", "--file", "k.json", "-p", "chat", "-p", "evidence")
    assert made.code == 0, made.err
    (record,) = load(tmp_path / "k.json").values()
    assert record.permissions == ("chat", "evidence")
    assert "evidence" in inside("key", "create", "--help").out
