"""What happens to the reply when a part fails: rows of the table in docs/resilience.md that no other test covers."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
import structlog
from aiohttp import web

from judges.judge import OBSERVERS
from proxy.auth.key_ring import KeyRing
from proxy.auth.keys import create, save
from tests.proxy.conftest import Start, bot_settings, text_of

ROOT = Path(__file__).parents[2]
ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night. You should also stop eating gluten."
NUDGE = "Which supplements should I take, and how much?"


@pytest.mark.parametrize(
    "answer",
    [
        lambda: web.json_response({}, status=500),
        lambda: web.json_response({}, status=400),
        lambda: web.Response(text="<html>"),
        lambda: asyncio.sleep(30, ""),
        lambda: "",
    ],
)
async def test_a_refiner_that_fails_leaves_the_fallback_message(start: Start, answer: Any) -> None:
    """The rejected draft is not delivered because nobody could rewrite it."""
    proxy = await start(refiner="refiner", config={"server": {"turn_timeout_s": 1}})
    proxy.upstream.answer = lambda body: ADVICE if body["model"] == "up-chatbot" else answer()
    body = await proxy.say(NUDGE)
    assert body["caf"]["outcome"] == "fallback"
    assert "Call 112 now." in text_of(body)
    assert "magnesium" not in json.dumps(body)


async def test_a_refiner_that_crashes_leaves_the_fallback_message(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its fault is no error of the request, and the log holds no word of anybody."""

    def crash(*_: Any) -> Any:
        raise ValueError(ADVICE)

    proxy = await start(refiner="local")
    monkeypatch.setattr("judges.local.reply.refine", crash)
    proxy.upstream.answer = lambda body: ADVICE
    with structlog.testing.capture_logs() as lines:
        body = await proxy.say(NUDGE)
    assert body["caf"]["outcome"] == "fallback"
    assert "Call 112 now." in text_of(body)
    assert [line["error"] for line in lines if line["event"] == "refiner crashed"] == ["ValueError"]
    assert "magnesium" not in json.dumps([body, lines], default=str)


async def test_a_local_emergency_judge_that_crashes_leaves_the_fallback_message(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has heard whether it was an emergency: the contact is in the fallback message. Nothing is drafted."""

    def crash(case: Any) -> Any:
        raise ValueError

    proxy = await start()
    proxy.upstream.requests.clear()
    monkeypatch.setitem(OBSERVERS, "emergency", crash)
    body = await proxy.say("I am going to end my life tonight")
    assert body["caf"]["outcome"] == "fallback"
    assert "Call 112 now." in text_of(body)
    assert proxy.upstream.requests == []


async def test_with_the_filter_off_nothing_is_heard_or_checked(start: Start) -> None:
    """That is what `filter: off` and `shadow` give away, and what the documentation warns of."""
    for mode in ("off", "shadow"):
        proxy = await start(chatbots={"bot": bot_settings(filter=mode)})
        body = await proxy.say("I am going to end my life tonight")
        assert (text_of(body), body["caf"]["outcome"]) == ("Hello.", "unfiltered")


def test_keys_that_cannot_be_read_again_stay_as_they_were_and_that_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, and without what stands in the file; when it can be read again, it counts."""
    monkeypatch.setattr("proxy.auth.key_ring.CHECK_EVERY_S", -1.0)
    path, one, other = tmp_path / "keys.json", create("clinic"), create("ward")
    save([one.record], path)
    ring = KeyRing(path)
    with structlog.testing.capture_logs() as logs:
        path.write_text('[{"id": "SECRET"}]')
        assert ring.find(one.text)
        assert ring.find(one.text)
        path.unlink()
        assert ring.find(one.text)
        save([other.record], path)
        assert ring.find(one.text) is None
        assert ring.find(other.text)
    assert len(logs) == 1
    assert "keys.json" in logs[0]["reason"]
    assert "SECRET" not in json.dumps(logs)


def test_every_row_of_the_failure_policy_names_tests_that_exist() -> None:
    """What the table promises, something checks: tests/failures.md names the tests of each row."""
    text = (ROOT / "docs" / "resilience.md").read_text()
    section = text.partition("## Replies after a failure")[2].partition("\n## ")[0]
    rows, tests = (
        dict(re.findall(r"^\| (.+?) \| (.+)", table, re.MULTILINE))
        for table in (section, (ROOT / "tests" / "failures.md").read_text())
    )
    assert len(rows) > 20
    assert list(rows) == list(tests)
    for failure, names in list(tests.items())[1:]:
        named = re.findall(r"`((?:\w+/)+test_\w+)::(test_\w+)`", names)
        assert named, failure
        for module, test in named:
            assert re.search(rf"def {test}\(", (ROOT / "tests" / f"{module}.py").read_text()), (module, test)
