"""Tool calls that this proxy delivered: the upstream's ids, and the fields that its model needs back with them.

Clients get neither, because an id can contain text, and no judge has read a model's reasoning. When a client sends a call back,
`restore` writes both into the upstream's request.
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
"""Maximum size of the fields that are kept with one call."""
_CALL = ("id", "type", "index", "function", "custom")
_FUNCTION = ("name", "arguments", "input")
_MESSAGE = ("role", "content", "refusal", "tool_calls", "function_call", "annotations", "audio", "documents", "action")
"""Fields that are not kept: clients get them, or only assistants use them."""


@dataclass(frozen=True, slots=True)
class DeliveredCall:
    """The stored record of a delivered tool call. The store finds it by the client's id of the call."""

    id: str
    """The id of the conversation. Erasing the conversation erases the record."""
    upstream_id: str
    """The id that the upstream gave the call; empty: none."""
    name: str
    arguments: str
    """The hash of the arguments."""
    call: Fields = field(default_factory=dict)
    """Further fields of the call, such as Gemini's `extra_content`."""
    function: Fields = field(default_factory=dict)
    """Further fields of its function."""
    message: Fields = field(default_factory=dict)
    """Further fields of its message, such as DeepSeek's `reasoning_content`."""
    size: int = 0
    """Size of the fields above, in bytes."""

    def is_call(self, call: Body) -> bool:
        """Return whether a client's call has the same name and arguments."""
        called = _called(call)
        return called.get("name") == self.name and arguments_digest(called.get("arguments")) == self.arguments


def delivered_call(conversation_id: str, name: str, arguments: str, call: Body, message: Body) -> DeliveredCall:
    """Return the record of a delivered call.

    Args:
        conversation_id: The id of its conversation.
        name, arguments: As delivered.
        call: The call as the upstream wrote it.
        message: The upstream's message, if its fields must be kept with this call, else empty.
    """
    upstream_id = call.get("id")
    fields = (_further(call, _CALL), _further(_called(call), _FUNCTION), _further(message, _MESSAGE))
    size = _size(fields)
    if size > MAX_STATE_BYTES:
        log.warning("model fields of a tool call not stored: too large", bytes=size)
        fields, size = ({}, {}, {}), 0
    upstream_id = upstream_id if isinstance(upstream_id, str) and len(upstream_id) <= MAX_STATE_BYTES else ""
    size += len(upstream_id)
    return DeliveredCall(conversation_id, upstream_id, name, arguments_digest(arguments), *fields, size=size)


def arguments_digest(arguments: object) -> str:
    """Return the hash of a call's arguments. It does not depend on the formatting of their JSON."""
    try:
        written = orjson.dumps(orjson.loads(str(arguments)), option=orjson.OPT_SORT_KEYS).decode()
    except (ValueError, TypeError):
        written = str(arguments)
    return digest(written)


def restore(messages: list[Body], delivered: Mapping[str, DeliveredCall]) -> list[Body]:
    """Return a client's messages for the upstream, with the upstream's ids of calls and the fields that its model needs back.

    Args:
        messages: The messages; they are not changed.
        delivered: The known calls, by the client's ids. Other calls are forwarded unchanged.
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
