"""What comes over the wire: the chat request, validated at the door. Unknown fields are kept and forwarded."""

import json
import re
from collections.abc import Container, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proxy.wire.canonical import digest, fold
from proxy.wire.errors import BadRequest

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
        given = self.raw.get("stop")
        if given is None:
            return ()
        stops = given if isinstance(given, list) else [given]
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
        if (meant := name.casefold()) != name and meant in fields:
            raise BadRequest(f"There is no field {name[:64]!r}; it is called {meant!r}.", param=meant)


def read_loosely(raw: bytes) -> dict[str, Any]:
    """Decode a body that `read_json` refuses, as far as that can be done: the emergency judge hears it all the same."""
    text = raw.decode(json.detect_encoding(raw), "replace")
    try:
        data = json.loads(text, strict=False)
    except ValueError:
        return {}
    except RecursionError:
        return _strings_of(text)
    return data if isinstance(data, dict) else {}


_STRING = re.compile(r'"((?>(?:[^"\\]++|\\.)*))"?\s*+(:?)', re.DOTALL)
"""A string of a JSON document, and the colon behind it if it is a key. One without an end goes on to the end of the document, or
there would be as many readings of the rest as there are quotes in it."""


def _strings_of(document: str) -> dict[str, Any]:
    """Return a document that is nested too deeply to be decoded as a request: all its strings, as one message."""
    strings = _STRING.findall(document)
    model = next((value for (key, colon), (value, _) in pairwise(strings) if key == "model" and colon), None)
    values = ",".join(f'"{string}"' for string, colon in strings if not colon)
    try:
        return {"model": model, "messages": [json.loads(f"[{values}]", strict=False)]}
    except ValueError:
        return {}


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
    """Return what a client is told of a request that is not valid: the first field that is not right."""
    one = min(error.errors(include_url=False, include_input=False), key=lambda e: -len(e["loc"]))
    param = _path(one["loc"])
    what = "Input should be an object" if one["type"] in ("model_type", "dict_type") else one["msg"]
    fault = BadRequest(f"{param}: {what}.", param=param)
    fault.code = "invalid_type" if one["type"].endswith("_type") else CODES.get(one["type"])
    return fault


CODES = {
    "missing": "missing_required_parameter",
    "too_short": "empty_array",
    "literal_error": "invalid_value",
    "greater_than_equal": "integer_below_min_value",
    "less_than_equal": "integer_above_max_value",
}
"""What OpenAI calls the faults that pydantic finds; of the arrays that it checks, each wants at least one entry."""


SPOKEN_IN = frozenset(("messages", "message", "input", "prompt"))
"""Fields in which some endpoint or other takes what a user says."""
OTHERS = frozenset(("assistant", "system", "developer", "tool", "function"))
"""Roles of messages that no user has written. Whatever another role is called, a person may have."""
OTHER_ITEMS = frozenset(("function_call", "function_call_output", "reasoning"))
"""Types of items without a role, of which the same is true."""
NOT_WRITTEN = frozenset(
    ("role", "type", "id", "url", "data", "name", "filename", "detail", "format", "control", "status", "model")
)
"""Last words of the names of fields that hold no sentences."""


def asked(data: dict[str, Any]) -> tuple[str, list[str]]:
    """Find what the user says in a request that is not validated yet.

    The emergency judge reads this before anything can refuse the request, so nothing here may fail on any shape.

    Returns:
        The user's text since the last reply (or the last user text), a paragraph for each message and part of one; and the
        earlier user texts, oldest first.
    """
    earlier: list[str] = []
    now: list[str] = []
    for message in messages_in(data):
        role = _role_of(message)
        if role not in OTHERS:
            now.append(_texts_in(message, NOT_WRITTEN))
        elif role == "assistant" and _texts_in(message.get("content"), NOT_A_REPLY).strip():
            earlier += now
            now = []
    if not now and earlier:
        now = [earlier.pop()]
    return "\n\n".join(now), earlier


def messages_in(data: dict[str, Any]) -> list[Any]:
    """Return what may be messages in a request of either endpoint that is not validated: objects, texts, and lists of such."""
    fields = [value for name, value in data.items() if name.strip().casefold() in SPOKEN_IN]
    entries = [entry for value in fields for entry in (value if isinstance(value, list) else [value])]
    return [entry for entry in entries if isinstance(entry, str | dict | list)]


def _role_of(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else "user"
    if role is None and (kind := message.get("type")) and isinstance(kind, str) and kind in OTHER_ITEMS:
        return "tool"
    return role if isinstance(role, str) else "user"


NOT_A_REPLY = NOT_WRITTEN | {"refusal"}


def _texts_in(value: object, passed_over: Container[str]) -> str:
    """Return all texts in a value of any shape, in their order, but for those in certain fields; a paragraph each."""
    texts: list[str] = []
    rest = [value]  # no recursion: nobody has looked how deeply it is nested
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            # Half of a cut emoji is no text.
            texts.append(one if one.isascii() else one.encode("utf-8", "replace").decode())
        elif isinstance(one, list):
            rest.extend(reversed(one))
        elif isinstance(one, dict):
            fields = reversed(one.items())
            rest.extend(inner for name, inner in fields if name.casefold().rpartition("_")[2] not in passed_over)
    return "\n\n".join(texts)


def _path(loc: Sequence[int | str]) -> str:
    """Write a pydantic location as OpenAI does: messages[0].content. Branches of a union are left out."""
    path = ""
    for part in loc:
        if isinstance(part, int):
            path += f"[{part}]"
        elif part not in ("str", "int", "bool") and not part.startswith(("list[", "dict[")):
            path += f".{part}" if path else part
    return path
