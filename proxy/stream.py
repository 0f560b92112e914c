"""Server-sent events as OpenAI writes them: a settled completion as chunks. Pure."""

from collections.abc import Iterator
from typing import Any

import orjson

from models.client import Body

KEEP_ALIVE = b": keep-alive\n\n"
DONE = b"data: [DONE]\n\n"
PIECE = 48
"""Characters in a chunk, about: chunks end where a word ends."""


def events(completion: Body, include_usage: bool) -> Iterator[bytes]:
    """Yield the events of a stream that delivers a completion.

    Args:
        completion: A chat completion; a `caf` object goes to the chunk with the finish_reason.
        include_usage: Add the usage chunk of `stream_options.include_usage`.
    """
    base = {k: v for k, v in completion.items() if k not in ("choices", "usage", "caf")}
    base["object"] = "chat.completion.chunk"
    unknown = {"usage": None} if include_usage else {}
    for choice in completion["choices"]:
        for delta in _deltas(choice["message"]):
            yield event({**base, "choices": [_chunk(choice, delta, None)], **unknown})
        caf = choice.get("caf") or completion.get("caf")
        end = {**base, "choices": [_chunk(choice, {}, choice["finish_reason"])], **unknown}
        yield event({**end, "caf": caf} if caf else end)
    if include_usage:
        yield event({**base, "choices": [], "usage": completion["usage"]})
    yield DONE


def event(data: Any) -> bytes:
    """Encode one event."""
    return b"data: " + orjson.dumps(data) + b"\n\n"


def pieces(text: str) -> Iterator[str]:
    """Cut a text into pieces that together are the text."""
    start = 0
    while start < len(text):
        end = text.find(" ", start + PIECE)
        end = len(text) if end < 0 or end > start + 4 * PIECE else end
        end = min(end, start + 4 * PIECE)
        yield text[start:end]
        start = end


def _deltas(message: Body) -> Iterator[Body]:
    yield {"role": "assistant", "content": None if message["content"] is None else ""}
    for piece in pieces(message["content"] or ""):
        yield {"content": piece}
    if message.get("refusal"):
        yield {"refusal": message["refusal"]}
    if message.get("tool_calls"):
        yield {"tool_calls": [{"index": i, **call} for i, call in enumerate(message["tool_calls"])]}
    if message.get("function_call"):
        yield {"function_call": message["function_call"]}


def _chunk(choice: Body, delta: Body, finish: str | None) -> Body:
    return {"index": choice["index"], "delta": delta, "logprobs": None, "finish_reason": finish}
