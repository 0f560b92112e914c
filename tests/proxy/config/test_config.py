"""The configuration: every setting does something, and what is wrong is named."""

import asyncio
import json
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import pytest
from pydantic import BaseModel

from models.errors import ModelSettingsError
from proxy.app import create_app
from proxy.auth.keys import create, save
from proxy.config.blueprint import assemble
from proxy.config.chatbot_settings import (
    ChatbotSettings,
    DocumentLimits,
    EmergencySettings,
    LengthSettings,
    RetrievalSettings,
    StatementSettings,
    TopicSettings,
)
from proxy.config.config import Config, ConfigError, load_config, parse_config
from proxy.config.judge_settings import JudgeSettings
from proxy.config.settings import (
    AuditSettings,
    ConsoleSettings,
    KeySettings,
    MemorySettings,
    PrivacySettings,
    ServerSettings,
)
from proxy.serving.front import Front
from tests.proxy.conftest import (
    NO_PROBLEMS,
    UNPLAYED,
    Body,
    Start,
    Upstream,
    bot_settings,
    dialogue,
    eventually,
    judge_with,
    screening,
    text_of,
    warnings_in,
)

SLEEP = "[[cite: sleep]]\nMost adults need seven to nine hours of sleep."
ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night. You should also stop eating gluten."
HELLO = "[[cite: no_claims]]\nHello."
NUDGE = "Which supplements should I take, and how much?"
ASKED = "How much sleep do adults need?"
CRISIS = "I am going to end my life tonight"
OWN_JUDGE = """---
name: {name}
stage: {stage}
model: {model}
modes: [source, default]
observation: verdict
---
Reject what is rude.
"""
SCREENING_PROMPT = """---
name: reply
stage: swift
model: swift
observation: screening
---
LOOK at the reply.
{role} Is it in its role?
{claims} Is it in its sources?
"""

Probe = Callable[[Start, Path, Any], Awaitable[Any]]
PROBES: dict[str, tuple[Probe, Any, Any]] = {}
"""By setting: what is looked at, and two values between which it must differ."""


def shows(setting: str, one: Any, other: Any) -> Callable[[Probe], Probe]:
    def keep(probe: Probe) -> Probe:
        assert setting not in PROBES
        PROBES[setting] = (probe, one, other)
        return probe

    return keep


SECTIONS: dict[str, type[BaseModel]] = {
    "": Config,
    "server": ServerSettings,
    "memory": MemorySettings,
    "keys": KeySettings,
    "privacy": PrivacySettings,
    "audit": AuditSettings,
    "console": ConsoleSettings,
    "chatbot": ChatbotSettings,
    "judge": JudgeSettings,
    "emergency": EmergencySettings,
    "statement": StatementSettings,
    "topic": TopicSettings,
    "retrieval": RetrievalSettings,
    "length": LengthSettings,
    "document_limits": DocumentLimits,
}
ALL = [
    f"{section}.{name}".lstrip(".")
    for section, model in SECTIONS.items()
    for name, field in model.model_fields.items()
    if field.annotation
    not in (
        *SECTIONS.values(),
        EmergencySettings | None,
        KeySettings | None,
        AuditSettings | None,
    )  # its own fields stand for it
]


def test_every_setting_has_a_probe() -> None:
    """A new setting must come with something that it changes, or it is one that nothing reads."""
    assert set(ALL) == set(PROBES)


@pytest.mark.usefixtures("imports_of_its_own")
@pytest.mark.parametrize("setting", ALL)
async def test_setting_makes_a_difference(start: Start, upstream: Upstream, tmp_path: Path, setting: str) -> None:
    """Flipped, each setting changes what somebody can see."""
    probe, one, other = PROBES[setting]
    seen = await probe(start, tmp_path, one)
    upstream.requests.clear()
    assert seen != await probe(start, tmp_path, other)


# Top level


@shows("chatbots", "bot", "other")
async def _chatbots(start: Start, tmp: Path, value: Any) -> Any:
    return await (await start(chatbots={value: bot_settings()})).get("/v1/models")


async def _console(start: Start, path: str, **console: Any) -> tuple[int, str]:
    return await (await start(config={"console": console})).get(path)


@shows("console.show", "auto", "off")
async def _console_show(start: Start, tmp: Path, value: Any) -> Any:
    return (await _console(start, "/console/judges", show=value))[0]


@shows("console.runs", "one", "two")
async def _console_runs(start: Start, tmp: Path, value: Any) -> Any:
    (tmp / "one/made-up").mkdir(parents=True, exist_ok=True)
    (tmp / "one/made-up/manifest.json").write_text("{}")
    return "made-up" in (await _console(start, "/console/experiments", runs=str(tmp / value)))[1]


@shows("console.evaluations", "one", "two")
async def _console_evaluations(start: Start, tmp: Path, value: Any) -> Any:
    (tmp / "one").mkdir(exist_ok=True)
    (tmp / "one/made-up.json").write_text("{}")
    return "made-up" in (await _console(start, "/console/judges", evaluations=str(tmp / value)))[1]


@shows("expose", "caf", "none")
async def _expose(start: Start, tmp: Path, value: Any) -> Any:
    return "caf" in await (await start(config={"expose": value})).say("Hi")


@shows("embeddings", "swift", None)
async def _embeddings(start: Start, tmp: Path, value: Any) -> Any:
    return await (await start(config={"embeddings": value})).get("/openapi.json")


# Server


@shows("server.host", "127.0.0.1", "0.0.0.0")
async def _host(start: Start, tmp: Path, value: Any) -> Any:
    try:
        return await (await start(config={"server": {"host": value}})).get("/healthz")
    except ConfigError as error:
        return error.problems


@shows("keys.file", "one.json", "other.json")
async def _key_file(start: Start, tmp: Path, value: Any) -> Any:
    one, other = create("clinic"), create("other")
    save([one.record], tmp / "one.json")
    save([other.record], tmp / "other.json")
    proxy = await start(config={"keys": {"file": value}})
    return (await proxy.post({}, {"Authorization": f"Bearer {one.text}"}))[0]


@shows("keys.env", "CAF_TEST_KEYS", "CAF_TEST_NONE")
async def _key_env(start: Start, tmp: Path, value: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CAF_TEST_KEYS", f"[{create('clinic').record.model_dump_json()}]")
        try:
            return (await (await start(config={"keys": {"env": value}})).post({}))[0]
        except ConfigError as error:
            return error.problems


@shows("keys.failures_per_minute", 1, 2)
async def _failures(start: Start, tmp: Path, value: Any) -> Any:
    save([create("clinic").record], tmp / "keys.json")
    proxy = await start(config={"keys": {"file": "keys.json", "failures_per_minute": value}})
    return [(await proxy.post({}))[0] for _ in range(2)]


@shows("server.port", 8080, 8081)
async def _port(start: Start, tmp: Path, value: Any) -> Any:
    (tmp / "c.yaml").write_text(json.dumps(valid(server={"port": value}, privacy={"store": "none"})))
    command = [sys.executable, "-m", "cli", "serve", "--config", str(tmp / "c.yaml")]
    with socket.socket() as taken:
        with suppress(OSError):  # somebody else has it
            taken.bind(("127.0.0.1", value))
            taken.listen()
        process = await asyncio.create_subprocess_exec(*command, stderr=subprocess.PIPE)
        return (await asyncio.wait_for(process.communicate(), 30))[1]


@shows("server.max_body_bytes", 1_000, 10_000)
async def _max_body(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(config={"server": {"max_body_bytes": value}})
    return (await proxy.post({"model": "bot", "messages": [{"role": "user", "content": "Hi " * 1_000}]}))[0]


@shows("server.max_messages", 1, 2)
async def _max_messages(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(config={"server": {"max_messages": value}})
    return (await proxy.post({"model": "bot", "messages": [{"role": "user", "content": "Hi"}] * 2}))[0]


@shows("server.turn_timeout_s", 0.1, 5)
async def _turn_timeout(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(config={"server": {"turn_timeout_s": value}})
    proxy.upstream.answer = lambda body: asyncio.sleep(0.4, HELLO)
    return (await proxy.post({"model": "bot", "messages": [{"role": "user", "content": "Hi"}]}))[0]


@shows("server.header_wait_s", 0, 5)
async def _header_wait(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(config={"server": {"header_wait_s": value}})
    proxy.upstream.answer = lambda body: asyncio.sleep(0.2, HELLO)
    return b": keep-alive" in await proxy.stream("Hi")


@shows("server.keep_alive_s", 0.05, 5)
async def _keep_alive(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(config={"server": {"header_wait_s": 0, "keep_alive_s": value}})
    proxy.upstream.answer = lambda body: asyncio.sleep(0.4, HELLO)
    return (await proxy.stream("Hi")).count(b": keep-alive") > 2


async def fronted(tmp: Path, **server: Any) -> Front:
    """Return what `caf serve` listens with, in front of a chatbot that takes a moment."""
    script = [{"delay_s": 0.3, "reply": "Here I am."}]
    data = {
        "models": {"m": {"engine": "scripted", "script": script}},
        "chatbots": {"bot": {"kind": "passthrough", "model": "m"}},
        "server": server,
        "privacy": {"store": "none"},
    }
    front = Front()
    await front.switch_to(create_app(parse_config(data, tmp / "config.yaml")))
    return front


@shows("server.max_connections", 1, 2)
async def _max_connections(start: Start, tmp: Path, value: Any) -> Any:
    front = await fronted(tmp, grace_s=0, max_connections=value)
    async with front.listening("127.0.0.1", 0) as address, aiohttp.ClientSession() as session:
        body = {"model": "bot", "messages": dialogue("Hi")}
        asking = asyncio.create_task(session.post(f"{address}/v1/chat/completions", json=body))
        await asyncio.sleep(0.1)
        async with session.get(f"{address}/healthz") as response:
            assert (await asking).status == 200
            return response.status


@shows("server.head_timeout_s", 0.1, 30)
async def _head_timeout(start: Start, tmp: Path, value: Any) -> Any:
    front = await fronted(tmp, grace_s=0, head_timeout_s=value)
    async with front.listening("127.0.0.1", 0) as address:
        url = urlsplit(address)
        reader, writer = await asyncio.open_connection(url.hostname, url.port)
        writer.write(b"GET /healthz HTTP/1.1\r\n")
        await asyncio.sleep(0.5)
        writer.write(b"Host: x\r\n\r\n")
        try:
            return await reader.read(12)
        except ConnectionError:
            return b""
        finally:
            writer.close()


@shows("server.body_timeout_s", 0.1, 30)
async def _body_timeout(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(config={"server": {"body_timeout_s": value}})

    async def slowly() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.sleep(0.5)
        yield b"}"

    async with proxy.session.post(f"{proxy.url}/v1/chat/completions", data=slowly()) as response:
        return response.status


@shows("server.cors_origins", [], ["https://chat.example"])
async def _cors_origins(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(config={"server": {"cors_origins": value}})
    async with proxy.session.get(f"{proxy.url}/v1/models", headers={"Origin": "https://chat.example"}) as response:
        return response.headers.get("Access-Control-Allow-Origin")


@shows("server.grace_s", 0, 5)
async def _grace(start: Start, tmp: Path, value: Any) -> Any:
    front = await fronted(tmp, grace_s=value)
    async with aiohttp.ClientSession() as session:
        async with front.listening("127.0.0.1", 0) as address:
            body = {"model": "bot", "messages": dialogue("Hi")}
            asking = asyncio.create_task(session.post(f"{address}/v1/chat/completions", json=body))
            await asyncio.sleep(0.1)
        try:
            return (await asking).status
        except aiohttp.ClientError:
            return "left alone"


# Memory and privacy


@shows("memory.max_turns", 1, 100)
async def _max_turns(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(config={"memory": {"max_turns": value}})
    first = await proxy.say("Hi", user="a")
    for n in range(5):
        await proxy.say("Hi", user=f"b{n}")
    second = await proxy.say("Hi", text_of(first), "And?", user="a")
    return first["caf"]["conversation_id"] == second["caf"]["conversation_id"]


async def refused(start: Start, **memory: Any) -> Any:
    """Return how a proxy whose Redis is not there answers, and after how long."""
    began = time.monotonic()
    status, body = await (await start(config={"memory": {"store": "redis", **memory}})).post(ONE)
    return status, body.get("error", {}).get("code"), time.monotonic() - began > 0.6


ONE = {"model": "bot", "messages": dialogue("Hi", "Ho", "And?")}
DEAF = "redis://127.0.0.1:1/0"


@shows("memory.store", "process", "redis")
async def _store(start: Start, tmp: Path, value: Any) -> Any:
    return (await (await start(config={"memory": {"store": value, "url": DEAF}})).post(ONE))[0]


@shows("memory.url", "redis://127.0.0.1:1/0", "redis://:secret@127.0.0.1:1/0")
async def _url(start: Start, tmp: Path, value: Any) -> Any:
    try:
        return await refused(start, url=value)
    except ConfigError as error:
        return error.problems


@shows("memory.password_env", None, "CAF_TEST_NO_PASSWORD")
async def _password_env(start: Start, tmp: Path, value: Any) -> Any:
    try:
        return await refused(start, url=DEAF, password_env=value)
    except ModelSettingsError as error:
        return str(error)


@shows("memory.timeout_s", 0.05, 0.8)
async def _timeout(start: Start, tmp: Path, value: Any) -> Any:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections and never answers
        return await refused(start, url=f"redis://127.0.0.1:{silent.getsockname()[1]}/0", timeout_s=value)


@shows("memory.on_error", "closed", "degrade")
async def _on_error_of_memory(start: Start, tmp: Path, value: Any) -> Any:
    return await refused(start, url=DEAF, on_error=value)


@shows("memory.max_age_s", 0.1, 100)
async def _max_age(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(config={"memory": {"max_age_s": value}})
    first = await proxy.say("Hi")
    await asyncio.sleep(0.2)
    second = await proxy.say("Hi", text_of(first), "And?")
    return first["caf"]["conversation_id"] == second["caf"]["conversation_id"]


def stored(path: Path) -> str:
    with sqlite3.connect(path) as db:
        tables = [name for (name,) in db.execute("select name from sqlite_master where type = 'table'")]
        rows = repr([db.execute(f'select * from "{table}"').fetchall() for table in tables])
    db.close()
    return rows


@shows("privacy.store", "full", "redacted")
async def _store(start: Start, tmp: Path, value: Any) -> Any:
    path = tmp / f"{value}.db"
    proxy = await start(config={"privacy": {"store": value, "path": str(path)}})
    body = await proxy.say("WORDOFUSER")
    await eventually(lambda: path.exists() and body["caf"]["turn_id"] in stored(path), 5)
    return "WORDOFUSER" in stored(path)


@shows("privacy.path", "one.db", "two.db")
async def _path(start: Start, tmp: Path, value: Any) -> Any:
    for old in tmp.glob("*.db*"):  # noqa: ASYNC240
        old.unlink()
    await start(config={"privacy": {"store": "full", "path": value}})
    await eventually(lambda: list(tmp.glob("*.db")))
    return [file.name for file in tmp.glob("*.db")]  # noqa: ASYNC240


@shows("privacy.days", 0.000001, 30)
async def _days(start: Start, tmp: Path, value: Any) -> Any:
    path = tmp / f"days{value}.db"
    one = await start(config={"privacy": {"store": "full", "path": str(path)}})
    turn = (await one.say("Hi"))["caf"]["turn_id"]
    await eventually(lambda: path.exists() and turn in stored(path), 5)
    await asyncio.sleep(0.1)
    await start(config={"privacy": {"store": "full", "path": str(path), "days": value}})  # old traces go at the start
    await asyncio.sleep(0.3)
    return turn in stored(path)


@shows("privacy.sync", "batch", "turn")
async def _sync(start: Start, tmp: Path, value: Any) -> Any:
    path = tmp / f"{value}.db"
    proxy = await start(config={"privacy": {"store": "full", "path": str(path), "sync": value}})
    turns = [(await proxy.say("Hi"))["caf"]["turn_id"] for _ in range(3)]
    return turns[-1] in stored(path)


@shows("privacy.url", None, "postgresql://127.0.0.1:1/caf")
async def _traces_url(start: Start, tmp: Path, value: Any) -> Any:
    file = tmp / str(value is None) / "traces.db"
    await start(config={"privacy": {"store": "full", "path": str(file), "url": value}})
    return file.exists()


@shows("privacy.password_env", None, "CAF_TEST_NO_PASSWORD")
async def _traces_password_env(start: Start, tmp: Path, value: Any) -> Any:
    try:
        await start(config={"privacy": {"store": "full", "url": "postgresql://127.0.0.1:1/caf", "password_env": value}})
    except ConfigError as error:
        return error.problems


@shows("audit.folder", "one", "two")
async def _audit_folder(start: Start, tmp: Path, value: Any) -> Any:
    await start(config={"audit": {"folder": value}})
    return sorted(path.parent.name for path in tmp.glob("*/*.jsonl"))  # noqa: ASYNC240


@shows("audit.sync", "turn", "second")
async def _audit_sync(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(config={"audit": {"folder": "audit", "sync": value}})
    with pytest.MonkeyPatch.context() as patch:
        synced: list[int] = []
        patch.setattr("os.fsync", synced.append)
        for _ in range(3):
            await proxy.say("Hi")
            await asyncio.sleep(0.15)
    return len(synced) > 1


# Chatbots


async def said(start: Start, reply: str, question: str = ASKED, **changes: Any) -> Body:
    proxy = await start(**changes)
    proxy.upstream.answer = lambda body: reply
    return await proxy.say(question)


def outcome_of(body: Body) -> str:
    return body["caf"]["outcome"]


def judges_of(body: Body) -> list[str]:
    return [judge["name"] for judge in body["caf"]["judges"]]


def shows_in_reply(
    setting: str,
    one: Any,
    other: Any,
    *,
    to: tuple[str, str] = (ADVICE, NUDGE),
    look: Callable[[Body], Any] = outcome_of,
    settings: Callable[[Any], Body] | None = None,
) -> None:
    """Register a setting that one reply shows.

    Args:
        to: The model's draft and the question before it.
        look: Picks what differs.
        settings: Makes the chatbot's settings of the value; without, the setting is one of the chatbot's own.
    """

    async def probe(start: Start, tmp: Path, value: Any) -> Any:
        changes = settings(value) if settings else {setting.removeprefix("chatbot."): value}
        return look(await said(start, *to, **changes))

    shows(setting, one, other)(probe)


GARDENING = "[[cite: not_in_sources]]\nTomatoes are good for you. This is not from my sources. Please check it with your doctor."
LONG = SLEEP + " Going to bed at the same time each night helps." * 2
BROAD = "How much sleep do adults need? What about genes and cannabis?"
shows_in_reply("chatbot.refiner", "local", None)
shows_in_reply("chatbot.max_refinements", 0, 1)
shows_in_reply("chatbot.filter", "on", "off")
shows_in_reply("chatbot.streaming", "hold", "observe")
shows_in_reply("chatbot.fallback", "No.", "Sorry.", look=text_of, settings=lambda v: {"refiner": None, "fallback": v})
shows_in_reply("chatbot.sensitive_topics", [{"name": "gardening", "terms": ["tomatoes"]}], [], to=(GARDENING, ASKED))
shows_in_reply("chatbot.citations", "shown", "hidden", to=(SLEEP, ASKED), look=text_of)
shows_in_reply("chatbot.judges", judge_with("local"), [], to=(HELLO, ASKED), look=judges_of)
shows_in_reply(
    "judge.name", "role", "transparency", to=(HELLO, ASKED), look=judges_of,
    settings=lambda v: {"judges": [{"name": v, "stages": ["local"]}]},
)  # fmt: skip
shows_in_reply(
    "judge.on_error", "closed", "open", to=(HELLO, ASKED),
    settings=lambda v: {"judges": [{"name": "role", "stages": ["swift"], "on_error": v}]},
)  # fmt: skip
shows_in_reply(
    "topic.terms", ["tomatoes"], ["zebras"], to=(GARDENING, ASKED),
    settings=lambda v: {"sensitive_topics": [{"name": "gardening", "terms": v}]},
)  # fmt: skip
shows_in_reply(
    "emergency.contact", "Call 112.", "Call 999.", look=text_of,
    settings=lambda v: emergency(contact=v) | {"refiner": None},
)  # fmt: skip
shows_in_reply(
    "emergency.texts", "You matter.", "Please call.", to=(HELLO, CRISIS), look=text_of,
    settings=lambda v: emergency(texts={"self_harm": {"en": v}}),
)  # fmt: skip
shows_in_reply(
    "length.soft", 20, 100, to=(LONG, ASKED), look=lambda body: body["caf"]["warnings"],
    settings=lambda v: {"length": {"soft": v, "hard": 200}},
)  # fmt: skip
shows_in_reply(
    "length.hard", 20, 200, to=(LONG, ASKED), look=text_of, settings=lambda v: {"length": {"soft": 20, "hard": v}}
)


def shows_in_request(
    setting: str, one: Any, other: Any, field: str = "messages", settings: Callable[[Any], Body] | None = None
) -> None:
    """Register a setting that a field of the first request to a model shows; without `settings`, one of the chatbot's own."""

    async def probe(start: Start, tmp: Path, value: Any) -> Any:
        proxy = await start(**(settings(value) if settings else {setting.removeprefix("chatbot."): value}))
        await proxy.say(BROAD)
        return proxy.upstream.requests[0][field]

    shows(setting, one, other)(probe)


shows_in_request("models", 0.1, 0.9, "temperature", lambda v: {"alias": {"temperature": v}})
shows_in_request("chatbot.kind", "guarded", "wrapped")
shows_in_request("chatbot.model", "chatbot", "chief", "model")
shows_in_request("chatbot.role", "You are terse.", "You are kind.")
shows_in_request("chatbot.knowledge_base", "kb", None)
shows_in_request("retrieval.selector", "lexical", "retriever", "model", lambda v: {"retrieval": {"selector": v}})
shows_in_request("retrieval.max_requests", 1, 2, settings=lambda v: {"retrieval": {"max_requests": v}})
shows_in_request("retrieval.max_sources", 1, 4, settings=lambda v: {"retrieval": {"max_sources": v}})


@shows("chatbot.reply_prompts", ["one.md"], ["other.md"])
async def _reply_prompts(start: Start, tmp: Path, value: Any) -> Any:
    for name in ("one", "other"):
        write(tmp / f"{name}.md", SCREENING_PROMPT.replace("LOOK", name))
    proxy = await start(judges=[{"name": "role", "stages": ["swift"]}], reply_prompts=value)
    await proxy.say("Hi")
    return proxy.upstream.requests[-1]["messages"][0]["content"]


@shows("chatbot.trusted_tools", ["f"], [])
async def _trusted_tools(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(trusted_tools=value)
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    proxy.upstream.answer = lambda body: [{"role": "assistant", "content": None, "tool_calls": [call]}]
    body = await proxy.say("Hi", tools=[{"type": "function", "function": {"name": "f"}}])
    return body["choices"][0]["message"].get("tool_calls")


@shows("chatbot.evidence", ["knowledge_base"], ["knowledge_base", "documents"])
async def _evidence(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(evidence=value)
    proxy.upstream.answer = lambda body: "[[cite: doc:1]]\nIn May 480 visitors came."
    return text_of(await proxy.say("How many came in May?", documents=[{"text": "In May 480 visitors came."}]))


@shows("document_limits.count", 1, 2)
async def _document_count(start: Start, tmp: Path, value: Any) -> Any:
    return await _status_with_documents(start, {"count": value})


@shows("document_limits.bytes", 3, 4)
async def _document_bytes(start: Start, tmp: Path, value: Any) -> Any:
    return await _status_with_documents(start, {"bytes": value})


async def _status_with_documents(start: Start, limits: Body) -> int:
    """Return the status of a request with two documents of two bytes each."""
    proxy = await start(evidence=["knowledge_base", "documents"], document_limits=limits)
    request = {"model": "bot", "messages": dialogue("Hi"), "documents": [{"text": "ab"}, {"text": "cd"}]}
    return (await proxy.post(request))[0]


@shows("chatbot.context_tokens", 700, 24_000)
async def _context_tokens(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(context_tokens=value)
    await proxy.say("The very first words. " * 100, "Indeed.", *["Something", "else"] * 3, ASKED)
    return "very first words" in json.dumps(proxy.upstream.requests[-1])


@shows("chatbot.warning_turns", 1, 2)
async def _warning_turns(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(warning_turns=value)
    proxy.upstream.answer = lambda body: ADVICE
    messages = [NUDGE, text_of(await proxy.say(NUDGE))]
    proxy.upstream.answer = lambda body: HELLO
    for _ in range(2):
        messages += ["And?", text_of(await proxy.say(*messages, "And?"))]
    return bool(warnings_in(proxy.upstream.requests[-1]))


@shows("chatbot.warning_texts", "fixed", "specific")
async def _warning_texts(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(judges=[{"name": "transparency", "stages": ["swift"]}], refiner=None, warning_texts=value)
    answers = {"up-swift": screening(("beyond", "Take 400 mg of magnesium", 3), adds=True)}
    proxy.upstream.answer = lambda body: answers.get(body["model"], f"[[cite: sleep]]\n{ADVICE.partition(chr(10))[2]}")
    messages = [ASKED, text_of(await proxy.say(ASKED))]
    answers["up-swift"] = screening()
    await proxy.say(*messages, "And?")
    drafted = [body for body in proxy.upstream.requests if body["model"] != "up-swift"]
    return "under: Sleep" in " ".join(warnings_in(drafted[-1]))


STATEMENT = {"not_from_sources": "My sources do not say so.", "verify": "Please ask your doctor."}


@shows("chatbot.statements", {}, {"en": STATEMENT})
async def _statements(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(judges=[{"name": "transparency", "stages": ["swift"]}], refiner=None, statements=value)
    flagged = screening(("undisclosed", "Fresh air is good for most people", 2), adds=True)
    answers = {"up-swift": flagged}
    proxy.upstream.answer = lambda body: answers.get(
        body["model"], "[[cite: not_in_sources]]\nI hear that you are tired. Fresh air is good for most people."
    )
    return text_of(await proxy.say("Hi"))


@shows("statement.not_from_sources", "My sources do not say so.", "My sources are silent on this.")
async def _not_from_sources(start: Start, tmp: Path, value: Any) -> Any:
    return await _statements(start, tmp, {"en": STATEMENT | {"not_from_sources": value}})


@shows("statement.verify", "Please ask your doctor.", "Please ask a lawyer.")
async def _verify(start: Start, tmp: Path, value: Any) -> Any:
    return await _statements(start, tmp, {"en": STATEMENT | {"verify": value}})


# Judges


@shows("judge.prompts", "Reject what is rude.", "Reject what is blue.")
async def _judge_prompts(start: Start, tmp: Path, value: Any) -> Any:
    (tmp / "own.md").write_text(
        OWN_JUDGE.format(name="own", stage="swift", model="swift").replace("Reject what is rude.", value)
    )
    proxy = await start(judges=["own.md"])
    await proxy.say("Hi")
    return proxy.upstream.requests[-1]["messages"][0]["content"]


@shows("judge.python", "probe_rules:Kind", "probe_rules:Strict")
async def _judge_python(start: Start, tmp: Path, value: Any) -> Any:
    return (await said(start, HELLO, judges=[own_class(tmp, value)]))["caf"]["outcome"]


@shows("judge.settings", {}, {"verdict": "warn"})
async def _judge_settings(start: Start, tmp: Path, value: Any) -> Any:
    return (await said(start, HELLO, judges=[own_class(tmp, "probe_rules:Strict") | {"settings": value}]))["caf"][
        "outcome"
    ]


def own_class(folder: Path, python: str) -> Body:
    """Write classes that judge alike whatever they are shown."""
    text = "from judges.verdict import Finding\n"
    for name, verdict in (("Kind", "accept"), ("Strict", "reject")):
        text += (
            f"class {name}:\n    name = 'own'\n    def __init__(self, verdict='{verdict}'): self.verdict = verdict\n"
        )
        text += "    async def judge(self, case): return Finding(self.verdict)\n"
    (folder / "probe_rules.py").write_text(text)
    sys.modules.pop("probe_rules", None)
    return {"python": python}


@shows("judge.stages", ["local"], ["local", "swift"])
async def _judge_stages(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(judges=[{"name": "role", "stages": value}])
    proxy.upstream.answer = lambda body: NO_PROBLEMS if body["model"] == "up-swift" else HELLO
    return [j["stage"] for j in (await proxy.say("Hi"))["caf"]["judges"]]


def test_settings_of_earlier_versions_are_ignored_and_named(tmp_path: Path) -> None:
    """The configuration serves as before them, whatever stood there; the data that was given is not changed."""
    judges = [{"name": "role", "accept_below": {"score": 0.3, "weights": "00000000"}}, "transparency"]
    data = valid(chatbots={"bot": bot_settings(judges=judges, streaming="verified")})
    given = deepcopy(data)
    config = parse_config(data, tmp_path / "c.yaml")
    assert config.chatbots["bot"].streaming == "hold"
    assert config.ignored == [
        "chatbots.bot.streaming: `verified` was removed and runs as `hold`; write `hold` or `observe`",
        "chatbots.bot.judges[0].accept_below: this setting was removed and has no effect; delete it",
    ]
    assert data == given
    assert parse_config(valid(), tmp_path / "c.yaml").ignored == []


@shows("judge.reject_alone", [], ["swift"])
async def _reject_alone(start: Start, tmp: Path, value: Any) -> Any:
    judge = {"name": "role", "stages": ["swift", "chief"], "reject_alone": value}
    proxy = await start(judges=[judge], max_refinements=0)
    answers = {"up-swift": screening(("role", "seven to nine hours", 2)), "up-chief": UNPLAYED}
    proxy.upstream.answer = lambda body: answers.get(body["model"], SLEEP)
    return [j["stage"] for j in (await proxy.say(ASKED))["caf"]["judges"]]


@shows("judge.timeout_s", 0.1, 5)
async def _judge_timeout(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(judges=[{"name": "role", "stages": ["swift"], "timeout_s": value}])
    proxy.upstream.answer = lambda body: asyncio.sleep(0.4, NO_PROBLEMS) if body["model"] == "up-swift" else HELLO
    return (await proxy.say("Hi"))["caf"]["outcome"]


# Emergency, topics, retrieval, length


def emergency(**changes: Any) -> Body:
    return {"emergency": {"contact": "Call 112 now.", "texts": {"self_harm": {"en": "You matter."}}, **changes}}


@shows("emergency.enabled", True, False)
async def _emergency_enabled(start: Start, tmp: Path, value: Any) -> Any:
    """Without, a chatbot needs no contact."""
    bot = emergency() if value else {"emergency": {"enabled": value}, "judges": []}
    return outcome_of(await (await start(**bot)).say(CRISIS))


@shows("emergency.kinds", ["self_harm"], ["medical"])
async def _emergency_kinds(start: Start, tmp: Path, value: Any) -> Any:
    return outcome_of(await (await start(**emergency(kinds=value))).say(CRISIS))


@shows("emergency.fallback_contact", True, False)
async def _fallback_contact(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(**emergency(fallback_contact=value), refiner=None)
    proxy.upstream.answer = lambda body: "[[cite: no_claims]]\nZinc cures psychosis within a week."
    return "112" in text_of(await proxy.say(ASKED))


@shows("emergency.unread_contact", True, False)
async def _unread_contact(start: Start, tmp: Path, value: Any) -> Any:
    """A message in a language that the local judge has no rules for."""
    judges = [{"name": "emergency", "stages": ["local"]}]
    proxy = await start(**emergency(fallback_contact=False, unread_contact=value), judges=judges, refiner=None)
    return "112" in text_of(await proxy.say("Welche Datenbanken haben Patienten mit Gicht?"))


@pytest.mark.parametrize("off", [False, "off", {"enabled": False}])
def test_a_chatbot_without_emergencies_needs_no_contact(tmp_path: Path, off: Any) -> None:
    """YAML reads a bare `off` as false. A judge of emergencies beside it is a contradiction."""
    bot = bot_settings(emergency=off, judges=["role"])
    assert not parse_config(valid(chatbots={"bot": bot}), tmp_path / "c.yaml").chatbots["bot"].emergency.enabled
    with pytest.raises(ConfigError, match="`emergency` is off, but `judges` lists"):
        parse_config(valid(chatbots={"bot": bot | {"judges": ["emergency"]}}), tmp_path / "c.yaml")


@shows("emergency.remember_turns", 1, 2)
async def _remember(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(**emergency(remember_turns=value))
    messages = [CRISIS, text_of(await proxy.say(CRISIS))]
    for _ in range(2):
        messages += ["Hello.", text_of(await proxy.say(*messages, "Hello."))]
    return "emergency (self_harm)" in json.dumps(proxy.upstream.requests[-1]["messages"])


@shows("emergency.webhook", True, False)
async def _webhook(start: Start, tmp: Path, value: Any) -> Any:
    from aiohttp import web

    told: list[Any] = []

    async def hook(request: web.Request) -> web.Response:
        told.append(await request.json())
        return web.Response()

    app = web.Application()
    app.router.add_post("/", hook)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    await said(start, HELLO, CRISIS, **emergency(webhook=url if value else None))
    await asyncio.sleep(0.2)
    await runner.cleanup()
    return bool(told)


@shows("topic.name", "gardening", "hiking")
async def _topic_name(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(sensitive_topics=[value], judges=[{"name": "transparency", "stages": ["swift"]}])
    await proxy.say("Hi")
    return json.loads(proxy.upstream.requests[-1]["messages"][1]["content"])["sensitive_topics"]


@shows("retrieval.language", "english", "german")
async def _language(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(retrieval={"language": value})
    await proxy.say("Sleeping?")
    return "seven to nine hours" in json.dumps(proxy.upstream.requests[0])


@shows("retrieval.evidence_tokens", 100, 3_000)
async def _evidence_tokens(start: Start, tmp: Path, value: Any) -> Any:
    write(tmp / "kb" / "long.md", "---\nid: long\ntitle: Long\nsummary: Long.\n---\n" + "Much is said of this. " * 40)
    proxy = await start(retrieval={"evidence_tokens": value})
    traces = proxy.traces()
    await proxy.say("Hello there.")
    return [one.by for one in traces[0].evidence]


@shows("retrieval.uncited_turns", 1, 3)
async def _uncited(start: Start, tmp: Path, value: Any) -> Any:
    proxy = await start(retrieval={"uncited_turns": value})
    messages = [ASKED, text_of(await proxy.say(ASKED))]
    for _ in range(2):
        messages += ["Hello there.", text_of(await proxy.say(*messages, "Hello there."))]
    return "seven to nine hours" in json.dumps(proxy.upstream.requests[-1])


# What is wrong is named


def valid(**changes: Any) -> Body:
    return {
        "models": {"chatbot": {"engine": "openai", "base_url": "http://127.0.0.1:1/v1"}},
        "chatbots": {"bot": {"model": "chatbot", "role": "You help.", "emergency": {"contact": "Call 112."}}},
        **changes,
    }


def bot(**changes: Any) -> Body:
    return valid(chatbots={"bot": {**valid()["chatbots"]["bot"], **changes}})


def problems(data: Any, tmp_path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        assemble(parse_config(data, tmp_path / "c.yaml"))
    return caught.value.problems


BROKEN: list[tuple[Body, str, str]] = [
    (valid(chatbots={}), "chatbots", "is empty"),
    (valid(chatbots=None), "chatbots", "has no value: expected a mapping"),
    ({"models": {}}, "chatbots", "is missing"),
    (valid(surver={}), "surver", "not a known key"),
    (valid(server={"prot": 1}), "server.prot", "not a known key"),
    (valid(server={"port": 70_000}), "server.port", "65535"),
    (valid(server={"port": "web"}), "server.port", "invalid value 'web': expected a whole number"),
    (valid(server={"turn_timeout_s": 0}), "server.turn_timeout_s", "expected more than 0"),
    (valid(server={"turn_timeout_s": float("nan")}), "server.turn_timeout_s", "finite"),
    (valid(server={"header_wait_s": float("inf")}), "server.header_wait_s", "finite"),
    (valid(memory={"max_turns": 0}), "memory.max_turns", "expected at least 1"),
    (valid(privacy={"store": "some"}), "privacy.store", "'redacted'"),
    (valid(expose="all"), "expose", "'none'"),
    (valid(models={"a b": {"engine": "embedded"}}), "models.a b", "pattern"),
    (bot(kind="open"), "chatbots.bot.kind", "'wrapped'"),
    (bot(model="gpt"), "chatbots.bot.model", "no model alias 'gpt' (configured: chatbot)"),
    (bot(refiner="gpt"), "chatbots.bot.refiner", "no model alias 'gpt'"),
    (bot(retrieval={"selector": "gpt"}), "chatbots.bot.retrieval.selector", "no model alias 'gpt'"),
    (bot(role=""), "chatbots.bot", "needs `role`"),
    (bot(role="missing.md"), "chatbots.bot.role", "cannot read the file "),
    (bot(filter="maybe"), "chatbots.bot.filter", "'shadow'"),
    (bot(emergency=None), "chatbots.bot", "`emergency` is missing: say in `emergency.contact`"),
    (bot(emergency={"contact": ""}), "chatbots.bot.emergency.contact", "expected a text, or texts by language code"),
    (bot(emergency={"contact": {}}), "chatbots.bot.emergency.contact", "by language code"),
    (bot(emergency={"contact": {"en": ""}}), "chatbots.bot.emergency.contact", "by language code"),
    (bot(emergency={"contact": {"en": 112}}), "chatbots.bot.emergency.contact", "by language code"),
    (bot(emergency={"contact": {False: "x"}}), "chatbots.bot.emergency.contact", 'write "no"'),
    (bot(emergency={"contact": 112}), "chatbots.bot.emergency.contact", "expected a text, or texts by language"),
    (bot(fallback=["x"]), "chatbots.bot.fallback", "expected a text, or texts by language"),
    (bot(fallback={"en": "x", "de": "y"}, emergency={"contact": {"de": "z"}}), "chatbots.bot", "no text for 'en', a language of"),
    (bot(emergency={"contact": "x", "texts": {"fire": {"en": "x"}}}), "chatbots.bot.emergency.texts", "self_harm"),
    (bot(emergency={"contact": "x", "texts": {"medical": {}}}), "chatbots.bot.emergency.texts", "at least one text"),
    (bot(emergency={"contact": "x", "webhook": "ftp://x"}), "chatbots.bot.emergency.webhook", "expected an http:// or https://"),
    (bot(judges=["role"]), "chatbots.bot", "`refiner` is missing"),
    (bot(judges=["rude"], refiner=None), "chatbots.bot.judges[0]", "source_fidelity"),
    (bot(judges=[{}], refiner=None), "chatbots.bot.judges.0", "`name`"),
    (bot(judges=[{"name": "role", "stages": []}], refiner=None), "chatbots.bot.judges.0", "local, swift, chief"),
    (bot(judges=[{"name": "role", "stages": ["chief", "swift"]}], refiner=None), "chatbots.bot.judges.0", "in this order"),
    (bot(judges=["role"], refiner=None), "chatbots.bot.judges[0]", "'swift', which is not under `models`"),
    (bot(judges=[{"name": "role", "stages": ["local"]}] * 2, refiner=None), "chatbots.bot.judges", "listed twice"),
    (bot(judges=["gone.md"], refiner=None), "gone.md", "cannot read"),
    (bot(knowledge_base="gone"), "gone", ""),
    (bot(reply_prompts=["gone.md"]), "gone.md", "cannot read"),
    (bot(statements={"en": {"verify": "Ask."}}), "chatbots.bot.statements.en.not_from_sources", "is missing"),
    (bot(statements={"en": {"verify": "", "not_from_sources": "x"}}), "chatbots.bot.statements.en.verify", "is empty"),
    (valid(chatbots={"bot": {"kind": "passthrough", "model": "chatbot", "reply_prompts": ["x.md"], "statements": {}}}),
     "chatbots.bot", "ignores the settings reply_prompts, statements"),
    (bot(length={"soft": 100, "hard": 50}), "chatbots.bot.length", "`hard` must not be below"),
    (bot(max_refinements=-1), "chatbots.bot.max_refinements", "expected at least 0"),
    (bot(kind="passthrough"), "chatbots.bot", "ignores the settings emergency, role"),
    (valid(models={"chatbot": {"engine": "openai"}}), "models.chatbot", "base_url"),
    (valid(models={"chatbot": {"engine": "embedded", "fallback": ["x"]}}), "models.chatbot.fallback", "no model alias 'x'"),
    (valid(models={"chatbot": {"engine": "embedded", "fallback": ["chatbot"]}}), "models.chatbot.fallback", "is a cycle"),
]  # fmt: skip


@pytest.mark.parametrize(("data", "key", "right"), BROKEN, ids=[f"{i}-{key}" for i, (_, key, _) in enumerate(BROKEN)])
def test_fault_is_named_with_file_key_and_what_would_be_right(tmp_path: Path, data: Body, key: str, right: str) -> None:
    """One sentence says where the fault is and how it is mended."""
    found, *_ = problems(data, tmp_path)
    assert key in found
    assert right in found


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    """Nobody has to mend one fault to see the next."""
    data = valid(
        server={"port": -1, "x": 1},
        chatbots={"a": {"model": "m"}, "b": {"model": "m", "role": "r", "filter": 5, "emergency": {"contact": ""}}},
    )
    found = "\n".join(problems(data, tmp_path))
    for key in (
        "server.port",
        "server.x",
        "chatbots.a",
        "`role`",
        "`emergency`",
        "chatbots.b.filter",
        "chatbots.b.emergency.contact",
    ):
        assert key in found


def test_missing_aliases_are_told_one_by_one(tmp_path: Path) -> None:
    """Each has its own sentence with the file in it."""
    data = valid(
        chatbots={
            n: {"model": f"m-{n}", "role": "r", "refiner": f"r-{n}", "emergency": {"contact": "x"}} for n in ("a", "b")
        }
    )
    found = problems(data, tmp_path)
    assert len(found) == 4
    assert all("c.yaml: chatbots." in sentence for sentence in found)


def test_a_fault_in_a_yaml_anchor_is_told_once(tmp_path: Path) -> None:
    """With the first place and how many there are; other faults have their own sentence."""
    bot = (
        "{model: m, role: r, refiner: null, emergency: {contact: x}, filter: 5, judges: [{name: role, timeout_s: -1}]}"
    )
    names = "".join(f"  bot-4.{n}: *bot\n" for n in range(30))
    (tmp_path / "c.yaml").write_text(
        f"models: {{m: {{engine: embedded}}}}\nchatbots:\n  a: &bot {bot}\n{names}"
        "  b: {<<: *bot, filter: on}\n  c: {<<: *bot, filter: 6}\n  d: &d {model: m}\n  e: *d\n"
    )
    with pytest.raises(ConfigError) as caught:
        load_config(tmp_path / "c.yaml")
    told = [problem.removeprefix(f"{tmp_path / 'c.yaml'}: chatbots.") for problem in caught.value.problems]
    assert [problem.partition(":")[0] for problem in told] == ["a.judges.0.timeout_s", "a.filter", "c.filter", "d", "d"]
    more = [problem.partition("; also in ")[2] for problem in told]
    assert more == ["32 more places", "30 more places", "", "1 more place", "1 more place"]


@pytest.mark.parametrize("key", ["memory", "privacy", "keys"])
def test_a_password_where_its_variable_is_named_is_refused_and_not_shown(tmp_path: Path, key: str) -> None:
    """It would else stand in a terminal and in a log."""
    found = problems(valid(**{key: {"env" if key == "keys" else "password_env": "HUSHHUSH-pw!"}}), tmp_path)
    assert len(found) == 1
    assert "expected a text that matches the pattern" in found[0]
    assert "HUSH" not in found[0]


def test_key_in_the_wrong_place_is_not_shown(tmp_path: Path) -> None:
    """A secret that stands where it should not is refused without being repeated."""
    for model in (
        {"api_key": "sk-SECRET"},
        {"api_key_env": "sk-SECRET"},
        {"base_url": "http://u:SECRET@x/"},
        {"engine": "SECRET"},
    ):
        found = problems(valid(models={"chatbot": {"engine": "openai", "base_url": "http://x/", **model}}), tmp_path)
        assert "SECRET" not in "\n".join(found)


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is not a YAML mapping"),
        ("- a\n", "is not a YAML mapping"),
        ("just words", "is not a YAML mapping"),
        ("a: [1\n", ".yaml:2:1: not valid YAML"),
        ("a: b: c", ".yaml:1:5: not valid YAML"),
        ("\tserver:\n", ".yaml:1:1: not valid YAML"),
        (b"\xff\xfe\x00", "UTF-8"),
        ("server: {port: 1}\nserver: {port: 2}\n", "server"),
        ("x: " + "[" * 5_000, "YAML"),
        ("1: 2\n", "1"),
        ("&a [*a]", "not a YAML mapping"),
    ],
)
def test_file_that_is_no_configuration_is_refused(tmp_path: Path, text: str | bytes, says: str) -> None:
    """The file is named, and where in it the fault is."""
    path = write(tmp_path / "caf.yaml", text)
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert "caf.yaml" in str(caught.value)
    assert says in str(caught.value)


def test_missing_file_is_named_with_what_to_do(tmp_path: Path) -> None:
    """A wrong path is the commonest fault."""
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: the configuration cannot be read .*--config"):
        load_config(tmp_path / "nowhere.yaml")
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path)


def settings_of(tmp_path: Path, text: str) -> ChatbotSettings:
    head = "models: {chatbot: {engine: embedded}}\nchatbots:\n  bot:\n    model: chatbot\n    emergency: {contact: Call 112.}\n"
    return load_config(write(tmp_path / "caf.yaml", head + text)).chatbots["bot"]


@pytest.mark.parametrize(
    ("written", "read"),
    [("on", "on"), ("off", "off"), ("On", "on"), ("'off'", "off"), ("shadow", "shadow"), ("true", "on"), ("no", "off")],
)
def test_bare_on_and_off_are_read_as_meant(tmp_path: Path, written: str, read: str) -> None:
    """YAML reads them as booleans."""
    assert settings_of(tmp_path, f"    role: r\n    filter: {written}\n").filter == read


@pytest.mark.parametrize("written", ["role.md", "'role.md '", "|\n      role.md", "sub/../role.md"])
def test_role_is_read_from_a_file_beside_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    """Relative to the file, not to where the command was started; however YAML writes the name."""
    write(tmp_path / "role.md", "\nYou are kind.\n")
    (tmp_path / "sub").mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert settings_of(tmp_path, f"    role: {written}\n").role == "You are kind."


def test_role_may_be_a_text_that_speaks_of_files(tmp_path: Path) -> None:
    """Only a single line that ends in .md is a path."""
    assert settings_of(tmp_path, "    role: |\n      You explain\n      README.md\n").role == "You explain\nREADME.md"


@pytest.mark.parametrize("content", [b"\xff\xfe", b""])
def test_unreadable_or_empty_role_file_is_refused(tmp_path: Path, content: bytes) -> None:
    """A chatbot without a role must not start."""
    write(tmp_path / "role.md", content)
    with pytest.raises(ConfigError, match="role"):
        settings_of(tmp_path, "    role: role.md\n")


def test_relative_paths_are_taken_from_the_files_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of defaults."""
    monkeypatch.chdir("/")
    path = write(
        tmp_path / "caf.yaml",
        "models: {m: {engine: embedded}}\nchatbots: {b: {model: m, role: r, knowledge_base: kb, emergency: {contact: c},"
        " judges: [own.md, {prompts: [/abs/x.md]}], refiner: null}}\n",
    )
    config = load_config(path)
    assert config.privacy.path == tmp_path / "data" / "traces.db"
    bot = config.chatbots["b"]
    assert bot.knowledge_base == tmp_path / "kb"
    assert [p for judge in bot.judges for p in judge.prompts] == [tmp_path / "own.md", Path("/abs/x.md")]


def own_judge(tmp_path: Path, **front: str) -> Path:
    return write(
        tmp_path / f"{front.get('file', 'own')}.md",
        OWN_JUDGE.format(**{"name": "own", "stage": "swift", "model": "chatbot"} | front),
    )


@pytest.mark.parametrize(
    ("front", "says"),
    [
        ({"stage": "local"}, "stage"),
        ({"model": "nobody"}, "own.md: model: no model alias 'nobody' (configured: chatbot)"),
        ({"name": "role"}, "built-in"),
        ({"name": "[1]"}, "name"),
    ],
)
def test_faulty_prompt_of_ones_own_is_refused(tmp_path: Path, front: dict[str, str], says: str) -> None:
    """The file or the key is named, and what would be right."""
    own_judge(tmp_path, **front)
    assert says in "\n".join(problems(bot(judges=["own.md"], refiner=None), tmp_path))


@pytest.mark.parametrize(
    ("was", "instead", "says"),
    [
        ("name: reply", "name: answer", "use screening or assessment with `name: reply`"),
        ("observation: screening", "observation: verdict", "use screening or assessment with `name: reply`"),
        ("observation: screening", "observation: assessment", "expected screening for the swift stage"),
        ("model: swift", "model: nobody", "shared.md: model: no model alias 'nobody' (configured: "),
        (
            SCREENING_PROMPT,
            OWN_JUDGE.format(name="own", stage="swift", model="chatbot"),
            "is a prompt of the judge 'own'",
        ),
    ],
)
def test_faulty_shared_prompt_of_ones_own_is_refused(tmp_path: Path, was: str, instead: str, says: str) -> None:
    """The file or the key is named, and what would be right."""
    write(tmp_path / "shared.md", SCREENING_PROMPT.replace(was, instead).replace("model: swift", "model: chatbot"))
    data = bot(judges=[{"name": "role", "stages": ["swift"]}], reply_prompts=["shared.md"], refiner=None)
    assert says in "\n".join(problems(data, tmp_path))


def test_two_shared_prompts_for_one_stage_are_refused(tmp_path: Path) -> None:
    """Only one of them would be asked."""
    for name in ("one", "other"):
        write(tmp_path / f"{name}.md", SCREENING_PROMPT.replace("model: swift", "model: chatbot"))
    data = bot(judges=[{"name": "role", "stages": ["swift"]}], reply_prompts=["one.md", "other.md"], refiner=None)
    (found,) = problems(data, tmp_path)
    assert "chatbots.bot.reply_prompts: two prompts for the stage swift" in found


def test_prompts_of_two_judges_in_one_entry_are_refused(tmp_path: Path) -> None:
    """One entry is one judge."""
    own_judge(tmp_path)
    own_judge(tmp_path, file="other", name="other", stage="chief")
    (found,) = problems(bot(judges=[{"prompts": ["own.md", "other.md"]}], refiner=None), tmp_path)
    assert "the same judge name" in found


async def test_judge_of_ones_own_rejects_and_its_reason_stays_inside(start: Start, tmp_path: Path) -> None:
    """A prompt file and one line in the config make a judge; what its model wrote is not shown to the user."""
    own_judge(tmp_path, model="swift")
    proxy = await start(judges=["own.md"], refiner=None)
    verdict = json.dumps({"verdict": "reject", "reason": "it says SECRETWORD"})
    proxy.upstream.answer = lambda body: verdict if body["model"] == "up-swift" else "[[cite: no_claims]]\nSECRETWORD."
    body = await proxy.say("Hi")
    assert body["caf"]["outcome"] == "fallback"
    assert [(j["name"], j["verdict"]) for j in body["caf"]["judges"]] == [("own", "reject")]
    assert "SECRETWORD" not in json.dumps(body)
