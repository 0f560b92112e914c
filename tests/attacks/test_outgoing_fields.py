"""A text in every field that an upstream can write, known or not, of any type: it reaches no client.

What may leave is the text that was judged, and calls that were judged or are trusted. All else is the proxy's own, a word of a
closed list, or has a form that holds no text.
"""

import asyncio
import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from aiohttp import web
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.api.service import SERVICE
from tests.attacks.forms import CHAT_FORMS, FORMS, Got, ask, check
from tests.proxy.conftest import Body, Proxy, Start

MARKER = "take_900mg_quetiapine_tonight"
NESTED = [MARKER, {MARKER: [MARKER], "text": MARKER}]
IDS = {"id": f"call_{MARKER}", "system_fingerprint": f"fp_{MARKER}"}
"""What is planted where ids of some form may pass."""
SAID = "Hi"
HELLO = "Hello. What would you like to know?"
TOOLS = [{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}} for name in "fg"]
NEW = "x_new"
"""A field that nobody knows."""
Path = tuple[str | int, ...]
KINDS: dict[str, Body] = {
    "guarded": {},
    "wrapped": {"kind": "wrapped"},
    "observe": {"streaming": "observe"},
    "off": {"filter": "off"},
    "shadow": {"filter": "shadow"},
    "off, streamed": {"filter": "off", "streaming": "observe"},
}


def token(text: str) -> Body:
    return {"token": text, "logprob": -0.25, "bytes": list(text.encode())}


def completion(*messages: Body, logprobs: bool = False) -> Body:
    """Write an upstream's completion with all that one may hold."""
    choices: list[Body] = [
        {
            "index": i,
            "message": {"role": "assistant", "refusal": None, **message},
            "finish_reason": "stop",
            "logprobs": None,
        }
        for i, message in enumerate(messages)
    ]
    if logprobs:
        for choice in choices:
            tokens = [
                {**token(word), "top_logprobs": [token(" pills")]}
                for word in re.findall(r"\s*\S+", choice["message"]["content"])
            ]
            choice["logprobs"] = {"content": tokens, "refusal": None}
    details = {"prompt_tokens_details": {"cached_tokens": 1}, "completion_tokens_details": {"reasoning_tokens": 1}}
    return {
        "id": "chatcmpl-B9MBs8",
        "object": "chat.completion",
        "created": 1741569952,
        "model": "m",
        "system_fingerprint": "fp_44709d6fcb",
        "service_tier": "default",
        "choices": choices,
        "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10, **details},
    }


CALLS = [
    {"id": f"call_{name}1", "type": "function", "function": {"name": name, "arguments": '{"city": "Paris"}'}}
    for name in "fg"
]
TEXT = {"content": HELLO}
WITH_CALLS = {"content": HELLO, "tool_calls": CALLS, "function_call": {"name": "h", "arguments": "{}"}}
ONLY_CALLS = {"content": None, "tool_calls": CALLS}
LEGACY = {"functions": [{"name": "h"}]}


def places(value: Any, at: Path = ()) -> Iterator[Path]:
    """Yield where something may be planted: in place of every value, and in every object under a name that nobody knows."""
    if at:
        yield at
    if isinstance(value, dict):
        yield (*at, NEW)
        for name, inner in value.items():
            yield from places(inner, (*at, name))
    elif isinstance(value, list):
        for i, inner in enumerate(value[:2]):
            yield from places(inner, (*at, i))


def planted(body: Body, at: Path, plant: Any) -> Body:
    """Return a copy with something planted in it."""
    copied = copy.deepcopy(body)
    inner: Any = copied
    for step in at[:-1]:
        inner = inner[step]
    inner[at[-1]] = plant
    return copied


def plants(at: Path) -> list[Any]:
    """Return what is planted in a place."""
    if at[-1] == NEW:
        return [NESTED]
    return [MARKER, NESTED, *(IDS[name] for name in at[-1:] if name in IDS)]


def is_said(at: Path, kind: str) -> bool:
    """Return whether a place is the text, the arguments of a trusted tool, or, unjudged, a refusal or an alternative."""
    if kind.startswith(("off", "shadow")) and ("top_logprobs" in at or at[-1] == "refusal"):
        return True
    return "logprobs" not in at and at[-1] in ("content", "arguments")


def answers(proxy: Proxy, body: Body) -> None:
    """Have the upstream answer so, streamed where it is asked to."""

    async def respond(request: web.Request) -> web.StreamResponse:
        if not (await request.json()).get("stream"):
            return web.json_response(body)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for chunk in chunks(body):
            await response.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        await response.write(b"data: [DONE]\n\n")
        return response

    proxy.upstream.respond = respond


def chunks(body: Body) -> Iterator[Body]:
    """Write a completion as chunks: the text, all else, the reason of the end."""
    head = {name: value for name, value in body.items() if name not in ("choices", "usage")}
    head["object"] = body["object"] if body["object"] != "chat.completion" else "chat.completion.chunk"
    choices = body["choices"] if isinstance(body["choices"], list) else [body["choices"]]
    for choice in choices:
        if not isinstance(choice, dict) or not isinstance(choice["message"], dict):
            yield {**head, "choices": [choice]}
            continue
        message = dict(choice["message"])
        rest = {name: value for name, value in choice.items() if name not in ("message", "finish_reason")}
        yield {**head, "choices": [{**rest, "delta": {"role": "assistant", "content": message.pop("content", None)}}]}
        calls = message.get("tool_calls")
        if isinstance(calls, list):
            message["tool_calls"] = [
                {"index": i, **call} if isinstance(call, dict) else call for i, call in enumerate(calls)
            ]
        yield {**head, "choices": [{**rest, "logprobs": None, "delta": message}]}
        yield {**head, "choices": [{"index": rest["index"], "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**head, "choices": [], "usage": body["usage"]}


async def asked(proxy: Proxy, form: str, body: Body, **fields: Any) -> Got:
    """Ask what the upstream answers so; the answer is one of OpenAI's form, or an error of the upstream's."""
    answers(proxy, body)
    got = await ask(proxy, form, SAID, **fields)
    assert got.status in (200, 502), got
    assert '"internal"' not in json.dumps(got.parts)
    check(got)
    return got


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_text_in_any_field_stays_inside(start: Start, kind: str, form: str) -> None:
    """In place of every value, and beside them, at every depth."""
    proxy = await start(knowledge_base=None, trusted_tools=["f", "g", "h"], **KINDS[kind])
    chat = {"logprobs": True, "top_logprobs": 1, **LEGACY} if form in CHAT_FORMS else {}
    reached = 0
    for body, fields in (
        (completion(WITH_CALLS), {"tools": TOOLS, **({} if not chat else LEGACY)}),
        (completion(ONLY_CALLS), {"tools": TOOLS}),
        (completion(TEXT, logprobs=True), chat),
    ):
        for at in places(body):
            if not is_said(at, kind):
                for plant in plants(at):
                    got = await asked(proxy, form, planted(body, at, plant), **fields)
                    assert MARKER not in got, (at, plant)
                    reached += not got.failed
    assert reached > 100


@pytest.mark.parametrize("form", CHAT_FORMS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_text_in_any_field_of_any_choice_stays_inside(start: Start, kind: str, form: str) -> None:
    """Also where several are asked for."""
    proxy = await start(knowledge_base=None, trusted_tools=["f", "g", "h"], **KINDS[kind])
    body = completion(TEXT, WITH_CALLS)
    for at in places(body):
        if not is_said(at, kind):
            got = await asked(proxy, form, planted(body, at, MARKER), tools=TOOLS, n=2, **LEGACY)
            assert MARKER not in got, at


JSON = st.recursive(
    st.just(MARKER) | st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([MARKER, "text", "name", "id", "type", "function", "content", "token", "index", "0"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=6,
)
WHOLE = completion(TEXT | {"tool_calls": CALLS})
WHERE = st.sampled_from(
    [
        at
        for at in places(WHOLE)
        if not is_said(at, "off")
        and "tool_calls" not in at
        and at not in [("choices", 0, "message")[:n] for n in (1, 2, 3)]
    ]
)
"""Not in place of what holds the text."""


@pytest.mark.parametrize("kind", ["guarded", "observe", "off"])
async def test_random_structures_in_several_fields_stay_inside(start: Start, kind: str) -> None:
    """Whatever their types, one beside another."""
    proxy = await start(knowledge_base=None, trusted_tools=["f", "g"], **KINDS[kind])
    loop = asyncio.get_running_loop()

    async def attempt(form: str, plants: list[tuple[Path, Any]]) -> None:
        body = WHOLE
        for at, plant in sorted(plants, key=lambda one: -len(one[0])):  # what holds another comes last
            body = planted(body, at, plant)
        assert MARKER not in await asked(proxy, form, body, tools=TOOLS)

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.sampled_from(FORMS), st.lists(st.tuples(WHERE, JSON), max_size=3, unique_by=lambda one: one[0]))
    def fuzz(form: str, plants: list[tuple[Path, Any]]) -> None:
        asyncio.run_coroutine_threadsafe(attempt(form, plants), loop).result(20)

    await asyncio.to_thread(fuzz)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", KINDS)
async def test_names_are_the_proxys_own(start: Start, kind: str, form: str) -> None:
    """Id and time; a number can say something, too."""
    proxy = await start(knowledge_base=None, **KINDS[kind])
    got = await asked(proxy, form, {**completion(TEXT), "id": "chatcmpl-900", "created": 900})
    assert "chatcmpl-900" not in got
    for part in got.parts:
        assert part.get("created", part.get("response", part).get("created_at")) != 900


@pytest.mark.parametrize("form", FORMS)
async def test_what_holds_no_text_passes(start: Start, form: str) -> None:
    """Fingerprint and tier."""
    proxy = await start(knowledge_base=None)
    got = await asked(proxy, form, completion(TEXT))
    assert "default" in got
    assert "fp_44709d6fcb" in got or form.startswith("responses")


REASONS = ["stop", "length", "content_filter", "tool_calls", "function_call", "end_turn", "", None]


@pytest.mark.parametrize("form", CHAT_FORMS)
@pytest.mark.parametrize("reason", REASONS)
async def test_the_reason_of_the_end_is_one_of_openais_and_fits(start: Start, form: str, reason: str | None) -> None:
    """Those that speak of calls only where there are some."""
    proxy = await start(knowledge_base=None, trusted_tools=["f", "g", "h"])
    legacy = {"content": None, "function_call": {"name": "h", "arguments": "{}"}}
    for message, fields, called in (
        (TEXT, {}, "stop"),
        (ONLY_CALLS, {"tools": TOOLS}, "tool_calls"),
        (legacy, LEGACY, "function_call"),
        ({"content": HELLO, "tool_calls": CALLS}, {}, "stop"),
    ):
        body = planted(completion(message), ("choices", 0, "finish_reason"), reason)
        got = await asked(proxy, form, body, **fields)
        told = got.whole["choices"][0]["finish_reason"]
        assert told == (reason if reason in ("length", "content_filter") else called)


@pytest.mark.parametrize("form", CHAT_FORMS)
async def test_an_unknown_reason_of_the_end_is_not_told(start: Start, form: str) -> None:
    """The answer counts as broken off."""
    proxy = await start(knowledge_base=None)
    body = planted(completion(TEXT), ("choices", 0, "finish_reason"), MARKER)
    got = await asked(proxy, form, body)
    assert got.failed
    assert MARKER not in got


COUNTS = [-1, 1.5, True, "900", 2**31 + 1, 2**63, 2**64 - 1, [900], {"x": 900}, None]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", COUNTS)
async def test_counts_of_tokens_are_whole_numbers(start: Start, form: str, count: Any) -> None:
    """What no model can have used is estimated."""
    proxy = await start(knowledge_base=None)
    body = completion(TEXT)
    for at in places(body["usage"], ("usage",)):
        fields = {"stream_options": {"include_usage": True}} if form == "chat streamed" else {}
        got = await asked(proxy, form, planted(body, at, count), **fields)
        assert not got.failed
        usage = got.parts[-1]["usage"] if form.startswith("chat") else got.whole["usage"]
        names = ("prompt_tokens", "completion_tokens") if form.startswith("chat") else ("input_tokens", "output_tokens")
        assert all(type(usage[name]) is int and 0 < usage[name] < 2**31 for name in names)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("mode", "told"), [("on", False), ("off", True)])
async def test_what_else_might_have_been_said_is_left_out_of_a_judged_reply(
    start: Start, form: str, mode: str, told: bool
) -> None:
    """No judge has read the alternatives of a token."""
    proxy = await start(knowledge_base=None, filter=mode)
    fields = {"logprobs": True, "top_logprobs": 1} if form in CHAT_FORMS else {"top_logprobs": 1}
    got = await asked(proxy, form, completion(TEXT, logprobs=True), **fields)
    assert ("pills" in got) is told
    assert '"logprob"' in json.dumps(got.parts)
    assert got.texts == [HELLO]


@pytest.mark.parametrize("form", FORMS)
async def test_a_models_own_refusal_is_told_in_our_words(start: Start, form: str) -> None:
    """Whatever stands beside it."""
    proxy = await start(knowledge_base=None)
    body = completion({"content": None, "refusal": MARKER, "tool_calls": [{**CALLS[0], "id": MARKER}]})
    got = await asked(proxy, form, body)
    assert MARKER not in got
    assert got.refusals == [proxy.app[SERVICE].chatbots["bot"].fallback("")]


# Errors.

ERROR = {"message": "m", "type": "invalid_request_error", "param": "messages", "code": "invalid_value"}
ERRORS: list[Any] = [
    *(planted({"error": ERROR}, at, plant) for at in places({"error": ERROR}) for plant in plants(at)),
    *(
        {"error": {**ERROR, "param": f"{path}{MARKER}"}}
        for path in ("messages[0].", "tools.", "response_format.json_schema.", "n")
    ),
    {"error": {"message": f"response_format {MARKER}", "code": f"invalid_value_{MARKER}"}},
    {"error": {**ERROR, "code": MARKER, "param": None}},
    {"detail": MARKER},
    [MARKER],
    MARKER,
]
STATUSES = [301, 400, 401, 404, 408, 413, 418, 422, 429, 503]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("streaming", ["hold", "observe"])
async def test_errors_are_told_in_our_words(start: Start, form: str, streaming: str) -> None:
    """Codes and fields are OpenAI's or are not told; no header comes along."""
    proxy = await start(knowledge_base=None, streaming=streaming)
    for status in STATUSES:
        for error in ERRORS:
            headers = {"Retry-After": MARKER, "X-Request-Id": MARKER, "Location": f"/{MARKER}"}

            async def respond(
                request: web.Request, error: Any = error, status: int = status, headers: Any = headers
            ) -> Any:
                return web.json_response(error, status=status, headers=headers, reason=MARKER)

            proxy.upstream.respond = respond
            got = await ask(proxy, form, SAID)
            assert got.failed
            assert MARKER not in got, (status, error)


@pytest.mark.parametrize("form", FORMS)
async def test_errors_within_a_stream_are_told_in_our_words(start: Start, form: str) -> None:
    """Before a text, and after one of which something has left."""
    proxy = await start(knowledge_base=None, streaming="observe")
    for told in (
        *ERRORS,
        *({"error": {**ERROR, "code": code, "param": MARKER, "type": MARKER}} for code in (400, 429, 500, MARKER)),
    ):
        for begun in (False, True):

            async def respond(request: web.Request, told: Any = told, begun: bool = begun) -> web.StreamResponse:
                response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
                await response.prepare(request)
                if begun:
                    one = {"id": MARKER, "choices": [{"index": 0, "delta": {"content": f"{HELLO} And"}}]}
                    await response.write(b"data: " + json.dumps(one).encode() + b"\n\n")
                    await asyncio.sleep(0.002)
                await response.write(b"data: " + json.dumps(told).encode() + b"\n\n")
                return response

            proxy.upstream.respond = respond
            got = await ask(proxy, form, SAID)
            assert got.failed
            assert MARKER not in got, told


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("policy", ["open", "closed"])
async def test_errors_of_a_judges_model_are_not_told(start: Start, form: str, policy: str) -> None:
    """Its verdict is `unjudged`, and nothing says what it wrote."""
    proxy = await start(knowledge_base=None, judges=[{"name": "role", "stages": ["swift"], "on_error": policy}])
    for status in (200, 400, 500):
        for error in ERRORS:

            async def respond(request: web.Request, error: Any = error, status: int = status) -> web.Response:
                judges = (await request.json())["model"] == "up-swift"
                return web.json_response(error, status=status) if judges else web.json_response(completion(TEXT))

            proxy.upstream.respond = respond
            got = await ask(proxy, form, SAID)
            assert not got.failed
            assert MARKER not in got, (status, error)
