"""Adds a model's settings to a request. Pure."""

from typing import Any

from models.engine import Body
from models.settings import ModelSettings

Message = dict[str, Any]


def fill(body: Body, alias: str, settings: ModelSettings) -> Body:
    """Return the request for the upstream. `body` is not changed.

    The configured model always replaces the request's. Temperature and length apply only if the request has none.
    `stream` and `stream_options` are removed: the caller decides whether to stream.
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
    """Return how many choices a request asks for."""
    return body.get("n") or 1


def system_first(messages: list[Message]) -> list[Message]:
    """Join all system and developer messages, in order, into the first message."""
    systems = [message for message in messages if is_system(message)]
    if not systems or (len(systems) == 1 and is_system(messages[0])):
        return messages
    text = "\n\n".join(filter(None, (text_of(message) for message in systems)))
    rest = [message for message in messages if not is_system(message)]
    return [{"role": systems[0]["role"], "content": text}, *rest]


def is_system(message: object) -> bool:
    return isinstance(message, dict) and message.get("role") in ("system", "developer")


def text_of(message: Message) -> str:
    """Return a message's text, whether its content is a string, a list of parts, or missing."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    written = content if isinstance(content, list) else []
    parts = [part.get("text") for part in written if isinstance(part, dict) and part.get("type") not in _THOUGHTS]
    return "\n".join(part for part in parts if isinstance(part, str))


_THOUGHTS = ("thinking", "reasoning")
"""Types of content parts that hold a model's thoughts, not its reply."""
