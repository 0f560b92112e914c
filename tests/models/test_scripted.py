"""The scripted engine: answers from Python lists, functions and YAML rules, and replay of recordings."""

import json
import time

import orjson
import pytest

from models.client import open_models
from models.engine import forward_by_completing
from models.errors import (
    ModelSettingsError,
    UpstreamBusy,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from models.recording import Recording, Replaying, request_key
from models.scripted import Rules, Scripted, scripted_engine
from models.settings import ModelSettings
from models.usage import Ledger

RULES = """
- first
- when: STOP taking
  reply: to your doctor
- when: /friend|lonely/
  within: prompt
  reply: {verdict: reject}
- when: broken
  fail: 503
  times: 2
- when: broken
  reply: mended
- {when: slow, delay_s: 0.1, reply: late}
- {when: "c++ (really)", reply: literal}
"""


def asked(text, **more):
    return {"messages": [{"role": "user", "content": text}], **more}


async def said(engine, text, **more):
    return (await engine.complete(asked(text, **more)))["choices"][0]["message"]["content"]


async def test_list_answers_in_order():
    """Texts, objects and errors are answers. The request after the last answer is refused. All requests are stored."""
    engine = Scripted(["one", {"verdict": "accept"}, UpstreamBusy(3.0)])
    assert await said(engine, "a") == "one"
    assert await said(engine, "b") == '{"verdict":"accept"}'
    with pytest.raises(UpstreamBusy):
        await said(engine, "c")
    with pytest.raises(UpstreamRefused, match="3 answers"):
        await said(engine, "d")
    assert [body["messages"][0]["content"] for body in engine.requests] == ["a", "b", "c", "d"]


async def test_function_answers():
    """The function gets the body and may be async."""

    async def answer(body):
        return body["messages"][0]["content"].upper()

    assert await said(Scripted(answer), "hi") == "HI"
    assert await said(Scripted(lambda body: body["model"]), "hi", model="m") == "m"


async def test_answer_is_a_whole_completion():
    """The completion has an id, model, usage and `n` choices. Tool calls have their own finish reason."""
    answer = await Scripted(["hello"]).complete(asked("hi", model="m", n=2))
    assert [choice["index"] for choice in answer["choices"]] == [0, 1]
    assert (answer["model"], answer["usage"]["total_tokens"]) == ("m", 4)
    calls = await Scripted([{"tool_calls": [{"id": "1"}]}]).complete(asked("hi"))
    assert calls["choices"][0]["finish_reason"] == "tool_calls"
    assert calls["choices"][0]["message"] == {"role": "assistant", "content": None, "tool_calls": [{"id": "1"}]}
    assert await Scripted([{"choices": []}]).complete(asked("hi")) == {"choices": []}


async def test_rules_from_yaml(tmp_path):
    """Substring, regular expression, failure, count and delay work as script.py describes."""
    (tmp_path / "rules.yaml").write_text(RULES)
    settings = ModelSettings.model_validate({"engine": "scripted", "script": str(tmp_path / "rules.yaml")})
    engine = scripted_engine(settings)
    assert await said(engine, "stop taking it?") == "first"
    assert await said(engine, "Can I stop TAKING it?") == "to your doctor"
    assert await said(engine, "I am lonely") == '{"verdict":"reject"}'
    for _ in range(2):
        with pytest.raises(UpstreamUnavailable):
            await said(engine, "broken")
    assert await said(engine, "broken") == "mended"
    started = time.perf_counter()
    assert await said(engine, "slow") == "late"
    assert time.perf_counter() - started > 0.09
    assert await said(engine, "C++ (really)?") == "literal"
    with pytest.raises(UpstreamRefused, match="no_scripted_answer"):
        await said(engine, "something else")


async def test_last_user_message_is_where_a_rule_looks():
    """Earlier messages and the prompt do not match by default."""
    settings = ModelSettings.model_validate(
        {"engine": "scripted", "script": [{"when": "pill", "reply": "a"}, {"when": "system: .*bot", "reply": "b"},
        {"when": "/system: .*bot/", "within": "prompt", "reply": "c"}]}
    )  # fmt: skip
    messages = [
        {"role": "system", "content": "You are a pill bot"},
        {"role": "user", "content": "pill"},
        {"role": "user", "content": "hi"},
    ]
    answer = await Scripted(Rules(settings.script)).complete({"messages": messages})
    assert answer["choices"][0]["message"]["content"] == "c"


@pytest.mark.parametrize(
    ("fail", "error"),
    [
        (429, UpstreamBusy), (400, UpstreamRefused), (500, UpstreamUnavailable), ("timeout", UpstreamTimeout),
        ("disconnect", UpstreamUnavailable), ("garbled", UpstreamGarbled),
    ],
)  # fmt: skip
async def test_script_can_fail_like_an_upstream(fail, error):
    """Each value of `fail` raises the corresponding error."""
    settings = ModelSettings.model_validate({"engine": "scripted", "script": [{"fail": fail}]})
    with pytest.raises(error):
        await Scripted(Rules(settings.script)).complete(asked("hi"))


@pytest.mark.parametrize("text", ["- {when: x}", "just text", "- [", "- {reply: x, typo: 1}"])
async def test_bad_script_file_is_named(session, tmp_path, text):
    """The message has the alias and the file."""
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    settings = {"a": ModelSettings(engine="scripted", script=path)}
    with pytest.raises(ModelSettingsError, match=r"models\.a.*rules\.yaml"):
        open_models(settings, session, {})


async def test_recording_is_replayed(session, tmp_path):
    """Recorded answers are replayed in order, and the last is repeated."""
    path = tmp_path / "log.jsonl"
    recorder = Recording(Scripted(["one", "two", {"tool_calls": [{"id": "1"}]}]), path)
    for text in ("a", "a", "b"):
        await recorder.complete(asked(text, model="m"))
    settings = {
        "a": ModelSettings.model_validate({"engine": "scripted", "model": "m", "script": {"replay": str(path)}})
    }
    models = open_models(settings, session, {})
    answers = [await models.complete("a", asked("a"), step="s", ledger=Ledger()) for _ in range(3)]
    assert [answer["choices"][0]["message"]["content"] for answer in answers] == ["one", "two", "two"]
    called = await models.complete("a", asked("b"), step="s", ledger=Ledger())
    assert called["choices"][0]["message"]["tool_calls"] == [{"id": "1"}]


async def test_unknown_request_names_its_key(tmp_path):
    """The error has the first twelve characters of the key, to find the request in the log."""
    path = tmp_path / "log.jsonl"
    path.write_text("")
    with pytest.raises(UpstreamRefused, match=request_key(asked("hi"))[:12]):
        await Replaying(path).complete(asked("hi"))


@pytest.mark.parametrize("text", ["{}", "[1]", "no json", '{"key": 1'])
def test_bad_recording_names_its_line(tmp_path, text):
    """An incomplete recording is an error at start-up."""
    path = tmp_path / "log.jsonl"
    path.write_text('{"key": "k", "content": "c"}\n\n' + text)
    with pytest.raises(ModelSettingsError, match=r"log\.jsonl:3"):
        Replaying(path)


def test_key_is_the_manual_models():
    """The hash must not change, because existing recordings depend on it."""
    body = asked("hé", model="m", temperature=1)
    assert request_key(body) == "ed2de9de3560ee7e498635fa89ceba5950d69bb25ec8d56be7e786032ed73cd7"
    assert request_key(body | {"temperature": 0}) == request_key(body)
    assert request_key(body | {"seed": 1}) != request_key(body)


async def test_forwarding_by_completing():
    """Engines that only complete can still be forwarded to, with JSON or a stream as response."""
    answer = await Scripted(["two words"]).forward(orjson.dumps(asked("hi")), {})
    assert answer.body is not None
    assert orjson.loads(answer.body)["choices"][0]["message"]["content"] == "two words"
    body = asked("hi", stream=True, stream_options={"include_usage": True}, n=2)
    engine = Scripted(["two  words\n"])
    async with await engine.forward(orjson.dumps(body), {}) as stream:
        assert stream.headers["Content-Type"] == "text/event-stream"
        events = [chunk async for chunk in stream.chunks]
    assert "stream" not in engine.requests[0]
    assert events.pop() == b"data: [DONE]\n\n"
    chunks = [json.loads(event.removeprefix(b"data: ")) for event in events]
    assert {chunk["object"] for chunk in chunks} == {"chat.completion.chunk"}
    assert chunks.pop()["usage"]["total_tokens"] > 0
    parts = [chunk["choices"][0] for chunk in chunks]
    for index in (0, 1):
        own = [part for part in parts if part["index"] == index]
        assert "".join(part["delta"].get("content", "") for part in own) == "two  words\n"
        assert [part["finish_reason"] for part in own][-1] == "stop"


async def test_streamed_usage_is_only_for_those_who_ask():
    """A chunk without choices would break clients that did not ask for usage."""
    async with await Scripted(["x"]).forward(orjson.dumps(asked("hi", stream=True)), {}) as stream:
        assert b"usage" not in b"".join([chunk async for chunk in stream.chunks])


@pytest.mark.parametrize("raw", [b"", b"[]", b"{"])
async def test_forwarding_nonsense_is_refused(raw):
    """A body that is not a JSON object is an error of the client."""
    with pytest.raises(UpstreamRefused, match="invalid_json"):
        await forward_by_completing(Scripted(["x"]).complete, raw)
