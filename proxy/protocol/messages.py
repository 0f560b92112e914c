"""Parses and validates chat requests. Unknown fields are kept and forwarded to the upstream."""

import re
from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proxy.protocol.canonical import digest, fold
from proxy.protocol.errors import BadRequest

OWN_FIELDS = {"model", "messages", "stream", "stream_options", "n"}
"""Fields that the proxy sets itself in upstream requests."""


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
        """The text of the message. Text parts are joined by newlines."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content or () if part.text)

    @property
    def is_reply(self) -> bool:
        """Whether this is an assistant message with text, not only a tool call."""
        return self.role == "assistant" and bool(self.text.strip())

    @cached_property
    def folded(self) -> str:
        """The text with each run of white space replaced by a space. These texts identify a conversation."""
        return " ".join(self.text.split())

    @cached_property
    def digest(self) -> str:
        """The hash by which the proxy recognises a reply that it delivered earlier."""
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
    description="Documents that count as sources of the reply: a list of objects with `text`, optional `id` and optional `title`. "
    "Used if the chatbot's `evidence` names `documents` and the key has the permission `evidence`; otherwise forwarded.",
    examples=[[{"id": "may", "title": "Visitors in May", "text": "In May 4,310 visitors came."}]],
)
"""The field `documents`. It is not validated here, because it is forwarded unchanged if it is not used as evidence."""


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
        """The fields to forward upstream unchanged."""
        forwarded = {k: v for k, v in self.raw.items() if k not in OWN_FIELDS}
        if self.metadata and "conversation_id" in self.metadata:  # addressed to the proxy
            forwarded["metadata"] = {k: v for k, v in self.metadata.items() if k != "conversation_id"}
            if not forwarded["metadata"]:
                del forwarded["metadata"]
        return forwarded

    @property
    def wants_json(self) -> bool:
        return self.response_format is not None and self.response_format.get("type") in ("json_object", "json_schema")

    @property
    def wants_usage(self) -> bool:
        """Whether a stream must end with a chunk that contains the usage."""
        return self.stream_options is not None and self.stream_options.include_usage

    @property
    def stops(self) -> tuple[str, ...]:
        """The stop sequences: a reply ends before any of these."""
        value = self.raw.get("stop")
        if value is None:
            return ()
        stops = value if isinstance(value, list) else [value]
        return tuple(stop for stop in stops if isinstance(stop, str) and stop)

    @cached_property
    def raw(self) -> dict[str, Any]:
        """The unmodified request body, decoded. `read_chat_request` sets it."""
        return {}


FIELDS = frozenset((*ChatRequest.model_fields, "stop", "logprobs"))
"""Fields of a request that the proxy uses."""


def read_json(raw: bytes) -> dict[str, Any]:
    """Decode the JSON body of a request.

    Raises:
        BadRequest: The body is not a JSON object, or is nested too deeply to be forwarded.
    """
    try:
        data = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"The request body is not valid JSON: {error}.") from error
    if not isinstance(data, dict):
        raise BadRequest("The request body must be a JSON object.")
    refuse_disguised(data, FIELDS)
    if raw.count(b"[") + raw.count(b"{") > 200:
        try:
            orjson.dumps(data)
        except TypeError as error:
            raise BadRequest("The request body is nested too deeply; use fewer levels.") from error
    return data


def refuse_disguised(data: Mapping[str, Any], fields: Container[str]) -> None:
    """Refuse fields whose name differs from a known field only in case.

    An upstream that ignores case would read such a field, but no judge would.

    Args:
        data: The object with the fields.
        fields: The names of the known fields, in lower case.

    Raises:
        BadRequest: The object has such a field. The message names the field.
    """
    for name in data:
        if (field := name.casefold()) != name and field in fields:
            raise BadRequest(f"Unknown field {name[:64]!r}: use {field!r}.", param=field)


def read_chat_request(data: dict[str, Any], max_messages: int) -> ChatRequest:
    """Validate a decoded chat request.

    Raises:
        BadRequest: A field is invalid, or there are too many messages. The message names the first invalid field.
    """
    messages = data.get("messages")
    if isinstance(messages, list):
        if len(messages) > max_messages:
            raise BadRequest(f"Too many messages: {len(messages)} (maximum {max_messages}).", param="messages")
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
    """Convert a validation error into a client error about the first invalid field."""
    problem = min(error.errors(include_url=False, include_input=False), key=lambda e: -len(e["loc"]))
    param = _path(problem["loc"])
    message = re.sub(r"^\w+ should ", "must ", problem["msg"])
    if problem["type"] in ("model_type", "dict_type"):
        message = "must be an object"
    elif problem["type"] == "missing":
        message = "is missing"
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
"""OpenAI's error codes by pydantic's error types. `too_short` always means an empty array, because the minimum length is 1."""


def _path(loc: Sequence[int | str]) -> str:
    """Format the location of a pydantic error as OpenAI does: `messages[0].content`. Names of union branches are left out."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part not in ("str", "int", "bool") and not part.startswith(("list[", "dict[")):
            path += f".{part}" if path else part
    return path
