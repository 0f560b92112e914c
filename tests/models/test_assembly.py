"""Building chat completions from streams of different servers."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.assembly import Assembly
from models.client import Models
from models.engine import Body
from models.errors import ModelError, UpstreamBusy, UpstreamGarbled, UpstreamRefused, UpstreamUnavailable
from models.scripted import Scripted
from models.streaming import AnswerStream, StreamingEngine, stream_answer
from models.usage import Ledger
from tests.models.conftest import give, hang, refuse, stream, until

CHUNKS: list[Body] = [
    {"id": "a", "created": 7, "model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}]},
    {"choices": [{"index": 0, "delta": {"content": "Grüße"}, "logprobs": {"content": [{"token": "Grüße"}]}}]},
    {"choices": [{"index": 1, "delta": {"content": "No"}}, {"index": 0, "delta": {"content": "!"}}]},
    {"choices": [{"index": 1, "delta": {"refusal": "I can"}}]},
    {"choices": [{"index": 1, "delta": {"refusal": "not."}, "finish_reason": "stop"}]},
    {
        "choices": [
            {
                "index": 0,
                "delta": {
                    "tool_calls": [
                        {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
                    ]
                },
            }
        ]
    },
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '{"a'}}]}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '":1}'}}]}}]},
    {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}},
]
WHOLE = {
    "id": "a",
    "created": 7,
    "model": "m",
    "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Grüße!",
                "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
            },
            "finish_reason": "tool_calls",
            "logprobs": {"content": [{"token": "Grüße"}], "refusal": None},
        },
        {
            "index": 1,
            "message": {"role": "assistant", "content": "No", "refusal": "I cannot."},
            "finish_reason": "stop",
        },
    ],
}


class Heard(AnswerStream):
    """An AnswerStream that collects the text that its reader gets."""

    def __init__(self) -> None:
        super().__init__(self.refuse)
        self.pieces: list[tuple[int, str]] = []
        self.asked_again = 0
        self.patient = True

    def refuse(self, choices: Collection[int]) -> bool:
        self.asked_again += 1
        return self.patient

    def put(self, choice: int, piece: str) -> None:
        self.pieces.append((choice, piece))


def events(chunks: list[Any], newline: bytes = b"\n", done: bool = True) -> bytes:
    lines = [b"data: " + orjson.dumps(chunk) for chunk in chunks] + ([b"data: [DONE]"] if done else [])
    return b"".join(line + newline * 2 for line in lines)


@given(st.lists(st.integers(1, 40), max_size=400), st.sampled_from([b"\n", b"\r\n"]), st.booleans())
def test_a_stream_cut_anywhere_is_the_whole_completion(sizes: list[int], newline: bytes, done: bool) -> None:
    """The bytes may be split anywhere, with either line end. `[DONE]` may be missing if all choices have ended."""
    assembly, pieces = Assembly(2), list[tuple[int, str]]()
    raw = b": hello" + newline + events(CHUNKS, newline, done)
    for size in sizes:
        pieces += assembly.feed(raw[:size])
        raw = raw[size:]
    pieces += assembly.feed(raw)
    assert assembly.completion() == WHOLE
    assert pieces == [(0, "Grüße"), (1, "No"), (0, "!")]
    assert assembly.head["id"] == "a"


def test_a_last_event_without_its_line_break_counts() -> None:
    """Some servers close the connection before the last line break."""
    assembly = Assembly(2)
    list(assembly.feed(events(CHUNKS).rstrip()))
    assert assembly.completion() == WHOLE


@pytest.mark.parametrize("kept", range(0, 9))
def test_half_a_stream_is_no_answer(kept: int) -> None:
    """An incomplete text may have the opposite meaning of the complete text."""
    assembly = Assembly(2)
    list(assembly.feed(events(CHUNKS[:kept], done=False)))
    with pytest.raises(UpstreamUnavailable, match="ended the stream before the answer was complete"):
        assembly.completion()


@pytest.mark.parametrize(
    ("event", "error"),
    [
        ({"error": {"message": "SECRET", "code": 429}}, UpstreamBusy),
        ({"error": {"message": "SECRET", "code": 400}}, UpstreamRefused),
        ({"error": {"message": "SECRET", "code": "overloaded"}}, UpstreamUnavailable),
        ({"error": "SECRET"}, UpstreamUnavailable),
        ([], UpstreamGarbled),
        (7, UpstreamGarbled),
        ({"choices": 7}, UpstreamGarbled),
        ({"choices": ["x"]}, UpstreamGarbled),
        ({"choices": [{"index": "x"}]}, UpstreamGarbled),
        ({"choices": [{"delta": {"content": ["SECRET"]}}, {"delta": {"content": "SECRET"}}]}, UpstreamGarbled),
        ({"choices": [{"index": 2, "delta": {"content": "SECRET"}}]}, UpstreamGarbled),
        ({"choices": [{"index": -1, "delta": {"content": "SECRET"}}]}, UpstreamGarbled),
        ({"choices": [{"delta": {"tool_calls": "x"}}]}, UpstreamGarbled),
    ],
)
def test_what_is_no_chunk_is_an_error_without_the_upstreams_words(event: Any, error: type[ModelError]) -> None:
    """If the event has a status, the class of the error matches the status."""
    with pytest.raises(error) as raised:
        list(Assembly(2).feed(events([event])))
    assert "SECRET" not in str(raised.value)


def test_a_single_choice_is_the_first_whatever_its_number() -> None:
    """Some servers number choices from one."""
    assembly = Assembly()
    chunk = {"choices": [{"index": 1, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    assert [*assembly.feed(events([chunk]))] == [(0, "Hi")]
    assert assembly.completion()["choices"][0]["index"] == 0


def test_a_choice_without_those_before_it_is_no_answer() -> None:
    """If indexes are missing, the choices cannot be identified."""
    assembly = Assembly(2)
    list(assembly.feed(events([{"choices": [{"index": 1, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}])))
    with pytest.raises(UpstreamGarbled, match="missing indexes"):
        assembly.completion()


def test_content_in_parts_is_read() -> None:
    """Some servers send content as a list of parts."""
    part = {"type": "text", "text": "Hi"}
    assert [*Assembly().feed(events([{"choices": [{"delta": {"content": [part]}}]}]))] == [(0, "Hi")]


STREAM = stream(events(CHUNKS))
HALF = stream(events(CHUNKS[:3], done=False))


@pytest.fixture
def ask(models: Callable[..., Models]) -> Callable[[Heard], Awaitable[tuple[Body, Ledger]]]:
    """Ask an alias that has two tries and a fallback."""
    opened = models(one={"max_attempts": 2, "timeout_s": 30, "fallback": ["other"]}, other={})

    async def complete(heard: Heard, ledger: Ledger | None = None) -> tuple[Body, Ledger]:
        ledger = ledger or Ledger()
        body = {"messages": [{"role": "user", "content": "Hi there, who are you?"}], "n": 2}
        return await opened.complete("one", body, step="draft", ledger=ledger, stream=heard), ledger

    return complete


async def test_a_listener_hears_a_stream_and_the_ledger_its_usage(ask, upstream) -> None:
    """The request asks for a stream with usage."""
    upstream.replies = [STREAM]
    heard = Heard()
    answer, ledger = await ask(heard)
    assert answer == WHOLE
    assert heard.pieces
    assert (upstream.seen[0]["stream"], upstream.seen[0]["stream_options"]) == (True, {"include_usage": True})
    assert (ledger.usage.prompt_tokens, ledger.usage.completion_tokens) == (3, 4)


async def test_a_server_that_does_not_stream_is_heard_all_the_same(ask, upstream) -> None:
    """Some servers ignore `stream`."""
    upstream.replies = [give(WHOLE)]
    heard = Heard()
    assert (await ask(heard))[0] == WHOLE
    assert heard.pieces == [(0, "Grüße!"), (1, "No")]


async def test_a_stream_that_broke_off_is_asked_for_again(ask, upstream) -> None:
    """The request is retried, then sent to the fallback, as long as the reader can discard the text."""
    upstream.replies = [HALF, refuse(503), STREAM]
    heard = Heard()
    assert (await ask(heard))[0] == WHOLE
    assert heard.asked_again == 2
    assert [body["model"] for body in upstream.seen] == ["one", "one", "other"]


async def test_what_cannot_be_forgotten_is_not_asked_for_again_and_is_counted(ask, upstream) -> None:
    """Text already sent to the client cannot be replaced. Its tokens are counted, because they are charged."""
    upstream.replies = [HALF, STREAM]
    heard, ledger = Heard(), Ledger()
    heard.patient = False
    with pytest.raises(UpstreamUnavailable):
        await ask(heard, ledger)
    assert len(upstream.seen) == 1
    assert ledger.usage.prompt_tokens > 3
    assert ledger.usage.completion_tokens > 1
    assert ledger.usage.estimated


async def test_who_leaves_before_the_first_word_has_asked(ask, upstream) -> None:
    """A request cancelled before its first word is charged like any cancelled request."""
    upstream.replies = [stream(then=hang)]
    ledger = Ledger()
    task = asyncio.create_task(ask(Heard(), ledger))
    await until(lambda: upstream.seen)
    task.cancel()
    await asyncio.wait([task])
    assert (ledger.usage.prompt_tokens > 3, ledger.usage.completion_tokens) == (True, 0)


async def test_a_server_that_keeps_the_connection_open_has_answered(ask, upstream) -> None:
    """After `[DONE]`, the engine does not wait for the connection to close."""
    upstream.replies = [stream(events(CHUNKS), then=hang)]
    async with asyncio.timeout(20):
        assert (await ask(Heard()))[0] == WHOLE


async def test_a_server_that_refuses_stream_options_is_asked_without(ask, upstream) -> None:
    """Later requests omit `stream_options`, and the usage is estimated."""
    without = stream(events(CHUNKS[:-1]))
    upstream.replies = [refuse(400, param="stream_options"), without, without]
    assert (await ask(Heard()))[1].usage.estimated
    await ask(Heard())
    assert [body.get("stream_options") for body in upstream.seen] == [{"include_usage": True}, None, None]


async def test_an_engine_that_cannot_stream_is_heard_when_it_is_done() -> None:
    """The finished answer is passed on word by word."""
    engine, heard = Scripted(["Two words."]), Heard()
    assert not isinstance(engine, StreamingEngine)
    await stream_answer(engine, {"messages": []}, heard)
    assert heard.pieces == [(0, "Two"), (0, " words.")]
