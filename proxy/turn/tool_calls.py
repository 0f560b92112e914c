"""Reads the tool calls in an upstream's message, and writes them as text for judges and as fields for the client."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Literal

import orjson

from models.engine import Body
from proxy.protocol.json_text import json_text
from proxy.protocol.messages import ChatRequest
from proxy.traces.trace import DroppedCall
from proxy.turn.turn import ChoiceRun

Kind = Literal["function", "custom", "function_call"]
"""`function_call` is the message field that came before `tool_calls` in OpenAI's API."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call, reduced to the fields that can be delivered."""

    kind: Kind
    id: str
    """An id that this proxy generated, because an upstream's id could contain text. `proxy/state/delivered_calls.py` maps it to the
    upstream's id."""
    name: str
    arguments: str
    """The arguments as the model wrote them, which should be JSON. For a custom tool: its input text."""
    upstream: Body = field(default_factory=dict)
    """The call as the upstream wrote it."""


def declared_calls(choice: ChoiceRun, message: Body) -> list[ToolCall]:
    """Return the tool calls of an upstream's message that the request declares. Record the others as dropped."""
    run, index = choice.run, choice.index
    calls = read_calls(message, run.turn.id, index)
    allowed = declared_tools(run.turn.request) if calls else ()
    run.dropped_calls += [
        DroppedCall(index, call.name, "undeclared") for call in calls if (call.kind, call.name) not in allowed
    ]
    return [
        replace(call, arguments=run.visible(call.arguments, as_json=call.kind != "custom"))
        for call in calls
        if (call.kind, call.name) in allowed
    ]


def read_calls(message: Body, turn_id: str, index: int) -> list[ToolCall]:
    """Return the calls of an upstream's message. An unreadable call gets an empty name.

    Args:
        message: The message.
        turn_id, index: The id of the turn and the index of the choice, from which the ids of calls are derived.
    """
    calls = [_read_call(call, _call_id(turn_id, index, i)) for i, call in enumerate(message.get("tool_calls") or ())]
    if legacy := message.get("function_call"):
        calls.append(_parse_call("function_call", "", {"function_call": legacy}, "arguments"))
    return calls


def _call_id(turn_id: str, index: int, position: int) -> str:
    """Return an id of nine letters and digits, the only form that Mistral's servers accept."""
    return hashlib.blake2b(f"{turn_id} {index} {position}".encode()).hexdigest()[:9]


def _read_call(call: Body, ident: str) -> ToolCall:
    if isinstance(call.get("function"), dict):
        return _parse_call("function", ident, call, "arguments")
    return _parse_call("custom", ident, call, "input")


def _parse_call(kind: Kind, ident: str, call: Body, arguments_field: str) -> ToolCall:
    called = call.get(kind)
    name, arguments = (
        (called.get("name"), called.get(arguments_field) or "") if isinstance(called, dict) else (None, None)
    )
    if isinstance(arguments, dict):  # some servers send an object instead of JSON text
        arguments = orjson.dumps(arguments).decode()
    if not isinstance(name, str) or not isinstance(arguments, str):
        return ToolCall(kind, ident, "", "")
    return ToolCall(kind, ident, name, arguments, call)


def declared_tools(request: ChatRequest) -> set[tuple[Kind, str]]:
    """Return the kind and the name of each tool that a request allows the model to call."""
    if request.tool_choice == "none":
        return set()
    names: set[tuple[Kind, str]] = {("function_call", function.name) for function in request.functions or ()}
    for tool in request.tools or ():
        if tool.function is not None:
            names.add(("function", tool.function.name))
        if tool.custom is not None:
            names.add(("custom", tool.custom.name))
    return names


def fields(calls: Iterable[ToolCall]) -> Body:
    """Return the message fields for tool calls: `tool_calls`, `function_call`. Empty without calls."""
    message: Body = {}
    for call in calls:
        if call.kind == "function_call":
            message["function_call"] = {"name": call.name, "arguments": call.arguments}
        else:
            content = {"arguments" if call.kind == "function" else "input": call.arguments}
            written = {"id": call.id, "type": call.kind, call.kind: {"name": call.name, **content}}
            message.setdefault("tool_calls", []).append(written)
    return message


def text_for_judges(calls: Iterable[ToolCall]) -> str | None:
    """Return tool calls as text for judges: names and arguments, with all keys and values of JSON arguments.

    Return None if the arguments of a call contain a duplicate key, because clients differ in which value they read.
    """
    lines: list[str] = []
    for call in calls:
        lines.append(call.name)
        if call.kind == "custom":
            lines.append(call.arguments)
        elif call.arguments.strip():
            arguments = json_text(call.arguments)
            if arguments.duplicate_keys:
                return None
            lines.append(arguments.text)
    return "\n".join(lines)
