"""The chat request, validated. Unknown fields are kept and forwarded."""

from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proxy.protocol.canonical import digest, fold
from proxy.protocol.errors import BadRequest

OWN_FIELDS = {"model", "messages", "stream", "stream_options", "n"}
"""Fields of the request that the proxy sets itself in what it sends upstream."""


class Wire(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class Part(Wire):
    type: str
    text: str | None = None


class Message(Wire):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[Part] | None = None
    tool_calls: list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """The text of the message, the text parts joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.text)

    @property
    def is_reply(self) -> bool:
        """Whether this is an assistant's words to the user, rather than a mere tool call."""
        return self.role == "assistant" and bool(self.text.strip())

    @cached_property
    def folded(self) -> str:
        """What a user said, as it identifies a conversation."""
        return " ".join(self.text.split())

    @cached_property
    def digest(self) -> str:
        """The hash by which a delivered reply is known again."""
        return digest(fold(self.text))


class StreamOptions(Wire):
    include_usage: bool = False


class ToolName(Wire):
    name: str


class Tool(Wire):
    function: ToolName | None = None
    custom: ToolName | None = None


DOCUMENTS: Any = Field(
    None,
    description="What the reply may rest on: a list of objects with `text`, and `id` and `title` if they have any. Read where the "
    "chatbot's `evidence` names `documents`, from keys with the permission `evidence`; otherwise forwarded.",
    examples=[[{"id": "may", "title": "Visitors in May", "text": "In May 4,310 visitors came."}]],
)
"""Not validated here: where it is no evidence, it is the upstream's affair."""


class ChatRequest(Wire):
    model: str
    messages: list[Message] = Field(min_length=1)
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: int | None = Field(1, ge=1, le=16)
    user: str | None = None
    metadata: dict[str, Any] | None = None
    response_format: dict[str, Any] | None = None
    tools: list[Tool] | None = None
    functions: list[ToolName] | None = None
    tool_choice: str | dict[str, Any] | None = None
    documents: Any = DOCUMENTS

    @property
    def options(self) -> dict[str, Any]:
        """The fields to forward upstream as they came."""
        forwarded = {k: v for k, v in self.raw.items() if k not in OWN_FIELDS}
        if self.metadata and "conversation_id" in self.metadata:  # this one is for the proxy
            forwarded["metadata"] = {k: v for k, v in self.metadata.items() if k != "conversation_id"}
            if not forwarded["metadata"]:
                del forwarded["metadata"]
        return forwarded

    @property
    def wants_json(self) -> bool:
        return self.response_format is not None and self.response_format.get("type") in ("json_object", "json_schema")

    @property
    def wants_usage(self) -> bool:
        """Whether a stream is to end with its usage."""
        return self.stream_options is not None and self.stream_options.include_usage

    @property
    def stops(self) -> tuple[str, ...]:
        """Where the client wants a text to end: before any of these."""
        value = self.raw.get("stop")
        if value is None:
            return ()
        stops = value if isinstance(value, list) else [value]
        return tuple(stop for stop in stops if isinstance(stop, str) and stop)

    @cached_property
    def raw(self) -> dict[str, Any]:
        """The request as it came; `read_chat_request` puts it here."""
        return {}


FIELDS = frozenset((*ChatRequest.model_fields, "stop", "logprobs"))
"""Fields of a request that the proxy goes by."""


def read_json(raw: bytes) -> dict[str, Any]:
    """Decode a request body.

    Raises:
        BadRequest: It is no JSON object, or nested too deeply to be passed on.
    """
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The request body is not valid JSON: {error}.") from error
    if not isinstance(data, dict):
        raise BadRequest("The request body must be a JSON object with `model` and `messages`.")
    refuse_disguised(data, FIELDS)
    if raw.count(b"[") + raw.count(b"{") > 200:
        try:
            orjson.dumps(data)
        except TypeError as error:
            raise BadRequest("The request body is nested too deeply.") from error
    return data


def refuse_disguised(data: Mapping[str, Any], fields: Container[str]) -> None:
    """Refuse a field whose name is one of these but for its case: a server that takes it for that would be told something else.

    Raises:
        BadRequest: Naming it.
    """
    for name in data:
        if (field := name.casefold()) != name and field in fields:
            raise BadRequest(f"There is no field {name[:64]!r}; it is called {field!r}.", param=field)


def read_chat_request(data: dict[str, Any], max_messages: int) -> ChatRequest:
    """Validate a chat request.

    Raises:
        BadRequest: Naming the first field that is not right.
    """
    messages = data.get("messages")
    if isinstance(messages, list):
        if len(messages) > max_messages:
            raise BadRequest(f"There are {len(messages)} messages; at most {max_messages} are taken.", param="messages")
        for message in messages:
            if isinstance(message, dict):
                refuse_disguised(message, Message.model_fields)
                parts = message.get("content")
                for part in parts if isinstance(parts, list) else ():
                    if isinstance(part, dict):
                        refuse_disguised(part, Part.model_fields)
    try:
        request = ChatRequest.model_validate(data)
    except ValidationError as error:
        raise as_bad_request(error) from error
    request.raw = data
    return request


def as_bad_request(error: ValidationError) -> BadRequest:
    """Convert a validation error into the client's error for the first invalid field."""
    problem = min(error.errors(include_url=False, include_input=False), key=lambda e: -len(e["loc"]))
    param = _path(problem["loc"])
    message = "Input should be an object" if problem["type"] in ("model_type", "dict_type") else problem["msg"]
    fault = BadRequest(f"{param}: {message}.", param=param)
    fault.code = "invalid_type" if problem["type"].endswith("_type") else CODES.get(problem["type"])
    return fault


CODES = {
    "missing": "missing_required_parameter",
    "too_short": "empty_array",
    "literal_error": "invalid_value",
    "greater_than_equal": "integer_below_min_value",
    "less_than_equal": "integer_above_max_value",
}
"""What OpenAI calls the faults that pydantic finds; of the arrays that it checks, each wants at least one entry."""


def _path(loc: Sequence[int | str]) -> str:
    """Write a pydantic location as OpenAI does: messages[0].content. Branches of a union are left out."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part not in ("str", "int", "bool") and not part.startswith(("list[", "dict[")):
            path += f".{part}" if path else part
    return path
