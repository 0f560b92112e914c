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
    for chunk in chunks(completion, include_usage):
        yield event(chunk)
    yield DONE


def chunks(completion: Body, include_usage: bool) -> Iterator[Body]:
    """Yield the chat completion chunks that `events` encodes."""
    base = {k: v for k, v in completion.items() if k not in ("choices", "usage", "caf")}
    base["object"] = "chat.completion.chunk"
    unknown = {"usage": None} if include_usage else {}
    for choice in completion["choices"]:
        for delta, logprobs in _deltas(choice):
            yield {**base, "choices": [_chunk(choice, delta, None, logprobs)], **unknown}
        caf = choice.get("caf") or completion.get("caf")
        end = {**base, "choices": [_chunk(choice, {}, choice["finish_reason"])], **unknown}
        yield {**end, "caf": caf} if caf else end
    if include_usage:
        yield {**base, "choices": [], "usage": completion["usage"]}


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


def _deltas(choice: Body) -> Iterator[tuple[Body, Body | None]]:
    """Yield each delta with its logprobs."""
    message = choice["message"]
    yield {"role": "assistant", "content": None if message["content"] is None else ""}, None
    if message.get("refusal"):  # first: where there is content too, it must be known how to take it
        yield {"refusal": message["refusal"]}, None
    for piece, logprobs in _with_logprobs(message["content"] or "", choice.get("logprobs")):
        yield {"content": piece}, logprobs
    if message.get("tool_calls"):
        yield {"tool_calls": [{"index": i, **call} for i, call in enumerate(message["tool_calls"])]}, None
    if message.get("function_call"):
        yield {"function_call": message["function_call"]}, None


def _with_logprobs(text: str, logprobs: Any) -> Iterator[tuple[str, Body | None]]:
    """Cut a text into its tokens where their logprobs are known, as OpenAI streams it; else into pieces."""
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    tokens = [token for token in tokens if isinstance(token, dict)] if isinstance(tokens, list) else []
    if text and "".join(str(t.get("token")) for t in tokens) == text:
        for token in tokens:
            yield str(token["token"]), {"content": [token], "refusal": None}
        return
    known = logprobs if isinstance(logprobs, dict) else None
    for piece in pieces(text):
        yield piece, known  # tokens that are half a character do not spell the text: then all go with the first piece
        known = None


def _chunk(choice: Body, delta: Body, finish: str | None, logprobs: Body | None = None) -> Body:
    return {"index": choice["index"], "delta": delta, "logprobs": logprobs, "finish_reason": finish}
