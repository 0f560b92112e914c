"""The OpenAI SDK makes the same calls of the proxy and straight of an OpenAI server, and sees the same shapes."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import openai
import pytest
from aiohttp.test_utils import TestServer
from pydantic import BaseModel, ConfigDict

from tests.proxy.conftest import Start, bot_settings
from tests.proxy.openai_upstream import GREETING, server

Client = openai.AsyncOpenAI
Call = Callable[[Client], Awaitable[Any]]
CALLS: dict[str, Call] = {}

USER: Any = [{"role": "user", "content": "Hi"}]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
CHAT_TOOLS: Any = [{"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA, "strict": True}}]
TOOLS: Any = [{"type": "function", "name": "get_weather", "parameters": SCHEMA, "strict": True}]


class Greeting(BaseModel):
    model_config = ConfigDict(extra="forbid")

    greeting: str


def call(made: Call) -> Call:
    CALLS[made.__name__.strip("_")] = made
    return made


@call
async def _chat(client: Client) -> Any:
    return await client.chat.completions.create(model="bot", messages=USER)


@call
async def _chat_two_choices(client: Client) -> Any:
    return await client.chat.completions.create(model="bot", messages=USER, n=2)


@call
async def _chat_tools(client: Client) -> Any:
    return await client.chat.completions.create(model="bot", messages=USER, tools=CHAT_TOOLS)


@call
async def _chat_tool_result(client: Client) -> Any:
    first = await client.chat.completions.create(model="bot", messages=USER, tools=CHAT_TOOLS)
    said = first.choices[0].message
    assert said.tool_calls
    result = {"role": "tool", "tool_call_id": said.tool_calls[0].id, "content": "Sunny"}
    messages: Any = [*USER, said.model_dump(exclude_none=True), result]
    return await client.chat.completions.create(model="bot", messages=messages, tools=CHAT_TOOLS)


@call
async def _chat_json(client: Client) -> Any:
    return await client.chat.completions.create(model="bot", messages=USER, response_format={"type": "json_object"})


@call
async def _chat_parsed(client: Client) -> Any:
    parsed = await client.chat.completions.parse(model="bot", messages=USER, response_format=Greeting)
    assert parsed.choices[0].message.parsed == Greeting(greeting="Hello!")
    return parsed


@call
async def _chat_stream(client: Client) -> Any:
    return [c async for c in await client.chat.completions.create(model="bot", messages=USER, stream=True)]


@call
async def _chat_stream_usage(client: Client) -> Any:
    options: Any = {"include_usage": True}
    stream = await client.chat.completions.create(model="bot", messages=USER, stream=True, stream_options=options, n=2)
    return [c async for c in stream]


@call
async def _chat_stream_tools(client: Client) -> Any:
    async with client.chat.completions.stream(model="bot", messages=USER, tools=CHAT_TOOLS) as stream:
        return await stream.get_final_completion()


@call
async def _responses(client: Client) -> Any:
    return await client.responses.create(model="bot", input="Hi", instructions="Be kind.")


@call
async def _responses_continued(client: Client) -> Any:
    first = await client.responses.create(model="bot", input="Hi")
    return await client.responses.create(model="bot", input="And now?", previous_response_id=first.id)


@call
async def _responses_tools(client: Client) -> Any:
    return await client.responses.create(model="bot", input="Hi", tools=TOOLS)


@call
async def _responses_tool_result(client: Client) -> Any:
    first = await client.responses.create(model="bot", input="Hi", tools=TOOLS)
    asked: Any = first.output[0]
    result: Any = {"type": "function_call_output", "call_id": asked.call_id, "output": "Sunny"}
    return await client.responses.create(model="bot", input=[result], tools=TOOLS, previous_response_id=first.id)


@call
async def _responses_parsed(client: Client) -> Any:
    parsed = await client.responses.parse(model="bot", input="Hi", text_format=Greeting)
    assert parsed.output_parsed == Greeting(greeting="Hello!")
    return parsed


@call
async def _responses_stream(client: Client) -> Any:
    return [e async for e in await client.responses.create(model="bot", input="Hi", stream=True)]


@call
async def _responses_stream_tools(client: Client) -> Any:
    return [e async for e in await client.responses.create(model="bot", input="Hi", tools=TOOLS, stream=True)]


@call
async def _responses_stream_helper(client: Client) -> Any:
    async with client.responses.stream(model="bot", input="Hi") as stream:
        return await stream.get_final_response()


@call
async def _responses_unknown(client: Client) -> Any:
    with pytest.raises(openai.NotFoundError) as caught:
        await client.responses.create(model="bot", input="Hi", previous_response_id="resp_unknown")
    return [caught.value.code, caught.value.param, caught.value.type]


@call
async def _models(client: Client) -> Any:
    return [[m async for m in client.models.list()], await client.models.retrieve("bot")]


@call
async def _unknown_model(client: Client) -> Any:
    with pytest.raises(openai.NotFoundError) as caught:
        await client.models.retrieve("nobody")
    return [caught.value.code, caught.value.param, caught.value.type]


@call
async def _malformed(client: Client) -> Any:
    with pytest.raises(openai.BadRequestError) as caught:
        await client.chat.completions.create(model="bot", messages=[])
    return [caught.value.param, caught.value.type]


CHATBOTS = {"guarded": {"bot": bot_settings()}, "passthrough": {"bot": {"kind": "passthrough", "model": "chatbot"}}}


@pytest.fixture
async def direct() -> AsyncIterator[Client]:
    async with (
        TestServer(server(commands=False)) as upstream,
        openai.AsyncOpenAI(base_url=f"{upstream.make_url('/v1')}", api_key="x", max_retries=0) as client,
    ):
        yield client


@pytest.mark.parametrize("kind", CHATBOTS)
@pytest.mark.parametrize("name", CALLS)
async def test_sdk_sees_the_same_through_the_proxy_as_directly(
    start: Start, direct: Client, name: str, kind: str
) -> None:
    """Every field an OpenAI server sends is there with its type, and nothing is added but the `caf` object."""
    async with TestServer(server(commands=kind == "guarded")) as upstream:
        proxy = await start(chatbots=CHATBOTS[kind], alias={"base_url": f"{upstream.make_url('/v1')}"})
        async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="x", max_retries=0) as client:
            through = await CALLS[name](client)
    assert shape(through) == shape(await CALLS[name](direct))


async def test_both_say_the_same(start: Start, direct: Client) -> None:
    """Not only the shapes: the words and the usage are those of the model."""
    async with TestServer(server(commands=True)) as upstream:
        proxy = await start(alias={"base_url": f"{upstream.make_url('/v1')}"})
        async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="x", max_retries=0) as client:
            chat, response = await _chat(client), await _responses(client)
            stream = await _responses_stream(client)
    assert chat.choices[0].message.content == response.output_text == GREETING
    assert "".join(e.delta for e in stream if e.type == "response.output_text.delta") == GREETING
    assert chat.usage == (await _chat(direct)).usage
    usage = response.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (19, 10, 29)
    assert (usage.input_tokens_details.cached_tokens, usage.output_tokens_details.reasoning_tokens) == (4, 2)


def shape(value: Any) -> Any:
    """Reduce a value to names and types; of a list to its different shapes in order, since texts may be cut otherwise."""
    if isinstance(value, BaseModel):
        value = json.loads(value.model_dump_json(exclude_unset=True, warnings=False))
    if isinstance(value, dict):
        fixed = ("type", "object", "status", "role", "finish_reason", "code", "param")
        loose = ("temperature", "top_p")  # OpenAI tells its defaults, which here are the upstream's secret
        return {
            name: inner if name in fixed and isinstance(inner, str) else shape(inner)
            for name, inner in sorted(value.items())
            if name != "caf" and name not in loose
        }
    if isinstance(value, list | tuple):
        shapes = [shape(inner) for inner in value]
        return [s for i, s in enumerate(shapes) if i == 0 or s != shapes[i - 1]]
    return "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
