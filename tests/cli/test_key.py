"""`caf key`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from proxy.tenants.keys import KeyRing
from tests.cli.conftest import Ended

Caf = Callable[..., Ended]


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
    assert text.rpartition("-")[2] not in listed


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
        (("revoke", "00000000", "--file", "k.json"), "k.json: cannot be read"),
        (("list", "--file", "k.json"), "make it with `caf key create NAME`"),
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
