"""`Models.complete`: requests, retries and the ledger, with a real server."""

import asyncio
import time
from email.utils import formatdate

import pytest

from models.alias import LONGEST_PAUSE_S
from models.errors import (
    ModelError,
    ModelSettingsError,
    UpstreamBusy,
    UpstreamGarbled,
    UpstreamRefused,
    UpstreamTimeout,
    UpstreamUnavailable,
)
from models.usage import Ledger, Usage
from tests.models.conftest import KEY, completion, cut, drip, give, hang, refuse, say, until

ASK = {"messages": [{"role": "user", "content": "Hi, I am Ann and my secret is 4711."}]}


async def ask(models, body=ASK, ledger=None):
    return await models.complete("judge", body, step="draft", ledger=ledger if ledger is not None else Ledger())


async def test_answer_comes_back_whole(models_at, upstream):
    """The answer is the upstream's body, including unknown fields."""
    upstream.replies = [say("Hello.", system_fingerprint="fp", novelty={"a": [1]})]
    answer = await ask(models_at())
    assert answer == completion("Hello.", system_fingerprint="fp", novelty={"a": [1]})


async def test_request_reaches_the_upstream_whole(models_at, upstream):
    """Unknown fields, tools and `n` are forwarded, model and defaults are added, and the caller's dict stays unchanged."""
    body = ASK | {"model": "chatbot", "n": 2, "tools": [{"type": "function"}], "novelty": 1, "stream": True}
    before = dict(body)
    await ask(models_at(temperature=0.2, max_tokens=7), body)
    wanted = {"model": "m", "temperature": 0.2, "max_tokens": 7}
    assert upstream.seen == [ASK | {"n": 2, "tools": [{"type": "function"}], "novelty": 1} | wanted]
    assert body == before


async def test_alias_is_the_model_where_none_is_named(models_at, upstream):
    """Without `model`, the alias is the name of the model at the upstream."""
    await ask(models_at(model=None))
    assert upstream.seen[0]["model"] == "judge"


@pytest.mark.parametrize(
    "own", [{"max_tokens": 3}, {"max_completion_tokens": 3}, {"temperature": 0}, {"temperature": 1.5}]
)
async def test_request_outranks_the_settings(models_at, upstream, own):
    """Configured temperature and length are only defaults. Both names of the length are recognized."""
    await ask(models_at(temperature=0.7, max_tokens=9), ASK | own)
    sent = upstream.seen[0]
    assert sent.items() >= own.items()
    assert ("max_tokens" in sent) is ("max_completion_tokens" not in own)


async def test_key_headers_and_query_are_sent(models_at, upstream):
    """Azure needs the key in a custom header and the API version in the query."""
    models = models_at(headers={"api-key": "env:AZURE", "X-Team": "blue"}, query={"api-version": "2026-01"})
    await ask(models)
    headers = upstream.headers[0]
    assert (headers["Authorization"], headers["api-key"], headers["X-Team"]) == (
        f"Bearer {KEY}",
        "azure-secret",
        "blue",
    )
    assert upstream.queries[0] == {"api-version": "2026-01"}


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503])
async def test_passing_trouble_is_tried_again(models_at, upstream, status):
    """Temporary failures are retried, and the ledger has one call with its number of attempts."""
    upstream.replies = [refuse(status), refuse(status), say("At last.")]
    ledger = Ledger()
    answer = await ask(models_at(), ledger=ledger)
    assert answer["choices"][0]["message"]["content"] == "At last."
    assert [(call.attempts, call.error, call.usage) for call in ledger.calls] == [(3, None, Usage(10, 5))]


@pytest.mark.parametrize("attempts", [1, 2, 4])
async def test_tries_are_bounded(models_at, upstream, attempts):
    """The number of tries is at most `max_attempts`."""
    upstream.replies = [refuse(503)]
    ledger = Ledger()
    with pytest.raises(UpstreamUnavailable) as raised:
        await ask(models_at(max_attempts=attempts), ledger=ledger)
    assert (len(upstream.seen), raised.value.status) == (attempts, 503)
    assert [(call.error, call.attempts) for call in ledger.calls] == [("UpstreamUnavailable", attempts)]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
async def test_refusal_is_final(models_at, upstream, status):
    """A refused request is not retried."""
    upstream.replies = [refuse(status, "invalid_type", "messages[0].content")]
    ledger = Ledger()
    with pytest.raises(UpstreamRefused) as raised:
        await ask(models_at(), ledger=ledger)
    error = raised.value
    assert len(upstream.seen) == 1
    assert ledger.calls[0].cause == error.cause
    assert (error.status, error.code, error.param) == (status, "invalid_type", "messages[0].content")
    assert (error.alias, error.step) == ("judge", "draft")
    assert "'judge'" in str(error)
    assert "'draft'" in str(error)


async def test_nothing_the_upstream_wrote_is_repeated(models_at, upstream):
    """An upstream's message, code and param may quote keys and prompts."""
    leak = f"Incorrect key {KEY}; you said: my secret is 4711"
    upstream.replies = [refuse(400, leak, leak, leak)]
    with pytest.raises(UpstreamRefused) as raised:
        await ask(models_at())
    said = f"{raised.value} {raised.value!r} {raised.value.args} {vars(raised.value)}"
    assert KEY not in said
    assert "4711" not in said
    assert (raised.value.code, raised.value.param) == (None, None)
    assert raised.value.__cause__ is None


@pytest.mark.parametrize("trouble", [cut, hang, refuse(401), refuse(500), give(b"<html>sk-html</html>")])
async def test_no_error_holds_the_key(models_at, upstream, trouble):
    """The key is not in the message, the repr, the attributes, or the chained exceptions that a log prints."""
    upstream.replies = [trouble]
    with pytest.raises(ModelError) as raised:
        await ask(models_at(timeout_s=0.1, max_attempts=1))
    error = raised.value
    assert KEY not in f"{error} {error!r} {vars(error)} {error.__cause__!r}"
    assert error.__cause__ is None
    assert error.__context__ is None or error.__suppress_context__


@pytest.mark.parametrize(
    ("after", "least", "most"), [("0", 0, 0.3), ("1", 1, 1.6), (formatdate(0, usegmt=True), 0, 0.3)]
)
async def test_upstream_says_when_to_come_again(models_at, upstream, after, least, most):
    """Both forms of Retry-After are respected."""
    upstream.replies = [refuse(429, retry_after=after), say("Now.")]
    started = time.perf_counter()
    await ask(models_at(first_pause_s=5))
    assert least <= time.perf_counter() - started < most


async def test_wait_is_capped_and_the_wish_is_told(models_at, upstream, monkeypatch):
    """A Retry-After of 120 s becomes a wait of 20 s, but the error reports 120 s to the client."""
    assert LONGEST_PAUSE_S == 20
    monkeypatch.setattr("models.alias.LONGEST_PAUSE_S", 0.1)
    upstream.replies = [refuse(429, retry_after="120")]
    started = time.perf_counter()
    with pytest.raises(UpstreamBusy) as raised:
        await ask(models_at(max_attempts=2))
    assert raised.value.retry_after == 120
    assert len(upstream.seen) == 2
    assert 0.1 <= time.perf_counter() - started < 5


async def test_whole_try_is_bounded_in_time(models_at, upstream):
    """Bytes that arrive slowly never reach the read timeout. The timeout of the whole try applies, without a retry."""
    upstream.replies = [drip]
    ledger = Ledger()
    started = time.perf_counter()
    with pytest.raises(UpstreamTimeout):
        await ask(models_at(timeout_s=0.3), ledger=ledger)
    assert time.perf_counter() - started < 1
    assert len(upstream.seen) == 1
    assert 300 <= ledger.calls[0].ms < 1000
    await asyncio.wait_for(upstream.left.wait(), 2)


@pytest.mark.parametrize("reply", [hang, drip])
async def test_cancelling_closes_the_connection(models_at, upstream, reply):
    """The upstream sees the disconnect, and the ledger records the call."""
    upstream.replies = [reply]
    ledger = Ledger()
    task = asyncio.create_task(ask(models_at(), ledger=ledger))
    await asyncio.sleep(0.15)
    assert len(upstream.seen) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await asyncio.wait_for(upstream.left.wait(), 2)
    assert [(call.error, call.cost) for call in ledger.calls] == [("cancelled", None)]


@pytest.mark.parametrize("cause", ["cancelled", "UpstreamTimeout", "OutOfTime"])
async def test_what_was_asked_is_paid_where_the_answer_is_not_waited_for(models_at, upstream, cause):
    """The cost of a cancelled call is estimated. Otherwise clients could avoid a budget by disconnecting early."""
    upstream.replies = [hang]
    ledger = Ledger()
    if cause == "OutOfTime":
        ledger.until = asyncio.get_running_loop().time() + 0.3
    models = models_at(price={"input": 1, "output": 2}, timeout_s=0.3 if cause == "UpstreamTimeout" else 30)
    task = asyncio.create_task(ask(models, {"messages": [{"role": "user", "content": "x" * 400}]}, ledger=ledger))
    if cause == "cancelled":
        await until(lambda: upstream.seen)
        task.cancel()
    with pytest.raises((asyncio.CancelledError, UpstreamTimeout)):
        await task
    (call,) = ledger.calls
    assert (call.error, call.usage, call.usage.estimated) == (cause, Usage(100, 0), True)
    assert call.cost == pytest.approx(100e-6)


@pytest.mark.parametrize("reply", [refuse(400), refuse(429), refuse(503), cut, None])
async def test_what_no_model_has_answered_is_not_paid(models_at, upstream, reply):
    """A refusal, a busy or failing upstream, a failed connection and a lack of time cost nothing."""
    ledger = Ledger()
    if reply is None:
        ledger.until = asyncio.get_running_loop().time()
    else:
        upstream.replies = [reply]
    with pytest.raises(ModelError):
        await ask(models_at(price={"input": 1, "output": 2}, max_attempts=1), ledger=ledger)
    assert [(call.usage, call.cost) for call in ledger.calls] == [(Usage(), None)]


async def test_who_leaves_between_two_tries_has_nothing_under_way(models_at, upstream):
    """The first try failed and the second was not sent, so nothing is charged."""
    upstream.replies = [refuse(429, retry_after="20")]
    ledger = Ledger()
    models = models_at(price={"input": 1, "output": 2}, max_concurrent=1)
    task = asyncio.create_task(ask(models, ledger=ledger))
    await until(lambda: upstream.seen and not models.bulkheads["judge"].running)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(call.usage, call.cost) for call in ledger.calls] == [(Usage(), None)]


async def test_nobody_listens(models_at):
    """A refused connection is retried, then reported."""
    ledger = Ledger()
    with pytest.raises(UpstreamUnavailable, match="base_url"):
        await ask(models_at(base_url="http://127.0.0.1:9/v1", max_attempts=2), ledger=ledger)
    assert ledger.calls[0].attempts == 2


@pytest.mark.parametrize(
    "body",
    [
        b"<html>busy</html>", b"", b"null", b"[1]", b'"text"', b'{"choices"', b"{}",
        b'{"choices": []}', b'{"choices": null}', b'{"choices": {"0": 1}}', b'{"choices": [1]}',
        b'{"choices": [{"index": 0}]}', b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": "a"}}, {"index": 1}]}',
        b'{"choices": [{"message": {"content": 7}}]}',
    ],
)  # fmt: skip
async def test_what_is_no_completion_is_garbled(models_at, upstream, body):
    """A body of the wrong form never reaches the caller."""
    upstream.replies = [give(body)] * 3
    ledger = Ledger()
    with pytest.raises(UpstreamGarbled):
        await ask(models_at(), ledger=ledger)
    assert [call.error for call in ledger.calls] == ["UpstreamGarbled"]


async def test_null_content_is_a_completion(models_at, upstream):
    """Tool calls and refusals have no content."""
    upstream.replies = [say(None)]
    assert (await ask(models_at()))["choices"][0]["message"]["content"] is None


async def test_content_type_does_not_matter(models_at, upstream):
    """Several servers send JSON with a wrong content type."""
    upstream.replies = [give(completion("Fine."), content_type="text/html")]
    assert (await ask(models_at()))["choices"][0]["message"]["content"] == "Fine."


async def test_redirect_is_not_followed(models_at, upstream):
    """A redirect would send the key and the conversation to another address."""
    upstream.replies = [give(b"", 307, Location=upstream.url + "/chat/completions"), say("Lured.")]
    with pytest.raises(UpstreamRefused, match="redirect"):
        await ask(models_at())
    assert len(upstream.seen) == 1


async def test_large_request_is_sent(models_at, upstream):
    """Requests with images have megabytes and must not cause a warning."""
    await ask(models_at(), {"messages": [{"role": "user", "content": "x" * (3 * 2**20)}]})
    assert len(upstream.raw[0]) > 3 * 2**20


async def test_missing_usage_is_estimated(models_at, upstream):
    """The estimate is marked as such."""
    answer = completion("four words are here.")
    del answer["usage"]
    upstream.replies = [give(answer)]
    ledger = Ledger()
    await ask(models_at(price={"input": 1, "output": 2}), ledger=ledger)
    assert ledger.calls[0].usage == Usage(9, 5)
    assert ledger.calls[0].usage.estimated
    assert ledger.cost == pytest.approx(19e-6)


async def test_system_messages_move_to_the_front(models_at, upstream):
    """With `first`, all system messages are merged into the first message, in order."""
    messages = [
        {"role": "system", "content": "Role."},
        {"role": "user", "content": "Hi."},
        {"role": "developer", "content": [{"type": "text", "text": "Warning."}]},
        {"role": "assistant", "content": "Hello."},
        {"role": "system", "content": "Source."},
    ]
    await ask(models_at(system_messages="first"), {"messages": messages})
    assert upstream.seen[0]["messages"] == [
        {"role": "system", "content": "Role.\n\nWarning.\n\nSource."},
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Hello."},
    ]
    assert len(messages) == 5
    await ask(models_at(), {"messages": messages})
    assert upstream.seen[1]["messages"] == messages


async def test_unknown_alias_is_named(models_at):
    """The message lists the configured aliases."""
    with pytest.raises(ModelSettingsError, match=r"'jugde'.*judge"):
        await models_at().complete("jugde", ASK, step="s", ledger=Ledger())
