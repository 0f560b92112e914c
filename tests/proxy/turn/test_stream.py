"""Streaming before the verdict: which text is sent early, which never is, and equality with unstreamed replies."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from proxy.api.service import SERVICE
from proxy.traces import query
from tests.proxy.api.test_stream import ADVICE, ASKED, NUDGE, content_of, data_of, sdk
from tests.proxy.conftest import Body, Proxy, Start, dialogue, judge_with, text_of, warnings_in

FIRST = "Most adults need seven to nine hours of sleep."
SECOND = "Going to bed at the same time each night helps."
SOUND = f"[[cite: sleep]]\n{FIRST} {SECOND}"
HARM = "You should take 400 mg of magnesium and stop your medication tonight."
LEAD = "[[cite: sleep]]\n"
DANGER = "I have taken all my pills because I want to kill myself tonight."

Respond = Callable[[web.Request], Awaitable[web.StreamResponse]]


def chunk(delta: Body, finish: str | None = None, index: int = 0) -> bytes:
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    data = {"id": "up", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def writing(*pieces: str | Callable[[], Awaitable[Any]], end: bool = True) -> Respond:
    """Return an upstream that streams texts, and waits at each event among them."""

    async def respond(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if not body.get("stream"):
            for piece in pieces:
                if not isinstance(piece, str):
                    await piece()
            text = "".join(piece for piece in pieces if isinstance(piece, str))
            message = {"role": "assistant", "content": text}
            return web.json_response(
                {"id": "up", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
            )
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for piece in pieces:
            if isinstance(piece, str):
                await response.write(chunk({"content": piece}))
            else:
                await piece()
        if end:
            await response.write(chunk({}, "stop") + b"data: [DONE]\n\n")
        return response

    return respond


class Reader:
    """A client that reads a stream as it arrives."""

    def __init__(self, proxy: Proxy, *messages: str | Body, **fields: Any) -> None:
        body = {"model": "bot", "messages": dialogue(*messages), "stream": True, **fields}
        self._request = proxy.session.post(f"{proxy.url}/v1/chat/completions", json=body)
        self.seen = b""

    async def __aenter__(self) -> "Reader":
        self._response = await self._request.__aenter__()
        assert self._response.status == 200
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._request.__aexit__(*error)

    async def until(self, text: str) -> None:
        """Read until the reply contains a text."""
        async with asyncio.timeout(10):
            while text not in self.text:
                part = await self._response.content.readany()
                assert part, self.text
                self.seen += part

    async def waits(self) -> None:
        """Read until three keep-alive comments have arrived."""
        async with asyncio.timeout(10):
            while self.seen.count(b": keep-alive") < 3:
                part = await self._response.content.readany()
                assert part
                assert b"data:" not in part
                self.seen += part

    async def rest(self) -> list[Any]:
        async with asyncio.timeout(10):
            self.seen += await self._response.read()
        return data_of(self.seen)

    @property
    def text(self) -> str:
        whole, _, _ = self.seen.rpartition(b"\n\n")
        return content_of([c for c in data_of(whole + b"\n\n") if c and "choices" in c])


async def whole(proxy: Proxy, *messages: str | Body, **fields: Any) -> tuple[str, Body]:
    body = await proxy.say(*messages, **fields)
    return text_of(body), body["caf"]


def without(caf: Body, *names: str) -> Body:
    """Leave out fields that differ between turns."""
    told = {k: v for k, v in caf.items() if k not in ("turn_id", "conversation_id", "ms", "usage", *names)}
    told["judges"] = [{k: v for k, v in judge.items() if k != "ms"} for judge in caf["judges"]]
    return told


async def same_unstreamed(proxy: Proxy, chunks: Sequence[Any], *messages: str | Body) -> Body:
    """Check that the stream equals the unstreamed reply; return its caf object."""
    text, caf = await whole(proxy, *messages)
    assert content_of([c for c in chunks if c]) == text
    streamed = next(c["caf"] for c in chunks if c and "caf" in c)
    assert without(streamed) == without(caf)
    return caf


@pytest.fixture
def held() -> asyncio.Event:
    return asyncio.Event()


async def test_hold_lets_nothing_leave_before_the_verdict(start: Start, held: asyncio.Event) -> None:
    """`hold` is the default: no content is sent before the whole draft is judged."""
    proxy = await start(config={"server": {"header_wait_s": 0.05, "keep_alive_s": 0.05}})
    proxy.upstream.respond = writing(LEAD, FIRST, " Going", held.wait, SECOND[5:])
    async with Reader(proxy, ASKED) as reader:
        await reader.waits()
        held.set()
        await reader.rest()
    assert reader.text == f"{FIRST} {SECOND}\n\nSources: Sleep"


@pytest.mark.parametrize(
    "draft",
    [
        f"{FIRST} {SECOND}",  # no citation line
        f"[[cite: work]]\n{FIRST} {SECOND}",  # not given to the chatbot
        f"[[cite: nonsense]]\n{FIRST} {SECOND}",
        f"[[cite: sleep,\n work]]\n{FIRST} {SECOND}",
        "[[source: work]]\n",
    ],
)
async def test_a_faulty_citation_line_holds_the_draft(start: Start, draft: str) -> None:
    """A redraft is requested, and its text is sent while the model writes it."""
    proxy = await start(streaming="observe")
    drafts = [draft, SOUND, draft, SOUND]

    async def respond(request: web.Request) -> web.StreamResponse:
        return await writing(*drafts.pop(0).partition(" "))(request)

    proxy.upstream.respond = respond
    chunks = data_of(await proxy.stream(ASKED))
    assert content_of([c for c in chunks if c]) == f"{FIRST} {SECOND}\n\nSources: Sleep"
    await same_unstreamed(proxy, chunks, ASKED)


async def test_nothing_leaves_before_the_emergency_judge_has_spoken(start: Start, held: asyncio.Event) -> None:
    """Text waits for the judge's model. In an emergency, the reply is only the emergency text."""
    judges = [{"name": "emergency", "stages": ["swift"]}, *judge_with("local")[1:]]
    proxy = await start(streaming="observe", judges=judges)
    written = asyncio.Event()
    sign = {"quote": ASKED, "kind": "self_harm", "when": "now", "who": "user"}
    verdict: Body = {"signs": [sign]}

    async def respond(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if body["model"] == "up-swift":
            await written.wait()
            message = {"role": "assistant", "content": json.dumps(verdict)}
            return web.json_response({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

        async def done() -> None:
            written.set()

        return await writing(LEAD, f"{FIRST} {SECOND} ", "So", done, held.wait)(request)

    proxy.upstream.respond = respond
    async with Reader(proxy, ASKED) as reader:
        chunks = await reader.rest()
    assert FIRST not in reader.text, reader.seen
    assert next(c["caf"] for c in chunks if c and "caf" in c)["outcome"] == "emergency"
    assert reader.text == "You matter. Call 112."


async def test_an_emergency_is_answered_in_every_mode(start: Start) -> None:
    """Before any model call."""
    for mode in ("hold", "observe"):
        proxy = await start(streaming=mode)
        chunks = data_of(await proxy.stream(DANGER))
        assert content_of([c for c in chunks if c]) == "You matter. Call 112."
        assert proxy.upstream.requests == []


async def test_an_upstream_that_breaks_off_ends_the_stream_with_an_error(start: Start, held: asyncio.Event) -> None:
    """The sent text remains, [DONE] is missing, and no state is stored."""
    proxy = await start(streaming="observe")
    proxy.upstream.respond = writing(LEAD, f"{FIRST} ", "And", held.wait, end=False)
    async with Reader(proxy, ASKED) as reader:
        await reader.until(FIRST)
        held.set()
        chunks = await reader.rest()
    assert reader.text == FIRST
    assert chunks[-1]["error"]["code"] == "upstream_error"
    proxy.upstream.respond = None
    assert (await proxy.say(ASKED, FIRST, "Go on."))["caf"]["outcome"] == "unfiltered"
    assert "[unverified" in str(proxy.upstream.requests[-1])


async def test_an_upstream_that_breaks_off_before_anything_has_left_is_asked_again(start: Start) -> None:
    """As without streaming."""
    proxy = await start(streaming="observe", alias={"max_attempts": 2})
    proxy.upstream.respond = writing(LEAD, FIRST[:4], end=False)
    answered = proxy.upstream.respond

    async def respond(request: web.Request) -> web.StreamResponse:
        return await (answered if len(proxy.upstream.requests) == 1 else writing(SOUND))(request)

    proxy.upstream.respond = respond
    chunks = data_of(await proxy.stream(ASKED))
    assert content_of([c for c in chunks if c]) == f"{FIRST} {SECOND}\n\nSources: Sleep"


@pytest.mark.parametrize("fields", [{"response_format": {"type": "json_object"}}, {"logprobs": True}])
async def test_what_makes_sense_as_a_whole_alone_is_held(start: Start, fields: Body) -> None:
    """JSON replies and requests with logprobs: the upstream is not asked to stream."""
    proxy = await start(streaming="observe")
    proxy.upstream.respond = writing(SOUND)
    await proxy.stream(ASKED, **fields)
    assert "stream" not in proxy.upstream.requests[-1]


async def test_a_stop_sequence_ends_the_text_before_it(start: Start) -> None:
    """A stop sequence that starts in the last word of a sentence and ends in the next piece."""
    proxy = await start(streaming="observe")
    proxy.upstream.respond = writing(LEAD, f"{FIRST} ", "Going to bed", SECOND[12:])
    chunks = data_of(await proxy.stream(ASKED, stop=["sleep. Going"]))
    text = content_of([c for c in chunks if c])
    assert "sleep." not in text
    assert text == text_of(await proxy.say(ASKED, stop=["sleep. Going"]))


async def test_the_length_limit_holds_for_what_leaves(start: Start) -> None:
    """Sent text cannot be shortened by the chatbot: it is cut at the end of a word."""
    proxy = await start(streaming="observe", length={"soft": 20, "hard": 30})
    proxy.upstream.respond = writing(LEAD, f"{FIRST} {SECOND} ", f"{FIRST} {SECOND} {FIRST}")
    chunks = data_of(await proxy.stream(ASKED))
    text = content_of([c for c in chunks if c]).partition("\n\nSources")[0]
    assert text == f"{FIRST} {SECOND} Most adults need seven to"
    caf = await same_unstreamed(proxy, chunks, ASKED)
    assert [w["rule"] for w in caf["warnings"]] == ["length"]


async def test_observe_streams_at_once_and_warns_afterwards(start: Start, held: asyncio.Event) -> None:
    """Each word is sent at once. The outcome is `unfiltered`, `caf` has the verdicts, the next turn is warned."""
    proxy = await start(streaming="observe")
    lead, _, advice = ADVICE.partition("\n")
    proxy.upstream.respond = writing(f"{lead}\n", "Take 400 mg of ", held.wait, advice.removeprefix("Take 400 mg of "))
    async with Reader(proxy, NUDGE) as reader:
        await reader.until("Take 400 mg")
        held.set()
        chunks = await reader.rest()
    assert reader.text == advice
    caf = await same_unstreamed(proxy, chunks, NUDGE)
    assert caf["outcome"] == "unfiltered"
    assert "reject" in {judge["verdict"] for judge in caf["judges"]}
    assert caf["warnings"]
    assert 'caf_step_seconds_count{step="first_text"} 1.0' in (await proxy.get("/metrics"))[1]
    proxy.upstream.respond = None
    await proxy.say(NUDGE, advice, "And how much fish oil?")
    assert warnings_in(proxy.upstream.requests[-1])


@pytest.mark.parametrize("cited", ["sleep", "work"])
async def test_observe_shows_no_command(start: Start, cited: str) -> None:
    """Neither the citation line nor a command within the text."""
    proxy = await start(streaming="observe")
    proxy.upstream.respond = writing("[[ci", "te: sleep]]\nMost adults ", "[", f"[cite: {cited}", "]] need sleep.")
    raw = await proxy.stream(ASKED)
    assert b"cite" not in raw.replace(b'"citations"', b"")
    assert b"]]" not in raw
    await same_unstreamed(proxy, data_of(raw), ASKED)


async def test_every_choice_streams_for_itself(start: Start) -> None:
    """With `n`, pieces of several choices arrive interleaved, and each choice gets its own."""
    proxy = await start(streaming="observe")

    async def respond(request: web.Request) -> web.StreamResponse:
        texts = [SOUND, f"{LEAD}{FIRST} {HARM}"]
        if not (await request.json()).get("stream"):
            raise AssertionError
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for at in range(0, 200, 7):
            for index, text in enumerate(texts):
                if text[at : at + 7]:
                    await response.write(chunk({"content": text[at : at + 7]}, index=index))
        await response.write(chunk({}, "stop") + chunk({}, "stop", 1) + b"data: [DONE]\n\n")
        return response

    proxy.upstream.respond = respond
    chunks = data_of(await proxy.stream(ASKED, n=2))
    assert content_of(chunks[:-1], 0) == f"{FIRST} {SECOND}\n\nSources: Sleep"
    assert content_of(chunks[:-1], 1) == f"{FIRST} {HARM}\n\nSources: Sleep"
    body = await proxy.say(ASKED, n=2)
    assert [c["message"]["content"] for c in body["choices"]] == [content_of(chunks[:-1], i) for i in (0, 1)]


async def test_responses_stream_the_same_way(start: Start, held: asyncio.Event) -> None:
    """/v1/responses sends the same pieces in its own events."""
    proxy = await start(streaming="observe")
    proxy.upstream.respond = writing(LEAD, FIRST, " Going", held.wait, SECOND[5:])
    async with sdk(proxy) as client:
        stream: Any = await client.responses.create(model="bot", input=ASKED, stream=True)
        events = []
        async for event in stream:
            events.append(event)
            if event.type == "response.output_text.delta":
                held.set()
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert FIRST.startswith(deltas[0])
    assert "".join(deltas) == f"{FIRST} {SECOND}\n\nSources: Sleep" == events[-1].response.output_text
    assert [event.sequence_number for event in events] == list(range(len(events)))


async def test_a_client_that_leaves_stops_the_upstream(start: Start, held: asyncio.Event) -> None:
    """Also after it received a part of the reply."""
    proxy = await start(streaming="observe")
    proxy.upstream.respond = writing(LEAD, FIRST, " Going", held.wait)
    async with Reader(proxy, ASKED) as reader:
        await reader.until(FIRST)
    async with asyncio.timeout(5):
        while not proxy.upstream.cancelled:  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def test_half_an_answer_of_which_nothing_was_sent_is_asked_for_again(start: Start) -> None:
    """Unstreamed replies are retried even after a part arrived."""
    proxy = await start(streaming="observe", alias={"max_attempts": 2})

    async def respond(request: web.Request) -> web.StreamResponse:
        broken = len(proxy.upstream.requests) == 1
        return await writing(LEAD, f"{FIRST} ", SECOND, end=not broken)(request)

    proxy.upstream.respond = respond
    assert (await whole(proxy, ASKED))[0] == f"{FIRST} {SECOND}\n\nSources: Sleep"
    assert len(proxy.upstream.requests) == 2


async def test_what_was_sent_of_a_broken_turn_is_traced(start: Start, held: asyncio.Event, tmp_path: Path) -> None:
    """The user may have read it."""
    path = tmp_path / "traces.db"
    proxy = await start(streaming="observe", config={"privacy": {"store": "full", "path": str(path)}})
    proxy.upstream.respond = writing(LEAD, f"{FIRST} ", "And", held.wait, end=False)
    async with Reader(proxy, ASKED) as reader:
        await reader.until(FIRST)
        held.set()
        await reader.rest()
    await asyncio.to_thread(proxy.app[SERVICE].traces.close)
    (trace,) = query.iterate_traces(path)
    assert [(a["text"], a["left"], a["citations"]) for a in trace["attempts"]] == [(FIRST, len(FIRST), ["sleep"])]


@pytest.mark.parametrize("mode", ["off", "shadow"])
async def test_a_reply_that_nobody_judges_is_streamed_as_well(start: Start, mode: str) -> None:
    """With the filter off or in shadow mode."""
    proxy = await start(streaming="observe")
    proxy.upstream.respond = writing(SOUND)
    chunks = data_of(await proxy.stream(ASKED, headers={"X-CAF-Filter": mode}))
    assert content_of([c for c in chunks if c]) == f"{FIRST} {SECOND}\n\nSources: Sleep"
    assert proxy.upstream.requests[-1]["stream"] is True


async def test_tool_calls_come_after_the_text_that_left(start: Start) -> None:
    """Calls of trusted tools are unchanged, independent of the verdict on the text."""
    proxy = await start(streaming="observe", trusted_tools=["look"])
    call = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}

    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for delta in ({"content": f"{LEAD}{FIRST} "}, {"content": HARM}, {"tool_calls": [call]}):
            await response.write(chunk(delta))
        await response.write(chunk({}, "tool_calls") + b"data: [DONE]\n\n")
        return response

    proxy.upstream.respond = respond
    chunks = data_of(await proxy.stream(ASKED, tools=[{"type": "function", "function": {"name": "look"}}]))[:-1]
    deltas = [c["delta"] for one in chunks for c in one["choices"]]
    assert content_of(chunks) == f"{FIRST} {HARM}\n\nSources: Sleep"
    (sent,) = (one for delta in deltas for one in delta.get("tool_calls", ()))
    assert sent == {**call, "id": sent["id"]}


@pytest.mark.parametrize("mark", ["-", ">", "* ", "#", "- - ", "~~"])
async def test_marks_before_a_command_are_part_of_it(start: Start, mark: str) -> None:
    """They are not sent, so that the streamed reply equals the unstreamed one."""
    proxy = await start(streaming="observe")
    proxy.upstream.respond = writing(LEAD, f"{FIRST}\n\n{mark} ", "[[cite: sleep]]\n", SECOND)
    chunks = data_of(await proxy.stream(ASKED))
    assert content_of([c for c in chunks if c]) == f"{FIRST}\n\n{SECOND}\n\nSources: Sleep"
    await same_unstreamed(proxy, chunks, ASKED)


@pytest.mark.parametrize("text", ["x" * 40_000, "睡" * 40_000, "a b " * 20_000])
async def test_endless_text_costs_no_more_than_its_length(start: Start, text: str) -> None:
    """Text without word ends, or without an end: quadratic work would take minutes."""
    proxy = await start(streaming="observe")
    pieces = [text[at : at + 10] for at in range(0, len(text), 10)]
    proxy.upstream.respond = writing(LEAD, *pieces)
    assert data_of(await proxy.stream(ASKED, stop=["y" * 300_000]))[-1] is None
    assert data_of(await proxy.stream(ASKED, stop=["y" * 200]))[-1] is None
