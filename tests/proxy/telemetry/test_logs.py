"""The log costs nothing but itself, and says nothing of who somebody is."""

import io
import json
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import structlog

from judges.judge import OBSERVERS
from proxy.telemetry.logs import configure_logs
from tests.proxy.conftest import Start, dialogue, text_of


class Full(io.RawIOBase):
    """A disk on which nothing more fits."""

    room = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.room:
            return len(data)
        raise OSError(28, "No space left on device")


@pytest.fixture
def full(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Log to such a disk."""
    raw = Full()
    monkeypatch.setattr("sys.stderr", io.TextIOWrapper(io.BufferedWriter(raw)))
    configure_logs("info")
    yield
    raw.room = True


@pytest.mark.usefixtures("full")
async def test_a_log_that_cannot_be_written_costs_no_reply(start: Start) -> None:
    """Neither an ordinary one nor the emergency text of a request that cannot be served, which is told with a warning."""
    proxy = await start()
    assert text_of(await proxy.say("Hi"))
    status, body = await proxy.post(
        {"model": "bot", "messages": dialogue("I am going to end my life tonight"), "n": "many"}
    )
    assert (status, body["caf"]["outcome"]) == (200, "emergency")


async def test_a_conversation_id_that_a_client_chose_is_in_no_log_line(start: Start) -> None:
    """Nor in a later turn of the conversation, which is found by its history."""
    proxy = await start()
    with structlog.testing.capture_logs() as logs:
        first = await proxy.say("Hi", headers={"X-Conversation-Id": "Mrs Smith"})
        second = await proxy.say("Hi", text_of(first), "And?")
        third = await proxy.say("Hello")
    assert second["caf"]["conversation_id"] == "Mrs Smith"
    assert "Mrs Smith" not in repr(logs)
    assert third["caf"]["conversation_id"] in repr(logs)


class Stderr(io.StringIO):
    """A standard error that may be a terminal."""

    def __init__(self, *, terminal: bool = False) -> None:
        super().__init__()
        self.buffer = io.BytesIO()
        self._terminal = terminal

    def isatty(self) -> bool:
        return self._terminal

    @property
    def text(self) -> str:
        return self.getvalue() + self.buffer.getvalue().decode()

    @property
    def lines(self) -> list[Any]:
        return [json.loads(line) for line in self.buffer.getvalue().splitlines()]


@pytest.fixture
def stderr(monkeypatch: pytest.MonkeyPatch) -> Stderr:
    written = Stderr()
    monkeypatch.setattr("sys.stderr", written)
    configure_logs("info")
    return written


async def test_a_request_is_one_line_of_json(start: Start, stderr: Stderr) -> None:
    """With when, what and how long."""
    proxy = await start()
    await proxy.say("Hi")
    (line,) = [line for line in stderr.lines if line["event"] == "request"]
    assert (line["method"], line["path"], line["status"]) == ("POST", "/v1/chat/completions", 200)
    assert (line["level"], line["chatbot"], line["outcome"]) == ("info", "bot", "accepted")
    assert datetime.now(UTC) - datetime.fromisoformat(line["timestamp"]) < timedelta(minutes=1)
    assert line["ms"] > 0


def test_a_line_that_cannot_be_written_as_it_is_costs_none_beside_it(stderr: Stderr) -> None:
    """Half of a character is no UTF-8."""
    for path in ("/one", "/\ud800", "/two"):
        structlog.get_logger().info("request", path=path)
    assert [line["path"] for line in stderr.lines] == ["/one", "/\ud800", "/two"]


def test_a_logger_that_is_asked_for_by_name_writes_as_any(stderr: Stderr) -> None:
    """structlog hands the name on to whatever makes its loggers."""
    structlog.get_logger("models.breaker").error("circuit opened")
    assert [line["event"] for line in stderr.lines] == ["circuit opened"]


def test_a_line_is_there_when_it_has_been_logged(capfd: pytest.CaptureFixture[str]) -> None:
    """Nothing waits in the process: a crash loses no line."""
    code = (
        "import os, structlog; from proxy.telemetry.logs import configure_logs; configure_logs('info')\n"
        "structlog.get_logger().info('request', path='/one'); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code], check=False)
    assert json.loads(capfd.readouterr().err)["path"] == "/one"


@pytest.mark.parametrize("terminal", [False, True])
def test_logged_exception_tells_its_place_and_not_its_message(monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    """Messages of exceptions quote values: a judge that crashes on a text must not put the text in the log."""
    stderr = Stderr(terminal=terminal)
    monkeypatch.setattr("sys.stderr", stderr)

    def judge_that_crashes(text: str) -> None:
        try:
            raise ValueError(text)
        except ValueError as error:
            raise KeyError(text) from error

    configure_logs()
    log = structlog.get_logger()
    try:
        judge_that_crashes("WORD" + "OFUSER")
    except KeyError:
        log.exception("judge crashed", judge="role")
    log.debug("words", text="WORDOFUSER")
    written = stderr.text
    assert "KeyError" in written
    assert "judge_that_crashes" in written
    assert "WORDOFUSER" not in written


async def test_crash_of_a_judge_is_logged_without_the_conversation(
    start: Start, stderr: Stderr, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crashed judge has not accepted, and its traceback quotes nobody."""
    proxy = await start(judges=[{"name": "role", "stages": ["local"]}])

    def crash(case: Any) -> Any:
        raise ValueError(case.user_message + case.draft)

    monkeypatch.setitem(OBSERVERS, "role", crash)
    body = await proxy.say("WORDOFUSER")
    assert body["caf"]["outcome"] == "fallback"
    assert [line["judge"] for line in stderr.lines if line["level"] == "error"] == ["role"]
    assert "WORDOFUSER" not in stderr.text
    assert "Hello." not in stderr.text
