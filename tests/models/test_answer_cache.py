"""The answer cache: stored answers are not requested again."""

import json
import stat

import pytest

from judges.observation import Opinion
from models.answer_cache import AnswerCache, CachingEngine, cache_hits
from models.client import Models
from models.errors import ModelSettingsError, UpstreamGarbled, UpstreamUnavailable
from models.recording import request_key
from models.scripted import Scripted
from models.settings import ModelSettings
from models.usage import Ledger
from tests.judges.evaluation.builders import TONE, says


@pytest.fixture
def file(tmp_path):
    return tmp_path / "folder" / "answers.jsonl"


def body(text="Hello", **more):
    return {"model": "m", "messages": [{"role": "user", "content": text}]} | more


async def ask(file, engine, *bodies, at=None):
    """Open the cache as a new run would, ask, and return the answers."""
    memory = AnswerCache(file)
    one = CachingEngine(engine, memory, at)
    try:
        return [(await one.complete(b))["choices"][0]["message"]["content"] for b in bodies]
    finally:
        memory.close()


async def test_recorded_answer_is_not_asked_again(file):
    """The second run gets the same text and usage without a request."""
    assert await ask(file, Scripted(["one"]), body()) == ["one"]
    engine = Scripted([])
    told = []
    cache_hits.set(told)
    memory = AnswerCache(file)
    answer = await CachingEngine(engine, memory).complete(body())
    memory.close()
    assert answer["choices"][0]["message"]["content"] == "one"
    assert answer["usage"] == {"prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3}
    assert (engine.requests, len(told)) == ([], 1)


async def test_recorded_answer_is_given_once_a_run(file):
    """If a run repeats a request, the one stored answer is used only once."""
    await ask(file, Scripted(["one", "two"]), body(), body())
    engine = Scripted(["three"])
    assert await ask(file, engine, body(), body(), body()) == ["one", "two", "three"]
    assert len(engine.requests) == 1
    assert await ask(file, Scripted([]), body(), body(), body()) == ["one", "two", "three"]


@pytest.mark.parametrize(
    "other",
    [
        {"text": "Hi"}, {"model": "n"}, {"temperature": 1}, {"temperature": 0}, {"top_p": 0.5}, {"max_tokens": 9},
        {"max_completion_tokens": 9}, {"seed": 3}, {"response_format": {"type": "json_object"}}, {"stop": ["."]},
        {"tools": [{"type": "function", "function": {"name": "f"}}]}, {"tool_choice": "none"}, {"presence_penalty": 1},
        {"frequency_penalty": 1}, {"logit_bias": {"1": 5}}, {"n": 2}, {"reasoning_effort": "low"}, {"not_yet_invented": 1},
    ],
    ids=str,
)  # fmt: skip
async def test_what_would_change_the_answer_is_asked(file, other):
    """A different text, model, schema or setting is a cache miss."""
    await ask(file, Scripted(["one"]), body())
    engine = Scripted(["two"])
    assert await ask(file, engine, body(**other)) == ["two"]
    assert await ask(file, Scripted([]), body(**other)) == ["two"]
    assert await ask(file, Scripted([]), body()) == ["one"]


@pytest.mark.parametrize(
    "other", [{"user": "u"}, {"metadata": {"turn": "7"}}, {"stream": True}, {"store": False}], ids=str
)
async def test_what_does_not_change_the_answer_is_not_asked_again(file, other):
    """Fields about the client and the transport are not part of the cache key."""
    await ask(file, Scripted(["one"]), body())
    assert await ask(file, Scripted([]), body(**other)) == ["one"]


async def test_answers_recorded_with_fewer_settings_are_still_known(file):
    """Earlier versions stored only these settings."""
    asked = body(temperature=0, max_tokens=9, top_p=1, response_format={"type": "json_object"}, seed=1)
    line = {"key": request_key(asked), "settings": {"max_tokens": 9, "temperature": 0, "top_p": 1}, "content": "one"}
    file.parent.mkdir()
    file.write_text(json.dumps(line) + "\n")
    assert await ask(file, Scripted([]), asked) == ["one"]


async def test_another_server_is_asked(file):
    """Two servers may use the same name for different models."""
    await ask(file, Scripted(["one"]), body(), at="http://a/v1")
    assert await ask(file, Scripted(["two"]), body(), at="http://b/v1") == ["two"]
    assert await ask(file, Scripted([]), body(), at="http://a/v1") == ["one"]


@pytest.mark.parametrize("cut", [1, 20, 2])
async def test_torn_last_line_is_passed_over(file, cut):
    """A process that is killed while it writes loses only that answer, and later lines are valid."""
    await ask(file, Scripted(["one", "два"]), body("a"), body("b"))
    whole = file.read_bytes()
    file.write_bytes(whole[:-cut])
    engine = Scripted(["again"])
    said = await ask(file, engine, body("a"), body("b"))
    lost = cut > 1  # without its line break alone the line is whole
    assert said == ["one", "again" if lost else "два"]
    assert len(engine.requests) == lost
    assert await ask(file, Scripted([]), body("a"), body("b")) == said


@pytest.mark.parametrize(
    "line", ["nonsense", "5", "[]", "{}", '{"key": ["a"], "settings": {}, "content": "x"}', "\x00"]
)
async def test_line_of_something_else_is_passed_over(file, line):
    """A damaged line must not make a run pay for all answers again."""
    await ask(file, Scripted(["one"]), body())
    file.write_text(line + "\n" + file.read_text())
    assert await ask(file, Scripted([]), body()) == ["one"]


async def test_failure_is_not_remembered(file):
    """After a failure, or an answer with an error object, the request is sent again."""
    for failure in (UpstreamGarbled("x"), {"choices": [], "error": {"message": "overloaded"}}):
        with pytest.raises((UpstreamGarbled, UpstreamUnavailable)):
            await ask(file, Scripted([failure]), body())
    assert file.read_text() == ""
    assert await ask(file, Scripted(["one"]), body()) == ["one"]


@pytest.mark.parametrize("text", ["", "line\nbreak\r\u2028\x85", "half \ud83d a pair", "日本 😀"])
async def test_any_text_comes_back_as_it_was(file, text):
    """Line separators, unpaired surrogates and all scripts are preserved."""
    await ask(file, Scripted([text]), body())
    assert await ask(file, Scripted([]), body()) == [text]


async def test_tool_calls_come_back(file):
    """An answer without text is stored too."""
    call = {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    memory = AnswerCache(file)
    first = await CachingEngine(Scripted([call]), memory).complete(body())
    memory.close()
    memory = AnswerCache(file)
    again = await CachingEngine(Scripted([]), memory).complete(body())
    memory.close()
    assert again["choices"] == first["choices"]


async def test_repair_round_is_remembered(file):
    """The repair request depends on `finish_reason`, so that field must be stored."""
    cut_off = {"choices": [{"message": {"content": '{"verdict": '}, "finish_reason": "length"}]}
    settings = {"swift": ModelSettings(engine="scripted", script=[])}
    for answers in ([cut_off, says("warn")], []):
        memory, engine = AnswerCache(file), Scripted(answers)
        models = Models(settings, {"swift": CachingEngine(engine, memory)}, first_pause_s=0)
        messages = [{"role": "system", "content": TONE.text}]
        found = await models.structured("swift", messages, Opinion, step="tone.swift", ledger=Ledger())
        memory.close()
        assert (found.value.verdict, found.repaired, len(engine.requests)) == ("warn", True, len(answers))


async def test_file_is_readable_by_its_owner_alone(file):
    """Answers of judges quote conversations. Requests are not stored."""
    await ask(file, Scripted(["one"]), body("my secret"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "secret" not in file.read_text()
    assert json.loads(file.read_text())["content"] == "one"


def test_place_that_cannot_be_written_is_told(tmp_path):
    """The error occurs before any paid call."""
    (tmp_path / "file").write_text("")
    with pytest.raises(ModelSettingsError, match=r"cannot open the answer cache '.*file/answers.jsonl'"):
        AnswerCache(tmp_path / "file" / "answers.jsonl")
