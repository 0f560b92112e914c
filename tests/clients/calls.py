"""The calls that every client makes, as far as it can.

A call is data, so that a program in another language follows the same list. Each of its steps is one request; a later one may
hold what the reply before it gave: `$message` (the assistant's message), `$call_id` (of its tool call), `$id` (of the response).
"""

from dataclasses import dataclass
from typing import Any, Literal

from tests.proxy.openai_upstream import ALWAYS_BUSY, BREAK_OFF, BUSY, REFUSE

Body = dict[str, Any]
EMBEDDER = "text-embedding-3-small"
PICTURE = "data:image/png;base64,iVBORw0KGgo="
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
FUNCTION = {"name": "get_weather", "description": "Tell the weather.", "parameters": SCHEMA, "strict": True}
TOOLS = {"tools": [{"type": "function", "function": FUNCTION}]}
FUNCTIONS = {"tools": [{"type": "function", **FUNCTION}]}
"""The same tool as /v1/responses wants it."""
GREETING = {
    "name": "greeting",
    "strict": True,
    "schema": {
        "type": "object",
        "properties": {"greeting": {"type": "string"}},
        "required": ["greeting"],
        "additionalProperties": False,
    },
}
OTHERS: Body = {"top_k": 40, "chat_template_kwargs": {"enable_thinking": False}}
"""Fields of other servers, which OpenAI's client does not know."""
FIELDS: Body = {
    **OTHERS,
    "user": "ada",
    "seed": 7,
    "metadata": {"ward": "3"},
    "temperature": 0.5,
    "top_p": 0.9,
    "presence_penalty": 0.1,
    "frequency_penalty": -0.1,
    "max_completion_tokens": 300,
    "reasoning_effort": "low",
    "service_tier": "flex",
    "logit_bias": {"50256": -100},
    "safety_identifier": "s",
    "prompt_cache_key": "k",
    "verbosity": "low",
    "store": False,
}
STREAM: Body = {"stream": True}
USAGE: Body = {"stream_options": {"include_usage": True}}


@dataclass(frozen=True)
class Call:
    """One entry of the list."""

    to: Literal["chat", "responses", "models.list", "models.retrieve", "embeddings"]
    steps: list[Body]
    helper: bool = False
    """Whether the client's helper for streams is used, which puts the pieces together."""
    wrong_key: bool = False
    retries: int = 0

    def words_of(self, kind: str) -> bool:
        """Say whether a kind of chatbot uses the model's words: a guarded one refuses in words that it answers for."""
        return kind == "passthrough" or REFUSE not in str(self.steps)


def chat(content: Any = "Hi", *, before: tuple[Body, ...] = (), after: tuple[Any, ...] = (), **fields: Any) -> Body:
    return {"model": "bot", "messages": [*before, {"role": "user", "content": content}, *after], **fields}


def response(given: Any = "Hi", **fields: Any) -> Body:
    return {"model": "bot", "input": given, **fields}


KIND = {"role": "developer", "content": "Be kind."}
RESULT = {"role": "tool", "tool_call_id": "$call_id", "content": "Sunny"}
OUTPUT = {"type": "function_call_output", "call_id": "$call_id", "output": "Sunny"}
AND_NOW = {"role": "user", "content": "And now?"}
PARTS = [{"type": "text", "text": "Hi"}, {"type": "image_url", "image_url": {"url": PICTURE}}]
JSON_SCHEMA = {"response_format": {"type": "json_schema", "json_schema": GREETING}}

CALLS: dict[str, Call] = {
    "chat": Call("chat", [chat()]),
    "chat_two_choices": Call("chat", [chat(n=2)]),
    "chat_history": Call("chat", [chat(), chat(after=("$message", AND_NOW))]),
    "chat_developer": Call("chat", [chat(before=(KIND,))]),
    "chat_image": Call("chat", [chat(PARTS)]),
    "chat_fields": Call("chat", [chat(**FIELDS)]),
    "chat_tools": Call("chat", [chat(**TOOLS, parallel_tool_calls=False)]),
    "chat_tool_result": Call("chat", [chat(**TOOLS), chat(after=("$message", RESULT), **TOOLS)]),
    "chat_json_object": Call("chat", [chat(response_format={"type": "json_object"})]),
    "chat_json_schema": Call("chat", [chat(**JSON_SCHEMA)]),
    "chat_stop": Call("chat", [chat(stop=[" would"])]),
    "chat_length": Call("chat", [chat(max_completion_tokens=1)]),
    "chat_logprobs": Call("chat", [chat(logprobs=True, top_logprobs=2)]),
    "chat_refusal": Call("chat", [chat(REFUSE)]),
    "chat_stream": Call("chat", [chat(**STREAM)]),
    "chat_stream_usage": Call("chat", [chat(**STREAM, **USAGE)]),
    "chat_stream_two_choices": Call("chat", [chat(n=2, **STREAM, **USAGE)]),
    "chat_stream_tools": Call("chat", [chat(**TOOLS, **STREAM, **USAGE)]),
    "chat_stream_json_schema": Call("chat", [chat(**JSON_SCHEMA, **STREAM)]),
    "chat_stream_length": Call("chat", [chat(max_completion_tokens=1, **STREAM)]),
    "chat_stream_logprobs": Call("chat", [chat(logprobs=True, **STREAM)]),
    "chat_stream_refusal": Call("chat", [chat(REFUSE, **STREAM)]),
    "chat_stream_helper": Call("chat", [chat()], helper=True),
    "chat_stream_helper_tools": Call("chat", [chat(**TOOLS)], helper=True),
    "chat_busy_then_not": Call("chat", [chat(BUSY)], retries=2),
    "chat_always_busy": Call("chat", [chat(ALWAYS_BUSY)]),
    "chat_breaks_off": Call("chat", [chat(BREAK_OFF, **STREAM)]),
    "chat_without_messages": Call("chat", [{"model": "bot", "messages": []}]),
    "chat_wrong_field": Call("chat", [chat(temperature=3)]),
    "chat_unknown_model": Call("chat", [chat() | {"model": "nobody"}]),
    "chat_wrong_key": Call("chat", [chat()], wrong_key=True),
    "responses": Call("responses", [response(instructions="Be kind.")]),
    "responses_items": Call("responses", [response([KIND, AND_NOW], user="ada", metadata={"ward": "3"})]),
    "responses_continued": Call("responses", [response(), response("And now?", previous_response_id="$id")]),
    "responses_tools": Call("responses", [response(**FUNCTIONS)]),
    "responses_tool_result": Call(
        "responses", [response(**FUNCTIONS), response([OUTPUT], previous_response_id="$id", **FUNCTIONS)]
    ),
    "responses_json_schema": Call("responses", [response(text={"format": {"type": "json_schema", **GREETING}})]),
    "responses_length": Call("responses", [response(max_output_tokens=16)]),
    "responses_stream": Call("responses", [response(**STREAM)]),
    "responses_stream_tools": Call("responses", [response(**FUNCTIONS, **STREAM)]),
    "responses_stream_helper": Call("responses", [response()], helper=True),
    "responses_always_busy": Call("responses", [response(ALWAYS_BUSY)]),
    "responses_breaks_off": Call("responses", [response(BREAK_OFF, **STREAM)]),
    "responses_unknown_id": Call("responses", [response(previous_response_id="resp_unknown")]),
    "responses_unknown_model": Call("responses", [response() | {"model": "nobody"}]),
    "responses_wrong_key": Call("responses", [response()], wrong_key=True),
    "models": Call("models.list", [{}]),
    "models_wrong_key": Call("models.list", [{}], wrong_key=True),
    "model": Call("models.retrieve", [{"model": "bot"}]),
    "model_unknown": Call("models.retrieve", [{"model": "nobody"}]),
    "embeddings": Call("embeddings", [{"model": EMBEDDER, "input": ["a", "b"]}]),
    "embeddings_unknown_model": Call("embeddings", [{"model": "nobody", "input": "a"}]),
    "embeddings_wrong_key": Call("embeddings", [{"model": EMBEDDER, "input": "a"}], wrong_key=True),
}


def filled(value: Any, gave: dict[str, Any]) -> Any:
    """Return a step with what the reply before it gave, by `$message`, `$call_id` and `$id`."""
    if isinstance(value, dict):
        return {name: filled(inner, gave) for name, inner in value.items()}
    if isinstance(value, list):
        return [filled(inner, gave) for inner in value]
    return gave.get(value, value) if isinstance(value, str) else value
