"""Sizes: sixteen times any part of a request, or of an upstream's answer, costs at most 48 times the CPU, end to end.

The CPU is that of the process: proxy, upstream and client. What is linear has the ratio 16, what is quadratic 256.
"""

import asyncio
import gc
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from judges import pipeline
from judges.advice import MAX_CHARS, unsupported_advice
from judges.case import Case, Topic
from judges.judge import MAX_COMPARED, OBSERVERS, LocalJudge
from judges.observation import RolePlay
from knowledge_base.library import Source
from proxy.turn import judging, tool_calls
from tests.proxy.conftest import ASKED, SLEEP, Body, Proxy, Start, Upstream, claims, judge_with, screening

GROWTH, MOST = 16, 48
LEAST_S = 0.004
"""CPU seconds below which there is nothing to compare."""
LONGEST_STEP_S = 0.15
"""CPU seconds that the event loop may spend on one step while the client, the proxy and the upstream share it."""
ROUTES = ("/v1/chat/completions", "/v1/responses")
QUESTION = {"role": "user", "content": ASKED}
JSON_REPLY = {"response_format": {"type": "json_object"}}
ADVICE = "Stop taking your tablets tonight and take 400 mg of magnesium. "


def sentences(count: int) -> list[str]:
    return [f"The visitors of day {n} came by train and took two tablets." for n in range(count)]


def quotations(count: int) -> str:
    """Write what a chief says that finds all of a reply in its document."""
    found = [
        {"text": text, "support": "stated", "source_id": "doc:1", "quote": text, "topic": None, "severity": None}
        for text in sentences(count)
    ]
    return claims(*found, denials=[], contradictions=[], played=[])


def tools(count: int) -> list[Body]:
    return [{"type": "function", "function": {"name": f"tool_{n}", "parameters": {}}} for n in range(count)]


def calling(count: int, arguments: str = '{"a": "Take a rest."}') -> Body:
    calls = [
        {"id": f"call_{n}", "type": "function", "function": {"name": f"tool_{n}", "arguments": arguments}}
        for n in range(count)
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def tool_results(count: int) -> list[Body]:
    results = [{"role": "tool", "tool_call_id": f"call_{n}", "content": "It is late."} for n in range(count)]
    return [QUESTION, calling(count), *results]


def nested(depth: int) -> Any:
    value: Any = "Take a rest."
    for _ in range(depth):
        value = [value]
    return value


def documents(text: str) -> Body:
    return {"documents": [{"text": text}]}


def said(text: str) -> Body:
    return {"messages": [{"role": "user", "content": text}]}


def dialogue(count: int, text: str) -> Body:
    return {
        "messages": [*[{"role": "user", "content": text}, {"role": "assistant", "content": text}] * count, QUESTION]
    }


@dataclass(frozen=True)
class Part:
    """A part of a request, or of what the upstream answers to it."""

    name: str
    small: int
    request: Callable[[int], Body] = lambda _: {}
    answer: Callable[[int], Any] = lambda _: SLEEP
    chief: Callable[[int], str] = lambda _: claims(denials=[], contradictions=[], played=[])
    faults: Callable[[int], str] = lambda _: screening(("beyond", "hours", 3))


REQUESTS = (
    Part("messages", 50, lambda n: dialogue(n, "I sleep badly at night.")),
    Part("line breaks", 400, lambda n: said("\n" * n)),
    Part("lines", 400, lambda n: said("a\n" * n)),
    Part("words", 600, lambda n: said("I sleep badly at night. " * n)),
    Part("letters", 20_000, lambda n: said("a" * n)),
    Part("ligatures", 600, lambda n: said("\ufdfa " * n)),
    Part("commands of the user's", 400, lambda n: said("[[cite: a]] " * n)),
    Part("earlier messages", 400, lambda n: dialogue(3, "I took 5 mg at night. " * n)),
    Part("system message", 1_500, lambda n: {"messages": [{"role": "system", "content": "[[a: b]] " * n}, QUESTION]}),
    Part("content parts", 300, lambda n: {"messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}] * n}]}),
    Part("tools", 500, lambda n: {"tools": tools(n)}),
    Part("tool messages", 60, lambda n: {"messages": tool_results(n), "tools": tools(n)}),
    Part("JSON depth", 15, lambda n: {"metadata": {"a": nested(n)}}),
    Part("JSON strings", 3_000, lambda n: {"metadata": {"a": ["Take a rest."] * n}}),
    Part("documents", 1, lambda n: {"documents": [{"text": "\n".join(sentences(60))}] * n}, lambda _: cited(300)),
    Part("document of one line", 4_000, lambda n: documents("stop, take, " * (n // 12)), lambda _: cited(100)),
    Part("document of advice", 4_000, lambda n: documents(ADVICE * (n // len(ADVICE))), lambda _: cited(100, ADVICE)),
    Part("document of sentences", 60, lambda n: documents("\n".join(sentences(n))), lambda _: cited(300)),
    Part("document of line breaks", 3_000, lambda n: documents("a" + "\n" * n + "b"), lambda _: cited(100)),
)  # fmt: skip


def cited(count: int, text: str = "") -> str:
    return "[[cite: doc:1]]\n" + (text * count if text else " ".join(sentences(count)))


def listed(count: int) -> str:
    return json.dumps({"items": sentences(count)})


LONG_DOCUMENT = documents("\n".join(sentences(1_000)))
ANSWERS = (
    Part("reply", 80, answer=lambda n: f"{SLEEP} " * n),
    Part("reply of line breaks", 2_000, answer=lambda n: SLEEP + "\n" * n + "Yes."),
    Part("reply of advice", 40, answer=lambda n: "[[cite: sleep]]\n" + ADVICE * n),
    Part("sections cited", 500, answer=lambda n: f"[[cite: {', '.join(f's{i}' for i in range(n))}]]\nYes."),
    Part("citation commands", 500, answer=lambda n: "".join(f"[[cite: s{i}]]\n" for i in range(n)) + "Yes."),
    Part("choices", 30, answer=lambda n: [SLEEP] * n),
    Part("tool calls", 60, lambda n: {"tools": tools(n)}, lambda n: [calling(n)]),
    Part("arguments of a call", 60, lambda n: {"tools": tools(1)}, lambda n: [calling(1, listed(n))]),
    Part("JSON depth of the reply", 50, lambda _: JSON_REPLY, lambda n: json.dumps(nested(n))),
    Part("JSON strings of the reply", 80, lambda _: JSON_REPLY, listed),
    Part("JSON numbers of the reply", 500, lambda _: JSON_REPLY, lambda n: json.dumps([7] * n)),
    Part("JSON keys of the reply", 200, lambda _: JSON_REPLY, lambda n: json.dumps({f"k{i}": 1 for i in range(n)})),
    Part("JSON reply beside a document", 80, lambda _: JSON_REPLY | LONG_DOCUMENT, listed, quotations),
    Part("quotations of a chief", 40, lambda _: JSON_REPLY | LONG_DOCUMENT, lambda _: listed(640), quotations),
    Part("faults of a reply", 40, lambda _: JSON_REPLY, lambda _: listed(640),
         faults=lambda n: screening(*(("beyond", text, 1) for text in sentences(n)))),
)  # fmt: skip


def request_to(route: str, part: Part, size: int) -> Body:
    """Write a request in the form of its route."""
    chat = {"model": "bot", "messages": [QUESTION], **part.request(size)}
    if route == ROUTES[0]:
        return chat
    if form := chat.pop("response_format", None):
        chat["text"] = {"format": form}
    if "tools" in chat:
        chat["tools"] = [{"type": "function", **tool["function"]} for tool in chat["tools"]]
    return chat | {"input": [item for message in chat.pop("messages") for item in as_items(message)]}


def as_items(message: Body) -> list[Body]:
    if message["role"] == "tool":
        return [{"type": "function_call_output", "call_id": message["tool_call_id"], "output": message["content"]}]
    if "tool_calls" in message:
        return [{"type": "function_call", "call_id": c["id"], **c["function"]} for c in message["tool_calls"]]
    content = message["content"]
    if isinstance(content, list):
        content = [{**part, "type": "input_text"} for part in content]
    return [{"role": message["role"], "content": content}]


class Clock:
    """Measures the CPU of requests, and the longest step of the event loop meanwhile."""

    def __init__(self, proxy: Proxy, route: str) -> None:
        self._proxy, self._route = proxy, route
        self.longest_step_s = 0.0

    async def cpu_s(self, part: Part, size: int) -> float:
        """Return the CPU seconds that a request takes."""
        by_model = {"up-swift": part.faults, "up-chief": part.chief}
        answers = {name: answer(size) for name, answer in by_model.items()} | {"up-chatbot": part.answer(size)}
        self._proxy.upstream.answer = lambda body: answers[body["model"]]
        body = json.dumps(request_to(self._route, part, size)).encode()
        watch = asyncio.create_task(self._watch())
        await asyncio.sleep(0)
        began = time.process_time()
        async with self._proxy.session.post(
            self._proxy.url + self._route, data=body, headers={"Content-Type": "application/json"}
        ) as response:
            answer = await response.read()
        used = time.process_time() - began
        watch.cancel()
        with suppress(asyncio.CancelledError):
            await watch
        assert response.status == 200 or (size > part.small and response.status in (400, 413)), answer
        return used

    async def _watch(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0.001)
            now = time.thread_time()
            self.longest_step_s, last = max(self.longest_step_s, now - last), now


async def start_one(start: Start, mode: str, **changes: Any) -> Proxy:
    settings: Body = {
        "evidence": ["documents"] if mode == "wrapped" else ["knowledge_base", "documents"],
        "length": {"soft": 20_000, "hard": 30_000},
        "judges": judge_with("local"),
        "config": {"server": {"turn_timeout_s": 100}},
    }
    if mode == "models":
        settings["judges"] = [*judge_with("local")[:1], *judge_with("swift", "chief")[1:]]
    if mode == "no topics":
        settings |= {"judges": [*judge_with("local")[:1], *judge_with("swift", "chief")[1:]], "sensitive_topics": []}
    if mode == "wrapped":
        settings |= {"kind": "wrapped", "knowledge_base": None, "refiner": None}
    return await start(**settings | changes)


@pytest.fixture(scope="module")
def frozen() -> Iterator[None]:
    """What a test run has in memory is not walked through by the collector of garbage, whose time would be that of the request.

    Once: to collect it takes seconds in a process that has run thousands of tests.
    """
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


WALK = [
    *((part, route, "local") for part in REQUESTS for route in ROUTES),
    *((part, ROUTES[0], mode) for part in ANSWERS for mode in ("local", "models")),
    *((part, ROUTES[1], "local") for part in ANSWERS if part.name in ("reply", "choices", "tool calls")),
    *((part, ROUTES[0], "no topics") for part in REQUESTS if part.name.startswith("document")),
    *((part, ROUTES[0], "wrapped") for part in ANSWERS if part.name in ("reply", "choices")),
]


@pytest.mark.usefixtures("frozen")
@pytest.mark.parametrize(
    ("part", "route", "mode"), WALK, ids=[f"{part.name}-{route.split('/')[2]}-{mode}" for part, route, mode in WALK]
)
async def test_sixteen_times_a_part_costs_at_most_48_times_the_cpu(
    start: Start, part: Part, route: str, mode: str
) -> None:
    """Whatever part it is, wherever it is sent; and no step of the event loop takes long."""
    proxy = await start_one(start, mode)
    plain, small, large, step = (float("inf"),) * 4
    for _ in range(3):  # the best of three
        clock = Clock(proxy, route)
        plain = min(plain, await clock.cpu_s(Part("plain", 1), 1))
        small = min(small, await clock.cpu_s(part, part.small))
        large = min(large, await clock.cpu_s(part, GROWTH * part.small))
        step = min(step, clock.longest_step_s)
        if large - plain <= MOST * max(small - plain, LEAST_S) and step <= LONGEST_STEP_S:
            return
    pytest.fail(f"{part.name}: {plain=:.3f} s, {small=:.3f} s, {large=:.3f} s, {step=:.3f} s")


async def test_the_event_loop_does_none_of_the_judging_of_a_long_case(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither what a judge saw beyond the sources, nor advice that no source gives, is looked for on the event loop."""
    on_the_loop: list[str] = []

    def watch(module: Any, name: str) -> None:
        function = getattr(module, name)

        def watched(*args: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                on_the_loop.append(name)
            return function(*args)

        monkeypatch.setattr(module, name, watched)

    for name in ("goes_beyond", "find_unsupported", "is_delicate"):
        watch(pipeline, name)
    for module in (judging, tool_calls):
        watch(module, "json_text")
    proxy = await start_one(start, "models")
    part = Part("", 1_000, lambda _: JSON_REPLY | LONG_DOCUMENT, listed, quotations)
    await Clock(proxy, ROUTES[0]).cpu_s(part, part.small)
    assert on_the_loop == []


@pytest.mark.parametrize("mode", ["local", "wrapped"])
@pytest.mark.parametrize("n", [None, 1, 3])
@pytest.mark.parametrize("streaming", ["hold", "observe"])
async def test_no_more_choices_are_read_than_were_asked_for(
    start: Start, upstream: Upstream, mode: str, n: int | None, streaming: str
) -> None:
    """The others are not judged, traced or delivered, whether the reply is streamed or not."""
    proxy = await start_one(start, mode, streaming=streaming)
    traces = proxy.traces()
    upstream.answer = lambda _: [SLEEP, *[f"{SLEEP} {number}" for number in range(40)]]
    asked: Body = {} if n is None else {"n": n}
    completion = await proxy.say(ASKED, **asked)
    assert len(completion["choices"]) == (n or 1)
    [trace] = traces
    assert {attempt.choice for attempt in trace.attempts} == set(range(n or 1))
    events = await proxy.stream(ASKED, **asked)
    chunks = [json.loads(line[6:]) for line in events.decode().split("\n") if line.startswith("data: {")]
    assert {choice["index"] for chunk in chunks for choice in chunk["choices"]} == set(range(n or 1))


@pytest.mark.parametrize("size", [3_000, 60_000])
def test_local_judges_read_less_of_the_sources_of_a_longer_reply(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sentence is held against each of the sources: what is not read of them supports nothing."""
    read: list[Case] = []

    def observe(case: Case) -> tuple[RolePlay, float]:
        read.append(case)
        return RolePlay(played=[]), 0.0

    monkeypatch.setitem(OBSERVERS, "role", observe)
    sources = tuple(Source(f"doc:{n}", "", "", "a" * size) for n in range(4))
    for draft in ("a" * 1_000, "a" * 80_000):
        LocalJudge("role").judge_now(Case("hi", draft, cited=sources))
    short, long = (sum(len(source.text) for source in case.cited) for case in read)
    assert short == min(4 * size, MAX_COMPARED // 1_000)
    assert long == min(4 * size, MAX_COMPARED // 80_000)


def test_advice_behind_what_is_read_of_a_document_supports_nothing() -> None:
    """Of a document as much is read as of a reply; a section is the operator's, and read to its end."""
    reply = "Take the tablets with water."
    text = "It rained. " * (MAX_CHARS // 11 + 1) + reply
    topics = (Topic("medication"),)
    for ident, expected in (("doc:1", reply), ("section", None)):
        case = Case("How?", reply, cited=(Source(ident, "", "", text, trusted=True),), topics=topics)
        assert (unsupported_advice(case) or "").rstrip(".") == (expected or "").rstrip(".")
