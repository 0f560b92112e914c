"""Tool calls that this proxy delivered: their ids at the upstream, and what its model wants back with them.

Clients get neither: an id can spell something, and no judge has read a model's reasoning. When a client sends a call back,
`restore` writes both into what the upstream gets.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson
import structlog

from proxy.protocol.canonical import digest

log = structlog.get_logger()
Body = dict[str, Any]
Fields = Mapping[str, Any]

MAX_STATE_BYTES = 256 * 1024
"""Of the fields that are kept with one call."""
_CALL = ("id", "type", "index", "function", "custom")
_FUNCTION = ("name", "arguments", "input")
_MESSAGE = ("role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio", "documents", "action")
"""Fields that are no state of the model's: clients get them, or they are an assistant's."""


@dataclass(frozen=True, slots=True)
class DeliveredCall:
    """What is kept of a call, under the id that the client knows it by."""

    id: str
    """Of its conversation, with which it is erased."""
    upstream_id: str
    """The id that the upstream gave it; empty: none."""
    name: str
    arguments: str
    """Their hash."""
    call: Fields = field(default_factory=dict)
    """Further fields of the call, such as Gemini's `extra_content`."""
    function: Fields = field(default_factory=dict)
    """Further fields of its function."""
    message: Fields = field(default_factory=dict)
    """Further fields of its message, such as DeepSeek's `reasoning_content`."""
    size: int = 0
    """Bytes of these fields."""

    def is_call(self, call: Body) -> bool:
        """Tell whether a call that a client sends is this one, with the same name and arguments."""
        called = _called(call)
        return called.get("name") == self.name and arguments_digest(called.get("arguments")) == self.arguments


def delivered_call(conversation_id: str, name: str, arguments: str, call: Body, message: Body) -> DeliveredCall:
    """Return what to keep of a delivered call.

    Args:
        conversation_id: Of its conversation.
        name, arguments: As delivered.
        call: As the upstream wrote it.
        message: The upstream's message, if its fields are to be kept with this call.
    """
    upstream_id = call.get("id")
    fields = (_further(call, _CALL), _further(_called(call), _FUNCTION), _further(message, _MESSAGE))
    size = _size(fields)
    if size > MAX_STATE_BYTES:
        log.warning("what a model wants back with a tool call is not kept: it is too large", bytes=size)
        fields, size = ({}, {}, {}), 0
    upstream_id = upstream_id if isinstance(upstream_id, str) and len(upstream_id) <= MAX_STATE_BYTES else ""
    size += len(upstream_id)
    return DeliveredCall(conversation_id, upstream_id, name, arguments_digest(arguments), *fields, size=size)


def arguments_digest(arguments: object) -> str:
    """Return the hash of a call's arguments, the same however a client writes their JSON."""
    try:
        written = orjson.dumps(orjson.loads(str(arguments)), option=orjson.OPT_SORT_KEYS).decode()
    except (ValueError, TypeError):
        written = str(arguments)
    return digest(written)


def restore(messages: list[Body], delivered: Mapping[str, DeliveredCall]) -> list[Body]:
    """Return a client's messages as the upstream is to see them: with its own ids of calls, and what its model wants back.

    Args:
        messages: The messages, which stay as they are.
        delivered: The calls that are known, by the ids that the client knows; others go up as the client sends them.
    """
    return [_restore(message, delivered) for message in messages] if delivered else messages


def _restore(message: Body, delivered: Mapping[str, DeliveredCall]) -> Body:
    answered = _find(message.get("tool_call_id"), delivered)
    if answered is not None and answered.upstream_id:
        return {**message, "tool_call_id": answered.upstream_id}
    calls = message.get("tool_calls")
    if not calls:
        return message
    known = [_find(call.get("id"), delivered) for call in calls]
    state = {name: value for own in known if own is not None for name, value in own.message.items()}
    return {**message, **state, "tool_calls": list(map(_restore_call, calls, known))}


def _find(ident: object, delivered: Mapping[str, DeliveredCall]) -> DeliveredCall | None:
    return delivered.get(ident) if isinstance(ident, str) else None


def _restore_call(call: Body, own: DeliveredCall | None) -> Body:
    if own is None:
        return call
    kind = "function" if call.get("function") else "custom"
    return {**call, **own.call, "id": own.upstream_id or call["id"], kind: {**_called(call), **own.function}}


def _size(fields: tuple[Body, ...]) -> int:
    try:
        return len(orjson.dumps(fields)) if any(fields) else 0
    except TypeError:  # nested too deeply
        return MAX_STATE_BYTES + 1


def _called(call: Body) -> Body:
    called = call.get("function") or call.get("custom")
    return called if isinstance(called, dict) else {}


def _further(fields: Body, known: Collection[str]) -> Body:
    return {name: value for name, value in fields.items() if name not in known and value not in (None, "", [], {})}
