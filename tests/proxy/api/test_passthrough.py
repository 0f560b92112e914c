"""A chatbot of `kind: passthrough`: requests and answers are forwarded byte by byte."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import openai
import pytest
import structlog
from aiohttp import web

from proxy.api.middleware import METRICS
from proxy.auth.keys import create, save
from tests.proxy.conftest import Body, Proxy, Start, bot_settings, eventually

CHATBOTS = {"bot": {"kind": "passthrough", "model": "chatbot"}}
HI: Body = {"model": "bot", "messages": [{"role": "user", "content": "Hi"}]}


async def relayed(proxy: Proxy, body: Body | bytes, headers: dict[str, str] | None = None) -> tuple[int, bytes, Any]:
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", data=raw, headers=headers) as response:
        return response.status, await response.read(), response.headers


async def test_request_reaches_the_upstream_as_it_is_but_for_the_model(start: Start) -> None:
    """Every field of any type is forwarded, known or unknown, and none is added."""
    proxy = await start(chatbots=CHATBOTS)
    odd = {
        "seed": 2**63 - 1,
        "x": [None, True, 1.5, {"ü": "\u2028"}],
        "metadata": 5,
        "n": "many",
        "messages": [{"role": "boss"}, 7],
    }
    await relayed(proxy, HI | odd)
    assert proxy.upstream.requests[-1] == HI | odd | {"model": "up-chatbot"}


async def test_same_model_name_leaves_every_byte(start: Start) -> None:
    """If the upstream has the chatbot's name for the model, even white space is unchanged."""
    proxy = await start(chatbots={"up-chatbot": {"kind": "passthrough", "model": "chatbot"}})
    raw = b'{ "model" : "up-chatbot",\n "messages":[], "x": 1.0e0, "x": 123456789012345678901234567890 }'
    await relayed(proxy, raw)
    assert proxy.upstream.raw[-1] == raw


@pytest.mark.parametrize("other", [b'"model"', b'"mod\\u0065l"'])
async def test_of_two_models_the_upstream_sees_the_one_that_was_allowed(start: Start, other: bytes) -> None:
    """The upstream might read the first `model`, or know a name that the proxy does not."""
    proxy = await start(chatbots={"up-chatbot": {"kind": "passthrough", "model": "chatbot"}})
    await relayed(proxy, b"{" + other + b': "dear", "model": "up-chatbot", "messages": []}')
    assert json.loads(proxy.upstream.raw[-1], object_pairs_hook=list) == [("model", "up-chatbot"), ("messages", [])]


@pytest.mark.parametrize("name", ["Model", "MODEL", "messageS", "\u017ftream"])
async def test_a_field_in_other_case_is_refused(start: Start, name: str) -> None:
    """Some servers ignore the case of field names."""
    proxy = await start(chatbots=CHATBOTS)
    raw = json.dumps({"model": "bot", "messages": [], name: "dear"}).encode()
    assert (await proxy.error(raw))[0] == 400
    assert not proxy.upstream.requests


async def test_answer_comes_back_byte_by_byte(start: Start) -> None:
    """All bytes of the upstream, including white space and unknown fields, with its content type."""
    proxy = await start(chatbots=CHATBOTS)
    raw = b'{ "choices" : [ {"message": {"content": "Take 400 mg", "reasoning_content": "x"}} ],  "caf": 1e3 }\n'
    proxy.upstream.answer = lambda body: web.Response(
        body=raw,
        content_type="application/json",
        headers={"x-request-id": "r-1", "Set-Cookie": "a=b", "openai-organization": "o"},
    )
    status, got, headers = await relayed(proxy, HI)
    assert (status, got, headers["Content-Type"], headers["x-request-id"]) == (200, raw, "application/json", "r-1")
    assert "Set-Cookie" not in headers
    assert "openai-organization" not in headers


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422, 429])
async def test_upstreams_errors_are_relayed(start: Start, status: int) -> None:
    """The client gets an error about its request in the upstream's own words."""
    proxy = await start(chatbots=CHATBOTS)
    proxy.upstream.answer = lambda body: web.Response(body=b"as it is", status=status, headers={"Retry-After": "3"})
    got = await relayed(proxy, HI)
    assert (*got[:2], got[2]["Retry-After"]) == (status, b"as it is", "3")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_fault_of_the_upstreams_is_told_in_our_own_words(start: Start, status: int, stream: bool) -> None:
    """An error page may quote the request, including our key. Retry-After is forwarded."""
    proxy = await start(chatbots=CHATBOTS)
    quoted = 'data: {"error": {"headers": {"Authorization": "Bearer sk-SECRET"}}}\n\n'
    kind = "text/event-stream" if stream else "application/json"
    proxy.upstream.answer = lambda body: web.Response(
        text=quoted, status=status, content_type=kind, headers={"Retry-After": "3"}
    )
    got, raw, headers = await relayed(proxy, HI | {"stream": stream})
    assert (got, headers["Retry-After"], headers["Content-Type"]) == (502, "3", "application/json")
    assert json.loads(raw)["error"]["code"] == "upstream_error"
    assert b"SECRET" not in raw


@pytest.mark.parametrize("status", [401, 403, 307])
async def test_error_about_our_own_key_or_address_is_not_relayed(start: Start, status: int) -> None:
    """Clients must not learn the proxy's key or the upstream's address."""
    proxy = await start(chatbots=CHATBOTS)
    proxy.upstream.answer = lambda body: web.Response(
        text="sk-SECRET", status=status, headers={"Location": "http://x/"}
    )
    got, raw, _ = await relayed(proxy, HI)
    assert got == 502
    assert b"SECRET" not in raw


async def test_clients_key_does_not_reach_the_upstream(start: Start) -> None:
    """The client's API key is only for the proxy."""
    proxy = await start(chatbots=CHATBOTS)
    await relayed(proxy, HI, {"Authorization": "Bearer sk-CLIENT", "Cookie": "a=b", "X-Request-Id": "r-1"})
    assert "CLIENT" not in json.dumps(proxy.upstream.headers)
    names = {name.lower(): value for name, value in proxy.upstream.headers[-1].items()}
    assert not {"cookie", "authorization"} & set(names)
    assert names["x-request-id"] == "r-1"


@pytest.mark.parametrize("value", ["off", "on", "nonsense"])
async def test_filter_and_conversation_headers_mean_nothing_here(start: Start, value: str) -> None:
    """A passthrough chatbot has neither a filter nor conversations."""
    proxy = await start(chatbots=CHATBOTS)
    status, raw, _ = await relayed(proxy, HI, {"X-CAF-Filter": value, "X-Conversation-Id": "x" * 500})
    assert status == 200
    assert "caf" not in json.loads(raw)
    assert "X-CAF-Filter" not in proxy.upstream.headers[-1]


@pytest.mark.parametrize("raw", [b"{", b"[]", b"", b'{"messages": []}', b'{"model": "nobody"}'])
async def test_what_names_no_chatbot_is_refused(start: Start, raw: bytes) -> None:
    """Without `model` the proxy cannot choose an upstream."""
    proxy = await start(chatbots=CHATBOTS)
    assert (await proxy.error(raw))[0] in (400, 404)
    assert not proxy.upstream.requests


EVENTS = [b'data: {"choices":[{"delta":{"content":"Ta"}}]}\n\n', b": ping\n\n", b"data: [DONE]\n\n"]


def streaming(parts: list[bytes], *, then: str = "end") -> Any:
    async def respond(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for part in parts:
            await response.write(part)
            await asyncio.sleep(0.02)
        if then == "cut":
            assert request.transport is not None
            request.transport.abort()
        elif then == "hang":
            await asyncio.sleep(20)
        return response

    return respond


async def test_stream_is_relayed_byte_by_byte_as_it_comes(start: Start) -> None:
    """Including comments. The first bytes arrive before the last are sent."""
    proxy = await start(chatbots=CHATBOTS)
    proxy.upstream.respond = streaming(EVENTS, then="hang")
    raw = json.dumps(HI | {"stream": True}).encode()
    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", data=raw) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        seen = b""
        while not seen.endswith(EVENTS[-1]):
            seen += await asyncio.wait_for(response.content.readany(), 3)
        assert seen == b"".join(EVENTS)
    await eventually(lambda: proxy.upstream.cancelled == 1)


async def test_stream_that_breaks_half_way_ends_with_an_error_and_no_done(start: Start) -> None:
    """The client keeps the received text and learns that it is incomplete."""
    proxy = await start(chatbots=CHATBOTS)
    proxy.upstream.respond = streaming(EVENTS[:1], then="cut")
    status, raw, _ = await relayed(proxy, HI | {"stream": True})
    assert status == 200
    assert raw.startswith(EVENTS[0])
    assert json.loads(raw[len(EVENTS[0]) :].removeprefix(b"data: "))["error"]["code"] == "upstream_error"
    assert b"[DONE]" not in raw


async def test_stream_that_falls_silent_ends_with_an_error(start: Start) -> None:
    """timeout_s limits the silence within a forwarded stream."""
    proxy = await start(chatbots=CHATBOTS, alias={"timeout_s": 0.2})
    proxy.upstream.respond = streaming(EVENTS[:1], then="hang")
    _, raw, _ = await relayed(proxy, HI | {"stream": True})
    assert b'"code":"upstream_timeout"' in raw
    assert b"[DONE]" not in raw


async def test_openai_client_reads_a_forwarded_stream(start: Start) -> None:
    """The client's chunks equal the upstream's."""
    proxy = await start(chatbots=CHATBOTS)
    proxy.upstream.respond = streaming(EVENTS)
    messages: Any = HI["messages"]
    async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="x", max_retries=0) as client:
        stream = await client.chat.completions.create(model="bot", messages=messages, stream=True)
        assert [c.choices[0].delta.content async for c in stream] == ["Ta"]


@pytest.mark.parametrize("stream", [False, True])
async def test_upstream_that_is_down_gets_502(start: Start, stream: bool) -> None:
    """A refused connection is an OpenAI error without the upstream's address."""
    proxy = await start(chatbots=CHATBOTS, alias={"base_url": "http://127.0.0.1:9/v1"})
    status, error = await proxy.error(HI | {"stream": stream})
    assert (status, error["code"]) == (502, "upstream_error")
    assert "127.0.0.1" not in error["message"]


@pytest.mark.parametrize("stream", [False, True])
async def test_client_that_leaves_closes_the_upstream_request(start: Start, stream: bool) -> None:
    """A disconnect is one log line and no failure."""
    proxy = await start(chatbots=CHATBOTS)
    proxy.upstream.respond = streaming(EVENTS[:1] * 3, then="hang") if stream else None
    proxy.upstream.answer = lambda body: asyncio.sleep(20, "late")
    with structlog.testing.capture_logs() as logs:
        task = asyncio.create_task(relayed(proxy, HI | {"stream": stream}))
        await eventually(lambda: proxy.upstream.requests)
        await asyncio.sleep(0.05)
        task.cancel()
        await eventually(lambda: proxy.upstream.cancelled == 1)
        await eventually(lambda: logs)
    assert [(line["event"], line["log_level"], line["status"]) for line in logs] == [("request", "info", 499)]


async def test_a_client_that_leaves_before_the_answer_has_asked(start: Start) -> None:
    """The request's tokens are charged, else a client that always disconnects early would pay nothing."""
    proxy = await start(chatbots=CHATBOTS, alias={"price": {"input": 1, "output": 1}})
    proxy.upstream.answer = lambda body: asyncio.sleep(20, "late")
    task = asyncio.create_task(relayed(proxy, HI | {"user": "x" * 400}))
    await eventually(lambda: proxy.upstream.requests)
    task.cancel()
    await eventually(lambda: proxy.upstream.cancelled == 1)
    (sent,) = proxy.upstream.raw
    tokens = len(sent) // 4

    def books() -> list[float]:
        lines = proxy.app[METRICS].text().decode().splitlines()
        wanted = ("caf_tokens_total", "caf_cost_total", 'caf_model_calls_total{error="cancelled"')
        return [float(line.split()[-1]) for line in lines if line.startswith(wanted)]

    await eventually(lambda: sum(books()) > 1)
    assert sorted(books()) == pytest.approx(sorted([1, tokens, tokens * 1e-6, 0]))


@pytest.mark.parametrize("reported", [True, False])
async def test_a_stream_spends_tokens_and_not_what_frames_them(start: Start, tmp_path: Path, reported: bool) -> None:
    """The reported usage, else an estimate from its words. The next request within the limit is served."""
    key = create("app", tokens_per_minute=3_000)
    save([key.record], tmp_path / "keys.json")
    proxy = await start(chatbots=CHATBOTS, config={"keys": {"file": "keys.json"}})
    frame = b'data: {"id":"chatcmpl-%s","choices":[{"index":0,"delta":{"content":"word"},"logprobs":null}]}\n\n' % (
        b"x" * 99
    )
    usage = b'data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":50,"total_tokens":57}}\n\n'
    proxy.upstream.respond = streaming([frame * 78, *([usage] if reported else []), EVENTS[-1]])
    for _ in range(2):
        status, _, _ = await relayed(proxy, HI | {"stream": True}, {"Authorization": f"Bearer {key.text}"})
        assert status == 200
    lines = proxy.app[METRICS].text().decode().splitlines()
    tokens = {line.split('"')[1]: float(line.split()[-1]) for line in lines if line.startswith("caf_tokens_total{")}
    prompt = 7 if reported else len(proxy.upstream.raw[0]) // 4
    assert tokens == {"prompt": 2 * prompt, "completion": 2 * (50 if reported else 78)}


async def test_an_answer_in_one_piece_spends_what_the_upstream_says(start: Start) -> None:
    """Not an estimate from its length."""
    proxy = await start(chatbots=CHATBOTS)
    proxy.upstream.answer = lambda body: "Hello. " * 1_000
    await relayed(proxy, HI)
    text = proxy.app[METRICS].text().decode()
    assert 'caf_tokens_total{kind="completion",model="chatbot",step="forward"} 5.0' in text
    assert 'caf_tokens_total{kind="prompt",model="chatbot",step="forward"} 10.0' in text


async def test_passthrough_leaves_no_turn_behind(start: Start) -> None:
    """It counts as a request, not as a turn."""
    proxy = await start(chatbots={**CHATBOTS, "guarded": bot_settings()})
    await relayed(proxy, HI)
    text = (await proxy.get("/metrics"))[1]
    assert 'caf_requests_total{route="/v1/chat/completions",status="200"} 1.0' in text
    assert 'caf_turns_total{chatbot="bot"' not in text
    assert not re.search(r"^caf_turns_total\{.* [^0]", text, re.MULTILINE)
