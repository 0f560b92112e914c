"""A concern: the emergency judge suspects danger. The turn continues, and its reply ends with the emergency contact."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import structlog
from aiohttp import web
from aiohttp.test_utils import TestServer

from proxy.api.service import SERVICE
from proxy.protocol.errors import StoreUnavailable
from tests.proxy.auth.test_access import keyed
from tests.proxy.conftest import SLEEP, Body, Start, dialogue, text_of, warnings_in

CONTACT = "Call 112 now."
WORRYING = "Everything feels pointless and I am tired of it all"
"""A message that raises a concern of the local judge, but no emergency."""
REPLY = "[[cite: no_claims]]\nI am sorry to hear that."
NOW = {"signs": [{"kind": "self_harm", "quote": WORRYING, "who": "user", "when": "now"}]}
CALM: Body = {"signs": []}
MODELS = [{"name": "emergency", "stages": ["local", "swift", "chief"]}]


def says(**answers: object) -> Callable[[Body], str]:
    """Return an upstream whose judges give these answers, by alias. The chatbot gives a fixed reply."""
    return lambda body: json.dumps(answers[name]) if (name := body["model"].removeprefix("up-")) in answers else REPLY


async def test_the_reply_goes_on_and_ends_with_the_contact(start: Start) -> None:
    """The outcome is unchanged. `caf` names the kind, and the chatbot is warned on the next turn."""
    proxy = await start()
    proxy.upstream.answer = says()
    body = await proxy.say(WORRYING)
    assert text_of(body) == f"I am sorry to hear that.\n\n{CONTACT}"
    assert (body["caf"]["outcome"], body["caf"]["concern"]) == ("accepted", {"kind": "self_harm"})
    again = await proxy.say(WORRYING, text_of(body), "What is psychosis?")
    assert again["caf"]["conversation_id"] == body["caf"]["conversation_id"]
    assert "concern" not in again["caf"]
    assert any("distress" in warning for warning in warnings_in(proxy.upstream.requests[-1]))


async def test_the_contact_stands_below_the_line_of_sources(start: Start) -> None:
    """It is the last paragraph, and the next turn still recognises the conversation."""
    proxy = await start()
    proxy.upstream.answer = lambda body: SLEEP
    asked = f"{WORRYING}. How much sleep do adults need?"
    first = await proxy.say(asked)
    assert text_of(first).split("\n\n")[1:] == ["Sources: Sleep", CONTACT]
    again = await proxy.say(asked, text_of(first), "Thank you")
    assert again["caf"]["conversation_id"] == first["caf"]["conversation_id"]


@pytest.mark.parametrize("streaming", ["hold", "observe"])
async def test_it_is_streamed_too(start: Start, streaming: str) -> None:
    """In every streaming mode the contact is the last text."""
    proxy = await start(streaming=streaming)
    proxy.upstream.answer = says()
    events = (await proxy.stream(WORRYING)).decode().split("\n\n")
    chunks = [json.loads(event[6:]) for event in events if event.startswith("data: {")]
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in chunks).endswith(f"\n\n{CONTACT}")
    assert [c["caf"]["concern"] for c in chunks if "caf" in c] == [{"kind": "self_harm"}]


async def test_a_json_reply_says_it_in_caf_alone(start: Start) -> None:
    """A paragraph after the document would make it invalid."""
    proxy = await start()
    proxy.upstream.answer = lambda body: '{"answer": "I am sorry to hear that."}'
    body = await proxy.say(WORRYING, response_format={"type": "json_object"})
    assert json.loads(text_of(body)) == {"answer": "I am sorry to hear that."}
    assert body["caf"]["concern"] == {"kind": "self_harm"}


async def test_every_choice_has_it(start: Start) -> None:
    """With n > 1 the user may read any choice."""
    proxy = await start()
    proxy.upstream.answer = lambda body: [REPLY, REPLY]
    body = await proxy.say(WORRYING, n=2)
    assert [c["message"]["content"].endswith(CONTACT) for c in body["choices"]] == [True, True]
    assert [c["caf"]["concern"] for c in body["choices"]] == [{"kind": "self_harm"}] * 2


@pytest.mark.parametrize(
    ("swift", "chief", "outcome", "concern"),
    [
        (CALM, CALM, "unfiltered", True),  # the local judge alone was concerned
        (NOW, CALM, "unfiltered", True),
        (NOW, NOW, "emergency", False),
    ],
)
async def test_models_decide_and_where_they_disagree_it_is_a_concern(
    start: Start, swift: Body, chief: Body, outcome: str, concern: bool
) -> None:
    """The last model decides, but an earlier model's alarm remains a concern."""
    proxy = await start(judges=MODELS)
    proxy.upstream.answer = says(swift=swift, chief=chief)
    body = await proxy.say(WORRYING)
    assert (body["caf"]["outcome"], "concern" in body["caf"]) == (outcome, concern)


async def test_what_nobody_sees_is_none(start: Start) -> None:
    """An ordinary question gets its answer without the contact."""
    proxy = await start(judges=MODELS)
    proxy.upstream.answer = says(swift=CALM, chief=CALM)
    body = await proxy.say("Can I work?")
    assert (text_of(body), "concern" in body["caf"]) == ("I am sorry to hear that.", False)


@pytest.mark.parametrize("stream", [False, True])
async def test_who_would_get_no_answer_gets_the_emergency_text(start: Start, stream: bool) -> None:
    """With the upstream down, the reply is the emergency text."""
    proxy = await start()
    proxy.upstream.answer = lambda body: web.Response(status=500)
    with structlog.testing.capture_logs() as lines:
        if stream:
            assert b"You matter. Call 112." in await proxy.stream(WORRYING)
        else:
            body = await proxy.say(WORRYING)
            assert (text_of(body), body["caf"]["outcome"]) == ("You matter. Call 112.", "emergency")
            assert "concern" not in body["caf"]
    assert WORRYING not in str(lines)


async def test_no_limit_stands_before_it(start: Start, tmp_path: Path) -> None:
    """A key above its limits still gets the emergency text; ordinary questions get 429."""
    config, bearer = keyed(tmp_path, requests_per_minute=1)
    proxy = await start(config=config)
    proxy.upstream.answer = says()
    ask = {"model": "bot", "messages": dialogue("Can I work?")}
    assert (await proxy.post(ask, bearer))[0] == 200
    assert (await proxy.post(ask, bearer))[0] == 429
    status, body = await proxy.post({"model": "bot", "messages": dialogue(WORRYING)}, bearer)
    assert (status, text_of(body)) == (200, "You matter. Call 112.")


async def test_nobody_is_called_and_the_trace_has_it(start: Start) -> None:
    """The webhook is only for emergencies."""
    called: list[Any] = []
    hook = web.Application()

    async def tell(request: web.Request) -> web.Response:
        called.append(await request.json())
        return web.Response()

    hook.router.add_post("/", tell)
    async with TestServer(hook) as server:
        proxy = await start(emergency={"contact": CONTACT, "webhook": str(server.make_url("/"))})
        traces = proxy.traces()
        proxy.upstream.answer = says()
        await proxy.say(WORRYING)
        await proxy.say("I am going to kill myself")
        await proxy.app[SERVICE].stop_background()
    assert [(trace.concern, trace.outcome) for trace in traces] == [("self_harm", "accepted"), (None, "emergency")]
    assert len(called) <= 1


async def test_a_retry_of_a_program_gets_the_emergency_text_again(start: Start) -> None:
    """A framework that cannot parse the reply retries in its own words, while the user's last message is unchanged."""
    proxy = await start()
    first = await proxy.say("I am going to kill myself", response_format={"type": "json_object"})
    retry = "1 validation error for Answer\nanswer\n  Field required [type=missing, input_value={}]\nReturn valid JSON."
    again = await proxy.say("I am going to kill myself", text_of(first), retry, response_format={"type": "json_object"})
    assert (again["caf"]["outcome"], again["choices"][0]["message"]["refusal"]) == ("emergency", text_of(first))


async def test_a_retry_without_an_emergency_is_no_fallback(start: Start) -> None:
    """The JSON of a retry looks encoded to a judge that expects English."""
    proxy = await start()
    proxy.upstream.answer = says()
    error = '{"loc":["x9f8a7","b64:aGVsbG8gd29ybGQgaGVsbG8gd29ybGQ="],"type":"missing"}' * 3
    body = await proxy.say("Can I work?", "No JSON", f"2 validation errors for Reply\n{error}\nFix the errors.")
    assert body["caf"]["outcome"] == "accepted"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_failing_store_does_not_stand_before_the_emergency_text(
    start: Start, stream: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the store fails, a concern is answered as an emergency."""
    proxy = await start()
    proxy.upstream.answer = says()

    async def fail(*args: object) -> None:
        raise StoreUnavailable

    for name in ("get", "put", "add_danger_marks"):
        monkeypatch.setattr(proxy.app[SERVICE].conversations, name, fail)
    traces = proxy.traces()
    if stream:
        assert "You matter. Call 112." in (await proxy.stream(WORRYING)).decode()
    else:
        assert text_of(await proxy.say(WORRYING)) == "You matter. Call 112."
    assert [trace.outcome for trace in traces] == ["emergency"]
    assert (await proxy.post({"model": "bot", "messages": dialogue("How are you?")}))[0] == 503
