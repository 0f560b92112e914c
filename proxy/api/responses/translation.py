"""Translates a request to /v1/responses into a chat request. Pure.

Instructions become a system message, and items become messages. Function tools and custom tools keep their names. Fields that both
APIs share, and unknown fields, are forwarded unchanged.
"""

from collections.abc import Sequence
from typing import Any

from models.engine import Body
from proxy.api.responses.request import (
    IGNORED,
    TRANSLATED,
    ResponseItem,
    ResponsePart,
    ResponsesRequest,
    ResponseTool,
    TextFormat,
)
from proxy.protocol.errors import BadRequest
from proxy.protocol.user_texts import messages_in

SAME = (
    "parallel_tool_calls",
    "temperature",
    "top_p",
    "top_logprobs",
    "user",
    "metadata",
    "service_tier",
    "stream",
    "documents",
)
"""Fields with the same meaning in a chat request."""


def as_chat(sent: ResponsesRequest, before: Sequence[Body]) -> Body:
    """Translate a request into a chat request.

    Args:
        sent: The request.
        before: The messages of the responses that the request continues, oldest first, without instructions.

    Raises:
        BadRequest: An item, a part or a tool is not supported.
    """
    instructions = [{"role": "system", "content": sent.instructions}] if sent.instructions else []
    chat: Body = {
        **(sent.model_extra or {}),
        **{name: value for name in SAME if (value := getattr(sent, name)) is not None},
        "model": sent.model,
        "messages": [*instructions, *before, *messages_of(sent.input)],
    }
    if sent.max_output_tokens is not None:
        chat["max_completion_tokens"] = sent.max_output_tokens
    if sent.tools:
        chat["tools"] = [_tool(tool, f"tools[{i}]") for i, tool in enumerate(sent.tools)]
    if sent.tool_choice is not None:
        chat["tool_choice"] = _tool_choice(sent.tool_choice)
    if sent.reasoning and sent.reasoning.effort is not None:
        chat["reasoning_effort"] = sent.reasoning.effort
    if sent.text and sent.text.verbosity is not None:
        chat["verbosity"] = sent.text.verbosity
    if sent.text and sent.text.format is not None:
        chat["response_format"] = _response_format(sent.text.format)
    if sent.top_logprobs or "message.output_text.logprobs" in (sent.include or ()):
        chat["logprobs"] = True
    return chat


def messages_of(sent: str | list[ResponseItem]) -> list[Body]:
    """Translate the field `input` into chat messages. The text and the tool calls of one reply become one message.

    Raises:
        BadRequest: An item or a part is not supported.
    """
    if isinstance(sent, str):
        return [{"role": "user", "content": sent}]
    messages: list[Body] = []
    for i, item in enumerate(sent):
        where = f"input[{i}]"
        if item.type == "message":
            messages.append(_message(item, where))
        elif item.type in ("function_call", "custom_tool_call"):
            call = _to_tool_call(item, where)
            if not messages or messages[-1]["role"] != "assistant":
                messages.append({"role": "assistant", "content": None})
            messages[-1].setdefault("tool_calls", []).append(call)
        elif item.type in ("function_call_output", "custom_tool_call_output"):
            output = _require(item, "output", where)
            content = output if isinstance(output, str) else _parts(output, f"{where}.output")
            messages.append(
                {"role": "tool", "tool_call_id": _require(item, "call_id", where), "content": content or ""}
            )
        elif item.type not in IGNORED:
            raise BadRequest(
                f"{where}.type: items of type {item.type[:40]!r} are not supported (expected one of {', '.join(TRANSLATED)}; "
                f"ignored are {', '.join(IGNORED)}). Remove the item from `input`.",
                param=f"{where}.type",
            )
    if not messages:
        raise BadRequest("input: the list contains no message; expected at least one.", param="input")
    return messages


def read_leniently(data: Body, before: Sequence[Body] = ()) -> Body:
    """Translate an unvalidated request into a chat request that contains the texts for the emergency judge.

    Args:
        data: The decoded request.
        before: The messages of the responses that the request continues, as for `as_chat`.
    """
    return {"model": data.get("model"), "messages": [*before, *messages_in(data)], "stream": data.get("stream")}


def _message(item: ResponseItem, where: str) -> Body:
    content = item.content if isinstance(item.content, str) else _parts(item.content or [], f"{where}.content")
    if item.role == "assistant" and isinstance(content, list) and len(content) == 1 and content[0]["type"] == "text":
        content = content[0]["text"]
    return {"role": _require(item, "role", where), "content": content}


def _to_tool_call(item: ResponseItem, where: str) -> Body:
    kind, given = ("function", "arguments") if item.type == "function_call" else ("custom", "input")
    called = {"name": _require(item, "name", where), given: _require(item, given, where)}
    return {"id": _require(item, "call_id", where), "type": kind, kind: called}


def _require(item: ResponseItem, name: str, where: str) -> Any:
    value = getattr(item, name)
    if value is None:
        raise BadRequest(
            f"{where}.{name}: the field is missing; items of type {item.type!r} need it.", param=f"{where}.{name}"
        )
    return value


def _parts(parts: Sequence[ResponsePart], where: str) -> list[Body]:
    return [_part(part, f"{where}[{i}]") for i, part in enumerate(parts)]


def _part(part: ResponsePart, where: str) -> Body:
    more = part.model_extra or {}
    if part.type in ("input_text", "output_text", "text", "summary_text"):
        return {"type": "text", "text": part.text or ""}
    if part.type == "refusal":
        return {"type": "refusal", "refusal": part.refusal or ""}
    if part.type == "input_image":
        if part.image_url is None:
            raise BadRequest(
                f"{where}.image_url: the field is missing. Images by file id are not supported; send a URL or a data URL.",
                param=f"{where}.image_url",
            )
        detail = {} if part.detail is None else {"detail": part.detail}
        return {"type": "image_url", "image_url": {"url": part.image_url, **detail}}
    if part.type == "input_file":
        file = {"file_id": part.file_id, "filename": more.get("filename"), "file_data": more.get("file_data")}
        return {"type": "file", "file": {name: value for name, value in file.items() if value is not None}}
    return part.model_dump(exclude_unset=True)  # forwarded unknown parts; their text is judged too


def _tool(tool: ResponseTool, where: str) -> Body:
    if tool.type not in TOOL_FIELDS:
        raise BadRequest(
            f"{where}.type: tools of type {tool.type[:40]!r} are not supported (expected one of {', '.join(TOOL_FIELDS)}). "
            "Remove the tool, or declare what your client runs as a function.",
            param=f"{where}.type",
        )
    if not tool.name:
        raise BadRequest(f"{where}.name: the field is missing; every tool needs a name.", param=f"{where}.name")
    fields = {n: v for n, v in (tool.model_extra or {}).items() if n in TOOL_FIELDS[tool.type]}
    form = fields.get("format")
    if isinstance(form, dict) and form.get("type") == "grammar":  # nested one level deeper in chat completions
        fields["format"] = {"type": "grammar", "grammar": {n: v for n, v in form.items() if n != "type"}}
    return {"type": tool.type, tool.type: {"name": tool.name, **fields}}


TOOL_FIELDS = {"function": ("description", "parameters", "strict"), "custom": ("description", "format")}
"""Fields of a tool in chat completions, by its type."""


def _tool_choice(choice: str | dict[str, Any]) -> Any:
    if isinstance(choice, str):
        return choice
    if choice.get("type") != "allowed_tools":
        return _chosen_tool(choice)
    tools = choice.get("tools")
    allowed = [_chosen_tool(tool) for tool in tools] if isinstance(tools, list) else []
    return {"type": "allowed_tools", "allowed_tools": {"mode": choice.get("mode", "auto"), "tools": allowed}}


def _chosen_tool(choice: Any) -> Body:
    kind, name = (choice.get("type"), choice.get("name")) if isinstance(choice, dict) else (None, None)
    if not isinstance(kind, str) or kind not in TOOL_FIELDS or not isinstance(name, str):
        raise BadRequest(
            f"tool_choice: {str(kind)[:40]!r} is not supported (expected none, auto, required, a function or custom tool by "
            "name, or allowed_tools).",
            param="tool_choice",
        )
    return {"type": kind, kind: {"name": name}}


def _response_format(form: TextFormat) -> Body:
    if form.type != "json_schema":
        return {"type": form.type}
    if not form.name:
        raise BadRequest(
            "text.format.name: the field is missing; a JSON schema needs a name.", param="text.format.name"
        )
    fields = {n: v for n, v in (form.model_extra or {}).items() if n in ("description", "schema", "strict")}
    return {"type": "json_schema", "json_schema": {"name": form.name, **fields}}
