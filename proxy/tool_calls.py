"""Tool calls: which of a message's calls were asked for, the text that judges read of them, what leaves of them. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from models.client import Body
from proxy.json_text import json_text
from proxy.messages import ChatRequest

Kind = Literal["function", "custom", "function_call"]
"""`function_call`: a message's field of that name, from before there were tools."""

_ID = re.compile(
    r"[A-Za-z0-9]{1,9}|(?:call_|toolu_|chatcmpl-tool-|function-call-)[A-Za-z0-9]{1,32}|(?:call_)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
)
"""Ids as known servers write them. Some take no others back (Mistral's: nine letters and digits); longer words make a text."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of a tool, with all that can leave of it."""

    kind: Kind
    id: str
    name: str
    said: str
    """The arguments, which should be JSON, or what a custom tool is given."""


def read_calls(message: Body, turn_id: str, index: int) -> list[ToolCall]:
    """Return the calls of an upstream's message; one that nobody can read has no name.

    Args:
        message: The message.
        turn_id, index: Of its turn and choice; where an id is none of a known form, they are part of ours.
    """
    calls = [_call(call, f"call_{turn_id[:24]}_{index}_{i}") for i, call in enumerate(message.get("tool_calls") or ())]
    if legacy := message.get("function_call"):
        calls.append(_named("function_call", "", legacy, "arguments"))
    return calls


def _call(call: Body, our_id: str) -> ToolCall:
    given = call.get("id")
    known = isinstance(given, str) and _ID.fullmatch(given)
    ident = str(given) if known else our_id
    if isinstance(call.get("function"), dict):
        return _named("function", ident, call["function"], "arguments")
    return _named("custom", ident, call.get("custom"), "input")


def _named(kind: Kind, ident: str, call: Any, field: str) -> ToolCall:
    name, said = (call.get("name"), call.get(field) or "") if isinstance(call, dict) else (None, None)
    if not isinstance(name, str) or not isinstance(said, str):
        return ToolCall(kind, ident, "", "")
    return ToolCall(kind, ident, name, said)


def declared(request: ChatRequest) -> set[tuple[Kind, str]]:
    """Return the tools that a request allows to be called."""
    found: set[tuple[Kind, str]] = {("function_call", function.name) for function in request.functions or ()}
    for tool in request.tools or ():
        if tool.function is not None:
            found.add(("function", tool.function.name))
        if tool.custom is not None:
            found.add(("custom", tool.custom.name))
    return found


def fields(calls: Iterable[ToolCall]) -> Body:
    """Write the fields of a message that hold its calls; none where there are none."""
    message: Body = {}
    for call in calls:
        if call.kind == "function_call":
            message["function_call"] = {"name": call.name, "arguments": call.said}
        else:
            said = {"arguments" if call.kind == "function" else "input": call.said}
            written = {"id": call.id, "type": call.kind, call.kind: {"name": call.name, **said}}
            message.setdefault("tool_calls", []).append(written)
    return message


def text_for_judges(calls: Iterable[ToolCall]) -> str | None:
    """Return what judges read: names, and what the tools are given, of JSON all that it says.

    None: some arguments have a key twice. What a client would read in them, nobody knows.
    """
    lines: list[str] = []
    for call in calls:
        lines.append(call.name)
        if call.kind == "custom":
            lines.append(call.said)
        elif call.said.strip():
            arguments = json_text(call.said)
            if arguments.duplicate_keys:
                return None
            lines.append(arguments.text)
    return "\n".join(lines)
