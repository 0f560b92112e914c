"""The log costs nothing but itself, and says nothing of who somebody is."""

import io
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

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
