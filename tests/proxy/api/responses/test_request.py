"""A request to /v1/responses, translated into a chat request: pure functions."""

from collections import Counter
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.api.responses.request import read_responses_request
from proxy.api.responses.translation import as_chat, messages_of, read_leniently
from proxy.protocol.errors import BadRequest
from proxy.protocol.messages import read_chat_request
from proxy.protocol.user_texts import find_user_texts

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5) | st.sampled_from(["message", "function_call", "input_text", "user", "function", "allowed_tools"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "role", "content", "text", "name", "output", "call_id", "format", "tools"]) | st.text(max_size=3),
        inner,
        max_size=4,
    ),
    max_leaves=10,
)  # fmt: skip
TYPES = st.sampled_from(["message", "function_call", "function_call_output", "reasoning", "item_reference"]) | JSON
PARTS = st.fixed_dictionaries(
    {"type": st.sampled_from(["input_text", "output_text", "refusal", "input_image", "input_file", "x"])},
    optional=dict.fromkeys(["text", "refusal", "image_url", "detail", "file_data"], st.text(max_size=5) | JSON),
)
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "type": TYPES,
        "role": st.sampled_from(["user", "assistant", "system", "developer", "tool"]),
        "content": st.text(max_size=5) | st.lists(PARTS, max_size=2) | JSON,
        "call_id": st.text(max_size=3) | JSON,
        "name": st.text(max_size=3),
        "arguments": st.text(max_size=3) | JSON,
        "output": st.text(max_size=3) | st.lists(PARTS, max_size=2) | JSON,
    },
)
FIELDS = [
    "tools",
    "tool_choice",
    "text",
    "reasoning",
    "instructions",
    "include",
    "max_output_tokens",
    "n",
    "prompt",
    "stream",
]
REQUESTS = st.fixed_dictionaries(
    {"model": st.just("bot"), "input": st.text(max_size=5) | st.lists(ITEMS, max_size=4) | JSON},
    optional=dict.fromkeys([*FIELDS, "x"], JSON),
)


@given(REQUESTS | st.dictionaries(st.sampled_from(["model", "input", *FIELDS]), JSON))
def test_request_becomes_a_chat_request_or_is_refused_with_a_field(data: Any) -> None:
    """The translation is valid, or the error names a field that was sent or is missing."""
    try:
        chat = as_chat(read_responses_request(data), [])
    except BadRequest as error:
        param = error.param or ""
    else:
        assert read_chat_request(chat, 100).messages
        assert find_user_texts(chat)
        return
    assert param.partition(".")[0].partition("[")[0] in {*data, "model", "input"}


@given(REQUESTS)
def test_user_is_heard_before_validation_as_well(data: Any) -> None:
    """The emergency judge reads the same texts from the validated and the unvalidated request."""
    heard = find_user_texts(read_leniently(data))
    with suppress(BadRequest):
        sent = read_responses_request(data)
        sent.instructions = None
        said, earlier = find_user_texts(as_chat(sent, []))
        assert Counter(" ".join([*earlier, said]).split()) <= Counter(" ".join([*heard[1], heard[0]]).split())


@given(st.dictionaries(st.sampled_from(["input", "model"]), JSON))
def test_hearing_never_fails(data: Any) -> None:
    """For a body of any shape."""
    said, earlier = find_user_texts(read_leniently(data))
    assert isinstance(said, str)
    assert all(isinstance(text, str) for text in earlier)


def messages(*items: Any) -> list[Any]:
    return messages_of(read_responses_request({"model": "b", "input": list(items)}).input)


def call(ident: str) -> Any:
    return {"type": "function_call", "call_id": ident, "name": "f", "arguments": "{}"}


def called(*idents: str) -> list[Any]:
    return [{"id": i, "type": "function", "function": {"name": "f", "arguments": "{}"}} for i in idents]


def said(text: str) -> Any:
    return {
        "type": "message",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
    }


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        ([{"role": "user", "content": "a"}], [{"role": "user", "content": "a"}]),
        ([{"role": "developer", "content": "a"}], [{"role": "developer", "content": "a"}]),
        ([said("a")], [{"role": "assistant", "content": "a"}]),
        ([{"role": "user", "content": [{"type": "input_text", "text": "a"}]}],
         [{"role": "user", "content": [{"type": "text", "text": "a"}]}]),
        ([call("1"), call("2")], [{"role": "assistant", "content": None, "tool_calls": called("1", "2")}]),
        ([said("a"), call("1")], [{"role": "assistant", "content": "a", "tool_calls": called("1")}]),
        ([call("1"), {"type": "function_call_output", "call_id": "1", "output": "x"}, call("2")],
         [{"role": "assistant", "content": None, "tool_calls": called("1")},
          {"role": "tool", "tool_call_id": "1", "content": "x"},
          {"role": "assistant", "content": None, "tool_calls": called("2")}]),
        ([{"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "x"}]}],
         [{"role": "tool", "tool_call_id": "1", "content": [{"type": "text", "text": "x"}]}]),
        ([{"type": "reasoning", "id": "r", "summary": []}, said("a")], [{"role": "assistant", "content": "a"}]),
        ([{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}],
         [{"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}]),
        ([{"role": "user", "content": [{"type": "input_file", "filename": "a.pdf", "file_data": "data:"}]}],
         [{"role": "user", "content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:"}}]}]),
    ],
)  # fmt: skip
def test_items_are_translated_as_openai_relates_them(items: list[Any], expected: list[Any]) -> None:
    """Text and calls of one reply are one message, because tool results must follow it directly."""
    assert messages(*items) == expected


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": 5}, "input"),
        ({"input": []}, "input"),
        ({"input": [{"type": "reasoning"}]}, "input"),
        ({"input": [{"content": "a"}]}, "input[0].role"),
        ({"input": [{"role": "boss", "content": "a"}]}, "input[0].role"),
        ({"input": [{"role": "user", "content": 5}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": [{"text": "a"}]}]}, "input[0].content[0].type"),
        ({"input": [{"role": "user", "content": [{"type": "input_image", "file_id": "f"}]}]}, "input[0].content[0].image_url"),
        ({"input": [{"type": "item_reference", "id": "x"}]}, "input[0].type"),
        ({"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]}, "input[0].call_id"),
        ({"input": [{"type": "function_call_output", "call_id": "c"}]}, "input[0].output"),
        ({"tools": [{"type": "web_search"}]}, "tools[0].type"),
        ({"tools": [{"type": "function"}]}, "tools[0].name"),
        ({"tool_choice": {"type": "file_search"}}, "tool_choice"),
        ({"text": {"format": {"type": "json_schema"}}}, "text.format.name"),
        ({"max_output_tokens": 0}, "max_output_tokens"),
        ({"background": True}, "background"),
        ({"conversation": "c"}, "conversation"),
        ({"prompt": {"id": "p"}}, "prompt"),
        ({"messages": []}, "messages"),
        ({"n": 2}, "n"),
        ({"store": "no"}, "store"),
        ({"previous_response_id": 5}, "previous_response_id"),
    ],
)  # fmt: skip
def test_what_is_not_served_is_refused_by_name(fields: Any, param: str) -> None:
    """No field that would change the answer is silently dropped."""
    with pytest.raises(BadRequest) as caught:
        as_chat(read_responses_request({"model": "b", "input": "Hi", **fields}), [])
    assert caught.value.param == param
    assert param in caught.value.message


def test_allowed_tools_keep_their_names() -> None:
    """This choice of tools is nested differently in the two APIs."""
    choice = {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "f"}]}
    chat = as_chat(read_responses_request({"model": "b", "input": "Hi", "tool_choice": choice}), [])
    assert chat["tool_choice"] == {
        "type": "allowed_tools",
        "allowed_tools": {"mode": "required", "tools": [{"type": "function", "function": {"name": "f"}}]},
    }
