"""What the audit log is told by a proxy that runs: every outcome, every change, and no word of anybody."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from proxy.app import assemble
from proxy.audit.folder import chain_files, verify
from proxy.audit.records import fingerprint
from proxy.auth.keys import KeyRecord, create, save
from proxy.config.config import parse_config
from tests.proxy.conftest import HELLO, SLEEP, Body, Proxy, Start, bot_settings, dialogue, eventually

ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium every night, WORDOFMODEL."


def records(folder: Path, event: str | None = None) -> list[Body]:
    """Return the records of all chains, oldest first."""
    raw = b"".join(path.read_bytes() for path in chain_files(folder))
    found = [
        json.loads(line) for line in raw.splitlines(keepends=True) if line.endswith(b"\n")
    ]  # they may be being written
    return [one for one in found if event in (None, one["event"])]


async def turns(folder: Path, count: int) -> list[Body]:
    await eventually(lambda: len(records(folder, "turn")) >= count, 5)
    assert verify(folder).faults == []
    return records(folder, "turn")


async def begin(start: Start, tmp_path: Path, config: Body | None = None, **changes: Any) -> tuple[Proxy, Path]:
    proxy = await start(config={"audit": {"folder": "audit", "sync": "turn"}, **(config or {})}, **changes)
    return proxy, tmp_path / "audit"


async def test_every_outcome_is_recorded_under_its_turn(start: Start, tmp_path: Path) -> None:
    """Also an error, a redirected emergency and a turn whose client left."""
    proxy, folder = await begin(start, tmp_path, refiner=None)
    expected = []
    for reply, question, outcome in (
        (SLEEP, "How much sleep?", "accepted"),
        (ADVICE, "Which supplements?", "fallback"),
        (SLEEP, "I am going to end my life tonight", "emergency"),
    ):
        proxy.upstream.answer = lambda body, reply=reply: reply  # type: ignore[misc]
        body = await proxy.say(question)
        expected.append((body["caf"]["turn_id"], outcome, None))
    body = await proxy.say("Hi", headers={"X-CAF-Filter": "off"})
    expected.append((body["caf"]["turn_id"], "unfiltered", None))
    body = await proxy.say("Hi", headers={"X-CAF-Filter": "shadow"})
    expected.append((body["caf"]["turn_id"], "unfiltered", None))
    found = await turns(folder, 5)
    assert [(one["turn"], one["outcome"], one["error"]) for one in found] == expected
    assert [one["filter"] for one in found] == ["on", "on", "on", "off", "shadow"]


async def test_turns_without_a_reply_are_recorded_with_their_error(start: Start, tmp_path: Path) -> None:
    """No outcome is claimed for them."""
    proxy, folder = await begin(start, tmp_path)
    proxy.upstream.answer = lambda body: web.json_response({}, status=500)
    await proxy.error({"model": "bot", "messages": dialogue("Hi")})
    proxy.upstream.answer = lambda body: asyncio.sleep(30, HELLO)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await proxy.say("Hi")
    found = await turns(folder, 2)
    assert [one["outcome"] for one in found] == [None, None]
    assert [one["error"] for one in found] == ["UpstreamUnavailable", "cancelled"]


async def test_what_a_passthrough_chatbot_relays_is_recorded_as_unfiltered(start: Start, tmp_path: Path) -> None:
    """Nobody checked it, and the log says so."""
    bots = {"bot": bot_settings(), "open": {"kind": "passthrough", "model": "chatbot"}}
    proxy, folder = await begin(start, tmp_path, chatbots=bots)
    await proxy.post({"model": "open", "messages": dialogue("Hi")})
    (one,) = await turns(folder, 1)
    assert (one["chatbot"], one["filter"], one["outcome"]) == ("open", "passthrough", "unfiltered")


@pytest.mark.parametrize("last", [b"data: [DONE]\n\n", b"data: {}\n\n"])
async def test_who_has_got_all_of_a_forwarded_stream_has_not_left(start: Start, tmp_path: Path, last: bytes) -> None:
    """The log says of it what the metrics say: cancelled is what was left before its end."""
    proxy, folder = await begin(start, tmp_path, chatbots={"open": {"kind": "passthrough", "model": "chatbot"}})

    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(last)
        await asyncio.sleep(20)
        return response

    proxy.upstream.respond = respond
    body = {"model": "open", "messages": dialogue("Hi"), "stream": True}
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=body) as response:
        assert await response.content.readuntil(b"\n\n") == last
        response.close()
    (one,) = await turns(folder, 1)
    error = None if b"DONE" in last else "cancelled"
    assert (one["outcome"], one["error"]) == (None if error else "unfiltered", error)
    assert f'caf_model_calls_total{{error="{error or ""}",model="chatbot"}} 1.0' in (await proxy.get("/metrics"))[1]


async def test_the_log_holds_no_word_and_nobody(start: Start, tmp_path: Path) -> None:
    """Text, user, key and the conversation id that a client chose, in whatever turn of the conversation."""
    proxy, folder = await begin(start, tmp_path)
    proxy.upstream.answer = lambda body: ADVICE
    who: Body = {"user": "USERNAME", "headers": {"Authorization": "Bearer sk-KEY", "X-Conversation-Id": "CHOSEN"}}
    body = await proxy.say("WORDOFUSER: which supplements?", **who)
    text = body["choices"][0]["message"]["content"]
    who["headers"].pop("X-Conversation-Id")
    body = await proxy.say("WORDOFUSER: which supplements?", text, "And?", **who)
    assert body["caf"]["conversation_id"] == "CHOSEN"
    assert [one["key"] for one in await turns(folder, 2)] == [None, None]  # not even a hash of what it sent
    raw = b"".join(path.read_bytes() for path in chain_files(folder))
    for secret in ("WORDOF", "magnesium", "USERNAME", "sk-KEY", "CHOSEN"):
        assert secret.encode() not in raw
    assert {key for one in records(folder, "turn") for key in one} == {
        "at", "chatbot", "error", "event", "filter", "hash", "key", "ms", "outcome", "prev", "seq", "turn",
    }  # fmt: skip


async def test_keys_are_recorded_by_their_random_ids(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those there are at the start, and each that is made, changed, revoked or taken away; not whose they are."""
    monkeypatch.setattr("proxy.auth.key_ring.CHECK_EVERY_S", -1.0)
    one, other, file = create("CLINIC").record, create("WARD", ("chat", "trace")), tmp_path / "keys.json"
    save([one, other.record], file)
    proxy, folder = await begin(start, tmp_path, {"keys": {"file": "keys.json"}})
    headers = {"Authorization": f"Bearer {other.text}"}
    await proxy.post({"model": "bot", "messages": dialogue("Hi")}, headers)
    (turn,) = await turns(folder, 1)
    assert turn["key"] == other.record.id
    new = create("NEW", requests_per_minute=5).record
    changed = other.record.model_copy(update={"permissions": ("chat",)})
    save([one.model_copy(update={"revoked": one.created}), changed, new], file)
    await proxy.post({}, headers)
    save([changed, new], file)
    await proxy.post({}, headers)
    await eventually(lambda: len(records(folder, "key")) >= 4, 5)
    (at_start,) = records(folder, "keys")
    assert [(key["key"], key["valid"]) for key in at_start["keys"]] == [(one.id, True), (other.record.id, True)]
    found = {(r["key"], r["change"]): r.get("rights") for r in records(folder, "key")}
    assert found == {
        (one.id, "revoked"): {"permissions": ["chat"]},
        (one.id, "removed"): None,
        (other.record.id, "changed"): {"permissions": ["chat"]},
        (new.id, "created"): {"permissions": ["chat"], "requests_per_minute": 5},
    }
    raw = b"".join(path.read_bytes() for path in chain_files(folder))
    for secret in ("CLINIC", "WARD", "NEW", *(value for key in (one, changed, new) for value in secrets_of(key))):
        assert secret.encode() not in raw


def secrets_of(key: KeyRecord) -> tuple[str, str]:
    return key.salt, key.hash


async def test_erasing_a_conversation_is_recorded_without_saying_which(start: Start, tmp_path: Path) -> None:
    """By the key that asked for it, with what came of it: also that there was none, or that it failed."""
    admin = create("ADMIN", ("chat", "admin"))
    save([admin.record], tmp_path / "keys.json")
    config = {"keys": {"file": "keys.json"}, "privacy": {"store": "none", "path": "traces.db"}}
    proxy, folder = await begin(start, tmp_path, config)
    headers = {"Authorization": f"Bearer {admin.text}"}
    await proxy.post({"model": "bot", "messages": dialogue("Hi")}, headers | {"X-Conversation-Id": "CHOSEN"})
    for status in (200, 200, 503):
        if status == 503:
            (tmp_path / "traces.db").write_bytes(b"this is no database" * 100)
        async with proxy.session.delete(f"{proxy.url}/admin/conversations/CHOSEN", headers=headers) as response:
            assert response.status == status
    await eventually(lambda: len(records(folder, "admin")) >= 3, 5)
    found = [(one["action"], one["outcome"], one["key"], one["by"]) for one in records(folder, "admin")]
    assert found == [("erase", outcome, None, admin.record.id) for outcome in ("erased", "not found", "failed")]
    raw = b"".join(path.read_bytes() for path in chain_files(folder))
    assert b"CHOSEN" not in raw
    assert b"ADMIN" not in raw


async def test_the_configuration_is_recorded_at_each_start(start: Start, tmp_path: Path) -> None:
    """Which mode each chatbot has is readable; all else is in a hash."""
    _, folder = await begin(start, tmp_path)
    await begin(start, tmp_path, filter="shadow")
    await eventually(lambda: len(records(folder, "config")) >= 2, 5)
    one, other = records(folder, "config")
    assert (one["chatbots"], other["chatbots"]) == ({"bot": "on"}, {"bot": "shadow"})
    assert one["sha256"] != other["sha256"]


async def test_the_hash_covers_prompts_and_sections(start: Start, tmp_path: Path) -> None:
    """Not only settings decide what is delivered; for the same configuration it is the same."""
    await begin(start, tmp_path)
    (tmp_path / "own.md").write_text(
        "---\nname: own\nstage: swift\nmodel: chatbot\nobservation: verdict\n---\nReject rudeness.\n"
    )

    def now() -> str:
        bot = bot_settings(judges=["own.md"])
        config = parse_config(
            {"models": {"chatbot": {"engine": "embedded"}}, "chatbots": {"bot": bot}}, tmp_path / "c.yaml"
        )
        return fingerprint(config, assemble(config))

    seen = {now(), now()}
    for file in (tmp_path / "own.md", tmp_path / "kb" / "sleep.md"):
        file.write_text(file.read_text() + "One more sentence.\n")
        seen.add(now())
    assert len(seen) == 3


async def test_without_the_setting_there_is_no_log(start: Start, tmp_path: Path) -> None:
    """Off by default."""
    proxy = await start()
    await proxy.say("Hi")
    assert not (tmp_path / "audit").exists()
    assert not (tmp_path / "data" / "audit").exists()


async def test_what_the_log_loses_is_in_the_metrics(start: Start, tmp_path: Path) -> None:
    """As a number that somebody can be woken by; here the files are gone."""
    proxy, folder = await begin(start, tmp_path)
    await proxy.say("Hi")
    await turns(folder, 1)
    assert "caf_audit_dropped 0.0" in (await proxy.get("/metrics"))[1]
    for path in chain_files(folder):
        path.unlink()
    await proxy.say("Hi")
    await eventually(lambda: records(folder, "gap"), 5)
    assert "caf_audit_dropped 3.0" in (await proxy.get("/metrics"))[1]
