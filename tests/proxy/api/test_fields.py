"""Every field of a chat completion request and reply that OpenAI documents: forwarded, honoured, or answered."""

from typing import Any

import pytest

from tests.proxy.api.test_stream import content_of, data_of
from tests.proxy.conftest import NO_PROBLEMS, Body, Start, bot_settings, dialogue, screening, text_of

SLEEP = "[[cite: sleep]]\nMost adults need seven to nine hours of sleep."
TOLD = "Most adults need seven to nine hours of sleep.\n\nSources: Sleep"
ADVICE = "[[cite: no_claims]]\nTake 400 mg of magnesium and 3 grams of fish oil every night."
ASKED = "How much sleep do adults need?"
NUDGE = "Which supplements should I take, and how much?"
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}, "strict": True}}

FORWARDED: Body = {
    "temperature": 0.2,
    "top_p": 0.9,
    "max_tokens": 50,
    "max_completion_tokens": 60,
    "reasoning_effort": "high",
    "verbosity": "low",
    "logprobs": True,
    "top_logprobs": 3,
    "logit_bias": {"50256": -100},
    "presence_penalty": 0.1,
    "frequency_penalty": -0.1,
    "seed": 2**53 + 1,
    "user": "ann",
    "safety_identifier": "s",
    "prompt_cache_key": "k",
    "metadata": {"a": "b"},
    "store": False,
    "service_tier": "flex",
    "tools": [TOOL],
    "tool_choice": "none",
    "parallel_tool_calls": False,
    "functions": [{"name": "g"}],
    "function_call": "none",
    "modalities": ["text"],
    "prediction": {"type": "content", "content": "x"},
    "web_search_options": {},
    "response_format": {"type": "text"},
    "top_k": 40,
    "chat_template_kwargs": {"enable_thinking": False, "x": None},
    "guided_regex": None,
}
"""The last three are fields of other servers."""
KINDS = {
    "guarded": bot_settings(),
    "wrapped": bot_settings(kind="wrapped", role=""),
    "passthrough": {"kind": "passthrough", "model": "chatbot"},
}


@pytest.mark.parametrize("field", FORWARDED)
@pytest.mark.parametrize("kind", KINDS)
async def test_field_reaches_the_model_as_it_came(start: Start, kind: str, field: str) -> None:
    """No field is dropped by any kind of chatbot; values keep type and precision."""
    proxy = await start(chatbots={"bot": KINDS[kind]})
    await proxy.say("Hi", **{field: FORWARDED[field]})
    assert proxy.upstream.requests[0][field] == FORWARDED[field]


async def test_all_fields_together_and_nothing_besides(start: Start) -> None:
    """The model gets the client's fields, its own name, the messages, and no other field."""
    proxy = await start()
    await proxy.say("Hi", **FORWARDED, stream_options={"include_usage": True}, n=1)
    sent = proxy.upstream.requests[0]
    assert sent.pop("model") == "up-chatbot"
    assert sent.pop("messages")
    assert sent == FORWARDED


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("n", [1, 2, 16])
async def test_every_choice_asked_for_is_judged(start: Start, n: int, stream: bool) -> None:
    """With n, all accepted replies are delivered, and a rejected one is not."""
    proxy = await start()
    proxy.upstream.answer = lambda body: [SLEEP] * (n - 1) + [ADVICE]
    if stream:
        raw = await proxy.stream(ASKED, n=n)
        texts = [content_of(data_of(raw)[:-1], i) for i in range(n)]
    else:
        texts = [c["message"]["content"] for c in (await proxy.say(ASKED, n=n))["choices"]]
    assert proxy.upstream.requests[0].get("n", 1) == n
    assert texts[:-1] == [TOLD] * (n - 1)
    assert texts[-1]
    assert "magnesium" not in "".join(texts)


@pytest.mark.parametrize(
    ("stop", "told"),
    [
        ("\n", "Most adults need sleep. Ask a doctor."),
        (["nothing", "\n"], "Most adults need sleep. Ask a doctor."),
        ([" Ask"], "Most adults need sleep."),
        ("]]", "Most adults need sleep. Ask a doctor.\nGood night."),
        ("[[", "Most adults need sleep. Ask a doctor.\nGood night."),
        (None, "Most adults need sleep. Ask a doctor.\nGood night."),
        ([], "Most adults need sleep. Ask a doctor.\nGood night."),
    ],
)
async def test_stop_ends_the_reply_and_not_the_command_before_it(start: Start, stop: Any, told: str) -> None:
    """A line break as a stop sequence must not reduce a draft to its citation command."""
    proxy = await start(judges=[], citations="hidden")

    def answer(body: Body) -> Body:
        text, stops = "[[cite: sleep]]\nMost adults need sleep. Ask a doctor.\nGood night.", body.get("stop") or []
        for one in [stops] if isinstance(stops, str) else stops:
            text = text.split(one)[0]
        return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}

    proxy.upstream.answer = answer
    body = await proxy.say(ASKED, stop=stop)
    assert text_of(body) == told
    assert body["choices"][0]["finish_reason"] == "stop"
    assert len(proxy.upstream.requests) == 1


@pytest.mark.parametrize("chatbot", [bot_settings(kind="wrapped", role=""), bot_settings(knowledge_base=None)])
async def test_stop_is_the_models_where_it_writes_no_commands(start: Start, chatbot: Body) -> None:
    """The model stops early and saves tokens."""
    proxy = await start(chatbots={"bot": chatbot})
    await proxy.say("Hi", stop=["\n"])
    assert proxy.upstream.requests[0]["stop"] == ["\n"]


async def test_stop_holds_for_a_refined_reply(start: Start) -> None:
    """The refiner does not get `stop`, so code applies it."""
    proxy = await start(refiner="refiner", judges=[{"name": "role", "stages": ["swift"]}], citations="hidden")

    def answer(body: Body) -> str:
        if body["model"] == "up-swift":
            rejected = "therapist" in body["messages"][1]["content"].split('"reply"')[1]
            return screening(*[("role", "your therapist", 2)] * rejected)
        return f"[[cite: no_claims]]\n{'I can inform you. END More.' if body['model'] == 'up-refiner' else 'I am your therapist.'}"

    proxy.upstream.answer = answer
    body = await proxy.say("Hi", stop="END")
    assert body["caf"]["outcome"] == "refined"
    assert text_of(body).strip() == "I can inform you."


@pytest.mark.parametrize("stop", [5, {"a": 1}, [5]])
async def test_stop_that_is_none_is_left_to_the_model_to_refuse(start: Start, stop: Any) -> None:
    """The proxy forwards an invalid value."""
    proxy = await start()
    await proxy.say("Hi", stop=stop)
    assert proxy.upstream.requests[0]["stop"] == stop


@pytest.mark.parametrize("draft", ["[[", "[[cite", "[[cite: sle", "[[cite: sleep", "[[cite: sleep]", "[[cite: sleep]]"])
async def test_draft_cut_off_within_its_command_shows_none_of_it(start: Start, draft: str) -> None:
    """A small max_tokens may end a draft there. The user sees the fallback and no command syntax."""
    proxy = await start()
    choice = {"index": 0, "message": {"role": "assistant", "content": draft}, "finish_reason": "length"}
    proxy.upstream.answer = lambda body: {"choices": [choice], "usage": {}}
    body = await proxy.say(ASKED, max_tokens=5)
    assert "cite" not in text_of(body)
    assert "sle" not in text_of(body)


TOKENS = [
    {"token": t, "logprob": -0.5, "bytes": list(t.encode()), "top_logprobs": []} for t in ("Hel", "lo", " there", ".")
]


HALVES = [{**TOKENS[0], "token": half, "bytes": [byte]} for half, byte in (("\\xc3", 0xC3), ("\\xa9", 0xA9))]


@pytest.mark.parametrize("tokens", [TOKENS, [*TOKENS[:2], *HALVES, TOKENS[3]]])
async def test_streamed_logprobs_are_those_of_the_unstreamed_reply(start: Start, tokens: list[Body]) -> None:
    """They are on the chunks with their text; bytes of one character stay together."""
    proxy = await start(judges=[], knowledge_base=None)
    logprobs = {"content": tokens, "refusal": None}
    choice = {"index": 0, "finish_reason": "stop", "logprobs": logprobs}
    text = b"".join(bytes(token["bytes"]) for token in tokens).decode()
    message = {"role": "assistant", "content": text}
    proxy.upstream.answer = lambda body: {"choices": [{**choice, "message": message}], "usage": {}}
    whole = (await proxy.say("Hi", logprobs=True))["choices"][0]
    chunks = [c["choices"][0] for c in data_of(await proxy.stream("Hi", logprobs=True))[:-1]]
    streamed = [token for c in chunks if c["logprobs"] for token in c["logprobs"]["content"]]
    assert streamed == whole["logprobs"]["content"] == tokens
    assert "".join(c["delta"].get("content") or "" for c in chunks) == text
    words = ["Hel", "lo", " there", "."] if tokens is TOKENS else ["Hel", "lo", "é", "."]
    assert [c["delta"]["content"] for c in chunks if c["logprobs"]] == words


async def test_developer_messages_are_a_note_as_system_messages_are(start: Start) -> None:
    """Both roles are context for a guarded chatbot, and unchanged for a wrapped one."""
    proxy = await start()
    for role in ("system", "developer"):
        await proxy.say({"role": role, "content": "It is Monday."}, *dialogue("Hi"))
    assert proxy.upstream.requests[0]["messages"] == proxy.upstream.requests[1]["messages"]
    wrapped = await start(chatbots={"bot": KINDS["wrapped"]})
    note = {"role": "developer", "content": "It is Monday."}
    await wrapped.say(note, *dialogue("Hi"))
    assert wrapped.upstream.requests[-1]["messages"][0] == note


async def test_judges_read_the_text_beside_an_image(start: Start) -> None:
    """Model judges get the words of all text parts, but no image."""
    proxy = await start(judges=[{"name": "role", "stages": ["swift"]}])
    proxy.upstream.answer = lambda body: NO_PROBLEMS if body["model"] == "up-swift" else "[[cite: no_claims]]\nHello."
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,PICTURE"}}
    parts = [{"type": "text", "text": "What is"}, image, {"type": "text", "text": "this?"}]
    await proxy.say({"role": "user", "content": parts})
    draft, judge = proxy.upstream.requests
    assert draft["messages"][-1]["content"] == parts
    case = judge["messages"][1]["content"]
    assert "What is" in case
    assert "this?" in case
    assert "PICTURE" not in case


async def test_tool_results_reach_the_model_and_its_answer_is_judged(start: Start) -> None:
    """The reply after a tool call is judged like any other."""
    proxy = await start()
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    proxy.upstream.answer = lambda body: ADVICE
    asked = {"role": "assistant", "content": None, "tool_calls": [call]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "400 mg"}
    body = await proxy.say({"role": "user", "content": NUDGE}, asked, result, tools=[TOOL])
    assert body["caf"]["outcome"] in ("refined", "fallback")
    assert "400 mg" not in text_of(body)
    assert proxy.upstream.requests[0]["messages"][-2:] == [asked, result]


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter", "tool_calls", None])
async def test_finish_reason_is_one_of_openais(start: Start, reason: str | None) -> None:
    """Tool calls have the finish_reason of calls, unless they were cut off."""
    proxy = await start(trusted_tools=["f"])
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message: Body = {"role": "assistant", "content": None, "tool_calls": [call]}
    proxy.upstream.answer = lambda body: {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}
    assert (await proxy.say("Hi", tools=[TOOL]))["choices"][0]["finish_reason"] == (
        reason if reason in ("length", "content_filter") else "tool_calls"
    )


async def test_cached_and_reasoning_tokens_are_summed_over_the_calls(start: Start) -> None:
    """Details that upstreams report are summed; without any they are omitted."""
    proxy = await start(judges=[{"name": "role", "stages": ["swift"]}])

    def answer(body: Body) -> Body:
        text = NO_PROBLEMS if body["model"] == "up-swift" else "[[cite: no_claims]]\nHello."
        usage = {"prompt_tokens": 10, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}
        if body["model"] == "up-swift":
            usage["completion_tokens_details"] = {"reasoning_tokens": 2, "x": 1}
        return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}], "usage": usage}

    proxy.upstream.answer = answer
    assert (await proxy.say("Hi"))["usage"] == {
        "prompt_tokens": 20,
        "completion_tokens": 10,
        "total_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 6},
        "completion_tokens_details": {"reasoning_tokens": 2},
    }
