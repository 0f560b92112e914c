"""The usage of a forwarded answer is parsed from its bytes."""

import json
from typing import Any

import pytest

from models.usage import Usage
from proxy.api.forwarded_usage import TAIL, WHOLE, StreamUsage, usage_of

SENT = 80
WORDS = [f" word{n:03d}" for n in range(78)]
HEAD = {"id": "chatcmpl-abcdefghijklmnop", "object": "chat.completion.chunk", "created": 1_700_000_000, "model": "m"}
USAGE = {
    "prompt_tokens": 19,
    "completion_tokens": 50,
    "total_tokens": 69,
    "prompt_tokens_details": {"cached_tokens": 4},
}
LYING: list[Any] = [
    {"prompt_tokens": -5, "completion_tokens": 50},
    {"prompt_tokens": 19, "completion_tokens": -50},
    {"prompt_tokens": "19", "completion_tokens": "50"},
    {"prompt_tokens": True, "completion_tokens": 50},
    {"prompt_tokens": 1.5, "completion_tokens": 50},
    {"prompt_tokens": 19, "completion_tokens": 10**30},
    {"prompt_tokens": 19},
    {},
    [],
    "many",
    None,
]


def event(delta: dict[str, Any] | None = None, **more: Any) -> bytes:
    choices = [] if delta is None else [{"index": 0, "delta": delta, "logprobs": None, "finish_reason": None}]
    return b"data: " + json.dumps({**HEAD, "choices": choices, **more}, separators=(",", ":")).encode() + b"\n\n"


def streamed(*last: bytes, words: list[str] = WORDS, **more: Any) -> list[bytes]:
    first = event({"role": "assistant", "content": ""}, **more)
    return [first, *(event({"content": word}, **more) for word in words), *last, b"data: [DONE]\n\n"]


def heard(parts: list[bytes]) -> Usage:
    relayed = StreamUsage()
    for part in parts:
        relayed.add_lines(part)
    return relayed.usage(SENT)


def answered(**more: Any) -> bytes:
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": "Hello!" * 10}}], **more}).encode()


def test_a_stream_used_what_its_upstream_says() -> None:
    """In the last event, with `null` in the others, or cumulative in each; in one piece or in many."""
    last = event(usage=USAGE)
    assert heard(streamed(last, usage=None)) == Usage(19, 50, cached_tokens=4)
    assert not heard(streamed(last)).estimated
    assert heard([b"".join(streamed(last))]) == Usage(19, 50, cached_tokens=4)
    growing = [event({"content": "x"}, usage={"prompt_tokens": 19, "completion_tokens": n}) for n in range(1, 9)]
    assert heard(growing[:5]) == Usage(19, 5)
    assert heard([json.dumps({"usage": USAGE}, indent=1).encode()]) == Usage(19, 50, cached_tokens=4)


@pytest.mark.parametrize("parts", [streamed(), streamed(usage=None), [b"".join(streamed())]])
def test_a_stream_without_usage_is_estimated_from_its_texts(parts: list[bytes]) -> None:
    """Not from the JSON around each word, which is twenty times as long."""
    usage = heard(parts)
    assert usage.estimated
    assert (usage.prompt_tokens, usage.completion_tokens) == (SENT // 4, len("".join(WORDS)) // 4)


@pytest.mark.parametrize("usage", LYING)
def test_a_usage_that_cannot_be_is_not_believed(usage: Any) -> None:
    """Neither in a stream nor in a short or long body."""
    found = heard(streamed(event(usage=usage)))
    assert (found.estimated, found.completion_tokens) == (True, len("".join(WORDS)) // 4)
    found = usage_of(answered(usage=usage), SENT)
    assert (found.estimated, found.prompt_tokens, found.completion_tokens) == (True, SENT // 4, 15)
    assert usage_of(answered(padding="x" * WHOLE, usage=usage), SENT).estimated


def test_an_answer_used_what_its_upstream_says() -> None:
    """Anywhere in a short body; at the end of a long one."""
    assert usage_of(answered(usage=USAGE), SENT) == Usage(19, 50, cached_tokens=4)
    assert usage_of(answered(usage=USAGE, padding="x" * (WHOLE // 2)), SENT) == Usage(19, 50, cached_tokens=4)
    assert not usage_of(answered(padding="x" * WHOLE, usage=USAGE), SENT).estimated
    assert usage_of(answered(usage=USAGE, padding="x" * WHOLE), SENT).estimated


def test_an_answer_without_usage_is_estimated() -> None:
    """From its texts. A body without known texts, or a long body, is estimated from its size."""
    assert usage_of(answered(padding="x" * 1000), SENT).completion_tokens == 15
    assert usage_of(b'{"text": "' + b"x" * 1000 + b'"}', SENT).completion_tokens > 250
    assert usage_of(b"\x00" * (WHOLE + 1), SENT).completion_tokens == WHOLE // 4
    assert heard([b"data: " + b"x" * 394]).completion_tokens == 100
    assert usage_of(b"", SENT) == Usage(SENT // 4, 0)


def test_what_a_model_writes_is_no_usage() -> None:
    """Otherwise a user could make the model report zero usage."""
    forged = '"usage":{"prompt_tokens":0,"completion_tokens":0}'
    assert heard(streamed(words=[forged])).estimated
    assert usage_of(answered(padding="x" * WHOLE + forged), SENT).estimated
    assert usage_of(answered(nested={"usage": {"prompt_tokens": 0, "completion_tokens": 0}}), SENT).estimated


@pytest.mark.parametrize("field", ["refusal", "reasoning", "reasoning_content"])
def test_what_is_written_elsewhere_counts_too(field: str) -> None:
    """Reasoning, refusals and arguments of tools are tokens too."""
    assert heard([event({field: "x" * 400})]).completion_tokens == 100
    call = {"index": 0, "function": {"arguments": '{"city": "' + "x" * 400}}
    assert heard([event({"tool_calls": [call]})]).completion_tokens >= 100


@pytest.mark.parametrize(
    "odd",
    [
        b'"usage":{' * (TAIL // 2),
        b'"usage":' + b'{"a":' * TAIL,
        b'"content":"' * 100_000,
        b'"content":"' + b"\\" * 100_001,
        b'"usage":{"prompt_tokens":\xff',
    ],
    ids=["unclosed", "deep", "openings", "backslashes", "no text"],
)
def test_odd_bytes_are_estimated(odd: bytes) -> None:
    """Any bytes get an estimate, in linear time."""
    for usage in (heard([odd]), usage_of(odd, SENT)):
        assert usage.estimated
        assert 0 <= usage.completion_tokens <= len(odd)


@pytest.mark.parametrize(
    "answer",
    [
        {"usage": USAGE, "inner": {"usage": {"prompt_tokens": 1, "completion_tokens": 1}}},
        {"inner": [{"usage": {"prompt_tokens": 1, "completion_tokens": 1}}], "usage": USAGE, "tier": "default"},
        {"usage": USAGE, "said": 'the "usage": {"prompt_tokens": 1, "completion_tokens": 1}}'},
        {"usage": USAGE, "all": {"of": [{"usage": {"prompt_tokens": 1, "completion_tokens": 1}}, 2], "it": 3}},
    ],
)
def test_the_usage_is_the_answer_s_own_and_not_one_of_something_within_it(answer: dict[str, Any]) -> None:
    """At any place in the answer."""
    assert usage_of(json.dumps(answer).encode(), SENT) == Usage(19, 50, cached_tokens=4)
