"""Validates a request to /v1/responses. Pure."""

from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from models.engine import Body
from proxy.protocol.errors import BadRequest
from proxy.protocol.messages import DOCUMENTS, Wire, as_bad_request


class ResponsePart(Wire):
    type: str
    text: str | None = None
    refusal: str | None = None
    image_url: str | None = None
    detail: str | None = None
    file_id: str | None = None


TRANSLATED = ("message", "function_call", "function_call_output", "custom_tool_call", "custom_tool_call_output")
"""Types of input items that can be translated into chat messages."""
IGNORED = ("reasoning", "web_search_call", "ghost_snapshot")
"""Types of input items that are ignored, because they have no content for the conversation: a model's encrypted reasoning, a search
call without its results, and the undo snapshots of Codex."""


class ResponseItem(Wire):
    """An item of the field `input`: a message, a tool call, or a tool result."""

    type: str = "message"
    role: Literal["system", "developer", "user", "assistant"] | None = None
    content: str | list[ResponsePart] | None = None
    call_id: str | None = None
    name: str | None = None
    arguments: str | None = None
    input: str | None = None
    output: str | list[ResponsePart] | None = None

    @model_validator(mode="before")
    @classmethod
    def _keep_only_type(cls, item: Any) -> Any:
        """Drop all fields but the type of an item that is not translated, because its other fields may have any type."""
        kind = item.get("type", "message") if isinstance(item, dict) else None
        return {"type": kind} if isinstance(kind, str) and kind not in TRANSLATED else item


class ResponseTool(Wire):
    type: str
    name: str | None = None


class Reasoning(Wire):
    effort: str | None = None


class TextFormat(Wire):
    type: str
    name: str | None = None


class TextOptions(Wire):
    format: TextFormat | None = None
    verbosity: str | None = None


class ResponsesRequest(Wire):
    model: str
    input: str | list[ResponseItem]
    instructions: str | None = None
    previous_response_id: str | None = None
    store: bool | None = True
    stream: bool | None = False
    stream_options: dict[str, Any] | None = None
    """Ignored. The only option is padding of chunks, which this proxy never adds."""
    tools: list[ResponseTool] | None = None
    tool_choice: str | dict[str, Any] | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: int | None = None
    """Ignored. The field limits calls of tools that run at OpenAI, which are not supported."""
    max_output_tokens: int | None = Field(None, ge=1)
    temperature: float | None = None
    top_p: float | None = None
    top_logprobs: int | None = Field(None, ge=0, le=20)
    reasoning: Reasoning | None = None
    text: TextOptions | None = None
    include: list[str] | None = None
    truncation: Literal["auto", "disabled"] | None = None
    """Ignored. The history of a guarded chatbot is always cut to its token budget."""
    user: str | None = None
    metadata: dict[str, Any] | None = None
    service_tier: str | None = None
    background: bool | None = None
    conversation: Any = None
    prompt: Any = None
    documents: Any = DOCUMENTS


def read_responses_request(data: Body) -> ResponsesRequest:
    """Validate a decoded request to /v1/responses.

    Raises:
        BadRequest: A field is invalid or not supported. The message names the first such field.
    """
    try:
        sent = ResponsesRequest.model_validate(data)
    except ValidationError as error:
        raise as_bad_request(error) from error
    for name in ("messages", "n"):
        if name in data:
            raise BadRequest(
                f"{name}: /v1/responses does not support this field of /v1/chat/completions; remove it.", param=name
            )
    for name, instead in NOT_SERVED.items():
        if getattr(sent, name):
            raise BadRequest(f"{name}: the field is not supported; {instead}.", param=name)
    return sent


NOT_SERVED = {
    "background": "leave it out and wait for the response, or stream it",
    "conversation": "use `previous_response_id`, or the header X-Conversation-Id",
    "prompt": "send the text as `instructions` and `input`",
}
