"""The HTTP contract from outside: invalid input, upstream errors, routes, the log line."""

import asyncio
import gzip
import json
import math
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
import structlog
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.api.middleware import METRICS, boundary
from proxy.telemetry.metrics import Metrics
from tests.proxy.conftest import (
    Body,
    Proxy,
    Start,
    bot_settings,
    dialogue,
    eventually,
    judge_with,
    text_of,
    warnings_in,
)

ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night."
HI = [{"role": "user", "content": "Hi"}]


def chat(**fields: Any) -> Body:
    return {"model": "bot", "messages": HI, **fields}


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b" ",
        b"{",
        b'{"model": "bot", "messages": [',
        b"null",
        b"[]",
        b'"bot"',
        b"5",
        b"\xff\xfe\x00",
        b"\xef\xbb\xbf{}",
        b'{"model": NaN}',
        b'{"model": "bot", "messages": [], "seed": 1e999}',
        b'{"model": "bot", "messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"model": "bot", "messages": [{"role": "user", "content": "\xed\xa0\x80"}]}',
        b'{"model": "bot", "messages": [{"role": "user", "content": "\xc3"}]}',
        b'{"model": "bot", "messages": ' + b"[" * 100_000,
        b'{"model": "bot", "messages": [], "x": ' + b"[" * 900 + b"]" * 900 + b"}",
    ],
)
async def test_body_that_is_no_json_object_gets_400(start: Start, raw: bytes) -> None:
    """An unreadable body is a client error, and the next request is served."""
    proxy = await start()
    status, error = await proxy.error(raw)
    assert (status, error["type"]) == (400, "invalid_request_error")
    assert text_of(await proxy.say("Hi")) == "Hello."


@pytest.mark.parametrize(
    "request_with",
    [
        b'{"model":"bot","messages":[{"role":"user","content":"Hi"}],"x":%s}',
        b'{"model":"bot","messages":[{"role":"user","content":"Hi","x":%s}]}',
        b'{"model":"bot","messages":[{"role":"user","content":[{"type":"x","x":%s}]}]}',
    ],
    ids=["field", "message", "part"],
)
async def test_nesting_is_passed_on_or_refused(start: Start, request_with: bytes) -> None:
    """At any depth and place, a nested value either reaches the upstream or gets 400."""
    proxy = await start()
    for depth in (100, 199, 248, 249, 250, 251, 252, 253, 254, 260, 1000):
        proxy.upstream.raw.clear()
        nested = ("[" * depth + "]" * depth).encode()
        status, _ = await proxy.post(request_with % nested)
        assert status == (200 if proxy.upstream.raw else 400), depth
        assert not proxy.upstream.raw or nested in proxy.upstream.raw[0], depth


FAULTS: list[tuple[str, Body]] = [
    ("model", {"messages": HI}),
    ("model", {"model": None, "messages": HI}),
    ("model", {"model": 5, "messages": HI}),
    ("model", {"model": "", "messages": HI}),
    ("model", {"model": ["bot"], "messages": HI}),
    ("messages", {"model": "bot"}),
    *(("messages", chat(messages=m)) for m in (None, [], {}, "Hi", 5, True)),
    *(("messages[0]", chat(messages=[m])) for m in (None, "Hi", 5, [])),
    ("messages[0].role", chat(messages=[{}])),
    ("messages[0].role", chat(messages=[{"content": "Hi"}])),
    *(
        ("messages[1].role", chat(messages=[*HI, {"role": r, "content": "x"}]))
        for r in ("boss", "", "User", None, 5, ["user"])
    ),
    *(
        ("messages[0].content", chat(messages=[{"role": "user", "content": c}]))
        for c in (5, True, {}, {"type": "text"})
    ),
    *(("messages[0].content[0]", chat(messages=[{"role": "user", "content": [c]}])) for c in (5, None, "x", [])),
    *(
        (
            "messages[0].content[1].type",
            chat(messages=[{"role": "user", "content": [{"type": "text", "text": "x"}, c]}]),
        )
        for c in ({}, {"type": None}, {"type": 5}, {"text": "x"})
    ),
    ("messages[0].content[0].text", chat(messages=[{"role": "user", "content": [{"type": "text", "text": 5}]}])),
    ("messages[0].tool_calls", chat(messages=[{"role": "assistant", "tool_calls": "x"}])),
    ("messages[0].tool_calls[0]", chat(messages=[{"role": "assistant", "tool_calls": [5]}])),
    *(("stream", chat(stream=s)) for s in ("true", 1, [], {})),
    *(("stream_options", chat(stream_options=s)) for s in ("x", 1, [])),
    ("stream_options.include_usage", chat(stream_options={"include_usage": "yes"})),
    *(("n", chat(n=n)) for n in (0, -1, 17, "2", 1.5, True, 10**30)),
    *(("user", chat(user=u)) for u in (5, [], {})),
    *(("metadata", chat(metadata=m)) for m in ("x", 5, [])),
    *(("metadata.conversation_id", chat(metadata={"conversation_id": i})) for i in (5, "", "x" * 201, "a\nb", ["x"])),
    *(("response_format", chat(response_format=f)) for f in ("json", 5, [])),
]


@pytest.mark.parametrize(("param", "body"), FAULTS, ids=[f"{i}-{p}" for i, (p, _) in enumerate(FAULTS)])
async def test_wrong_field_is_named_as_openai_names_it(start: Start, param: str, body: Body) -> None:
    """A missing field, or one of a wrong type, gets 400 with its path, and no upstream call is made."""
    proxy = await start()
    status, error = await proxy.error(body)
    assert (status, error["type"], error["param"]) == (400, "invalid_request_error", param)
    assert param in error["message"]
    assert not proxy.upstream.requests


async def test_errors_never_speak_of_our_own_classes(start: Start) -> None:
    """Messages say "object", not the name of a pydantic model."""
    proxy = await start()
    for body in (chat(messages=["x"]), chat(messages=[{"role": "user", "content": [5]}]), chat(stream_options=[])):
        _, error = await proxy.error(body)
        assert error["message"].endswith("must be an object.")


async def test_errors_do_not_quote_the_conversation(start: Start) -> None:
    """No error contains text from the body, at any place."""
    proxy = await start()
    for body in (
        chat(messages=[{"role": "SECRETWORD", "content": "SECRETWORD"}]),
        chat(messages=[{"role": "user", "content": {"SECRETWORD": 1}}]),
        chat(user=["SECRETWORD"]),
        chat(metadata={"conversation_id": "SECRETWORD" * 50}),
        b'{"model": "bot", "messages": SECRETWORD',
    ):
        _, error = await proxy.error(body)
        assert "SECRETWORD" not in json.dumps(error)


@pytest.mark.parametrize("name", ["gpt-4", "BOT", "bot ", "x" * 10_000, "../bot", "b\u0000t", "ботик"])
async def test_unknown_model_gets_404(start: Start, name: str) -> None:
    """An unknown chatbot gets OpenAI's error code, and the message is short."""
    proxy = await start()
    status, error = await proxy.error(chat(model=name))
    assert (status, error["code"], error["param"]) == (404, "model_not_found", "model")
    assert len(error["message"]) < 500


async def test_body_past_the_limit_gets_413(start: Start) -> None:
    """A body above server.max_body_bytes is refused, plain or chunked, and the next one is served."""
    proxy = await start(config={"server": {"max_body_bytes": 20_000}})
    big = json.dumps(chat(user="x" * 21_000)).encode()
    status, error = await proxy.error(big)
    assert (status, error["code"]) == (413, "request_too_large")
    assert "larger than 20000 bytes" in error["message"]
    assert "server.max_body_bytes" in error["message"]

    async def pieces() -> Any:
        for at in range(0, len(big), 1_000):
            yield big[at : at + 1_000]

    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", data=pieces()) as response:
        assert response.status == 413
    await proxy.say("Hi", user="x" * 15_000)


async def test_too_many_messages_get_400_and_a_thousand_are_fine(start: Start) -> None:
    """The limit on messages is configurable."""
    proxy = await start(config={"server": {"max_messages": 1_000}})
    turns = [message for i in range(499) for message in (f"Question {i}?", f"Answer {i}.")]
    await proxy.say(*turns, "Hi", "Hello", *[{"role": "user", "content": "So?"}][:0])
    status, error = await proxy.error(chat(messages=dialogue(*turns, "a", "b", "c")))
    assert (status, error["param"]) == (400, "messages")
    assert "1000" in error["message"]


@pytest.mark.parametrize(
    "messages",
    [
        [{"role": "system", "content": "Be kind."}],
        [{"role": "developer", "content": "Be kind."}],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": "   \n "}],
        [{"role": "user", "content": None}],
        [{"role": "user"}],
        [{"role": "user", "content": []}],
        [{"role": "user", "content": [{"type": "text", "text": ""}]}],
        [{"role": "user", "content": [{"type": "text", "text": None}]}],
        [{"role": "user", "content": [{"type": "hologram", "data": 1}]}],
        [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}],
        [{"role": "assistant", "content": "I said this."}],
        [*HI, {"role": "assistant", "content": "Hello"}],
        [*HI, {"role": "assistant", "content": None}],
        [*HI, {"role": "assistant", "content": ""}, {"role": "user", "content": "Well?"}],
        [{"role": "tool", "tool_call_id": "c1", "content": "42"}],
        [{"role": "function", "name": "f", "content": "42"}],
        [*HI, *HI, *HI],
        [{"role": "user", "content": "Hi", "name": "ann", "x_vendor": [1]}],
        [{"role": "user", "content": "\x00\x01\x7f\u2028\ufeff\U0001f600\u202e"}],
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_odd_conversations_are_served(start: Start, messages: list[Body], stream: bool) -> None:
    """Unusual but valid conversations are answered, and the next turn works."""
    proxy = await start()
    if stream:
        assert (await proxy.stream(*messages)).endswith(b"data: [DONE]\n\n")
    else:
        assert text_of(await proxy.say(*messages)) == "Hello."
    await proxy.say("Hi")


async def test_duplicate_keys_and_huge_numbers_do_no_harm(start: Start) -> None:
    """The last of two equal keys is used; 64-bit integers reach the upstream exactly."""
    proxy = await start()
    raw = b'{"model": "x", "model": "bot", "messages": 5, "messages": [{"role": "user", "content": "Hi"}], "seed": %d}'
    status, _ = await proxy.post(raw % (2**63 - 1))
    assert status == 200
    assert proxy.upstream.requests[-1]["seed"] == 2**63 - 1
    assert (await proxy.post(raw % 2**200))[0] in (200, 400)
    assert (await proxy.post(raw % -(2**63)))[0] == 200


@pytest.mark.parametrize("kind", ["nonsense", "text/x; charset=utf-16", "application/octet-stream"])
async def test_odd_content_types_are_read_as_json(start: Start, kind: str) -> None:
    """A body is read as JSON, independent of its Content-Type."""
    proxy = await start()
    assert (await proxy.post(json.dumps(chat()).encode(), {"Content-Type": kind}))[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "text/plain"},
        {"Content-Type": "Text/Plain; charset=utf-8"},
        {"Content-Type": "application/x-www-form-urlencoded"},
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": None, "Origin": "https://page.example"},
    ],
)
async def test_what_any_web_page_could_send_is_refused_without_keys(start: Start, headers: dict[str, Any]) -> None:
    """Browsers send such requests without a preflight. A user in danger still gets the emergency text."""
    proxy = await start()
    skipped = [name for name, value in headers.items() if value is None]
    sent = {name: value for name, value in headers.items() if value is not None}

    async def post(text: str) -> tuple[int, Body]:
        raw = json.dumps(chat(messages=dialogue(text))).encode()
        async with proxy.session.post(
            f"{proxy.url}/v1/chat/completions", data=raw, headers=sent, skip_auto_headers=skipped
        ) as response:
            return response.status, await response.json()

    status, body = await post("Hi")
    assert (status, body["error"]["code"]) == (415, "unsupported_content_type")
    assert not proxy.upstream.requests
    status, body = await post("I am going to end my life tonight")
    assert (status, body["caf"]["outcome"]) == (200, "emergency")


async def test_compressed_body_is_read_and_a_false_one_refused(start: Start) -> None:
    """gzip is decoded; an invalid gzip body gets 400, not 500."""
    proxy = await start()
    raw = json.dumps(chat()).encode()
    assert (await proxy.post(gzip.compress(raw), {"Content-Encoding": "gzip"}))[0] == 200
    status, error = await proxy.error(raw, {"Content-Encoding": "gzip"})
    assert (status, error["type"]) == (400, "invalid_request_error")
    await proxy.say("Hi")


async def raw_request(proxy: Proxy, request: bytes) -> bytes:
    """Send bytes to the proxy and return its bytes until it closes the connection."""
    parts = urlsplit(proxy.url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(request)
    try:
        async with asyncio.timeout(3):
            return await reader.read()
    finally:
        writer.close()
        await writer.wait_closed()


POST = b"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (POST + b"Content-Length: 0\r\n\r\n", b"400"),
        (POST + b"\r\n", b"400"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\nabc\r\n0\r\n\r\n", b"400"),
        (POST + b"Content-Length: -5\r\n\r\n", b"400"),
        (POST + b"X-Conversation-Id: " + b"a" * 20_000 + b"\r\nContent-Length: 2\r\n\r\n{}", b"400"),
        (POST + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}", b"400"),
        (b"GET /healthz HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", b"400"),
        (b"GET /healthz HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer a\r\nAuthorization: Bearer a\r\n\r\n", b"400"),
        (b"GET /\xff HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
        (b"nonsense\r\n\r\n", b"400"),
    ],
)
async def test_broken_http_gets_400_and_the_server_lives(start: Start, request_: bytes, status: bytes) -> None:
    """Invalid HTTP is refused without effect on other clients."""
    proxy = await start()
    assert (await raw_request(proxy, request_)).split()[1] == status
    await proxy.say("Hi")


async def test_client_that_leaves_within_its_body_is_no_fault_of_ours(start: Start) -> None:
    """An incomplete request is logged as a disconnect, not as a failure."""
    proxy = await start()
    parts = urlsplit(proxy.url)
    with structlog.testing.capture_logs() as logs:
        _, writer = await asyncio.open_connection(parts.hostname, parts.port)
        writer.write(POST + b"Content-Length: 100\r\n\r\n{")
        await writer.drain()
        await asyncio.sleep(0.05)
        writer.close()
        await eventually(lambda: logs)
    assert [(line["log_level"], line["status"]) for line in logs] == [("info", 499)]
    await proxy.say("Hi")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/chat/completions", 405),
        ("DELETE", "/v1/chat/completions", 405),
        ("POST", "/v1/models", 405),
        ("GET", "/v2", 404),
        ("GET", "/v1/chat/completion", 404),
        ("POST", "/v1/completions", 404),
        ("GET", "/%ff%00", 404),
        ("GET", "/" + "a" * 5000, 404),
    ],
)
async def test_unknown_route_gets_an_openai_error(start: Start, method: str, path: str, status: int) -> None:
    """Wrong paths and methods get OpenAI's error form, with the allowed methods."""
    proxy = await start()
    async with proxy.session.request(method, proxy.url + path) as response:
        assert response.status == status
        assert set((await response.json())["error"]) == {"message", "type", "param", "code"}
        assert ("Allow" in response.headers) == (status == 405)


@pytest.mark.parametrize(
    ("path", "advice"),
    [
        ("/v1/completions", "/v1/chat/completions, with `messages` in place of `prompt`"),
        ("/v1/assistants/asst_1", "POST /v1/responses"),
        ("/v1/threads/thread_1/runs", "previous_response_id"),
        ("/v1/images/generations", "the model's own server"),
        ("/v1/embeddings", "Set `embeddings` in the configuration"),
        ("/chat/completions", "(base_url) to an address that ends with /v1, once"),
        ("/v1/v1/chat/completions", "(base_url) to an address that ends with /v1, once"),
        ("/v1/completionsx", "/openapi.json"),
    ],
)
async def test_a_route_of_other_servers_is_answered_with_what_to_use(start: Start, path: str, advice: str) -> None:
    """A route of another API, or an incomplete path, gets an error that names the right one."""
    proxy = await start()
    async with proxy.session.post(proxy.url + path, json={"model": "bot", "prompt": "Hi"}) as response:
        error = (await response.json())["error"]
        assert (response.status, error["code"], advice in error["message"]) == (404, "http_404", True), error


@pytest.mark.parametrize("value", ["", "maybe", "ON OFF", "on,off", "0", "true", "x" * 4000, "\u00ff"])
async def test_filter_header_nonsense_gets_400(start: Start, value: str) -> None:
    """The error names an unknown filter mode. It never counts as `off`."""
    proxy = await start()
    status, error = await proxy.error(chat(), {"X-CAF-Filter": value})
    assert (status, error["param"]) == (400, "X-CAF-Filter")
    assert len(error["message"]) < 300
    assert not proxy.upstream.requests


@pytest.mark.parametrize("value", ["x" * 201, "a\tb", "\u00ad"])
async def test_odd_conversation_id_in_the_header_gets_400(start: Start, value: str) -> None:
    """An unprintable or too long id is refused, and the error names the header."""
    proxy = await start()
    status, error = await proxy.error(chat(), {"X-Conversation-Id": value})
    assert (status, error["param"]) == (400, "X-Conversation-Id")


@pytest.mark.parametrize("value", ["c", "x" * 200, "Ümläut", "a b", "../../etc", "{}", "'; drop table--"])
async def test_any_printable_conversation_id_is_taken(start: Start, value: str) -> None:
    """An id is opaque: any printable text is stored and returned unchanged."""
    proxy = await start()
    body = await proxy.say("Hi", metadata={"conversation_id": value})
    assert body["caf"]["conversation_id"] == value


async def test_empty_conversation_header_counts_as_none(start: Start) -> None:
    """A client that always sends the header may send it empty."""
    proxy = await start()
    body = await proxy.say("Hi", headers={"X-Conversation-Id": ""}, metadata={"conversation_id": "m-1"})
    assert body["caf"]["conversation_id"] == "m-1"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=8)
    | st.sampled_from(["bot", "user", "assistant", "system", "text", "image_url", "tool"]),
    lambda inner: st.lists(inner, max_size=4)
    | st.dictionaries(
        st.sampled_from(["role", "content", "type", "text", "tool_calls", "name", "image_url", "url"]) | st.text(max_size=4),
        inner,
        max_size=4,
    ),
    max_leaves=12,
)  # fmt: skip
BODIES = st.fixed_dictionaries(
    {
        "model": st.just("bot"),
        "messages": st.lists(
            st.fixed_dictionaries(
                {
                    "role": st.sampled_from(["user", "assistant", "system", "tool", "developer"]),
                    "content": st.text() | JSON,
                },
                optional={"name": JSON},
            ),
            max_size=4,
        ),
    },
    optional={
        **dict.fromkeys(
            ["stream", "n", "user", "metadata", "stream_options", "response_format", "tools", "seed", "logprobs"], JSON
        ),
    },
)


async def test_no_body_whatsoever_breaks_the_proxy_or_a_conversation(start: Start) -> None:
    """Fuzzed bodies get an answer or an OpenAI error, never a 500; a conversation in between keeps its state."""
    proxy = await start(warning_turns=1000)
    proxy.upstream.answer = lambda body: ADVICE
    first = await proxy.say("Which supplements should I take?")
    loop = asyncio.get_running_loop()
    tried: list[int] = []

    async def attempt(body: Any) -> None:
        raw = json.dumps(body, allow_nan=True).encode()
        async with proxy.session.post(f"{proxy.url}/v1/chat/completions", data=raw) as response:
            answer = await response.read()
            tried.append(response.status)
            assert response.status in (200, 400, 404), answer
            if response.status != 200:
                assert set(json.loads(answer)["error"]) == {"message", "type", "param", "code"}

    @settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
    @given(BODIES | JSON | st.fixed_dictionaries({"model": st.just("bot")}, optional={"messages": JSON, "n": JSON}))
    def fuzz(body: Any) -> None:
        asyncio.run_coroutine_threadsafe(attempt(body), loop).result(20)

    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nHello."
    await asyncio.to_thread(fuzz)
    assert {200, 400} <= set(tried)
    second = await proxy.say("Which supplements should I take?", text_of(first), "And now?")
    assert second["caf"]["conversation_id"] == first["caf"]["conversation_id"]
    assert warnings_in(proxy.upstream.requests[-1])


SECRET = "sk-VERYSECRET and the rejected draft"


def refusing(status: int, error: Any = None, **headers: str) -> web.Response:
    return web.json_response({"error": error or {"message": SECRET}}, status=status, headers=headers)


UPSTREAM_ERRORS: list[tuple[Any, int, str | None, str | None]] = [
    (lambda: refusing(400, {"message": SECRET, "code": "invalid_value", "param": "messages"}), 400, "invalid_value", "messages"),
    (lambda: refusing(400, {"message": SECRET, "code": SECRET, "param": SECRET}), 400, "upstream_refused", None),
    (lambda: refusing(422), 400, "upstream_refused", None),
    (lambda: refusing(401), 502, "upstream_error", None),
    (lambda: refusing(403), 502, "upstream_error", None),
    (lambda: refusing(404), 502, "upstream_error", None),
    (lambda: refusing(429, **{"Retry-After": "7"}), 429, "upstream_busy", None),
    (lambda: refusing(429, **{"Retry-After": "nonsense"}), 429, "upstream_busy", None),
    (lambda: refusing(500), 502, "upstream_error", None),
    (lambda: refusing(503), 502, "upstream_error", None),
    (lambda: web.Response(status=302, headers={"Location": "http://example.org"}), 502, "upstream_error", None),
    (lambda: web.Response(text=SECRET), 502, "upstream_error", None),
    (lambda: web.json_response([SECRET]), 502, "upstream_error", None),
    (lambda: web.json_response({"choices": []}), 502, "upstream_error", None),
    (lambda: web.json_response({"choices": [{"message": SECRET}]}), 502, "upstream_error", None),
    (lambda: web.json_response({"error": {"message": SECRET}}), 502, "upstream_error", None),
]  # fmt: skip


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("answer", "status", "code", "param"), UPSTREAM_ERRORS)
async def test_upstream_error_gets_its_status_and_leaks_nothing(
    start: Start, answer: Any, status: int, code: str, param: str | None, stream: bool
) -> None:
    """Each upstream failure gets the right status, and the message has only names; also for a stream."""
    proxy = await start()
    proxy.upstream.answer = lambda body: answer()
    with structlog.testing.capture_logs() as logs:
        got, error = await proxy.error(chat(stream=stream))
    assert (got, error["code"], error["param"]) == (status, code, param)
    assert "VERYSECRET" not in json.dumps([error, logs], default=str)
    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nHello."
    await proxy.say("Hi")


@pytest.mark.parametrize(("sent", "told"), [("7", "7"), ("0", "1"), (None, "1"), ("0.2", "1")])
async def test_busy_upstream_says_when_to_come_back(start: Start, sent: str | None, told: str) -> None:
    """Retry-After is forwarded, in whole seconds."""
    proxy = await start()
    proxy.upstream.answer = lambda body: refusing(429, **({"Retry-After": sent} if sent else {}))
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=chat()) as response:
        assert (response.status, response.headers["Retry-After"]) == (429, told)


@pytest.mark.parametrize("stream", [False, True])
async def test_slow_upstream_gets_504(start: Start, stream: bool) -> None:
    """An upstream that exceeds models.<alias>.timeout_s gets 504, and its request is cancelled."""
    proxy = await start(alias={"timeout_s": 0.2})
    proxy.upstream.answer = lambda body: asyncio.sleep(20, "late")
    status, error = await proxy.error(chat(stream=stream))
    assert (status, error["code"]) == (504, "upstream_timeout")
    await eventually(lambda: proxy.upstream.cancelled == 1)


async def test_connection_cut_by_the_upstream_gets_502(start: Start) -> None:
    """A connection that breaks during the answer is an upstream error."""
    proxy = await start()

    async def cut(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Length": "1000"})
        await response.prepare(request)
        await response.write(b'{"choices": [')
        assert request.transport is not None
        request.transport.abort()
        return response

    proxy.upstream.respond = cut
    assert (await proxy.error(chat()))[0] == 502


async def test_turn_past_its_time_gets_504_and_stops_the_upstream(start: Start) -> None:
    """A turn longer than server.turn_timeout_s is cancelled."""
    proxy = await start(config={"server": {"turn_timeout_s": 0.2}})
    proxy.upstream.answer = lambda body: asyncio.sleep(20, "late")
    status, error = await proxy.error(chat())
    assert (status, error["code"]) == (504, "turn_timeout")
    await eventually(lambda: proxy.upstream.cancelled == 1)


@pytest.mark.parametrize(
    "message",
    [
        {"content": 5},
        {"content": ["x"]},
        {"content": None},
        {"content": None, "tool_calls": "x"},
        {"content": None, "tool_calls": 5},
        {"content": None, "tool_calls": [5]},
        {"content": "[[cite: no_claims]]\nHello.", "tool_calls": {"a": 1}},
        {"content": None, "refusal": 5},
        {"content": None, "function_call": 5},
    ],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_nonsense_in_the_upstreams_message_is_no_fault_of_ours(start: Start, message: Body, stream: bool) -> None:
    """Fields of a wrong type lead to a reply or an upstream error, never to a 500 or a broken stream."""
    proxy = await start()
    proxy.upstream.answer = lambda body: [{"role": "assistant", **message}]
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=chat(stream=stream)) as response:
        assert response.status in (200, 502)
        assert b"internal" not in await response.read()


async def test_writing_to_a_client_that_has_gone_is_no_failure() -> None:
    """A connection reset during the reply is logged as a disconnect."""

    async def gone(request: web.Request) -> web.Response:
        raise aiohttp.ClientConnectionResetError("Cannot write to closing transport")

    app = web.Application(middlewares=[boundary])
    app[METRICS] = Metrics()
    app.router.add_get("/", gone)
    async with TestClient(TestServer(app)) as client:
        with structlog.testing.capture_logs() as logs, pytest.raises(aiohttp.ServerDisconnectedError):
            await client.get("/")
    assert [(line["event"], line["log_level"], line["status"]) for line in logs] == [("request", "info", 499)]


async def test_client_that_leaves_stops_drafting_upstream(start: Start) -> None:
    """The upstream request is cancelled, so an unread reply costs nothing."""
    proxy = await start()
    proxy.upstream.answer = lambda body: asyncio.sleep(20, "late")
    task = asyncio.create_task(proxy.post(chat()))
    await eventually(lambda: proxy.upstream.requests)
    task.cancel()
    await eventually(lambda: proxy.upstream.cancelled == 1)
    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nHello."
    await proxy.say("Hi")


async def test_client_that_leaves_stops_the_judges_upstream(start: Start, tmp_path: Path) -> None:
    """All judging calls are cancelled at the upstream: the shared call and those of other judges."""
    (tmp_path / "mine.md").write_text(
        "---\nname: mine\nstage: swift\nmodel: swift\nobservation: verdict\n---\nJudge.\n"
    )
    proxy = await start(judges=[*judge_with("swift")[1:], "mine.md"])

    async def answer(body: Body) -> str:
        if body["model"] == "up-swift":
            await asyncio.sleep(20)
        return "[[cite: no_claims]]\nHello."

    proxy.upstream.answer = answer
    task = asyncio.create_task(proxy.post(chat()))
    await eventually(lambda: len(proxy.upstream.requests) == 3)
    task.cancel()
    await eventually(lambda: proxy.upstream.cancelled == 2)


async def test_models_lists_every_chatbot_as_openai_lists_models(start: Start) -> None:
    """The list has one entry for each chatbot of any kind."""
    proxy = await start(chatbots={"bot": bot_settings(), "through": {"kind": "passthrough", "model": "chatbot"}})
    status, text = await proxy.get("/v1/models")
    assert status == 200
    listed = json.loads(text)
    assert listed["object"] == "list"
    assert [(m["id"], m["object"]) for m in listed["data"]] == [("bot", "model"), ("through", "model")]
    assert all(isinstance(m["created"], int) and m["owned_by"] for m in listed["data"])


async def test_health_and_readiness_answer(start: Start) -> None:
    """Probes get 200 and JSON."""
    proxy = await start()
    assert json.loads((await proxy.get("/healthz"))[1]) == {"status": "ok"}
    status, text = await proxy.get("/readyz")
    assert (status, json.loads(text)) == (200, {"status": "ready", "chatbots": ["bot"]})


async def test_one_log_line_for_each_request_and_no_word_of_the_conversation(start: Start) -> None:
    """The line has outcome and costs, but no text."""
    proxy = await start()
    proxy.upstream.answer = lambda body: ADVICE
    with structlog.testing.capture_logs() as logs:
        await proxy.say("Which WORDOFUSER supplements?", headers={"Authorization": "Bearer sk-KEY"}, user="USERNAME")
        await proxy.error({"model": "bot", "messages": "WORDOFUSER"})
        await proxy.say("WORDOFUSER I am going to end my life tonight")
        await proxy.stream("WORDOFUSER")
    assert [line["event"] for line in logs] == ["request"] * 4
    first = logs[0]
    assert (first["method"], first["path"], first["status"], first["outcome"]) == (
        "POST",
        "/v1/chat/completions",
        200,
        "refined",
    )
    assert first["calls"] == 1
    assert math.isfinite(first["ms"])
    assert logs[1]["status"] == 400
    assert logs[2]["outcome"] == "emergency"
    text = json.dumps(logs, default=repr)
    assert not [word for word in ("WORDOFUSER", "magnesium", "sk-KEY", "USERNAME", "Hello") if word in text]


async def test_fault_of_ours_is_logged_without_a_word_of_the_conversation(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has the exception's place, but neither client nor log get its message."""
    proxy = await start()

    def broken(run: Any, answer: Any, *, expose: bool) -> Body:
        raise ValueError(f"cannot write {run.turn.user_message!r}")

    monkeypatch.setattr("proxy.api.run_turn.completion", broken)
    with structlog.testing.capture_logs() as logs:
        status, error = await proxy.error(chat(messages=[{"role": "user", "content": "WORDOFUSER"}]))
    assert (status, error["code"]) == (500, "internal")
    assert "broken" in json.dumps(logs, default=repr)
    assert "WORDOFUSER" not in json.dumps([error, logs], default=repr)
