"""The response body: which fields are sent, and which never are."""

import asyncio
import json
from pathlib import Path
from typing import Any

import openai
import pytest
import structlog
from aiohttp import web

from proxy.api.service import SERVICE
from proxy.traces.backend import TraceError
from proxy.traces.query import list_turns, show
from tests.proxy.conftest import NO_PROBLEMS, Body, Start, dialogue, eventually, screening, text_of, warnings_in

SLEEP = "[[cite: sleep]]\nMost adults need seven to nine hours of sleep."
ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night. You should also stop eating gluten."
HELLO = "[[cite: no_claims]]\nHello."
NUDGE = "Which supplements should I take, and how much?"
ASKED = "How much sleep do adults need?"
CRISIS = "I am going to end my life tonight"


def upstream_says(content: Any, *, choice: Body | None = None, message: Body | None = None, **fields: Any) -> Any:
    one = {"index": 0, "message": {"role": "assistant", "content": content, **(message or {})}, "finish_reason": "stop"}
    return lambda body: {
        "id": "up", "object": "chat.completion", "created": 1, "model": "m", "choices": [one | (choice or {})],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}, **fields,
    }  # fmt: skip


async def test_openai_client_reads_the_reply(start: Start) -> None:
    """The body is a chat completion, and `caf` is an additional field."""
    proxy = await start()
    proxy.upstream.answer = lambda body: SLEEP
    messages: Any = dialogue(ASKED)
    async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="x", max_retries=0) as client:
        body = await client.chat.completions.create(model="bot", messages=messages)
        assert [m.id async for m in client.models.list()] == ["bot"]
    assert body.object == "chat.completion"
    assert body.model == "bot"
    assert body.choices[0].finish_reason == "stop"
    assert body.usage is not None
    assert body.usage.total_tokens == 15
    caf: Any = body.model_extra["caf"] if body.model_extra else None
    assert set(caf) >= {"turn_id", "conversation_id", "outcome", "citations", "warnings", "judges", "calls", "ms"}


async def test_only_known_fields_of_the_upstream_leave(start: Start) -> None:
    """Reasoning, annotations and other fields that may hold a draft are not forwarded."""
    proxy = await start()
    leak = "TAKE MAGNESIUM"
    proxy.upstream.answer = upstream_says(
        SLEEP,
        message={"reasoning_content": leak, "reasoning": leak, "thinking": leak, "annotations": [leak], "audio": {"x": leak}},
        choice={"matched_stop": leak, "content_filter_results": {"x": leak}},
        prompt_logprobs=leak, system_fingerprint="fp_1a", service_tier="default",
    )  # fmt: skip
    body = await proxy.say(ASKED)
    assert leak not in json.dumps(body)
    assert (body["system_fingerprint"], body["service_tier"]) == ("fp_1a", "default")
    assert set(body) == {
        "id",
        "object",
        "created",
        "model",
        "choices",
        "usage",
        "system_fingerprint",
        "service_tier",
        "caf",
    }
    assert set(body["choices"][0]) == {"index", "message", "logprobs", "finish_reason"}
    assert set(body["choices"][0]["message"]) == {"role", "content", "refusal"}


async def test_rules_and_not_models_speak_in_the_caf_object(start: Start) -> None:
    """A judge's own text may quote the draft, so it is not sent."""
    proxy = await start(judges=[{"name": "role", "stages": ["swift"]}], refiner=None)
    played = screening(("role", "magnesium", 2))
    proxy.upstream.answer = lambda body: played if body["model"] == "up-swift" else ADVICE
    body = await proxy.say(NUDGE)
    assert body["caf"]["outcome"] == "fallback"
    for word in ("magnesium", "fish oil", "gluten"):
        assert word not in json.dumps(body)


def tokens_of(*words: str) -> list[Body]:
    return [{"token": w, "logprob": -1.0, "bytes": list(w.encode()), "top_logprobs": []} for w in words]


HALVES = [one | {"token": half} for one, half in zip(tokens_of("x", "y"), ("\\xc3", "\\xa9"), strict=True)]
HALVES = [one | {"bytes": [byte]} for one, byte in zip(HALVES, "é".encode(), strict=True)]


@pytest.mark.parametrize("before", [(), ("[[cite:", " no_claims]]\n")])
@pytest.mark.parametrize("tokens", [tokens_of("Hello", " there."), [*tokens_of("Caf"), *HALVES, *tokens_of(" noir.")]])
async def test_logprobs_go_with_the_text_they_spell(start: Start, before: tuple[str, ...], tokens: list[Body]) -> None:
    """Without tokens of the command. Partial characters are given as bytes."""
    proxy = await start(judges=[], **({} if before else {"knowledge_base": None}))
    said = [*tokens_of(*before), *tokens]
    text = b"".join(bytes(one["bytes"]) for one in said).decode()
    proxy.upstream.answer = upstream_says(text, choice={"logprobs": {"content": said}})
    body = await proxy.say("Hi", logprobs=True)
    assert body["choices"][0]["logprobs"] == {"content": tokens, "refusal": None}


LEAK = "TAKE MAGNESIUM"
THOUGHT = tokens_of(LEAK, "Hello", " there.")
NAMED = [{**one, "token": LEAK} for one in tokens_of("Hello", " there.")]
MORE = [{**one, "x": LEAK, "top_logprobs": [{**one, "x": LEAK}]} for one in tokens_of("Hello", " there.")]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("logprobs", "kept"),
    [
        ({"content": THOUGHT, "refusal": None}, False),
        ({"content": MORE, "x": LEAK, "refusal": [{"token": LEAK}]}, True),
        ({"content": NAMED}, True),
        ({"content": [{**one, "bytes": LEAK} for one in MORE]}, False),
        ({"content": [LEAK]}, False),
        ({"tokens": [LEAK]}, False),
        (LEAK, False),
    ],
)
async def test_logprobs_hold_nothing_but_what_is_delivered(
    start: Start, logprobs: Any, kept: bool, streamed: bool
) -> None:
    """Tokens of reasoning, unknown fields, and names that differ from their bytes are not forwarded."""
    proxy = await start(judges=[], knowledge_base=None)
    proxy.upstream.answer = upstream_says("Hello there.", choice={"logprobs": logprobs})
    if streamed:
        raw = (await proxy.stream("Hi", logprobs=True)).decode()
        assert ('"logprob":' in raw) == kept
    else:
        body = await proxy.say("Hi", logprobs=True)
        assert (body["choices"][0]["logprobs"] is not None) == kept
        raw = json.dumps(body)
    assert LEAK not in raw


async def test_logprobs_of_a_reply_written_anew_are_null(start: Start) -> None:
    """They would disclose the draft."""
    proxy = await start()
    proxy.upstream.answer = upstream_says(ADVICE, choice={"logprobs": {"content": tokens_of(ADVICE)}})
    body = await proxy.say(NUDGE, logprobs=True)
    assert body["choices"][0]["logprobs"] is None


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
async def test_finish_reason_is_the_drafts_while_it_stands(start: Start, reason: str) -> None:
    """A rewritten reply has the finish_reason `stop`."""
    proxy = await start()
    proxy.upstream.answer = upstream_says(SLEEP, choice={"finish_reason": reason})
    assert (await proxy.say(ASKED))["choices"][0]["finish_reason"] == reason
    proxy.upstream.answer = upstream_says(ADVICE, choice={"finish_reason": reason})
    assert (await proxy.say(NUDGE))["choices"][0]["finish_reason"] == "stop"


async def test_missing_fields_of_the_upstream_are_made_up_for(start: Start) -> None:
    """Small servers omit id, created, finish_reason and usage; the client still gets a completion."""
    proxy = await start()
    proxy.upstream.answer = lambda body: {"choices": [{"message": {"content": HELLO}}]}
    body = await proxy.say("Hi")
    assert body["id"]
    assert body["created"] > 1
    assert body["choices"][0]["finish_reason"] == "stop"
    assert body["usage"]["total_tokens"] > 0


async def test_expose_none_leaves_the_caf_object_out(start: Start) -> None:
    """From the body, from each choice, and from the stream."""
    proxy = await start(config={"expose": "none"})
    proxy.upstream.answer = lambda body: [SLEEP, ADVICE] if body.get("n") else SLEEP
    assert '"caf"' not in json.dumps(await proxy.say(ASKED))
    assert '"caf"' not in json.dumps(await proxy.say(ASKED, n=2))
    assert b'"caf"' not in await proxy.stream(ASKED)


async def test_hidden_citations_are_still_told_to_programs(start: Start) -> None:
    """The text has no line of sources, but `caf` has the ids."""
    proxy = await start(citations="hidden")
    proxy.upstream.answer = lambda body: SLEEP
    body = await proxy.say(ASKED)
    assert text_of(body) == "Most adults need seven to nine hours of sleep."
    assert body["caf"]["citations"] == [{"id": "sleep", "title": "Sleep"}]


@pytest.mark.parametrize("kind", ["json_object", "json_schema"])
async def test_json_replies_get_no_line_and_stay_json(start: Start, kind: str) -> None:
    """The content is a valid JSON document."""
    proxy = await start(judges=[{"name": "role", "stages": ["swift"]}])
    proxy.upstream.answer = lambda body: NO_PROBLEMS if body["model"] == "up-swift" else '{"greeting": "Hello."}'
    body = await proxy.say("Hi", response_format={"type": kind})
    assert json.loads(text_of(body)) == {"greeting": "Hello."}
    assert proxy.upstream.requests[0]["response_format"] == {"type": kind}
    assert "[[cite" not in json.dumps(proxy.upstream.requests[0])


async def test_refined_json_is_not_cut_short(start: Start) -> None:
    """A document above the hard limit is delivered whole, because a part would be invalid."""
    proxy = await start(
        refiner="refiner", length={"soft": 20, "hard": 20}, judges=[{"name": "role", "stages": ["swift"]}]
    )
    document = json.dumps({"answer": "Nothing is said here. " * 20})

    def answer(body: Body) -> str:
        if body["model"] == "up-swift":
            rejected = "therapist" in body["messages"][1]["content"].split('"reply"')[1]
            return screening(*[("role", "I am your therapist", 2)] * rejected)
        return document if body["model"] == "up-refiner" else '{"answer": "I am your therapist and I feel with you."}'

    proxy.upstream.answer = answer
    body = await proxy.say("Hi", response_format={"type": "json_object"})
    assert body["caf"]["outcome"] == "refined"
    assert text_of(body) == document


@pytest.mark.parametrize("response_format", [{"type": "text"}, {}, {"type": None}, {"type": ["json_object"]}])
async def test_other_response_formats_are_text(start: Start, response_format: Body) -> None:
    """Only the two JSON formats make a reply a JSON document."""
    proxy = await start()
    proxy.upstream.answer = lambda body: SLEEP
    assert "Sources: Sleep" in text_of(await proxy.say(ASKED, response_format=response_format))


@pytest.mark.parametrize(
    "fields",
    [
        {"response_format": {"type": "json_object"}},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"functions": [{"name": "f"}]},
    ],
)
async def test_a_program_is_told_that_an_emergency_reply_is_not_what_it_waits_for(start: Start, fields: Body) -> None:
    """Content has the text for display; refusal has it for programs that parse it or expect a call."""
    proxy = await start()
    message = (await proxy.say(CRISIS, **fields))["choices"][0]["message"]
    assert message["content"] == message["refusal"] == "You matter. Call 112."


async def test_a_program_is_told_that_a_fallback_message_is_not_what_it_waits_for(start: Start) -> None:
    """Content and refusal have the text."""
    proxy = await start(refiner=None)
    proxy.upstream.answer = lambda body: ADVICE
    message = (await proxy.say(NUDGE, tools=[{"type": "function", "function": {"name": "f"}}]))["choices"][0]["message"]
    assert message["content"] == message["refusal"] == proxy.app[SERVICE].chatbots["bot"].fallback("")


async def test_emergency_answers_every_choice_asked_for(start: Start) -> None:
    """With n = 3 each choice has the emergency text."""
    proxy = await start()
    body = await proxy.say(CRISIS, n=3)
    assert [c["message"]["content"] for c in body["choices"]] == ["You matter. Call 112."] * 3
    assert [c["index"] for c in body["choices"]] == [0, 1, 2]


async def test_models_own_refusal_is_a_refusal_in_our_words(start: Start) -> None:
    """An upstream's refusal is delivered with our text, because no judge has read its own."""
    proxy = await start()
    proxy.upstream.answer = upstream_says(None, message={"refusal": "I cannot help with that."})
    body = await proxy.say("Hi")
    assert body["choices"][0]["message"] == {
        "role": "assistant",
        "content": None,
        "refusal": proxy.app[SERVICE].chatbots["bot"].fallback(""),
    }
    assert body["caf"]["outcome"] == "unfiltered"


async def test_citation_alone_beside_tool_calls_is_no_reply(start: Start) -> None:
    """A chatbot that writes a citation and a tool call does not get the fallback message."""
    proxy = await start(trusted_tools=["f"])
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    proxy.upstream.answer = upstream_says(
        "[[cite: no_claims]]", message={"tool_calls": [call]}, choice={"finish_reason": "tool_calls"}
    )
    body = await proxy.say("Hi", tools=[{"type": "function", "function": {"name": "f", "parameters": {}}}])
    message = body["choices"][0]["message"]
    (sent,) = message.pop("tool_calls")
    assert sent == {**call, "id": sent["id"]}
    assert message == {"role": "assistant", "content": None, "refusal": None}
    assert (body["choices"][0]["finish_reason"], body["caf"]["outcome"]) == ("tool_calls", "unfiltered")


async def test_content_in_parts_is_read(start: Start) -> None:
    """Some servers send the content as a list; its text is judged and delivered like any other."""
    proxy = await start()
    proxy.upstream.answer = upstream_says([{"type": "text", "text": ADVICE}])
    body = await proxy.say(NUDGE)
    assert body["caf"]["outcome"] == "refined"
    proxy.upstream.answer = upstream_says([{"type": "text", "text": SLEEP}])
    assert text_of(await proxy.say(ASKED)).startswith("Most adults need")


async def test_usage_is_the_sum_and_caf_has_the_split(start: Start) -> None:
    """Every call of the turn is counted."""
    proxy = await start(judges=[{"name": "role", "stages": ["swift"]}], retrieval={"selector": "retriever"})
    proxy.upstream.answer = lambda body: NO_PROBLEMS if body["model"] == "up-swift" else HELLO
    body = await proxy.say("Hi")
    assert body["caf"]["calls"] == len(proxy.upstream.requests) == len(body["caf"]["usage"])
    assert body["usage"]["total_tokens"] == 15 * len(proxy.upstream.requests)
    assert {u["step"] for u in body["caf"]["usage"]} == {"select", "draft", "reply.swift"}


def traced(path: Path, turn_id: str) -> Body | None:
    """Return a trace once it is written to the file."""
    try:
        return show(path, turn_id)
    except TraceError:
        return None


async def test_shadow_delivers_the_draft_and_traces_what_the_filter_would_have_done(
    start: Start, tmp_path: Path
) -> None:
    """The user sees no difference, trace and metrics have the verdicts, and the chatbot gets no warning."""
    path = tmp_path / "t.db"
    proxy = await start(config={"privacy": {"store": "full", "path": str(path)}}, filter="shadow")
    proxy.upstream.answer = lambda body: ADVICE
    body = await proxy.say(NUDGE)
    assert "magnesium" in text_of(body)
    assert (body["caf"]["outcome"], body["caf"]["judges"], body["caf"]["warnings"]) == ("unfiltered", [], [])
    turn_id = body["caf"]["turn_id"]
    await eventually(lambda: traced(path, turn_id), 5)
    verdicts = {(j["judge"], j["verdict"]) for a in show(path, turn_id)["attempts"] for j in a["judgements"]}
    assert ("transparency", "reject") in verdicts
    metrics = (await proxy.get("/metrics"))[1]
    assert 'caf_verdicts_total{judge="transparency",stage="local",verdict="reject"} 1.0' in metrics
    assert 'caf_turns_total{chatbot="bot",outcome="unfiltered"} 1.0' in metrics
    await proxy.say(NUDGE, text_of(body), "And?")
    assert not warnings_in(proxy.upstream.requests[-1])


async def test_shadow_does_not_answer_an_emergency_in_place_of_the_chatbot(start: Start) -> None:
    """Shadow mode never changes a reply, not even in an emergency."""
    proxy = await start(filter="shadow")
    body = await proxy.say(CRISIS)
    assert text_of(body) == "Hello."


async def test_failed_turn_in_shadow_is_counted_and_traced(start: Start, tmp_path: Path) -> None:
    """A failed turn is not judged."""
    path = tmp_path / "t.db"
    proxy = await start(config={"privacy": {"store": "full", "path": str(path)}}, filter="shadow")
    proxy.upstream.answer = lambda body: web.json_response({}, status=500)
    await proxy.error({"model": "bot", "messages": dialogue("WORDOFUSER")})
    assert 'caf_turns_total{chatbot="bot",outcome="error"} 1.0' in (await proxy.get("/metrics"))[1]
    await eventually(lambda: path.exists() and [line.turn_id for line in list_turns(path)], 5)


async def test_costs_of_judging_in_shadow_are_counted(start: Start) -> None:
    """Calls after the reply are counted too."""
    proxy = await start(filter="shadow", judges=[{"name": "role", "stages": ["swift"]}])
    proxy.upstream.answer = lambda body: NO_PROBLEMS if body["model"] == "up-swift" else HELLO
    await proxy.say("Hi")
    await eventually(lambda: len(proxy.upstream.requests) == 2)
    for _ in range(100):
        if 'caf_model_calls_total{error="",model="swift"} 1.0' in (await proxy.get("/metrics"))[1]:
            break
        await asyncio.sleep(0.02)
    else:
        pytest.fail("the judge's call was not counted")


async def hook(told: list[Any], status: int, delay: float = 0) -> tuple[web.AppRunner, str]:
    async def handle(request: web.Request) -> web.Response:
        told.append(await request.json())
        await asyncio.sleep(delay)
        return web.Response(status=status, headers={"Location": "/"})

    app = web.Application()
    app.router.add_post("/", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner, f"http://127.0.0.1:{runner.addresses[0][1]}/"


@pytest.mark.parametrize("status", [200, 307, 500])
async def test_webhook_gets_ids_and_kind_and_no_text(start: Start, status: int) -> None:
    """The staff get the ids, not the conversation. A failure of the webhook is only logged."""
    told: list[Any] = []
    runner, url = await hook(told, status)
    emergency = {"contact": "Call 112 now.", "webhook": url}
    proxy = await start(emergency=emergency)
    with structlog.testing.capture_logs() as logs:
        body = await proxy.say(CRISIS)
        await eventually(lambda: told and (status == 200 or len(logs) == 2))
    await runner.cleanup()
    caf = body["caf"]
    assert told == [
        {"turn_id": caf["turn_id"], "conversation_id": caf["conversation_id"], "chatbot": "bot", "kind": "self_harm"}
    ]
    assert [line["event"] for line in logs if line["log_level"] == "error"] == ["emergency webhook failed"] * (
        status != 200
    )


async def test_no_webhook_that_is_down_or_slow_holds_up_an_emergency(start: Start) -> None:
    """The emergency text is sent without waiting for the webhook."""
    told: list[Any] = []
    runner, url = await hook(told, 200, delay=5)
    for address in ("http://127.0.0.1:9/", url):
        proxy = await start(emergency={"contact": "Call 112 now.", "webhook": address})
        async with asyncio.timeout(1):
            assert text_of(await proxy.say(CRISIS)) == "Call 112 now."
    await eventually(lambda: told)
    await runner.cleanup()


async def test_without_an_emergency_the_webhook_is_silent(start: Start) -> None:
    """Ordinary turns, and turns without the filter, send nothing."""
    told: list[Any] = []
    runner, url = await hook(told, 200)
    proxy = await start(emergency={"contact": "Call 112 now.", "webhook": url})
    await proxy.say("Hi")
    await proxy.say(CRISIS, headers={"X-CAF-Filter": "off"})
    await asyncio.sleep(0.1)
    await runner.cleanup()
    assert not told


async def test_emergency_is_told_even_of_a_request_that_cannot_be_served(start: Start) -> None:
    """A crisis in a malformed request gets the emergency text and the webhook."""
    told: list[Any] = []
    runner, url = await hook(told, 200)
    proxy = await start(emergency={"contact": "Call 112 now.", "webhook": url})
    status, body = await proxy.post({"model": "bot", "messages": dialogue(CRISIS), "n": "many"})
    assert (status, text_of(body)) == (200, "Call 112 now.")
    await eventually(lambda: told)
    await runner.cleanup()
