"""API keys."""

import json
import os
from pathlib import Path

import pytest

from proxy.auth import key_ring, keys
from proxy.auth.key_ring import KeyRing
from proxy.auth.keys import KeyFileError


def ring(tmp_path: Path, *made: keys.NewKey) -> tuple[KeyRing, Path]:
    path = tmp_path / "keys.json"
    keys.save([new.record for new in made], path)
    return KeyRing(path), path


def test_a_key_is_found_and_no_other(tmp_path: Path) -> None:
    """Neither a wrong secret, another key's secret, a bare id nor nonsense is a key."""
    one, other = keys.create("one"), keys.create("other")
    found, _ = ring(tmp_path, one, other)
    assert found.find(one.text) == one.record
    mixed = f"caf-{one.record.id}-{other.text.rpartition('-')[2]}"
    for wrong in (
        mixed,
        one.text[:-1],
        one.text + "a",
        f"caf-{one.record.id}-",
        "",
        "sk-abc",
        "caf-00000000-" + "a" * 43,
    ):
        assert found.find(wrong) is None


def test_the_file_holds_no_secret(tmp_path: Path) -> None:
    """Whoever reads it cannot ask with it; two keys never share a salt."""
    one, other = keys.create("one"), keys.create("other")
    _, path = ring(tmp_path, one, other)
    assert one.text.removeprefix(f"caf-{one.record.id}-") not in path.read_text()
    assert one.record.salt != other.record.salt
    assert path.stat().st_mode & 0o077 == 0


def test_a_revoked_key_is_refused_without_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is read again when it changes."""
    monkeypatch.setattr(key_ring, "CHECK_EVERY_S", 0)
    one = keys.create("one")
    found, path = ring(tmp_path, one)
    assert found.find(one.text) is not None
    keys.save([one.record.model_copy(update={"revoked": one.record.created})], path)
    assert found.find(one.text) is None


def test_keys_may_stand_in_the_environment() -> None:
    """The variable holds what the file would."""
    one = keys.create("one")
    assert KeyRing(None, f"[{one.record.model_dump_json()}]").find(one.text) == one.record


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "Invalid JSON"),
        ('[{"id": "x"}]', "0.id: expected a text that matches the pattern"),
        ('{"a": 1}', "expected a list"),
    ],
)
def test_a_bad_file_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """With file and field."""
    path = tmp_path / "keys.json"
    path.write_text(text)
    with pytest.raises(KeyFileError, match=said) as caught:
        KeyRing(path)
    assert str(path) in str(caught.value)


def test_an_id_that_stands_twice_is_refused(tmp_path: Path) -> None:
    """Which of them is meant nobody could say."""
    record = json.loads(keys.create("one").record.model_dump_json())
    path = tmp_path / "keys.json"
    path.write_text(json.dumps([record, record]))
    with pytest.raises(KeyFileError, match="duplicate key id '"):
        KeyRing(path)


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX")
def test_a_file_that_others_may_write_is_refused(tmp_path: Path) -> None:
    """They could give themselves a key."""
    _, path = ring(tmp_path, keys.create("one"))
    path.chmod(0o666)
    with pytest.raises(KeyFileError, match="other users can write to this file"):
        KeyRing(path)
