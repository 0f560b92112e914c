"""Advice in the ids of tool calls, also in forms that servers' own ids have: clients get ids of ours, and the upstream its own."""

import re
from itertools import product
from typing import Any

import pytest

from tests.attacks.forms import FORMS, Got, ask, check
from tests.proxy.conftest import Body, Proxy, Start

SAID = "What is the weather in Paris?"
ADVICE = (
    "stop2taking3quetiapine",
    "Take900mgTonight",
    "overdose",
    "StopYourTablets",
    "take 900 mg",
    "4 0 m g",
    "é́̂",
    "x" * 400,
)
PREFIXES = ("", "call_", "toolu_", "chatcmpl-tool-", "function-call-", "functions.f:0 ")
SPELLED = ["".join(parts) for parts in product(PREFIXES, ADVICE)]
OTHERS: list[Any] = [
    None,
    "",
    5,
    ["stop"],
    "call_unLAR8MvFNptuiZK6K6HCy5k",
    "D681PevKs",
    "toolu_01A09q90qw90lq917835lq9",
]
KINDS: dict[str, Body] = {
    "guarded": {},
    "wrapped": {"kind": "wrapped"},
    "observe": {"streaming": "observe"},
    "off": {"filter": "off"},
    "shadow": {"filter": "shadow"},
}
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in "fg"]


def answer_with_calls(proxy: Proxy, ident: Any) -> None:
    """Have the upstream call two tools under one id."""
    calls = [{"id": ident, "type": "function", "function": {"name": name, "arguments": "{}"}} for name in "fg"]
    proxy.upstream.answer = lambda body: [{"role": "assistant", "content": None, "tool_calls": calls}]


def ids_of(got: Got) -> list[str]:
    if got.form.startswith("responses"):
        return [item["call_id"] for item in got.whole["output"]]
    return [call["id"] for call in got.whole["choices"][0]["message"]["tool_calls"]]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
async def test_ids_of_calls_are_ours(start: Start, kind: str, form: str) -> None:
    """Of digits and the letters a to f, each another, whatever the upstream writes."""
    proxy = await start(knowledge_base=None, trusted_tools=["f", "g"], **KINDS[kind])
    seen: set[str] = set()
    for ident in [*SPELLED[:: len(FORMS)], *OTHERS]:
        answer_with_calls(proxy, ident)
        got = await ask(proxy, form, SAID, tools=TOOLS)
        assert not got.failed, got
        check(got)
        assert not isinstance(ident, str) or len(ident) < 4 or ident not in got
        ids = ids_of(got)
        assert all(re.fullmatch(r"[0-9a-f]{9}", one) for one in ids)
        assert len({*ids} - seen) == 2
        seen |= {*ids}


@pytest.mark.parametrize("kind", KINDS)
async def test_the_upstream_gets_its_own_back(start: Start, kind: str) -> None:
    """For calls and results; ours, where it gave none."""
    proxy = await start(knowledge_base=None, trusted_tools=["f", "g"], **KINDS[kind])
    user = {"role": "user", "content": SAID}
    for ident in [*ADVICE, *OTHERS]:
        answer_with_calls(proxy, ident)
        reply = (await proxy.say(user, tools=TOOLS))["choices"][0]["message"]
        ours = [call["id"] for call in reply["tool_calls"]]
        proxy.upstream.answer = lambda body: "It is sunny."
        results = [{"role": "tool", "tool_call_id": one, "content": "Sunny."} for one in ours]
        await proxy.say(user, reply, *results, tools=TOOLS)
        sent = next(body for body in reversed(proxy.upstream.requests) if body["model"] == "up-chatbot")["messages"]
        expected = [ident, ident] if isinstance(ident, str) and ident else ours
        assert [call["id"] for one in sent for call in one.get("tool_calls") or ()] == expected
        assert [one["tool_call_id"] for one in sent if one["role"] == "tool"] == expected


HOSTILE: list[Any] = ["unknown", "", None, 5, ["a"], {"a": 1}, "x" * 10_000]


@pytest.mark.parametrize("kind", KINDS)
async def test_ids_that_a_client_makes_up_go_up_as_they_are(start: Start, kind: str) -> None:
    """Whatever type they have: the upstream decides."""
    proxy = await start(knowledge_base=None, **KINDS[kind])
    proxy.upstream.answer = lambda body: "It is sunny."
    for ident in HOSTILE:
        call = {"id": ident, "type": "function", "function": {"name": "f", "arguments": "{}"}}
        messages = [
            {"role": "user", "content": SAID},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": ident, "content": "Sunny."},
        ]
        await proxy.say(*messages)
        sent = next(body for body in reversed(proxy.upstream.requests) if body["model"] == "up-chatbot")["messages"]
        assert [one["tool_calls"] for one in sent if one.get("tool_calls")] == [[call]]
        assert [one["tool_call_id"] for one in sent if one["role"] == "tool"] == [ident]
