"""What a model wants back with its tool calls: Gemini's signatures, DeepSeek's reasoning, ids that mean something at the upstream.

It comes back to the upstream when the client sends the call back, and no client sees it.
"""

import asyncio
import json
from itertools import product
from typing import Any

import pytest
import structlog
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.api.service import SERVICE
from proxy.state import delivered_calls
from proxy.state.conversation_store import LocalConversations
from tests.proxy.conftest import Body, Proxy, Start

SECRET = "zqx-state-zqx"
"""Stands in all that no client is to see."""
USER = {"role": "user", "content": "What is the weather in Paris?"}
NAMES = ("get_weather", "apply_patch")
TOOLS = [
    {"type": "function", "function": {"name": NAMES[0], "parameters": {"type": "object"}}},
    {"type": "custom", "custom": {"name": NAMES[1]}},
]
KINDS: dict[str, Body] = {
    "guarded": {},
    "wrapped": {"kind": "wrapped"},
    "observe": {"streaming": "observe", "kind": "wrapped"},
    "off": {"filter": "off"},
}
IDS = ["", "call_0", f"functions.get_weather:0 {SECRET}", f"call_1__thought__{SECRET * 40}"]
CALL_STATE: list[Body] = [
    {},
    {"extra_content": {"google": {"thought_signature": SECRET}}},
    {"provider_specific_fields": {"a": [SECRET, {"b": 1.5}]}, "x_flag": False},
]
MESSAGE_STATE: list[Body] = [
    {},
    {"reasoning_content": SECRET},
    {
        "reasoning_details": [{"type": "reasoning.encrypted", "data": SECRET, "index": 0}],
        "thinking_blocks": [{"signature": SECRET}],
    },
]
CASES = list(product(IDS, CALL_STATE, MESSAGE_STATE))


def call(ident: str, state: Body, kind: str = "function", arguments: str = '{"city": "Paris"}') -> Body:
    field = "arguments" if kind == "function" else "input"
    name = NAMES[kind == "custom"]
    return {"id": ident, "type": kind, kind: {"name": name, field: arguments}, **state}


def answer_with(proxy: Proxy, message: Body, streamed: bool = False) -> None:
    """Have the upstream answer with a message, in one piece or in two chunks."""

    async def respond(request: web.Request) -> web.StreamResponse:
        calls = [{**one, "index": place} for place, one in enumerate(message.get("tool_calls") or ())]
        first = {name: value for name, value in message.items() if name != "tool_calls"}
        choices: list[Body] = [
            {"delta": first},
            {"delta": {"tool_calls": calls}},
            {"delta": {}, "finish_reason": "tool_calls"},
        ]
        events = [b"data: " + json.dumps({"id": "x", "choices": [{"index": 0, **one}]}).encode() for one in choices]
        return web.Response(body=b"\n\n".join([*events, b"data: [DONE]", b""]), content_type="text/event-stream")

    proxy.upstream.respond = respond if streamed else None
    proxy.upstream.answer = lambda body: [json.loads(json.dumps({"role": "assistant", **message}))]


async def ask(proxy: Proxy, *messages: Body, **fields: Any) -> Body:
    """Return the message that comes back; with `stream`, put together from its chunks."""
    if not fields.get("stream"):
        body = await proxy.say(*messages, tools=TOOLS, **fields)
        assert SECRET not in json.dumps(body)
        message: Body = body["choices"][0]["message"]
        return message
    raw = (await proxy.stream(*messages, tools=TOOLS, **fields)).decode()
    assert SECRET not in raw
    deltas = [json.loads(line[6:])["choices"][0]["delta"] for line in raw.split("\n") if line.startswith("data: {")]
    whole = {"role": "assistant"} | {name: value for delta in deltas for name, value in delta.items()}
    for one in whole.get("tool_calls", ()):
        del one["index"]
    return whole


def results_of(message: Body) -> list[Body]:
    return [{"role": "tool", "tool_call_id": one["id"], "content": "Sunny."} for one in message["tool_calls"]]


async def second_turn(proxy: Proxy, message: Body, **fields: Any) -> tuple[Body, list[Body]]:
    """Have a message of calls answered; return what the upstream gets then of the message, and of the results."""
    answer_with(proxy, message, streamed=bool(fields.pop("streamed_upstream", False)))
    reply = await ask(proxy, USER, **fields)
    answer_with(proxy, {"content": "It is sunny."})
    await ask(proxy, USER, reply, *results_of(reply), **fields)
    sent = proxy.upstream.requests[-1]["messages"]
    place = next(place for place, one in enumerate(sent) if one.get("tool_calls"))
    return sent[place], [one for one in sent[place:] if one["role"] == "tool"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", KINDS)
async def test_what_the_upstream_sent_comes_back_to_it(start: Start, kind: str, stream: bool) -> None:
    """Ids, and fields of calls and of the message that are unknown here, for several calls at once."""
    proxy = await start(trusted_tools=[*NAMES], knowledge_base=None, **KINDS[kind])
    for ident, of_call, of_message in CASES:
        calls = [call(ident, of_call), call(f"{ident}2", {}, "custom"), call(f"{ident}3", of_call, "custom")]
        message = {"content": None, **of_message, "tool_calls": calls}
        upstream = {"streamed_upstream": kind == "observe", "stream": stream}
        sent, results = await second_turn(proxy, message, **upstream)
        assert {name: sent[name] for name in of_message} == of_message
        ids = [one["id"] for one in sent["tool_calls"]]
        assert ids[1:] == [one["id"] for one in calls[1:]]
        assert ids[0] == ident or not ident
        assert [{**one, "id": ""} for one in sent["tool_calls"]] == [{**one, "id": ""} for one in calls]
        assert [one["tool_call_id"] for one in results] == ids


async def test_calls_of_one_upstream_id_are_told_apart(start: Start) -> None:
    """Some servers number the calls of each answer anew: every conversation gets its own state back."""
    proxy = await start(trusted_tools=[*NAMES], kind="wrapped")
    replies = []
    for n in range(4):
        message = {
            "content": None,
            "reasoning_content": f"{SECRET}{n}",
            "tool_calls": [call("call_0", {"x_n": n}), call("call_0", {"x_n": -n - 1})],
        }
        answer_with(proxy, message)
        replies.append(await ask(proxy, USER))
    assert len({one["id"] for reply in replies for one in reply["tool_calls"]}) == 8
    answer_with(proxy, {"content": "It is sunny."})
    for n in (2, 0, 3, 1):
        await ask(proxy, USER, replies[n], *results_of(replies[n]))
        sent = proxy.upstream.requests[-1]["messages"]
        assert sent[1]["reasoning_content"] == f"{SECRET}{n}"
        assert [one["x_n"] for one in sent[1]["tool_calls"]] == [n, -n - 1]


@pytest.mark.parametrize("kind", KINDS)
async def test_state_comes_back_in_later_turns_and_after_a_dropped_call(start: Start, kind: str) -> None:
    """A long loop of calls, each answer with its own; a call that nobody declared takes nothing with it."""
    proxy = await start(trusted_tools=[*NAMES], knowledge_base=None, **KINDS[kind])
    messages: list[Body] = [USER]
    for n in range(4):
        undeclared = {"id": "u", "type": "function", "function": {"name": "unknown", "arguments": "{}"}}
        answer_with(
            proxy,
            {
                "content": None,
                "reasoning_content": f"{SECRET}{n}",
                "tool_calls": [undeclared, call(f"f:{n}", {"x_n": n + 1})],
            },
        )
        reply = await ask(proxy, *messages)
        messages += [reply, *results_of(reply)]
    answer_with(proxy, {"content": "It is sunny."})
    messages += [await ask(proxy, *messages), {"role": "user", "content": "And tomorrow?"}]
    await ask(proxy, *messages)
    sent = [one for one in proxy.upstream.requests[-1]["messages"] if one.get("tool_calls")]
    assert [(one["reasoning_content"], one["tool_calls"][0]["id"], one["tool_calls"][0]["x_n"]) for one in sent] == [
        (f"{SECRET}{n}", f"f:{n}", n + 1) for n in range(4)
    ]


async def test_a_lost_state_is_logged_and_the_clients_id_goes_up(start: Start) -> None:
    """As after a restart, or in another process without Redis; also for another user of the key."""
    proxy = await start(trusted_tools=[*NAMES], kind="wrapped")
    answer_with(
        proxy,
        {"content": None, "reasoning_content": SECRET, "tool_calls": [call("functions.get_weather:0", {"x": SECRET})]},
    )
    reply = await ask(proxy, USER)
    answer_with(proxy, {"content": "It is sunny."})

    async def lost(**fields: Any) -> None:
        with structlog.testing.capture_logs() as logs:
            await ask(proxy, USER, reply, *results_of(reply), **fields)
        sent = proxy.upstream.requests[-1]["messages"]
        assert sent[1:3] == [reply, *results_of(reply)]
        (entry,) = (one for one in logs if "state is not known" in one["event"])
        assert entry["calls"] == 1

    await lost(user="somebody else")
    proxy.app[SERVICE].conversations._calls.clear()  # type: ignore[attr-defined]
    await lost()


async def test_state_is_bounded(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is too large for one call is not kept, but its id is; of all calls the longest unused go first."""
    proxy = await start(trusted_tools=[*NAMES], kind="wrapped")
    for size, kept in ((1_000, True), (delivered_calls.MAX_STATE_BYTES, False)):
        sent, _ = await second_turn(
            proxy, {"content": None, "reasoning_content": "x" * size, "tool_calls": [call("f:0", {})]}
        )
        assert ("reasoning_content" in sent) == kept
        assert sent["tool_calls"][0]["id"] == "f:0"
    store = LocalConversations(10, 60)
    large = {"reasoning_content": "x" * (delivered_calls.MAX_STATE_BYTES - 100)}
    for n in range(1_000):
        await store.put_calls({bytes([n % 250, n // 250]): delivered_calls.delivered_call("c", "f", "{}", {}, large)})
    assert 200 < len(store._calls) < 260
    assert (await store.get_calls([bytes([249, 3]), bytes([0, 0])]))[0] is not None
    assert (await store.get_calls([bytes([0, 0])])) == [None]


async def test_tool_calls_go_on_with_their_conversation(start: Start) -> None:
    """Its id stays, so that erasing it takes the state of its calls along."""
    proxy = await start(trusted_tools=[*NAMES], kind="wrapped")
    answer_with(proxy, {"content": None, "tool_calls": [call("f:0", {})]})
    first = await proxy.say(USER, tools=TOOLS)
    reply = first["choices"][0]["message"]
    answer_with(proxy, {"content": "It is sunny."})
    second = await proxy.say(USER, reply, *results_of(reply), tools=TOOLS)
    assert first["caf"]["conversation_id"] == second["caf"]["conversation_id"]
    await proxy.app[SERVICE].conversations.forget(first["caf"]["conversation_id"])
    await proxy.say(USER, reply, *results_of(reply), tools=TOOLS)
    assert proxy.upstream.requests[-1]["messages"][1]["tool_calls"][0]["id"] == reply["tool_calls"][0]["id"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = st.dictionaries(
    st.sampled_from(["extra_content", "reasoning", "x_state", "signature", "index", "kind"]), JSON, max_size=3
)


@pytest.mark.parametrize("kind", ["guarded", "wrapped"])
async def test_any_state_comes_back(start: Start, kind: str) -> None:
    """Of any shape, under any name and id; what is empty may be left out."""
    proxy = await start(trusted_tools=[*NAMES], knowledge_base=None, **KINDS[kind])
    loop = asyncio.get_running_loop()

    async def attempt(ident: str, of_call: Body, of_message: Body) -> None:
        of_call.pop("index", None)
        sent, results = await second_turn(proxy, {"content": None, **of_message, "tool_calls": [call(ident, of_call)]})
        for fields, got in ((of_message, sent), (of_call, sent["tool_calls"][0])):
            assert all(got.get(name) == value or value in (None, "", [], {}) for name, value in fields.items())
        assert sent["tool_calls"][0]["id"] == ident == results[0]["tool_call_id"] or not ident

    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.text(max_size=40), FIELDS, FIELDS)
    def fuzz(ident: str, of_call: Body, of_message: Body) -> None:
        asyncio.run_coroutine_threadsafe(attempt(ident, of_call, of_message), loop).result(20)

    await asyncio.to_thread(fuzz)


@pytest.mark.parametrize("streamed", [False, True])
async def test_passthrough_forwards_it_as_it_is(start: Start, streamed: bool) -> None:
    """To the client, and what the client sends back to the upstream."""
    proxy = await start(chatbots={"bot": {"kind": "passthrough", "model": "chatbot"}})
    calls = [call("functions.get_weather:0", {"extra_content": {"google": {"thought_signature": SECRET}}})]
    message = {"role": "assistant", "content": None, "reasoning_content": SECRET, "tool_calls": calls}
    answer_with(proxy, message, streamed)
    if streamed:
        raw = (await proxy.stream(USER, tools=TOOLS)).decode()
        assert raw.count(SECRET) == 2
        assert "functions.get_weather:0" in raw
    else:
        assert (await proxy.say(USER, tools=TOOLS))["choices"][0]["message"] == message
    answer_with(proxy, {"content": "It is sunny."})
    await proxy.say(USER, message, *results_of(message), tools=TOOLS)
    assert proxy.upstream.requests[-1]["messages"][1] == message
