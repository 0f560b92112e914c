"""Events of a response, and its stored form: pure functions."""

import json
from itertools import pairwise
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.api import stream
from proxy.api.responses.reply import Frame, reply_message, response
from proxy.api.responses.request import read_responses_request
from proxy.api.responses.store import ProcessResponses, StoredResponse, messages_before
from proxy.api.responses.stream import ResponseStream
from proxy.api.responses.translation import messages_of
from proxy.protocol.errors import ResponseNotFound

FRAME = Frame("f00d", 1, "bot", read_responses_request({"model": "bot", "input": "Hi"}))
CALLS = st.builds(
    lambda i, name, arguments: {"id": i, "type": "function", "function": {"name": name, "arguments": arguments}},
    st.text(min_size=1, max_size=4),
    st.text(max_size=4),
    st.text(max_size=8),
)
TEXTS = st.text(min_size=1, max_size=300)


@st.composite
def completions(draw: st.DrawFn) -> Any:
    text = draw(st.none() | TEXTS)
    message: Any = {"role": "assistant", "content": text, "refusal": None}
    if draw(st.booleans()):
        message["refusal"] = draw(TEXTS | st.just(text or "No."))
    if calls := draw(st.lists(CALLS, max_size=3)):
        message["tool_calls"] = calls
    logprobs = None
    if text and draw(st.booleans()):
        logprobs = {"content": [{"token": c, "logprob": -1.0, "bytes": None, "top_logprobs": []} for c in text]}
    finish = draw(st.sampled_from(["stop", "length", "tool_calls", "content_filter"]))
    choice = {"index": 0, "message": message, "logprobs": logprobs, "finish_reason": finish}
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return {
        "id": "c",
        "created": 1,
        "model": "bot",
        "choices": [choice],
        "usage": usage,
        "caf": {"outcome": "accepted"},
    }


def decoded(raw: bytes) -> list[Any]:
    return [json.loads(block.split("\ndata: ")[1]) for block in raw.decode().split("\n\n") if block]


@given(completions())
def test_stream_ends_on_the_response_as_it_comes_unstreamed(completion: Any) -> None:
    """The last event has the response. Its items and texts equal those of the earlier events."""
    events = decoded(b"".join(ResponseStream(FRAME).events(stream.chunks(completion, include_usage=True))))
    whole = events[-1]["response"]
    assert whole == json.loads(orjson.dumps(response(FRAME, completion)))
    assert events[-1]["type"] == f"response.{whole['status']}"
    assert [e["sequence_number"] for e in events] == list(range(len(events)))
    items = [e["item"] for e in events if e["type"] == "response.output_item.done"]
    assert [item | {"status": ""} for item in items] == [item | {"status": ""} for item in whole["output"]]
    for item in whole["output"]:
        deltas = "".join(e["delta"] for e in events if e["type"].endswith(".delta") and e["item_id"] == item["id"])
        parts = item.get("content") or [item]
        assert deltas == "".join(p.get("text") or p.get("refusal") or p.get("arguments") or "" for p in parts)


@given(TEXTS, st.lists(st.integers(0, 300), max_size=6))
def test_however_the_text_is_cut_the_response_is_the_same(text: str, cuts: list[int]) -> None:
    """The translation does not depend on how the text is split into pieces."""
    edges = [0, *sorted(c for c in cuts if c < len(text)), len(text)]
    pieces = [text[a:b] for a, b in pairwise(edges)]
    deltas: list[Any] = [{"role": "assistant", "content": ""}, *({"content": piece} for piece in pieces), {}]
    chunks = [{"choices": [{"index": 0, "delta": d, "finish_reason": None if d else "stop"}]} for d in deltas]
    events = decoded(b"".join(ResponseStream(FRAME).events(chunks)))
    (item,) = events[-1]["response"]["output"]
    assert item["content"][0]["text"] == text


@given(completions())
def test_reply_sent_back_as_items_is_the_message_that_is_kept(completion: Any) -> None:
    """Continued by id or by items, a response gives the model the same message."""
    message = completion["choices"][0]["message"]
    if message["refusal"]:
        message["content"] = None
    output = response(FRAME, completion)["output"]
    sent = read_responses_request({"model": "b", "input": json.loads(orjson.dumps(output))})
    (back,) = messages_of(sent.input)
    kept = reply_message(completion)
    if message["refusal"] or kept["content"] is not None or kept.get("tool_calls"):
        assert back.get("tool_calls") == kept.get("tool_calls")
    if not message["refusal"]:
        assert (back["content"] or None) == kept["content"]


def kept(ident: str, previous: str | None = None, user: str = "", size: int = 0) -> StoredResponse:
    return StoredResponse(ident, user, previous, orjson.dumps([{"role": "user", "content": ident}]), b"x" * size)


async def test_responses_are_followed_back_to_the_first() -> None:
    """Oldest first, as in a history."""
    store = ProcessResponses(10, 60)
    for ident, previous in (("a", None), ("b", "a"), ("c", "b"), ("x", "a")):
        await store.put("key", kept(ident, previous, "ann"))
    messages, user = await messages_before(store, "key", None, "c")
    assert [m["content"] for m in messages] == ["a", "b", "c"]
    assert user == "ann"


async def test_broken_chain_is_no_shorter_history() -> None:
    """If an earlier response is missing, it cannot be continued, because the history would be incomplete."""
    store = ProcessResponses(10, 60)
    await store.put("key", kept("b", "gone"))
    with pytest.raises(ResponseNotFound):
        await messages_before(store, "key", None, "b")


async def test_number_and_bytes_and_age_are_bounded() -> None:
    """The least recently used is dropped first, and its bytes are subtracted."""
    store = ProcessResponses(3, 60, max_bytes=1_000)
    for ident in "abc":
        await store.put("key", kept(ident))
    assert await store.get("key", "a")
    await store.put("key", kept("d"))
    assert [bool(await store.get("key", i)) for i in "abcd"] == [True, False, True, True]
    await store.put("key", kept("big", size=900))
    assert [bool(await store.get("key", i)) for i in ("d", "big")] == [True, True]
    await store.put("key", kept("huge", size=2_000))
    assert (len(store), store.bytes) == (0, 0)
    store = ProcessResponses(3, -1)
    await store.put("key", kept("a"))
    assert await store.get("key", "a") is None
