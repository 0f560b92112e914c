"""Builds the request for an upstream from the caller's request and the settings of the alias. Pure."""

from typing import Any

from models.engine import Body
from models.settings import ModelSettings

Message = dict[str, Any]


def fill(body: Body, alias: str, settings: ModelSettings) -> Body:
    """Return a copy of a request with the settings of an alias.

    The configured model always replaces the `model` of the request. `temperature` and `max_tokens` are only defaults. `stream`
    and `stream_options` are removed, because the engine decides whether to stream.
    """
    request = dict(body)
    request.pop("stream", None)
    request.pop("stream_options", None)
    request["model"] = settings.model or alias
    if settings.temperature is not None and request.get("temperature") is None:
        request["temperature"] = settings.temperature
    if settings.max_tokens is not None:
        lengths = (request.get("max_tokens"), request.get("max_completion_tokens"))
        if lengths == (None, None):
            request["max_tokens"] = settings.max_tokens
    if settings.system_messages == "first" and isinstance(messages := request.get("messages"), list):
        request["messages"] = system_first(messages)
    return request


def choice_count(body: Body) -> int:
    """Return the number of choices that a request asks for: `n`, by default 1."""
    return body.get("n") or 1


def system_first(messages: list[Message]) -> list[Message]:
    """Return the messages with all system and developer messages merged, in order, into the first message."""
    systems = [message for message in messages if is_system(message)]
    if not systems or (len(systems) == 1 and is_system(messages[0])):
        return messages
    text = "\n\n".join(filter(None, (text_of(message) for message in systems)))
    rest = [message for message in messages if not is_system(message)]
    return [{"role": systems[0]["role"], "content": text}, *rest]


def is_system(message: object) -> bool:
    return isinstance(message, dict) and message.get("role") in ("system", "developer")


def text_of(message: Message) -> str:
    """Return the text of a message. Parts are joined with line breaks, without thoughts; no content is an empty text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    written = content if isinstance(content, list) else []
    parts = [part.get("text") for part in written if isinstance(part, dict) and part.get("type") not in _THOUGHTS]
    return "\n".join(part for part in parts if isinstance(part, str))


_THOUGHTS = ("thinking", "reasoning")
"""Types of content parts that hold a model's thoughts."""
