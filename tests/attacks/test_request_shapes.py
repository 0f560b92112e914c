"""A person in danger whose client sends something other than the API has: heard all the same, whatever is wrong with it."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from proxy.protocol.user_texts import find_user_texts
from tests.proxy.conftest import Body, Start

CRY = "I want to kill myself."
EMERGENCY = "You matter. Call 112."
CALM = "How much sleep do adults need?"

CONTENTS: dict[str, Any] = {
    "a text": CRY,
    "a text part": [{"type": "text", "text": CRY}],
    "the other endpoint's part": [{"type": "input_text", "text": CRY}],
    "a part whose text is in content": [{"type": "text", "content": CRY}],
    "a part whose text is an object": [{"type": "text", "text": {"value": CRY}}],
    "a refusal": [{"type": "refusal", "refusal": CRY}],
    "a tool's result": [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": CRY}]}],
    "a text among parts": [{"type": "text", "text": "Hi."}, CRY],
    "lists in lists": [[[CRY]]],
    "an object": {"parts": [{"text": CRY}]},
    "beside an image": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}, {"type": "text", "text": CRY}],
}
ROLES: list[Any] = ["user", "User", " user", "human", "customer", "patient", "", 5, None, ["user"]]
FIELDS = ["content", "Content", "text", "message", "body"]

MESSAGES: dict[str, Any] = {
    **{f"content: {name}": {"role": "user", "content": content} for name, content in CONTENTS.items()},
    **{f"role: {role!r}": {"role": role, "content": CRY} for role in ROLES},
    **{f"field: {field}": {"role": "user", field: CRY} for field in FIELDS},
    "no role": {"content": CRY},
    "a bare text": CRY,
    "a bare part": {"type": "input_text", "text": CRY},
    "a list": [{"role": "user", "content": CRY}],
}
PLACES: dict[str, Callable[[str, Any], Body]] = {
    "in its place": lambda field, message: {field: [message]},
    "without a list": lambda field, message: {field: message},
    "last of three": lambda field, message: {
        field: [{"role": "user", "content": CALM}, {"role": "assistant", "content": "Eight hours."}, message]
    },
    "in the other endpoint's field": lambda field, message: {"input" if field == "messages" else "messages": [message]},
    "in another field of that name": lambda field, message: {field.title(): [message]},
    "in a prompt": lambda field, message: {"prompt": message},
    "beside another fault": lambda field, message: {field: [message], "stream": "yes", "temperature": []},
}
ENDPOINTS = {"chat/completions": "messages", "responses": "input"}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("endpoint", ENDPOINTS)
async def test_a_cry_for_help_of_any_shape_is_heard(start: Start, endpoint: str, place: str) -> None:
    """The emergency text, and no call of a model, for each of the messages above."""
    proxy = await start()
    missed = []
    for name, message in MESSAGES.items():
        body = {"model": "bot", **PLACES[place](ENDPOINTS[endpoint], message)}
        async with proxy.session.post(f"{proxy.url}/v1/{endpoint}", json=body) as response:
            if response.status != 200 or EMERGENCY not in await response.text():
                missed.append(name)
    assert not missed
    assert not proxy.upstream.requests


@pytest.mark.parametrize("depth", [100, 300, 900, 1_100, 20_000])
@pytest.mark.parametrize("endpoint", ENDPOINTS)
@pytest.mark.parametrize("opening", ["[", '{"x":'])
async def test_a_cry_for_help_is_heard_at_any_depth(start: Start, endpoint: str, depth: int, opening: str) -> None:
    """Also where no decoder goes, with escapes in it."""
    proxy = await start()
    closing = {"[": "]", '{"x":': "}"}[opening]
    cry = r'"I want to k\u0069ll\nmyself."'
    nested = opening * depth + cry + closing * depth
    raw = f'{{"model": "bot", "{ENDPOINTS[endpoint]}": [{{"role": "user", "content": {nested}}}]}}'
    async with proxy.session.post(f"{proxy.url}/v1/{endpoint}", data=raw.encode(), headers=JSON) as response:
        assert (response.status, EMERGENCY in await response.text()) == (200, True)


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "message",
    [
        *({"role": role, "content": CRY} for role in ("assistant", "system", "developer", "tool", "function")),
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": CRY},
        {"type": "function_call_output", "call_id": "1", "output": CRY},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": CRY}]},
    ],
)
def test_what_nobody_has_written_is_not_heard(message: Body) -> None:
    """Instructions, replies, and what tools return."""
    for field in ENDPOINTS.values():
        said, earlier = find_user_texts({"model": "bot", field: [{"role": "user", "content": CALM}, message]})
        assert " ".join([*earlier, said]) == CALM


def test_ordinary_messages_are_heard_as_they_are() -> None:
    """Neither names, types and addresses, nor what files hold."""
    parts = [
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "auto"}},
        {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
        {"type": "file", "file": {"file_data": "AAAA", "filename": "x.pdf", "file_id": "f"}},
        {"type": "text", "text": "b"},
    ]
    message = {"id": "m", "status": "completed", "role": "user", "name": "Kim", "content": parts}
    assert find_user_texts({"messages": [message]}) == ("a\n\nb", [])


@pytest.mark.parametrize(
    "fault",
    [{"n": 3}, {"background": True}, {"temperature": "hot"}, {"messages": []}, {"tools": [{"type": "web_search"}]},
     {"user": 5}, {"x": json.loads("[" * 252 + "]" * 252)}],
)  # fmt: skip
async def test_earlier_turns_are_heard_with_a_request_that_is_refused(start: Start, fault: Body) -> None:
    """What is an emergency only after the message before it, with `previous_response_id`."""
    proxy = await start()
    first: Body = {"model": "bot", "input": "I want to hurt myself."}
    async with proxy.session.post(f"{proxy.url}/v1/responses", json=first) as response:
        previous = (await response.json())["id"]
    second = {"model": "bot", "input": "Where do I buy pesticides?", "previous_response_id": previous, **fault}
    async with proxy.session.post(f"{proxy.url}/v1/responses", json=second) as response:
        assert (response.status, EMERGENCY in await response.text()) == (200, True)
