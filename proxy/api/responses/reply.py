"""Translates a chat completion into the response object of /v1/responses. Pure."""

from dataclasses import dataclass
from typing import Any

from models.engine import Body
from models.request import text_of
from proxy.api.responses.request import ResponsesRequest


@dataclass(frozen=True, slots=True)
class Frame:
    """The fields of a response that do not depend on its outcome."""

    hex: str
    """Random hexadecimal digits, which the ids of the response and of its items contain."""
    created_at: int
    model: str
    sent: ResponsesRequest | None = None
    """The request. None: the request is invalid, but is answered because the user may be in danger."""
    store_failed: bool = False
    """Whether storing the response failed."""

    @property
    def id(self) -> str:
        return f"resp_{self.hex}"

    @property
    def is_stored(self) -> bool:
        """Whether the response is stored, so that a later request may continue it."""
        return self.sent is not None and self.sent.store is not False and not self.store_failed

    def body(self, status: str, output: list[Body], usage: Body | None = None, **more: Any) -> Body:
        """Build the response object. `more` adds or replaces fields."""
        sent = self.sent
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created_at,
            "status": status,
            "background": False,
            "error": None,
            "incomplete_details": None,
            "instructions": sent and sent.instructions,
            "max_output_tokens": sent and sent.max_output_tokens,
            "max_tool_calls": sent and sent.max_tool_calls,
            "model": self.model,
            "output": output,
            "parallel_tool_calls": not (sent and sent.parallel_tool_calls is False),
            "previous_response_id": sent and sent.previous_response_id,
            "reasoning": {"effort": sent and sent.reasoning and sent.reasoning.effort, "summary": None},
            "service_tier": (sent and sent.service_tier) or "auto",
            "store": self.is_stored,
            "temperature": sent and sent.temperature,
            "text": {"format": {"type": "text"}} | _echo(sent and sent.text),
            "tool_choice": (sent and sent.tool_choice) or "auto",
            "tools": [_echo(tool) for tool in (sent and sent.tools) or ()],
            "top_logprobs": (sent and sent.top_logprobs) or 0,
            "top_p": sent and sent.top_p,
            "truncation": (sent and sent.truncation) or "disabled",
            "usage": usage,
            "user": sent and sent.user,
            "metadata": (sent and sent.metadata) or {},
            **more,
        }


def response(frame: Frame, completion: Body) -> Body:
    """Build the response object for a chat completion with one choice."""
    choice = completion["choices"][0]
    more = {name: completion[name] for name in ("service_tier", "caf") if completion.get(name)}
    reason = INCOMPLETE.get(choice.get("finish_reason") or "")
    status = "completed"
    if reason:
        status, more["incomplete_details"] = "incomplete", {"reason": reason}
    return frame.body(status, items(frame, choice, status), usage(completion.get("usage") or {}), **more)


INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""The `incomplete_details.reason` of a response, by the finish_reason of an incomplete completion."""


def items(frame: Frame, choice: Body, status: str) -> list[Body]:
    """Translate a choice into output items: first the message, then the tool calls."""
    message = choice["message"]
    calls = [call for call in message.get("tool_calls") or () if isinstance(call, dict)]
    text, refusal = text_of(message), message.get("refusal")
    output = [tool_call(frame, i, call, status) for i, call in enumerate(calls)]
    parts = [{"type": "refusal", "refusal": refusal}] if refusal else []
    if text != refusal and (text or not (parts or output)):  # a repeated refusal must not be parsed as JSON
        parts.insert(0, text_part(text, logprobs(choice)))
    return [message_item(frame, status, parts), *output] if parts else output


def message_item(frame: Frame, status: str, content: list[Body]) -> Body:
    return {"id": f"msg_{frame.hex}", "type": "message", "status": status, "role": "assistant", "content": content}


def text_part(text: str, logprobs: list[Body]) -> Body:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": logprobs}


def tool_call(frame: Frame, index: int, call: Body, status: str) -> Body:
    """Translate a tool call into an output item, with `arguments` for a function and `input` for a custom tool."""
    call_id = str(call.get("id") or f"call_{frame.hex}_{index}")
    if isinstance(custom := call.get("custom"), dict):  # without a status, as in OpenAI's types
        name, given = str(custom.get("name") or ""), str(custom.get("input") or "")
        ident = f"ctc_{frame.hex}_{index}"
        return {"id": ident, "type": "custom_tool_call", "call_id": call_id, "name": name, "input": given}
    called = call.get("function")
    function = called if isinstance(called, dict) else {}
    return {
        "id": f"fc_{frame.hex}_{index}",
        "type": "function_call",
        "status": status,
        "call_id": call_id,
        "name": str(function.get("name") or ""),
        "arguments": str(function.get("arguments") or ""),
    }


def logprobs(choice: Body) -> list[Body]:
    value = choice.get("logprobs")
    tokens = value.get("content") if isinstance(value, dict) else None
    return tokens if isinstance(tokens, list) else []


def usage(counts: Body) -> Body:
    """Translate the usage of a chat completion into the usage of a response."""
    prompt_details, completion_details = (
        counts.get("prompt_tokens_details") or {},
        counts.get("completion_tokens_details") or {},
    )
    return {
        "input_tokens": counts.get("prompt_tokens", 0),
        "input_tokens_details": {"cached_tokens": prompt_details.get("cached_tokens", 0)},
        "output_tokens": counts.get("completion_tokens", 0),
        "output_tokens_details": {"reasoning_tokens": completion_details.get("reasoning_tokens", 0)},
        "total_tokens": counts.get("total_tokens", 0),
    }


def reply_message(completion: Body) -> Body:
    """Return the delivered reply as the assistant message that a chat client would send back in its next request."""
    message = completion["choices"][0]["message"]
    reply: Body = {"role": "assistant", "content": message.get("content")}
    if message.get("tool_calls"):
        reply["tool_calls"] = message["tool_calls"]
    elif reply["content"] is None and message.get("refusal"):
        reply["content"] = [{"type": "refusal", "refusal": message["refusal"]}]
    return reply


def _echo(part: Any) -> Body:
    shown: Body = part.model_dump(exclude_unset=True) if part is not None else {}
    return {name: value for name, value in shown.items() if value is not None or name != "format"}
