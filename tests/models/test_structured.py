"""Structured output: request, parsing and repair."""

from typing import Literal

import orjson
import pytest
from pydantic import BaseModel, ConfigDict

from models.client import Models
from models.errors import UnreadableAnswer, UpstreamRefused
from models.scripted import Scripted
from models.settings import ModelSettings
from models.structured import UnreadableText, read_answer
from models.usage import Ledger
from tests.models.conftest import completion, refuse, say


class Verdict(BaseModel):
    model_config = ConfigDict(extra="forbid")
    verdict: Literal["accept", "reject"]
    reason: str


MESSAGES = [{"role": "system", "content": "You judge."}, {"role": "user", "content": "{}"}]
GOOD = '{"verdict": "reject", "reason": "plays a friend"}'
ACCEPT = GOOD.replace("reject", "accept")
VALUE = Verdict(verdict="reject", reason="plays a friend")


async def ask(models, ledger=None, **more):
    return await models.structured(
        "judge", MESSAGES, Verdict, step="role", ledger=ledger if ledger is not None else Ledger(), **more
    )


async def test_schema_is_sent_and_the_answer_is_read(models_at, upstream):
    """The strict schema is in `response_format`, the messages stay unchanged, and the raw text is kept."""
    upstream.replies = [say(GOOD)]
    answer = await ask(models_at(), options={"seed": 7})
    assert (answer.value, answer.raw, answer.repaired) == (VALUE, GOOD, False)
    sent = upstream.seen[0]
    assert (sent["messages"], sent["seed"]) == (MESSAGES, 7)
    assert sent["response_format"]["type"] == "json_schema"
    form = sent["response_format"]["json_schema"]
    assert (form["name"], form["strict"], form["schema"]["additionalProperties"]) == ("Verdict", True, False)


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"```\n{GOOD}```",
        f"Here is my verdict:\n\n{GOOD}\n",
        f"Sure.\n```json\n{GOOD}\n```",
        f"I wonder. Should I say {GOOD.replace('reject', 'accept')}?\n</think>\n\n{GOOD}",
        f'<think>Should I say {{}} or {{"verdict": "accept"}}?</think>\n{GOOD}',
        "\ufeff" + GOOD,
    ],
)
def test_wrapped_object_is_read(text):
    """Code fences, thoughts and prose before the object are accepted."""
    assert read_answer(completion(text), Verdict) == VALUE


@pytest.mark.parametrize(
    "reason", ["It says ```rm -rf /``` is safe.", "</think>", '<think>{"verdict": "accept"}', "[1]"]
)
def test_what_an_object_quotes_does_not_matter(reason):
    """The reason of a verdict may quote JSON from the text under judgement."""
    value = Verdict(verdict="reject", reason=reason)
    for text in (value.model_dump_json(), f"```json\n{value.model_dump_json(indent=1)}\n```"):
        assert read_answer(completion(text), Verdict) == value


def test_parts_are_read():
    """Some servers send content as a list of parts."""
    assert read_answer(completion([{"type": "text", "text": GOOD}]), Verdict) == VALUE


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (None, "empty"),
        ("", "empty"),
        ("  \n", "empty"),
        ("I reject this.", "no JSON object"),
        ("null", "no JSON object"),
        (f"[{GOOD}]", "no JSON object"),
        (GOOD.replace("}", ",}"), "not valid JSON"),
        (GOOD[:-3], "not valid JSON"),
        ('{"outer": ' + GOOD, "not valid JSON"),
        ('{"verdict": "maybe", "reason": "x"}', "verdict: Input should be 'accept' or 'reject'"),
        ('{"verdict": "accept"}', "reason: Field required"),
        ('{"verdict": "accept", "reason": "x", "more": 1}', "more: Extra inputs"),
        (GOOD + GOOD.replace("reject", "accept"), "several"),
        (f"The draft says {GOOD.replace('reject', 'accept')} but I say {GOOD}", "several"),
        ('{"a":' * 100_000, "nested"),
        (f"The reply contains {ACCEPT}, which is meant for me. I reject it.", "several"),
        (f"The reply contains {ACCEPT}", "several"),
        (f"{ACCEPT}\nOn reflection: reject.", "several"),
        (f"```json\n{ACCEPT}\n```\nis what it wants me to say:\n{GOOD}", "several"),
        (f"The reply says:\n```json\n{ACCEPT}\n```\nI reject it.", "several"),
        (f"```json\n{ACCEPT}", "several"),
        (f"<think>\n{ACCEPT}", "no JSON object"),
        (f"<think>One could say\n{ACCEPT}\nbut this is dangerous advice, so", "no JSON object"),
        (f"Perhaps {ACCEPT}? No, it is harmful.\n</think>\nreject", "no JSON object"),
        ('{"verdict": "reject", "reason": "bad", "verdict": "accept"}', "duplicate key 'verdict'"),
    ],
)
def test_unreadable_answer_says_what_is_wrong(text, problem):
    """The problem is described for the model. With two objects, neither is used."""
    found = read_answer(completion(text), Verdict)
    assert isinstance(found, UnreadableText)
    assert problem in found.problem


@pytest.mark.parametrize("text", [GOOD[:-3], GOOD])
def test_answer_that_was_cut_off_is_told_so(text):
    """The model must write a shorter answer."""
    answer = completion(text)
    answer["choices"][0]["finish_reason"] = "length"
    found = read_answer(answer, Verdict)
    assert isinstance(found, UnreadableText)
    assert "shorter" in found.problem


@pytest.mark.parametrize(
    "choices",
    [
        [{"message": {"content": ACCEPT, "refusal": "I cannot judge this."}, "finish_reason": "stop"}],
        [{"message": {"content": ACCEPT}, "finish_reason": "content_filter"}],
        [{"message": {"content": [{"type": "thinking", "text": ACCEPT}]}, "finish_reason": "stop"}],
        [{"index": 1, "message": {"content": ACCEPT}}, {"index": 0, "message": {"content": GOOD}}],
    ],
    ids=["refused", "filtered", "thought", "two choices"],
)
def test_what_was_not_said_to_the_end_is_no_answer(choices):
    """A refused, filtered or ambiguous answer is unreadable, even if it contains an object."""
    assert isinstance(read_answer({"choices": choices}, Verdict), UnreadableText)


async def test_one_repair_round(models_at, upstream):
    """The repair request has the answer and its problem."""
    upstream.replies = [say('{"verdict": "maybe", "reason": "x"}'), say(GOOD)]
    ledger = Ledger()
    answer = await ask(models_at(), ledger)
    assert (answer.value, answer.raw, answer.repaired) == (VALUE, GOOD, True)
    *first, said, wish = upstream.seen[1]["messages"]
    assert first == MESSAGES
    assert said == {"role": "assistant", "content": '{"verdict": "maybe", "reason": "x"}'}
    assert wish["role"] == "user"
    assert "verdict: Input should be 'accept' or 'reject'" in wish["content"]
    assert upstream.seen[1]["response_format"] == upstream.seen[0]["response_format"]
    assert [(call.step, call.error) for call in ledger.calls] == [("role", None)] * 2


@pytest.mark.parametrize("text", [None, "", "No.", '{"verdict": "accept"}'])
async def test_second_unreadable_answer_is_an_error(models_at, upstream, text):
    """No third request is sent, and the message does not contain the answer."""
    upstream.replies = [say(text)]
    with pytest.raises(UnreadableAnswer) as raised:
        await ask(models_at())
    assert len(upstream.seen) == 2
    assert upstream.seen[1]["messages"][-2]["content"]
    assert raised.value.raw == (text or "")
    assert (raised.value.alias, raised.value.step) == ("judge", "role")
    assert not text or text not in f"{raised.value} {raised.value.args}"


async def test_refused_response_format_is_remembered(models_at, upstream):
    """Each refusal leads to the next less strict way, which later requests use at once."""
    no = refuse(400, param="response_format")
    upstream.replies = [no, no, say(GOOD)]
    models = models_at()
    assert (await ask(models)).value == VALUE
    assert (await ask(models)).value == VALUE
    forms = [body.get("response_format", {}).get("type") for body in upstream.seen]
    assert forms == ["json_schema", "json_object", None, None]
    system, user = upstream.seen[-1]["messages"]
    assert system["content"].startswith("You judge.\n\n")
    assert '"enum":["accept","reject"]' in system["content"]
    assert user == MESSAGES[1]


@pytest.mark.parametrize(
    "reply",
    [
        refuse(400, message="This response_format type is unavailable now"),
        refuse(422, "invalid_value", message="json_schema is not supported"),
        refuse(400, 400),
        refuse(400, "response_format_unsupported"),
    ],
)
async def test_servers_say_so_in_many_ways(models_at, upstream, reply):
    """Few servers fill in `param`. An error without a field may be about the response format."""
    upstream.replies = [reply, say(GOOD)]
    assert (await ask(models_at())).value == VALUE
    assert upstream.seen[1]["response_format"] == {"type": "json_object"}


@pytest.mark.parametrize(
    "reply",
    [refuse(400, "context_length_exceeded", "messages"), refuse(401), refuse(404), refuse(400, "x", "max_tokens")],
)
async def test_other_refusals_are_final(models_at, upstream, reply):
    """For example, a prompt that is too long is not sent three times."""
    upstream.replies = [reply]
    with pytest.raises(UpstreamRefused):
        await ask(models_at())
    assert len(upstream.seen) == 1


async def test_refusal_of_everything_teaches_nothing(models_at, upstream):
    """If even the request without a response format is refused, the way stays unchanged."""
    upstream.replies = [refuse(400)] * 3 + [say(GOOD)]
    models = models_at()
    with pytest.raises(UpstreamRefused):
        await ask(models)
    await ask(models)
    assert upstream.seen[-1]["response_format"]["type"] == "json_schema"


@pytest.mark.parametrize(("way", "form"), [("json_object", {"type": "json_object"}), ("prompt", None)])
async def test_way_can_be_configured(models_at, upstream, way, form):
    """Some servers ignore `response_format` silently and need the instruction in the prompt."""
    upstream.replies = [say(GOOD)]
    await ask(models_at(structured=way))
    assert upstream.seen[0].get("response_format") == form
    assert "JSON" in upstream.seen[0]["messages"][0]["content"]


async def test_instruction_leads_where_there_is_no_system_message():
    """The instruction always precedes the user's text."""
    engine = Scripted([orjson.loads(GOOD)])
    settings = {"judge": ModelSettings(engine="embedded", structured="prompt")}
    models = Models(settings, {"judge": engine})
    await models.structured("judge", MESSAGES[1:], Verdict, step="s", ledger=Ledger())
    assert [message["role"] for message in engine.requests[0]["messages"]] == ["system", "user"]
