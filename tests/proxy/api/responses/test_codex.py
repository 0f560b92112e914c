"""Requests of Codex and other agents to /v1/responses: supported tools are forwarded, others refused by type."""

import json
from contextlib import suppress
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.api.responses.request import IGNORED, read_responses_request
from proxy.api.responses.translation import as_chat, messages_of
from proxy.protocol.errors import BadRequest
from proxy.protocol.user_texts import find_user_texts
from tests.attacks.forms import FORMS, Got, check
from tests.proxy.conftest import CRISIS, Body, Proxy, Start, screening

ROLE = [{"name": "role", "stages": ["swift"]}]
MARKER = "take_900mg_quetiapine_tonight"
SHELL = {"type": "function", "name": "shell", "strict": False, "parameters": {"type": "object", "properties": {}}}
PATCH = {
    "type": "custom",
    "name": "apply_patch",
    "description": "Edits files.",
    "format": {"type": "grammar", "syntax": "lark", "definition": "start: /.+/"},
}
INPUT = '*** Begin Patch\n*** Add File: a "b".txt\n+é 😀\n*** End Patch'
HOSTED: list[Body] = [
    {"type": "local_shell"},
    {"type": "web_search", "external_web_access": True},
    {"type": "web_search_preview"},
    {"type": "file_search", "vector_store_ids": ["v"]},
    {"type": "computer_use_preview", "display_width": 1},
    {"type": "code_interpreter", "container": {"type": "auto"}},
    {"type": "image_generation", "output_format": "png"},
    {"type": "mcp", "server_label": "x", "server_url": "https://example.org"},
    {"type": "tool_search", "execution": "client", "parameters": {}},
    {"type": "namespace", "name": "x", "tools": [SHELL]},
    {"type": "shell"},
    {"type": "apply_patch"},
]
UNKNOWN_ITEMS: list[Body] = [
    {"type": "local_shell_call", "call_id": "1", "status": "completed", "action": {"type": "exec", "command": ["ls"]}},
    {"type": "local_shell_call_output", "id": "1", "output": "a.txt"},
    {"type": "tool_search_call", "call_id": "1", "arguments": {"query": "x"}},
    {"type": "tool_search_output", "call_id": "1", "tools": [SHELL]},
    {"type": "mcp_call", "name": "f", "arguments": "{}", "output": "x", "content": [{"x": 1}]},
    {"type": "computer_call_output", "call_id": "1", "output": {"type": "computer_screenshot"}},
    {"type": "code_interpreter_call", "code": "1", "outputs": None},
    {"type": "image_generation_call", "result": "aGk="},
    {"type": "compaction", "encrypted_content": "x"},
    {"type": "item_reference", "id": "x"},
    {"type": "agent_message", "content": [{"type": 5}], "role": "boss"},
]
IGNORED_ITEMS: list[Body] = [
    {"type": "reasoning", "summary": [], "content": None, "encrypted_content": "gAAAA"},
    {"type": "reasoning", "id": "r", "summary": [{"type": "summary_text", "text": "x"}],
     "content": [{"type": "reasoning_text", "text": "x"}]},
    {"type": "web_search_call", "status": "completed", "action": {"type": "search", "query": "x"}},
    {"type": "ghost_snapshot", "ghost_commit": {"id": "x", "parent": None}},
]  # fmt: skip
CODEX: Body = {
    "model": "bot",
    "instructions": "You are a coding agent.",
    "input": [
        {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "<permissions>"}]},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Write a file."}]},
    ],
    "tools": [SHELL, PATCH],
    "tool_choice": "auto",
    "parallel_tool_calls": False,
    "reasoning": {"effort": "medium", "summary": "auto"},
    "store": False,
    "stream": True,
    "include": ["reasoning.encrypted_content"],
    "prompt_cache_key": "0199-aa",
    "text": {"verbosity": "low"},
}


async def respond(proxy: Proxy, body: Body) -> Got:
    """Send a request unchanged."""
    streamed = body.get("stream") is True
    async with proxy.session.post(f"{proxy.url}/v1/responses", json=body) as response:
        raw = await response.text()
        lines = (
            [line[6:] for line in raw.split("\n") if line.startswith("data: ")] if streamed and response.ok else [raw]
        )
        return Got(FORMS[2 + streamed], response.status, dict(response.headers), [json.loads(line) for line in lines])


def answer_with(proxy: Proxy, *calls: Body, content: str | None = None) -> None:
    message = {"role": "assistant", "content": content} | ({"tool_calls": [*calls]} if calls else {})
    proxy.upstream.answer = lambda body: [json.loads(json.dumps(message))]


def patch_call(given: str = INPUT) -> Body:
    return {"id": "call_up", "type": "custom", "custom": {"name": "apply_patch", "input": given}}


@pytest.mark.parametrize("kind", ["guarded", "wrapped", "passthrough"])
@pytest.mark.parametrize("stream", [False, True])
async def test_custom_tools_pass_both_ways(start: Start, kind: str, stream: bool) -> None:
    """Their declaration, a call beside a function's call, and its result; the history in Codex's form."""
    settings = {"kind": "passthrough", "model": "chatbot"}
    guarded = {"kind": kind, "knowledge_base": None, "trusted_tools": ["shell", "apply_patch"]}
    chatbots = {"chatbots": {"bot": settings}} if kind == "passthrough" else guarded
    proxy = await start(**chatbots)
    called = [
        patch_call(),
        {"id": "call_2", "type": "function", "function": {"name": "shell", "arguments": '{"command": ["ls"]}'}},
    ]
    answer_with(proxy, *called)
    got = await respond(proxy, {**CODEX, "stream": stream})
    assert not got.failed, got
    check(got)
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /.+/"}}
    assert proxy.upstream.requests[-1]["tools"] == [
        {"type": "function", "function": {name: value for name, value in SHELL.items() if name != "type"}},
        {"type": "custom", "custom": {"name": "apply_patch", "description": "Edits files.", "format": grammar}},
    ]
    patch, shell = got.whole["output"]
    assert (patch["type"], patch["name"], patch["input"]) == ("custom_tool_call", "apply_patch", INPUT)
    assert (shell["type"], shell["name"]) == ("function_call", "shell")
    if stream:
        kinds = [part["type"] for part in got.parts if "custom_tool_call" in part["type"]]
        assert kinds == ["response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"]
        assert [part["input"] for part in got.parts if part["type"] == kinds[1]] == [INPUT]
        done = [part["item"] for part in got.parts if part["type"] == "response.output_item.done"]
        assert done == got.whole["output"]
    answer_with(proxy, content="Done.")
    history = [
        *CODEX["input"],
        {"type": "reasoning", "summary": [], "encrypted_content": "x"},
        {name: value for name, value in patch.items() if name != "id"},
        shell,
        {"type": "custom_tool_call_output", "call_id": patch["call_id"], "output": "Success."},
        {"type": "function_call_output", "call_id": shell["call_id"], "output": "a.txt"},
    ]
    got = await respond(proxy, {**CODEX, "input": history, "stream": stream})
    assert not got.failed, got
    sent = [one for one in proxy.upstream.requests[-1]["messages"] if one["role"] in ("assistant", "tool")]
    assert sent == [
        {"role": "assistant", "content": None, "tool_calls": called},
        {"role": "tool", "tool_call_id": "call_up", "content": "Success."},
        {"role": "tool", "tool_call_id": "call_2", "content": "a.txt"},
    ]


@pytest.mark.parametrize("stream", [False, True])
async def test_input_of_a_custom_tool_is_judged(start: Start, stream: bool) -> None:
    """Like the arguments of a function. A call of an undeclared tool is not delivered."""
    proxy = await start(judges=ROLE, knowledge_base=None)

    def answer(body: Body) -> Any:
        if body["model"] == "up-swift":
            reply = json.loads(body["messages"][1]["content"])["reply"]
            return screening(("role", MARKER, 2)) if MARKER in reply else screening()
        return [{"role": "assistant", "content": None, "tool_calls": [patch_call(f"+{MARKER}")]}]

    proxy.upstream.answer = answer
    for tools in ([PATCH], [SHELL], [{**SHELL, "name": "apply_patch"}]):
        got = await respond(proxy, {**CODEX, "tools": tools, "stream": stream})
        assert MARKER not in got
        assert got.refusals
    stored = {**CODEX, "stream": stream, "store": True}
    proxy.upstream.answer = lambda body: (
        screening()
        if body["model"] == "up-swift"
        else [{"role": "assistant", "content": None, "tool_calls": [patch_call()]}]
    )
    first = await respond(proxy, stored)
    (item,) = first.whole["output"]
    output = {"type": "custom_tool_call_output", "call_id": item["call_id"], "output": "Success."}
    proxy.upstream.answer = lambda body: screening() if body["model"] == "up-swift" else "Done."
    got = await respond(proxy, {**stored, "previous_response_id": first.whole["id"], "input": [output]})
    assert not got.failed
    sent = next(body for body in reversed(proxy.upstream.requests) if body["model"] == "up-chatbot")["messages"]
    assert [one["tool_calls"] for one in sent if one.get("tool_calls")] == [[patch_call()]]


def refusal(**fields: Any) -> BadRequest:
    with pytest.raises(BadRequest) as caught:
        as_chat(read_responses_request({**CODEX, **fields}), [])
    return caught.value


@pytest.mark.parametrize("place", [0, 2])
@pytest.mark.parametrize("tool", HOSTED, ids=lambda tool: tool["type"])
def test_other_tools_are_refused_by_their_type(tool: Body, place: int) -> None:
    """The message lists the supported types, and does not say where a tool runs."""
    tools = [SHELL, PATCH]
    tools.insert(place, tool)
    error = refusal(tools=tools)
    assert error.param == f"tools[{place}].type"
    assert all(f"{name}" in error.message for name in (repr(tool["type"]), "function", "custom"))
    assert "OpenAI" not in error.message
    error = refusal(tool_choice={"type": tool["type"]})
    assert error.param == "tool_choice"
    assert repr(tool["type"]) in error.message
    assert (
        refusal(tool_choice={"type": "allowed_tools", "tools": [{"type": "custom", "name": "a"}, tool]}).param
        == "tool_choice"
    )


@pytest.mark.parametrize("item", UNKNOWN_ITEMS, ids=lambda item: item["type"])
def test_other_items_are_refused_by_their_type(item: Body) -> None:
    """The error names the type, independent of the item's fields."""
    error = refusal(input=[*CODEX["input"], item])
    assert error.param == "input[2].type"
    assert all(name in error.message for name in (repr(item["type"]), "custom_tool_call_output", *IGNORED))


CALLS: list[Body] = [
    {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"},
    {"type": "custom_tool_call", "call_id": "2", "name": "g", "input": "x", "status": "completed"},
]
OUTPUTS: list[Body] = [
    {"type": "function_call_output", "call_id": "1", "output": "a"},
    {"type": "custom_tool_call_output", "call_id": "2", "output": [{"type": "input_text", "text": "b"}]},
]


@pytest.mark.parametrize("calls", [*permutations(CALLS)])
@pytest.mark.parametrize("ignored", IGNORED_ITEMS, ids=lambda item: item["type"])
def test_ignored_items_change_nothing(calls: tuple[Body, ...], ignored: Body) -> None:
    """At any place: the calls of one reply stay one message."""
    user = {"role": "user", "content": "Hi"}

    def translate(items: list[Body]) -> list[Body]:
        return messages_of(read_responses_request({"model": "b", "input": items}).input)

    plain = translate([user, *calls, *OUTPUTS])
    assert [len(one.get("tool_calls", ())) for one in plain] == [0, 2, 0, 0]
    assert {call["type"]: call[call["type"]] for call in plain[1]["tool_calls"]} == {
        "function": {"name": "f", "arguments": "{}"},
        "custom": {"name": "g", "input": "x"},
    }
    assert translate([user, ignored, calls[0], ignored, calls[1], ignored, *OUTPUTS, ignored]) == plain


@pytest.mark.parametrize("missing", ["call_id", "name", "input"])
def test_an_incomplete_call_is_refused_by_its_field(missing: str) -> None:
    """As for a function."""
    item = {name: value for name, value in CALLS[1].items() if name != missing}
    assert refusal(input=[item]).param == f"input[0].{missing}"


@pytest.mark.parametrize("choice", [{"type": "function", "name": "shell"}, {"type": "custom", "name": "apply_patch"}])
def test_a_choice_of_a_tool_is_translated(choice: Body) -> None:
    """A single tool, and a list of allowed tools."""
    chosen = {"type": choice["type"], choice["type"]: {"name": choice["name"]}}
    allowed = {"type": "allowed_tools", "mode": "required", "tools": [choice]}
    assert as_chat(read_responses_request({**CODEX, "tool_choice": choice}), [])["tool_choice"] == chosen
    assert as_chat(read_responses_request({**CODEX, "tool_choice": allowed}), [])["tool_choice"] == {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "required", "tools": [chosen]},
    }


@given(
    st.dictionaries(
        st.sampled_from(["type", "name", "tools", "mode"]),
        st.none() | st.text() | st.lists(st.text()) | st.just([{"type": []}]),
    )
)
def test_any_choice_is_translated_or_refused(choice: Body) -> None:
    """No other exception is raised."""
    with suppress(BadRequest):
        as_chat(read_responses_request({**CODEX, "tool_choice": choice}), [])


@pytest.mark.parametrize("item", [*CALLS, *OUTPUTS, IGNORED_ITEMS[2]], ids=lambda item: item["type"])
def test_what_tools_write_is_no_cry_for_help(item: Body) -> None:
    """A tool's output may contain any text."""
    texts = {name: CRISIS for name in ("input", "output", "arguments", "action") if name in item}
    assert find_user_texts({"input": [{"role": "user", "content": "Hi"}, item | texts]}) == ("Hi", [])
