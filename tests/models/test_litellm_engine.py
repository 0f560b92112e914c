"""The litellm engine with a local server. Tests that need litellm are skipped if it is not installed."""

import importlib.util
import subprocess
import sys

import orjson
import pytest

from models.errors import (
    ModelError,
    ModelSettingsError,
    UpstreamBusy,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from models.litellm_engine import LiteLLMEngine, litellm_arguments
from models.settings import ModelSettings
from models.usage import Ledger, Usage
from tests.models.conftest import KEY, hang, refuse, say, stream
from tests.models.test_assembly import Heard

installed = importlib.util.find_spec("litellm") is not None
needs_litellm = pytest.mark.skipif(not installed, reason="litellm is not installed")
quiet = pytest.mark.filterwarnings("ignore")  # litellm's own
ASK = {"messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture
def litellm_at(models_at):
    return lambda **more: models_at(engine="litellm", model="openai/m", **more)


def test_client_cannot_steer_litellm():
    """A request cannot set the address that gets the proxy's key, or a mock response."""
    evil = {"api_base": "http://evil", "api_key": "k", "mock_response": "ok", "fallbacks": ["x"], "model": "other"}
    given = litellm_arguments(ASK | evil | {"n": 2}, {"model": "m", "api_key": KEY})
    unknown = {name: evil[name] for name in ("api_base", "api_key", "mock_response", "fallbacks")}
    assert given == {**ASK, "n": 2, "model": "m", "api_key": KEY, "extra_body": unknown}


def test_litellm_is_not_imported_before_it_is_used():
    """The import takes two seconds and 170 MB."""
    code = "import sys, models.client, models.litellm_engine; sys.exit('litellm' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.skipif(installed, reason="litellm is installed")
def test_missing_package_is_said_at_start():
    """The message has the command that installs litellm."""
    with pytest.raises(ModelSettingsError, match="pip install"):
        LiteLLMEngine(ModelSettings(engine="litellm", model="a/b"), {})


@needs_litellm
@quiet
async def test_request_and_answer_pass_through(litellm_at, upstream):
    """Known and unknown fields, key and headers reach the provider. The answer is a plain chat completion."""
    ledger = Ledger()
    models = litellm_at(headers={"X-Team": "blue"})
    answer = await models.complete("judge", ASK | {"seed": 7, "novelty": 1}, step="s", ledger=ledger)
    assert answer["choices"][0]["message"]["content"] == "Hello."
    assert upstream.seen[0].items() >= (ASK | {"seed": 7, "novelty": 1, "model": "m"}).items()
    assert (upstream.headers[0]["Authorization"], upstream.headers[0]["X-Team"]) == (f"Bearer {KEY}", "blue")
    assert [(call.error, call.usage) for call in ledger.calls] == [(None, Usage(10, 5))]
    orjson.dumps(answer)


@needs_litellm
@quiet
@pytest.mark.parametrize(
    ("reply", "error", "tries"),
    [
        (refuse(400, "a_code", "seed"), UpstreamRefused, 1),
        (refuse(401), UpstreamRefused, 1),
        (refuse(429, retry_after="0"), UpstreamBusy, 2),
        (refuse(500), UpstreamUnavailable, 2),
        (hang, UpstreamTimeout, 1),
    ],
)
async def test_errors_are_ours(litellm_at, upstream, reply, error, tries):
    """Exceptions of litellm quote the upstream; ModelErrors do not. Only `Models` retries."""
    upstream.replies = [reply]
    with pytest.raises(error) as raised:
        await litellm_at(max_attempts=2, timeout_s=1.5).complete("judge", ASK, step="s", ledger=Ledger())
    assert len(upstream.seen) == tries
    assert KEY not in str(raised.value)
    assert raised.value.__cause__ is None


@needs_litellm
@quiet
async def test_stream_is_forwarded(litellm_at, upstream):
    """The chunks of litellm are encoded as server-sent events."""
    chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    event = chunk | {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": None}]}
    end = chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    upstream.replies = [stream(*(b"data: " + orjson.dumps(one) + b"\n\n" for one in (event, end)), b"data: [DONE]\n\n")]
    async with await litellm_at().forward("judge", orjson.dumps(ASK | {"stream": True}), {}) as answer:
        events = [event async for event in answer.chunks]
    assert events[-1] == b"data: [DONE]\n\n"
    assert orjson.loads(events[0].removeprefix(b"data: "))["choices"][0]["delta"]["content"] == "Hi"


@needs_litellm
@quiet
@pytest.mark.parametrize(
    "events",
    [
        [],
        [b"data: [DONE]\n\n"],
        [b"<html>"],
        [b'data: {"id": "c", "choices": [{"index": 0, "delta": {"content": "Most adults"}}]}\n\n'],
    ],
    ids=["empty", "done", "html", "half"],
)
async def test_a_stream_without_an_end_is_no_answer(litellm_at, upstream, events):
    """litellm adds an end to every stream, even to an incomplete one."""
    models = litellm_at(max_attempts=1)
    upstream.replies = [stream(*events)] * 3
    with pytest.raises(ModelError):
        await models.complete("judge", ASK, step="s", ledger=Ledger(), stream=Heard())
    upstream.replies = [stream(*events)] * 3
    with pytest.raises(ModelError):
        async with await models.forward("judge", orjson.dumps(ASK | {"stream": True}), {}) as answer:
            assert b"[DONE]" not in b"".join([event async for event in answer.chunks])


@needs_litellm
@quiet
async def test_answer_is_forwarded(litellm_at, upstream):
    """Without `stream`, the response is one JSON body."""
    answer = await litellm_at().forward("judge", orjson.dumps(ASK), {})
    assert answer.body is not None
    assert orjson.loads(answer.body)["choices"][0]["message"]["content"] == "Hello."
    upstream.replies = [say("x")]
