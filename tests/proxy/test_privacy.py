"""What people wrote stays where the operator wants it: traces, logs."""

from pathlib import Path

import pytest

from proxy.config.config import parse_config
from proxy.traces.backend import trace_detail
from tests.proxy.conftest import Start, eventually

SECRETS = ("WORDOFUSER", "magnesium", "sk-KEY", "USERNAME")
ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium every night, WORDOFUSER."


async def converse(start: Start, tmp_path: Path, store: str) -> Path:
    path = tmp_path / f"{store}.db"
    proxy = await start(config={"privacy": {"store": store, "path": str(path)}})
    proxy.upstream.answer = lambda body: ADVICE
    await proxy.say("Which WORDOFUSER supplements?", user="USERNAME", headers={"Authorization": "Bearer sk-KEY"})
    await proxy.say("WORDOFUSER I am going to end my life tonight")
    return path


def trace_text(path: Path) -> str:
    from proxy.traces.query import list_turns, show

    return repr([show(path, line.turn_id) for line in list_turns(path)]) if path.exists() else ""


async def test_full_traces_hold_the_conversation_but_no_key(start: Start, tmp_path: Path) -> None:
    """That is what they are for; the key is nobody's business even then."""
    path = await converse(start, tmp_path, "full")
    await eventually(lambda: trace_text(path).count("'turn_id'") >= 2, 5)
    assert "WORDOFUSER" in trace_text(path)
    assert "sk-KEY" not in trace_text(path)


async def test_redacted_traces_hold_no_word(start: Start, tmp_path: Path) -> None:
    """Ids, verdicts and times only, also in the bytes of the file."""
    path = await converse(start, tmp_path, "redacted")
    await eventually(lambda: trace_text(path).count("'turn_id'") >= 2, 5)
    text = trace_text(path)
    assert "reject" in text
    raw = b"".join(file.read_bytes() for file in tmp_path.glob("redacted.db*"))  # noqa: ASYNC240
    for secret in SECRETS:
        assert secret not in text
        assert secret.encode() not in raw


async def test_without_traces_there_is_no_file(start: Start, tmp_path: Path) -> None:
    """`none` leaves nothing on the disk."""
    path = await converse(start, tmp_path, "none")
    assert not list(tmp_path.glob("none.db*"))  # noqa: ASYNC240
    assert not path.exists()


@pytest.mark.parametrize(
    ("store", "host", "what"),
    [
        ("auto", "127.0.0.1", "full"),
        ("auto", "::1", "full"),
        ("auto", "0.0.0.0", "redacted"),
        ("auto", "caf.example.org", "redacted"),
        ("none", "127.0.0.1", "none"),
        ("redacted", "127.0.0.1", "redacted"),
        ("full", "0.0.0.0", "full"),
    ],
)
def test_auto_is_full_only_where_nobody_else_can_ask(tmp_path: Path, store: str, host: str, what: str) -> None:
    """An address that others can reach has other people's crises in its traces."""
    data = {
        "models": {"m": {"engine": "embedded"}},
        "chatbots": {"b": {"model": "m", "kind": "passthrough"}},
        "privacy": {"store": store},
        "server": {"host": host},
    }
    assert trace_detail(parse_config(data, tmp_path / "c.yaml")) == what
