"""Streams: through the real OpenAI client, and byte by byte."""

import asyncio
import json
from typing import Any

import openai
import pytest
from aiohttp import web

from proxy.api.stream import event, events, pieces
from tests.proxy.conftest import NO_PROBLEMS, Body, Proxy, Start, dialogue, eventually, text_of, warnings_in

SLEEP = "[[cite: sleep]]\nMost adults need seven to nine hours of sleep."
ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night. You should also stop eating gluten."
ASKED = "How much sleep do adults need?"
NUDGE = "Which supplements should I take, and how much?"


def sdk(proxy: Proxy) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="x", max_retries=0)


def data_of(raw: bytes) -> list[Any]:
    """Decode the events of a stream that has only data events and comments."""
    found = []
    for block in raw.decode().split("\n\n"):
        if not block or block.startswith(":"):
            continue
        assert block.startswith("data: ")
        assert "\n" not in block
        found.append(None if block == "data: [DONE]" else json.loads(block[6:]))
    return found


def content_of(chunks: list[Body], index: int = 0) -> str:
    deltas = [c["delta"] for chunk in chunks for c in chunk["choices"] if c["index"] == index]
    return "".join(delta.get("content") or "" for delta in deltas)


async def test_openai_client_gets_the_same_reply_streamed_and_whole(start: Start) -> None:
    """The joined deltas are the unstreamed reply; the role is first, the finish_reason last."""
    proxy = await start()
    proxy.upstream.answer = lambda body: SLEEP
    messages: Any = dialogue(ASKED)
    async with sdk(proxy) as client:
        whole = await client.chat.completions.create(model="bot", messages=messages)
        stream = await client.chat.completions.create(model="bot", messages=messages, stream=True)
        chunks = [chunk async for chunk in stream]
    assert "".join(c.choices[0].delta.content or "" for c in chunks) == whole.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [c.choices[0].finish_reason for c in chunks] == [None] * (len(chunks) - 1) + ["stop"]
    assert {(c.object, c.model, c.id) for c in chunks} == {("chat.completion.chunk", "bot", chunks[0].id)}
    assert all(c.usage is None for c in chunks)


async def test_openai_clients_stream_helper_assembles_the_reply(start: Start) -> None:
    """The client's own strict accumulator returns the whole message."""
    proxy = await start()
    proxy.upstream.answer = lambda body: SLEEP
    messages: Any = dialogue(ASKED)
    async with sdk(proxy) as client, client.chat.completions.stream(model="bot", messages=messages) as stream:
        final = await stream.get_final_completion()
    assert final.choices[0].message.content == "Most adults need seven to nine hours of sleep.\n\nSources: Sleep"


async def test_caf_object_is_on_the_chunk_with_the_finish_reason(start: Start) -> None:
    """It is sent once, and equals the one of the unstreamed reply."""
    proxy = await start()
    proxy.upstream.answer = lambda body: SLEEP
    chunks = data_of(await proxy.stream(ASKED))
    assert chunks[-1] is None
    carrying = [c for c in chunks[:-1] if "caf" in c]
    assert [c["choices"][0]["finish_reason"] for c in carrying] == ["stop"]
    assert set(carrying[0]["caf"]) == set((await proxy.say(ASKED))["caf"])
    assert carrying[0]["caf"]["citations"] == [{"id": "sleep", "title": "Sleep"}]


@pytest.mark.parametrize("asked", [True, False, None])
async def test_usage_comes_in_a_chunk_of_its_own_when_asked_for(start: Start, asked: bool | None) -> None:
    """With include_usage, a last chunk without choices has it and the others have null. Without, no chunk has it."""
    proxy = await start()
    options = {} if asked is None else {"stream_options": {"include_usage": asked}}
    chunks = data_of(await proxy.stream("Hi", **options))[:-1]
    if asked:
        assert chunks[-1]["choices"] == []
        assert chunks[-1]["usage"] == {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        assert all(c["usage"] is None and c["choices"] for c in chunks[:-1])
    else:
        assert all("usage" not in c and c["choices"] for c in chunks)


async def test_each_of_several_choices_is_streamed_whole(start: Start) -> None:
    """With n = 2 each choice has its role, text, finish_reason and `caf`."""
    proxy = await start()
    proxy.upstream.answer = lambda body: [SLEEP, "[[cite: no_claims]]\nWhat would you like to know?"]
    chunks = data_of(await proxy.stream(ASKED, n=2))[:-1]
    assert content_of(chunks, 0).startswith("Most adults")
    assert content_of(chunks, 1) == "What would you like to know?"
    ends = [c for c in chunks if c["choices"][0]["finish_reason"]]
    assert [c["choices"][0]["index"] for c in ends] == [0, 1]
    assert [c["caf"]["citations"] for c in ends] == [[{"id": "sleep", "title": "Sleep"}], []]
    for index in (0, 1):
        assert (
            next(c for c in chunks if c["choices"][0]["index"] == index)["choices"][0]["delta"]["role"] == "assistant"
        )


async def test_tool_calls_are_streamed_as_the_openai_client_expects(start: Start) -> None:
    """Each call has its index, and the accumulated message is the upstream's."""
    proxy = await start(trusted_tools=["f0", "f1"])
    calls = [
        {"id": f"c{i}", "type": "function", "function": {"name": f"f{i}", "arguments": '{"a": 1}'}} for i in (0, 1)
    ]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    proxy.upstream.answer = lambda body: {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    messages: Any = dialogue("Hi")
    shape = {"type": "object", "properties": {}, "additionalProperties": False}
    tools: Any = [
        {"type": "function", "function": {"name": f"f{i}", "strict": True, "parameters": shape}} for i in (0, 1)
    ]
    async with (
        sdk(proxy) as client,
        client.chat.completions.stream(model="bot", messages=messages, tools=tools) as stream,
    ):
        final = await stream.get_final_completion()
    assert final.choices[0].finish_reason == "tool_calls"
    assert [c.function.name for c in final.choices[0].message.tool_calls or ()] == ["f0", "f1"]
    assert final.choices[0].message.content is None


async def test_refusal_is_streamed_as_a_refusal(start: Start) -> None:
    """A rejected JSON reply is sent as a refusal delta without content."""
    proxy = await start()
    proxy.upstream.answer = lambda body: json.dumps({"advice": "Take 400 mg of magnesium every night."})
    raw = await proxy.stream(NUDGE, response_format={"type": "json_object"})
    chunks = data_of(raw)[:-1]
    assert content_of(chunks) == ""
    assert "Call 112 now." in "".join(c["choices"][0]["delta"].get("refusal") or "" for c in chunks)
    assert b"magnesium" not in raw


async def test_emergency_text_is_streamed_whole_and_alone(start: Start) -> None:
    """The text is the configured one, and no model is called."""
    proxy = await start()
    chunks = data_of(await proxy.stream("I am going to end my life tonight"))[:-1]
    assert content_of(chunks) == "You matter. Call 112."
    assert chunks[-1]["caf"]["outcome"] == "emergency"
    assert not proxy.upstream.requests


async def test_no_byte_of_a_rejected_draft_is_in_the_stream(start: Start) -> None:
    """Independent of the upstream's field that holds the draft."""
    proxy = await start()

    def answer(body: Body) -> Body:
        message = {
            "role": "assistant",
            "content": ADVICE,
            "reasoning_content": ADVICE,
            "annotations": [ADVICE],
            "audio": {"a": ADVICE},
        }
        choice = {
            "index": 0,
            "message": message,
            "finish_reason": "stop",
            "logprobs": {"content": [{"token": ADVICE}]},
            "x": ADVICE,
        }
        return {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [choice],
            "usage": {},
            "x": ADVICE,
        }

    proxy.upstream.answer = answer
    raw = await proxy.stream(NUDGE)
    assert data_of(raw)[-2]["caf"]["outcome"] == "refined"
    for word in (b"magnesium", b"fish oil", b"gluten"):
        assert word not in raw


async def read_some(proxy: Proxy, seconds: float, **fields: Any) -> bytes:
    """Open a stream and return the bytes that arrived within a time."""
    body = {"model": "bot", "messages": dialogue(ASKED), "stream": True, **fields}
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=body) as response:
        seen = b""
        try:
            async with asyncio.timeout(seconds):
                async for piece in response.content.iter_any():
                    seen += piece
        except TimeoutError:
            pass
        return seen


async def test_nothing_but_comments_leaves_before_the_verdict(start: Start) -> None:
    """While a judge runs, the client gets keep-alive comments and no character of the draft."""
    proxy = await start(
        judges=[{"name": "role", "stages": ["swift"]}],
        config={"server": {"header_wait_s": 0.05, "keep_alive_s": 0.05}},
    )

    async def answer(body: Body) -> str:
        if body["model"] == "up-swift":
            await asyncio.sleep(0.4)
            return NO_PROBLEMS
        return SLEEP

    proxy.upstream.answer = answer
    early = await read_some(proxy, 0.3)
    assert early.count(b": keep-alive\n\n") >= 2
    assert not early.replace(b": keep-alive\n\n", b"")
    whole = await proxy.stream(ASKED)
    assert whole.startswith(b": keep-alive\n\n")
    assert content_of(data_of(whole)[:-1]).startswith("Most adults")


async def test_openai_client_reads_past_keep_alive_comments(start: Start) -> None:
    """The client ignores comments and sees only the chunks."""
    proxy = await start(config={"server": {"header_wait_s": 0, "keep_alive_s": 0.02}})
    proxy.upstream.answer = lambda body: asyncio.sleep(0.2, SLEEP)
    messages: Any = dialogue(ASKED)
    async with sdk(proxy) as client:
        stream = await client.chat.completions.create(model="bot", messages=messages, stream=True)
        text = "".join([c.choices[0].delta.content or "" async for c in stream])
    assert text.startswith("Most adults need")


async def test_headers_wait_for_an_error_that_comes_in_time(start: Start) -> None:
    """Within header_wait_s an upstream failure has its own status, which the client raises."""
    proxy = await start()
    proxy.upstream.answer = lambda body: web.json_response({}, status=429, headers={"Retry-After": "9"})
    messages: Any = dialogue("Hi")
    async with sdk(proxy) as client:
        with pytest.raises(openai.RateLimitError) as caught:
            await client.chat.completions.create(model="bot", messages=messages, stream=True)
    assert caught.value.response.headers["Retry-After"] == "9"


@pytest.mark.parametrize(
    ("answer", "code"),
    [
        (lambda: web.json_response({"error": {"message": "SECRET"}}, status=500), "upstream_error"),
        (
            lambda: web.json_response({"error": {"message": "SECRET", "code": "invalid_value"}}, status=400),
            "invalid_value",
        ),
        (lambda: web.json_response({}, status=429), "upstream_busy"),
        (lambda: web.Response(text="SECRET"), "upstream_error"),
    ],
)
async def test_failure_after_the_headers_is_one_error_event_without_done(start: Start, answer: Any, code: str) -> None:
    """The stream ends with it. The client raises, and gets no text of the upstream."""
    proxy = await start(config={"server": {"header_wait_s": 0, "keep_alive_s": 0.05}})

    async def late(body: Body) -> Any:
        await asyncio.sleep(0.1)
        return answer()

    proxy.upstream.answer = late
    raw = await proxy.stream("Hi")
    (only,) = data_of(raw)
    assert set(only["error"]) == {"message", "type", "param", "code"}
    assert only["error"]["code"] == code
    assert b"[DONE]" not in raw
    assert b"SECRET" not in raw
    messages: Any = dialogue("Hi")
    async with sdk(proxy) as client:
        stream = await client.chat.completions.create(model="bot", messages=messages, stream=True)
        with pytest.raises(openai.APIError):
            _ = [chunk async for chunk in stream]


async def test_turn_past_its_time_ends_the_stream_with_an_error(start: Start) -> None:
    """turn_timeout_s also applies after the headers."""
    proxy = await start(config={"server": {"header_wait_s": 0, "keep_alive_s": 0.05, "turn_timeout_s": 0.2}})
    proxy.upstream.answer = lambda body: asyncio.sleep(20, "late")
    (only,) = data_of(await proxy.stream("Hi"))
    assert only["error"]["code"] == "turn_timeout"
    await eventually(lambda: proxy.upstream.cancelled == 1)


async def test_fault_of_ours_after_the_headers_ends_the_stream_with_an_error(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client gets one event, not a second HTTP response within the first."""
    proxy = await start(config={"server": {"header_wait_s": 0, "keep_alive_s": 0.05}})

    def broken(completion: Body, include_usage: bool) -> Any:
        raise ValueError("SECRET")

    monkeypatch.setattr("proxy.api.stream.events", broken)
    raw = await proxy.stream("Hi")
    assert data_of(raw)[0]["error"]["code"] == "internal"
    assert b"HTTP/1.1" not in raw
    assert b"SECRET" not in raw


@pytest.mark.parametrize("wait", [0, 10])
async def test_client_that_leaves_a_stream_stops_drafting_upstream(start: Start, wait: float) -> None:
    """The upstream request is cancelled, before and after the headers."""
    proxy = await start(config={"server": {"header_wait_s": wait, "keep_alive_s": 0.05}})
    proxy.upstream.answer = lambda body: asyncio.sleep(20, "late")
    task = asyncio.create_task(read_some(proxy, 10))
    await eventually(lambda: proxy.upstream.requests)
    await asyncio.sleep(0.1)
    task.cancel()
    await eventually(lambda: proxy.upstream.cancelled == 1)


async def test_client_that_leaves_a_stream_stops_the_judges_upstream(start: Start) -> None:
    """Judging calls cost money too."""
    proxy = await start(
        judges=[{"name": "role", "stages": ["swift"]}], config={"server": {"header_wait_s": 0, "keep_alive_s": 0.05}}
    )
    proxy.upstream.answer = lambda body: asyncio.sleep(20, "") if body["model"] == "up-swift" else SLEEP
    task = asyncio.create_task(read_some(proxy, 10))
    await eventually(lambda: len(proxy.upstream.requests) == 2)
    task.cancel()
    await eventually(lambda: proxy.upstream.cancelled == 1)


async def test_state_is_there_before_the_last_byte(start: Start) -> None:
    """A client that sends the next request right after the finish_reason finds its warnings."""
    proxy = await start()
    proxy.upstream.answer = lambda body: ADVICE
    reply = content_of(data_of(await proxy.stream(NUDGE))[:-1])
    for _ in range(5):
        await proxy.say(NUDGE, reply, "And?")
        assert warnings_in(proxy.upstream.requests[-1])


async def test_client_that_leaves_after_the_verdict_does_not_lose_the_state(start: Start) -> None:
    """A disconnect does not cancel writing the state."""
    proxy = await start()
    proxy.upstream.answer = lambda body: ADVICE
    expected = text_of(await proxy.say(NUDGE, user="other"))
    body = {"model": "bot", "messages": dialogue(NUDGE), "stream": True}
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=body) as response:
        await response.content.readany()
        response.close()
    await proxy.say(NUDGE, expected, "And?")
    assert warnings_in(proxy.upstream.requests[-1])


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "a",
        "word " * 500,
        "x" * 1_000,
        "\n\n",
        "Zeile eins\n\nZeile zwei",
        "\U0001f600" * 300,
        "a" * 48 + " ",
        " " * 400,
    ],
)
def test_pieces_together_are_the_text(text: str) -> None:
    """Splitting neither loses nor adds text, and no piece is empty."""
    assert "".join(pieces(text)) == text
    assert all(pieces(text))


def test_an_event_is_one_line_whatever_it_holds() -> None:
    """Line breaks in a text do not end the event."""
    assert event({"a": "x\n\ndata: [DONE]\n\n"}).count(b"\n") == 2


def test_finish_reason_and_fields_of_the_completion_are_kept() -> None:
    """Every chunk has the completion's other fields, except usage and `caf`."""
    message = {"role": "assistant", "content": "Hi", "refusal": None}
    completion = {
        "id": "i", "object": "chat.completion", "created": 7, "model": "bot", "system_fingerprint": "fp",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "length"}],
        "usage": {"total_tokens": 1}, "caf": {"outcome": "accepted"},
    }  # fmt: skip
    chunks = data_of(b"".join(events(completion, include_usage=False)))[:-1]
    assert {(c["id"], c["created"], c["model"], c["system_fingerprint"]) for c in chunks} == {("i", 7, "bot", "fp")}
    assert chunks[-1]["choices"][0]["finish_reason"] == "length"
    assert [("caf" in c, "usage" in c) for c in chunks] == [(False, False)] * (len(chunks) - 1) + [(True, False)]
