"""Normalizes the answers of different servers to OpenAI's format: errors, finish reasons, content and tool calls. Pure."""

import json
from typing import Any

import orjson

from models.engine import Body
from models.errors import ModelError, UpstreamGarbled, UpstreamUnavailable, error_for_status
from models.refusal import read_refusal

_ENDS = {
    "stop": "stop", "eos": "stop", "eos_token": "stop", "end_turn": "stop", "stop_sequence": "stop",
    "length": "length", "max_tokens": "length", "max_output_tokens": "length", "model_length": "length",
    "tool_calls": "tool_calls", "tool_use": "tool_calls",
    "function_call": "function_call",
    "content_filter": "content_filter", "safety": "content_filter",
}  # fmt: skip
"""By `finish_reason` of a usable answer in lower case (OpenAI, Together, TGI, Anthropic, Gemini, Mistral), OpenAI's equivalent.
All other values mean failure: `error` (OpenRouter, Mistral), `abort` (vLLM, SGLang), `insufficient_system_resource` (DeepSeek)."""
_TEXT_PARTS = (None, "text", "output_text")
"""Types of content parts with the text of a reply; None: the part has no type. Other types hold thoughts, references or files."""


def as_completion(answer: object, max_choices: int | None = None) -> Body:
    """Normalize an upstream's answer to an OpenAI chat completion. Unknown fields are kept.

    Args:
        answer: The decoded JSON.
        max_choices: Maximum number of choices to keep. None: keep all.

    Raises:
        ModelError: The answer is an error, is not a chat completion, or has an unknown `finish_reason`.
    """
    if not isinstance(answer, dict):
        raise UpstreamGarbled("sent an answer that is not a JSON object")
    if (error := find_error(answer)) is not None:
        raise error
    choices = answer.get("choices")
    if not isinstance(choices, list) or not choices:
        raise UpstreamGarbled("answered without choices")
    return {
        **answer,
        "choices": [_read_choice(choice, position) for position, choice in enumerate(choices[:max_choices])],
    }


def _read_choice(choice: Any, position: int) -> Body:
    if not (isinstance(choice, dict) and isinstance(choice.get("message"), dict)):
        raise UpstreamGarbled("answered with a choice that has no message")
    index = read_index(choice.get("index"))
    read = {**choice, "index": position if index is None else index, "message": _read_message(choice["message"])}
    if reason := choice.get("finish_reason"):
        end = _ENDS.get(reason.lower()) if isinstance(reason, str) else None
        if end is None:
            raise UpstreamUnavailable(
                "ended the answer with an unknown finish_reason (expected one such as stop or length)"
            )
        read["finish_reason"] = end
    return read


def _read_message(message: Body) -> Body:
    content, refusal, function = message.get("content"), message.get("refusal"), message.get("function_call")
    calls = message.get("tool_calls") or []
    if not (
        isinstance(refusal, str | None)
        and isinstance(function, dict | None)
        and isinstance(calls, list)
        and all(isinstance(call, dict) for call in calls)
    ):
        raise UpstreamGarbled("answered with a message whose fields have wrong types")
    read = {**message}
    if content is not None:
        read["content"] = content_text(content)
    if function:
        read["function_call"] = _read_function(function)
    if calls:
        read["tool_calls"] = [
            {**call, "function": _read_function(call["function"])} if isinstance(call.get("function"), dict) else call
            for call in calls
        ]
    return read


def content_text(content: Any) -> str:
    """Return the text of a message's `content`. Parts are joined without a separator, because some servers split sentences.

    Raises:
        UpstreamGarbled: The content is neither a string nor a list of parts.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise UpstreamGarbled("answered with content of a wrong type (expected a string or a list of parts)")
    parts = [part.get("text") for part in content if part.get("type") in _TEXT_PARTS]
    return "".join(part for part in parts if isinstance(part, str))


def _read_function(function: Body) -> Body:
    return {**function, "arguments": arguments_text(function["arguments"])} if "arguments" in function else function


def arguments_text(arguments: Any) -> str:
    """Return the arguments of a tool call as JSON text. Some servers send a JSON object instead of text."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))


def read_index(value: Any) -> int | None:
    """Return an index from a server as an int. Digits in a string are accepted; None: the value is not an index >= 0."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 10:
        value = int(value)
    return value if type(value) is int and value >= 0 else None


def find_error(body: Body) -> ModelError | None:
    """Return the error that an answer or stream event reports, at the top or in a choice; None if there is no error.

    The result does not quote the upstream's message, which may contain a prompt or a key.
    """
    choices = body.get("choices")
    bodies = [body, *(choices if isinstance(choices, list) else ())]
    error = next((one["error"] for one in bodies if isinstance(one, dict) and one.get("error")), None)
    if error is None and body.get("object") == "error":
        error = body
    if error is None:
        return None
    status = error.get("code") if isinstance(error, dict) else None
    if isinstance(status, int) and 400 <= status < 600:
        code, param = read_refusal(error)
        return error_for_status(status, code=code, param=param)
    return UpstreamUnavailable("reported an error in its answer")


def decode_completion(raw: bytes) -> Any:
    """Decode the body of an answer as `decode_answer` does, but refuse an empty or HTML body.

    Raises:
        UpstreamGarbled: The body is empty or HTML.
    """
    if (error := find_garbled(raw)) is not None:
        raise error
    return decode_answer(raw)


def find_garbled(raw: bytes) -> UpstreamGarbled | None:
    """Return an error if a body is empty or HTML, else None."""
    begin = raw.lstrip(b" \t\r\n\xef\xbb\xbf")[:1]
    if not begin:
        return UpstreamGarbled("answered with an empty body")
    return UpstreamGarbled("answered with HTML instead of JSON") if begin == b"<" else None


def decode_answer(raw: bytes) -> Any:
    """Decode JSON, leniently if necessary. Return None if the bytes are not JSON."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        try:
            return repair_characters(decode_leniently(raw))
        except (ValueError, RecursionError):  # nested too deeply
            return None


def decode_leniently(raw: bytes) -> Any:
    """Decode JSON with NaN, control characters or unpaired surrogates, which orjson refuses. Surrogates stay unchanged.

    Raises:
        ValueError: The bytes are not even lenient JSON, or are nested too deeply.
    """
    try:
        return json.loads(raw.decode("utf-8-sig"), strict=False)
    except RecursionError:
        raise ValueError("cannot decode JSON: it is nested too deeply") from None


def repair_characters(value: Any) -> Any:
    """Join surrogate pairs in all strings of a JSON value, and replace unpaired surrogates."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [repair_characters(one) for one in value]
    if isinstance(value, dict):
        return {repair_characters(name): repair_characters(one) for name, one in value.items()}
    return value
