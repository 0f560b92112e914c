"""The cause of a failed model call: in the log, and in the reply to a local client of a proxy without keys."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
import structlog
from aiohttp import web

from proxy.auth.keys import create, save
from tests.proxy.conftest import Body, Proxy, Start

SECRET = "sk-VERYSECRET and the upstream's own words"
HI: Body = {"model": "bot", "messages": [{"role": "user", "content": "Hi"}]}
BASE_URL = "check base_url of the alias 'chatbot', and that its server runs"
OPENAI_API = "check that base_url of the alias 'chatbot' is an OpenAI-compatible API, usually ending in /v1"
Logs = list[dict[str, Any]]


def refuse(status: int, code: str | None = None) -> web.Response:
    return web.json_response({"error": {"message": SECRET, "code": code}}, status=status)


def html(status: int = 200) -> web.Response:
    return web.Response(text=f"<html>{SECRET}</html>", content_type="text/html", status=status)


ANSWERS: list[tuple[Callable[[], Any], dict[str, Any], int, str]] = [
    (lambda: refuse(401), {}, 502, "refused the key (401): check api_key_env of the alias 'chatbot'"),
    (lambda: refuse(401, "invalid_api_key"), {}, 502,
     "refused the key (401, code 'invalid_api_key'): check api_key_env of the alias 'chatbot'"),
    (lambda: html(401), {}, 502, "refused the key (401): check api_key_env of the alias 'chatbot'"),
    (lambda: refuse(403), {}, 502, "refused access (403): check the rights of the key in api_key_env of the alias 'chatbot'"),
    (lambda: refuse(404), {}, 502,
     "does not know the path or the model (404): check base_url and model of the alias 'chatbot'"),
    (lambda: html(404), {}, 502, "does not know the path or the model (404): check base_url and model of the alias 'chatbot'"),
    (lambda: refuse(429), {}, 429,
     "is busy (429): wait, raise the server's rate limit, or raise max_attempts of the alias 'chatbot'"),
    (lambda: refuse(503), {}, 502, f"failed (503): {BASE_URL}"),
    (html, {}, 502, f"answered with HTML instead of JSON: {OPENAI_API}"),
    (lambda: web.Response(body=b""), {}, 502, f"answered with an empty body: {OPENAI_API}"),
    (lambda: web.json_response([SECRET]), {}, 502, f"sent an answer that is not a JSON object: {OPENAI_API}"),
    (lambda: web.json_response({"choices": []}), {}, 502, f"answered without choices: {OPENAI_API}"),
    (lambda: asyncio.sleep(20, "late"), {"timeout_s": 0.2}, 504,
     "did not answer within 0.2 s: raise timeout_s of the alias 'chatbot', or use a faster model"),
    (lambda: None, {"base_url": "http://nowhere.invalid/v1"}, 502, f"has a host name that DNS cannot resolve: {BASE_URL}"),
]  # fmt: skip


async def ask(proxy: Proxy, stream: bool, headers: dict[str, str] | None = None) -> tuple[int, str, Logs]:
    """Send a request that fails; return the status, the error's message, and the log lines."""
    with structlog.testing.capture_logs() as logs:
        status, error = await proxy.error(HI | {"stream": stream}, headers)
    written = json.dumps([error, logs], default=str)
    assert "VERYSECRET" not in written
    assert "nowhere.invalid" not in written
    assert "127.0.0.1:" not in error["message"]
    return status, error["message"], logs


def cause_in(logs: Logs) -> str:
    (line,) = [line for line in logs if line["event"] == "request"]
    assert (line["model"], line["step"]) in (("chatbot", "draft"), ("chatbot", "forward"))
    return str(line["cause"])


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("answer", "alias", "status", "cause"), ANSWERS)
async def test_a_local_client_without_keys_gets_the_cause_that_the_log_has(
    start: Start, answer: Callable[[], Any], alias: dict[str, Any], status: int, cause: str, stream: bool
) -> None:
    """The server's failure and the setting to check, but no text of the server."""
    proxy = await start(alias=alias)
    proxy.upstream.answer = lambda body: answer()
    got, message, logs = await ask(proxy, stream)
    assert (got, message) == (status, f"the model's server {cause}")
    assert cause_in(logs) == message


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("answer", "alias", "status", "cause"), ANSWERS)
async def test_with_keys_only_the_log_has_the_cause(
    start: Start,
    tmp_path: Path,
    answer: Callable[[], Any],
    alias: dict[str, Any],
    status: int,
    cause: str,
    stream: bool,
) -> None:
    """Clients learn neither aliases nor problems of the operator's key."""
    key = create("tester")
    save([key.record], tmp_path / "keys.json")
    proxy = await start(alias=alias, config={"keys": {"file": "keys.json"}})
    proxy.upstream.answer = lambda body: answer()
    got, message, logs = await ask(proxy, stream, {"Authorization": f"Bearer {key.text}"})
    assert got == status
    assert "The model behind this chatbot" in message
    assert "alias" not in message
    assert cause_in(logs) == f"the model's server {cause}"


@pytest.mark.parametrize("header", [{"X-Forwarded-For": "10.0.0.1"}, {"Host": "chat.example.org"}])
async def test_a_client_behind_another_server_is_not_local(start: Start, header: dict[str, str]) -> None:
    """Behind a reverse proxy on this machine, strangers look local."""
    proxy = await start()
    proxy.upstream.answer = lambda body: refuse(401)
    _, message, logs = await ask(proxy, False, header)
    assert message == "The model behind this chatbot could not be reached."
    assert cause_in(logs).startswith("the model's server refused the key (401)")


async def test_a_stream_that_fails_after_its_headers_has_the_cause(start: Start) -> None:
    """The error event has the same message as an unstreamed error."""
    proxy = await start(config={"server": {"header_wait_s": 0, "keep_alive_s": 0.05}})

    async def late(body: Body) -> web.Response:
        await asyncio.sleep(0.1)
        return refuse(401)

    proxy.upstream.answer = late
    raw = await proxy.stream("Hi")
    assert b"the model's server refused the key (401): check api_key_env of the alias 'chatbot'" in raw


@pytest.fixture
async def listener() -> AsyncIterator[Callable[[str], Any]]:
    """Listen on a port of loopback; the argument handles each connection."""
    servers = []

    async def listen(act: str) -> int:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            if act == "says plain text":
                writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    yield listen
    for server in servers:
        server.close()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("scheme", "act", "cause"),
    [
        ("https", "says plain text", "failed the TLS handshake"),
        ("http", "closes", "closed the connection before it answered"),
    ],
)
async def test_a_broken_connection_is_described(
    start: Start, listener: Callable[[str], Any], scheme: str, act: str, cause: str, stream: bool
) -> None:
    """No TLS on the port, or no answer on the connection."""
    port = await listener(act)
    proxy = await start(alias={"base_url": f"{scheme}://127.0.0.1:{port}/v1"})
    status, message, logs = await ask(proxy, stream)
    assert (status, message) == (502, f"the model's server {cause}: {BASE_URL}")
    assert cause_in(logs) == message


@pytest.mark.parametrize("stream", [False, True])
async def test_a_refused_connection_is_described(start: Start, stream: bool) -> None:
    """Nothing listens on the port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    proxy = await start(alias={"base_url": f"http://127.0.0.1:{port}/v1"})
    status, message, logs = await ask(proxy, stream)
    assert (status, message) == (502, f"the model's server refused the connection: {BASE_URL}")
    assert cause_in(logs) == message


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("kind", ["guarded", "wrapped"])
@pytest.mark.parametrize("filtered", ["on", "off"])
async def test_empty_content_has_a_cause_in_the_log(start: Start, kind: str, filtered: str, stream: bool) -> None:
    """The user gets the fallback message, and the log says that the model wrote nothing."""
    proxy = await start(kind=kind, filter=filtered)
    proxy.upstream.answer = lambda body: ""
    with structlog.testing.capture_logs() as logs:
        if stream:
            await proxy.stream("Hi")
        else:
            await proxy.say("Hi")
    (line,) = [line for line in logs if line["event"] == "request"]
    assert line["cause"] == (
        "the model's server answered without text: check model of the alias 'chatbot', and raise its max_tokens if the model "
        "thinks before it answers"
    )


async def test_a_reply_with_text_has_no_cause(start: Start) -> None:
    """A refusal by the model has none either."""
    proxy = await start()
    with structlog.testing.capture_logs() as logs:
        await proxy.say("Hi")
        proxy.upstream.answer = lambda body: [{"role": "assistant", "content": None, "refusal": "I cannot."}]
        await proxy.say("Hi")
    assert [line.get("cause") for line in logs if line["event"] == "request"] == [None, None]


@pytest.mark.parametrize(
    ("answer", "status", "cause"),
    [
        (lambda: refuse(401), 502, "refused the key (401): check api_key_env of the alias 'chatbot'"),
        (
            lambda: refuse(404),
            404,
            "does not know the path or the model (404): check base_url and model of the alias 'chatbot'",
        ),
        (html, 200, f"answered with HTML instead of JSON: {OPENAI_API}"),
        (lambda: web.Response(body=b""), 200, f"answered with an empty body: {OPENAI_API}"),
    ],
)
async def test_what_a_passthrough_chatbot_relays_has_a_cause_in_the_log(
    start: Start, answer: Callable[[], Any], status: int, cause: str
) -> None:
    """Also if the client gets the upstream's answer unchanged."""
    proxy = await start(chatbots={"bot": {"kind": "passthrough", "model": "chatbot"}})
    proxy.upstream.answer = lambda body: answer()
    with structlog.testing.capture_logs() as logs:
        async with proxy.session.post(f"{proxy.url}/v1/chat/completions", json=HI) as response:
            assert response.status == status
    assert cause_in(logs) == f"the model's server {cause}"


async def test_a_judge_whose_key_is_refused_has_a_cause_in_the_log(start: Start) -> None:
    """The user gets the fallback message, and the log says why."""
    judges = [{"name": "emergency", "stages": ["local"]}, {"name": "transparency", "stages": ["swift"]}]
    proxy = await start(judges=judges)
    proxy.upstream.answer = lambda body: "Hello." if body["model"] == "up-chatbot" else refuse(401)
    with structlog.testing.capture_logs() as logs:
        await proxy.say("Hi")
    (line,) = [line for line in logs if line["event"] == "judge failed"]
    assert line["cause"] == "the model's server refused the key (401): check api_key_env of the alias 'swift'"
