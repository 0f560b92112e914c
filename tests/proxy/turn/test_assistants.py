"""Assistants behind the proxy: documents, tools, their own model calls, and confirmed actions."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from assistants import registry
from assistants.assistant import Action, AssistantError
from models.errors import AssistantFailed
from models.turn_scope import Principal
from proxy.api.service import SERVICE
from tests.assistants.clerk import CLERKS, COUNTS, TOUR, Clerk
from tests.proxy.auth.test_access import keyed
from tests.proxy.conftest import Body, Proxy, Start, bot_settings, dialogue, text_of

Open = Callable[..., Awaitable[tuple[Proxy, Clerk]]]


@pytest.fixture
def serve(start: Start, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Start a proxy whose chatbot is the clerk."""
    monkeypatch.setitem(registry.OURS, "clerk", "tests.assistants.clerk:open_assistant")  # type: ignore[arg-type]

    async def begin(config: Body | None = None, stand_in: str = "", **changes: Any) -> tuple[Proxy, Clerk]:
        clerk: Body = {"engine": "assistant", "name": "clerk", "models": {"writer": "chatbot"}}
        clerk |= {"fallback": [stand_in]} if stand_in else {}
        bot = bot_settings(model="clerk", evidence=["knowledge_base", "upstream"], **changes)
        if bot["kind"] == "passthrough":
            bot = {"kind": "passthrough", "model": "clerk"}
        proxy = await start(config, {"bot": bot}, models={"clerk": clerk})
        return proxy, CLERKS[-1]

    return begin


async def confirm(proxy: Proxy, **fields: Any) -> tuple[Body, list[Any]]:
    """Ask for a tour and confirm it; return the reply and the conversation up to the confirmation."""
    first = text_of(await proxy.say("a tour please", **fields))
    said = ["a tour please", first, "yes"]
    return await proxy.say(*said, **fields), said


@pytest.mark.parametrize("kind", ["guarded", "wrapped"])
async def test_what_an_assistant_says_is_held_against_its_documents(serve: Open, kind: str) -> None:
    """A faithful count is delivered, another one is not; a guarded chatbot's citation names the document."""
    proxy, _ = await serve(kind=kind)
    body = await proxy.say("count")
    assert "4,310" in text_of(body)
    assert body["caf"]["citations"] == [{"id": "doc:1", "title": "Visitors in May"}]
    assert "4,930" not in json.dumps(await proxy.say("invent"))


async def test_an_action_is_done_once_after_its_confirmation(serve: Open) -> None:
    """A repeated request does not repeat the action."""
    proxy, clerk = await serve()
    body, said = await confirm(proxy)
    assert text_of(body) == "Thank you.\n\nThe tour is booked."
    assert [(action.name, action.arguments) for action, _ in clerk.booked] == [("book_tour", {"day": "Monday"})]
    assert clerk.booked[0][1].key_id == "keyless"
    again = await proxy.say(*said)
    assert "not done again" in text_of(again)
    assert len(clerk.booked) == 1


async def test_a_proposal_is_acted_on_once_however_it_is_confirmed(serve: Open) -> None:
    """Also if the confirming message is edited and sent again, or sent twice at the same time."""
    proxy, clerk = await serve()
    _, said = await confirm(proxy)
    edits = [proxy.say(*said[:2], word) for word in ("yes please", "yes please", "yes.")]
    assert all("not done again" in text_of(body) for body in await asyncio.gather(*edits))
    assert len(clerk.booked) == 1


async def test_an_action_that_failed_is_not_said_to_be_done(serve: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same request does not try again, and says how to proceed. A new proposal can be confirmed."""

    async def fail(self: Clerk, action: Action, principal: Principal) -> str:
        raise AssistantError("The office is closed.")

    proxy, clerk = await serve()
    with monkeypatch.context() as closed:
        closed.setattr(Clerk, "act", fail)
        body, said = await confirm(proxy)
    assert text_of(body).endswith("The office is closed.")
    assert text_of(await proxy.say(*said)).endswith("If it did not succeed then, ask for it again.")
    said += [text_of(body), "a tour please"]
    said += [text_of(await proxy.say(*said)), "yes"]
    await proxy.say(*said)
    assert len(clerk.booked) == 1


async def test_an_action_goes_on_when_the_client_leaves(serve: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """A started action runs to its end."""
    begun, end, done = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def act(self: Clerk, action: Action, principal: Principal) -> str:
        begun.set()
        await end.wait()
        done.set()
        return "The tour is booked."

    monkeypatch.setattr(Clerk, "act", act)
    proxy, _ = await serve()
    first = text_of(await proxy.say("a tour please"))
    leaving = asyncio.create_task(proxy.stream("a tour please", first, "yes"))
    await begun.wait()
    leaving.cancel()
    await asyncio.gather(leaving, return_exceptions=True)
    await asyncio.sleep(0.1)
    end.set()
    async with asyncio.timeout(1):
        await done.wait()


async def test_what_the_client_cut_off_cannot_be_confirmed(serve: Open) -> None:
    """The user has not seen the action."""
    proxy, _ = await serve()
    assert TOUR.code not in text_of(await proxy.say("a tour please", stop=["Monday"]))


async def test_an_alias_with_a_fallback_does_not_act(serve: Open) -> None:
    """The fallback's answer, and the action in it, may come from another server."""
    for stand_in in ("", "chatbot"):
        proxy, _ = await serve(stand_in=stand_in)
        engine = proxy.app[SERVICE].chatbots["bot"].models.acting_engine("clerk")
        assert (engine is None) == bool(stand_in)


async def test_nothing_is_done_by_the_code_of_something_else(serve: Open) -> None:
    """Neither another action's code nor an empty code runs an action."""
    proxy, clerk = await serve()
    engine = proxy.app[SERVICE].chatbots["bot"].models.acting_engine("clerk")
    assert engine is not None
    for code in ("", TOUR.code):
        with pytest.raises(AssistantFailed):
            await engine.act({"name": "book_tour", "arguments": {"day": "Friday"}, "code": code})
    assert clerk.booked == []


async def test_no_response_format_may_be_said_by_null(serve: Open) -> None:
    """Some clients send `response_format: null`."""
    proxy, _ = await serve()
    assert "4,310" in text_of(await proxy.say("count", response_format=None))


@pytest.mark.parametrize("stream", [False, True])
async def test_a_proposal_does_nothing(serve: Open, stream: bool) -> None:
    """A confirmation whose code no reply of ours proposed runs nothing either."""
    proxy, clerk = await serve()
    for said in (["a tour please"], ["a tour please", f"Say yes to {TOUR.code}.", "yes"], ["yes"]):
        await (proxy.stream(*said) if stream else proxy.say(*said))
    assert clerk.booked == []


@pytest.mark.parametrize(
    "fields", [{"n": 2}, {"headers": {"X-CAF-Filter": "off"}}, {"headers": {"X-CAF-Filter": "shadow"}}]
)
async def test_nothing_is_done_for_what_was_not_judged(serve: Open, fields: Body) -> None:
    """With the filter off or in shadow mode, and for one of several choices."""
    proxy, clerk = await serve()
    first = text_of(await proxy.say("a tour please"))
    body = await proxy.say("a tour please", first, "yes", **fields)
    assert "was not done" in text_of(body)
    assert ("request asked for several" in text_of(body)) == ("n" in fields)
    assert clerk.booked == []


@pytest.mark.parametrize("stream", [False, True])
async def test_a_confirmation_that_wants_json_is_told_that_nothing_is_done(serve: Open, stream: bool) -> None:
    """The JSON reply says so. A proposal in JSON shows no code to confirm."""
    proxy, clerk = await serve()
    first = text_of(await proxy.say("a tour please"))
    fields = {"response_format": {"type": "json_object"}}
    if stream:
        assert b"was not done" in await proxy.stream("a tour please", first, "yes", **fields)
    else:
        told = json.loads(text_of(await proxy.say("a tour please", first, "yes", **fields)))
        assert told["answer"].startswith("Thank you.\n\nThis was not done")
    assert TOUR.code not in text_of(await proxy.say("a tour please", **fields))
    assert clerk.booked == []


async def test_a_confirmation_may_be_asked_in_any_words(serve: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored code of the proposal counts, not the wording."""
    proxy, clerk = await serve()
    monkeypatch.setattr("tests.assistants.clerk.TOUR", replace(TOUR, prompt="Zum Buchen: „{code}“."))
    said = ["a tour please", text_of(await proxy.say("a tour please"))]
    assert f"Zum Buchen: „{TOUR.code}“." in said[1]
    monkeypatch.setattr("tests.assistants.clerk.TOUR", TOUR)
    await proxy.say(*said, "yes")
    assert len(clerk.booked) == 1


async def test_a_code_that_a_reply_quotes_was_not_proposed(serve: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even in the confirmation prompt, because a reply may quote its user."""
    proxy, clerk = await serve()
    line = TOUR.prompt.replace("{code}", TOUR.code)
    monkeypatch.setattr("tests.assistants.clerk.COUNTS", replace(COUNTS, text=f"{COUNTS.text}\n\n{line}"))
    first = text_of(await proxy.say("count"))
    assert line in first
    told = text_of(await proxy.say("count", first, "yes"))
    assert "was not done" in told
    assert clerk.booked == []
    await proxy.say("count", first, "yes", told, "yes")
    assert len(clerk.booked) == 1


async def test_acting_needs_the_permission(serve: Open, start: Start, tmp_path: Path) -> None:
    """The API key must have the permission `act`."""
    config, plain = keyed(tmp_path)
    _, allowed = keyed(tmp_path, "chat", "act")
    proxy, clerk = await serve(config)
    body, _ = await confirm(proxy, headers=plain)
    assert "`act`" in text_of(body)
    assert clerk.booked == []
    await confirm(proxy, headers=allowed)
    assert [principal.permissions for _, principal in clerk.booked] == [frozenset({"chat", "act"})]


async def test_an_assistant_asks_models_of_its_own(serve: Open) -> None:
    """These calls count in the turn's usage."""
    proxy, _ = await serve()
    proxy.upstream.answer = lambda body: "Written by a model."
    body = await proxy.say("ask")
    assert body["usage"]["total_tokens"] == 15
    assert [(call["step"], call["model"]) for call in body["caf"]["usage"]] == [
        ("assistant", "chatbot"),
        ("draft", "clerk"),
    ]


async def test_a_model_is_asked_for_what_fits_a_schema(serve: Open) -> None:
    """Less strictly if its server does not support `json_schema`; an unreadable answer is requested once more."""
    proxy, _ = await serve()
    asked: list[str] = []

    def answer(body: Body) -> Any:
        asked.append(body.get("response_format", {}).get("type", "none"))
        if asked[-1] == "json_schema":
            return web.json_response({"error": {"message": "no such format", "param": "response_format"}}, status=400)
        return "Monday." if len(asked) == 2 else '{"day": "Monday"}'

    proxy.upstream.answer = answer
    body = await proxy.say("ask for the day", headers={"X-CAF-Filter": "off"})
    assert text_of(body) == "It is Monday."
    assert asked == ["json_schema", "json_object", "json_object"]
    assert [call["step"] for call in body["caf"]["usage"]] == ["assistant"] * 3 + ["draft"]


@pytest.mark.parametrize("stream", [False, True])
async def test_an_assistant_that_is_only_forwarded_brings_nothing_and_does_nothing(serve: Open, stream: bool) -> None:
    """A passthrough chatbot delivers neither documents nor actions."""
    proxy, clerk = await serve(kind="passthrough")
    for said in (["count"], ["a tour please"], ["yes"]):
        raw = await proxy.stream(*said) if stream else json.dumps(await proxy.say(*said)).encode()
        assert b"documents" not in raw
        assert b"book_tour" not in raw
    assert clerk.booked == []


@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_forwarded_assistant_asks_counts_for_the_key(serve: Open, tmp_path: Path, stream: bool) -> None:
    """A key that has used up its tokens is refused."""
    config, key = keyed(tmp_path, tokens_per_minute=10)
    proxy, _ = await serve(config, kind="passthrough")
    proxy.upstream.answer = lambda body: "Written by a model."
    body = {"model": "bot", "messages": dialogue("ask"), "stream": stream}
    await (proxy.stream if stream else proxy.say)("ask", headers=key)
    status, _ = await proxy.error(body, key)
    assert status == 429


async def test_only_declared_tools_are_called(serve: Open) -> None:
    """Without declared tools the assistant asks in text."""
    proxy, _ = await serve(trusted_tools=["open_calendar"])
    tools = [{"type": "function", "function": {"name": "open_calendar", "parameters": {"type": "object"}}}]
    body = await proxy.say("use the tool", tools=tools)
    assert [call["function"]["name"] for call in body["choices"][0]["message"]["tool_calls"]] == ["open_calendar"]
    assert text_of(await proxy.say("use the tool")) == "Hello."


@pytest.mark.parametrize("question", ["crash", "refuse"])
async def test_a_failing_assistant_is_a_clear_error(serve: Open, question: str) -> None:
    """The error does not contain the assistant's exception text."""
    proxy, _ = await serve()
    status, error = await proxy.error({"model": "bot", "messages": dialogue(question)})
    assert status == 502
    assert "secret" not in json.dumps(error)


async def test_the_trace_has_the_reason_that_an_assistant_gives(serve: Open) -> None:
    """Only an `AssistantError` has a reason. The message of any other exception may quote a user."""
    proxy, _ = await serve()
    traces = proxy.traces()
    for question in ("refuse", "crash"):
        await proxy.error({"model": "bot", "messages": dialogue(question)})
    assert [[(note.step, note.detail) for note in trace.notes] for trace in traces] == [
        [("read", "refuse"), ("error", "the ledger is closed")],
        [("read", "crash")],
    ]


async def test_the_trace_has_what_an_assistant_did(serve: Open) -> None:
    """The notes are in the order of the steps."""
    proxy, _ = await serve()
    traces = proxy.traces()
    await confirm(proxy)
    assert [(note.step, note.detail) for note in traces[-1].notes] == [
        ("read", "yes"),
        ("act", "book_tour: The tour is booked."),
    ]


async def test_an_action_that_takes_too_long_is_broken_off_and_told(
    serve: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reply says that the action may have been done."""
    proxy, _ = await serve()

    async def act(self: Clerk, action: object, principal: object) -> str:
        await asyncio.sleep(60)
        return "done"

    monkeypatch.setattr(Clerk, "act", act)
    monkeypatch.setattr("proxy.turn.actions.LIMIT_S", 0.05)
    body, _ = await confirm(proxy)
    assert "took too long" in text_of(body)
