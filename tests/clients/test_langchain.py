"""LangChain, whose ChatOpenAI asks either endpoint."""

from collections.abc import Callable
from functools import cache
from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from tests.clients.calls import CALLS, FIELDS, OTHERS, PICTURE, Call, filled
from tests.clients.conftest import CHATBOTS, DIRECT, Place, Places, cases
from tests.clients.seen import gist, raised
from tests.proxy.openai_upstream import ARGUMENTS, GREETING

MADE = [name for name, call in CALLS.items() if not call.helper and not call.to.startswith("models.")]
"""It lists no models, and has no other helper for streams than its own way to read them."""


@pytest.fixture(scope="module")
def directly(places: Places) -> Callable[[str], Any]:
    """What LangChain sees of a call, asking the server itself."""
    return cache(lambda name: seen(places[DIRECT], CALLS[name]))


@pytest.mark.parametrize(("name", "kind"), cases(MADE))
def test_langchain_sees_the_same_through_the_proxy_as_directly(
    places: Places, directly: Callable[[str], Any], name: str, kind: str
) -> None:
    """Messages, tool calls, usage and metadata are what they are without the proxy."""
    words = CALLS[name].words_of(kind)
    assert gist(seen(places[kind], CALLS[name]), words=words) == gist(directly(name), words=words)


@pytest.mark.parametrize("kind", CHATBOTS)
def test_model_gets_what_the_client_sent(places: Places, kind: str) -> None:
    """No field is dropped, added or changed, and the picture comes along."""
    _, (asked,) = places[kind].asked(lambda: seen(places[kind], CALLS["chat_fields"]))
    assert {name: asked.get(name) for name in FIELDS} == FIELDS
    _, (asked,) = places[kind].asked(lambda: seen(places[kind], CALLS["chat_image"]))
    assert asked["messages"][-1]["content"][1]["image_url"]["url"] == PICTURE


class Greeting(BaseModel):
    greeting: str


def get_weather(city: str) -> str:
    """Tell the weather.

    Args:
        city: Where.
    """
    return f"Sunny in {city}"


@pytest.mark.parametrize("responses", [False, True])
@pytest.mark.parametrize("kind", [DIRECT, *CHATBOTS])
async def test_langchains_own_ways_work(places: Places, kind: str, responses: bool) -> None:
    """Documents of the caller's type, tools from functions, streams put together, also asynchronously."""
    model = chat_model(places[kind], responses=responses)
    assert await model.with_structured_output(Greeting).ainvoke("Hi") == Greeting(greeting="Hello!")
    called = await model.bind_tools([get_weather]).ainvoke("Hi")
    assert [call["args"] for call in called.tool_calls] == [{"city": "Paris"}]
    whole = [chunk async for chunk in model.astream("Hi")]
    assert "".join(chunk.text for chunk in whole) == GREETING
    streamed = [chunk async for chunk in model.bind_tools([get_weather]).astream("Hi")]
    assert "".join(part["args"] for chunk in streamed for part in chunk.tool_call_chunks) == ARGUMENTS


def chat_model(place: Place, call: Call | None = None, *, responses: bool = False, name: str = "bot") -> ChatOpenAI:
    return ChatOpenAI(
        model=name, base_url=place.url, api_key=_key(place, call), max_retries=call.retries if call else 0,
        use_responses_api=responses,
    )  # fmt: skip


def _key(place: Place, call: Call | None) -> Any:
    return "wrong" if call is not None and call.wrong_key else place.key


def seen(place: Place, call: Call) -> Any:
    """Make a call and return what came of it."""
    reply: Any = None
    try:
        for step in call.steps:
            reply = made(place, call, step, reply)
    except openai.APIError as error:
        return raised(error)
    return told(reply)


def made(place: Place, call: Call, step: dict[str, Any], before: AIMessage | None) -> Any:
    body = filled(step, gave(before))
    name, streamed = body.pop("model"), body.pop("stream", False)
    if call.to == "embeddings":
        # Otherwise it cuts texts into tokens, for which it fetches a vocabulary.
        embedder = OpenAIEmbeddings(
            model=name, base_url=place.url, api_key=_key(place, call), max_retries=0, check_embedding_ctx_length=False
        )
        return embedder.embed_documents(body["input"] if isinstance(body["input"], list) else [body["input"]])
    model = chat_model(place, call, responses=call.to == "responses", name=name)
    given = body.pop("messages", None) or body.pop("input", None) or []
    messages = convert_to_messages([("human", given)] if isinstance(given, str) else [_message(one) for one in given])
    if streamed:
        with_usage = {"stream_usage": True} if body.pop("stream_options", None) else {}
        first, *more = model.stream(messages, **with_usage, **body)
        return sum(more, first)
    others = {
        name: body.pop(name) for name in (*OTHERS, "metadata") if name in body
    }  # its own `metadata` goes elsewhere
    fields = body | ({"extra_body": others} if others else {})
    result = model.generate([messages], **fields)
    replies = [generation.message for generation in result.generations[0]]
    return replies if len(replies) > 1 else replies[0]


def _message(one: Any) -> Any:
    if isinstance(one, dict) and one.get("type") == "function_call_output":
        return {"role": "tool", "tool_call_id": one["call_id"], "content": one["output"]}
    return one


def gave(reply: AIMessage | None) -> dict[str, Any]:
    """Return what a later step may need of a reply."""
    if reply is None:
        return {}
    found = {"$message": reply, "$id": reply.response_metadata.get("id")}
    return found | ({"$call_id": reply.tool_calls[0]["id"]} if reply.tool_calls else {})


def told(value: Any) -> Any:
    """Return a reply as plain data."""
    if isinstance(value, list):
        return [told(one) for one in value]
    return value.model_dump(mode="json") if isinstance(value, BaseMessage) else value
