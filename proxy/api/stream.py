"""Encodes a completion as server-sent events in OpenAI's form. Pure."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import orjson

from models.engine import Body
from proxy.api.logprobs import encode, token_bytes

KEEP_ALIVE = b": keep-alive\n\n"
"""Sent by respond.py every `server.keep_alive_s` while no other event is sent."""
DONE = b"data: [DONE]\n\n"
NOTHING: Mapping[int, int] = MappingProxyType({})
PIECE = 48
"""Approximate number of characters in a chunk. Chunks end at the end of a word."""


def events(completion: Body, include_usage: bool, sent: Mapping[int, int] = NOTHING) -> Iterator[bytes]:
    """Yield the events of a stream that delivers a completion.

    Args:
        completion: A chat completion. Its `caf` object is added to the chunk with the finish_reason.
        include_usage: Whether to add the usage chunk that `stream_options.include_usage` asks for.
        sent: Number of characters already sent of each choice's text, by choice. A choice of which nothing was sent is missing.
    """
    for chunk in chunks(completion, include_usage, sent):
        yield event(chunk)
    yield DONE


def chunks(completion: Body, include_usage: bool, sent: Mapping[int, int] = NOTHING) -> Iterator[Body]:
    """Yield the chat completion chunks that `events` encodes. The arguments are the same."""
    base = _base({k: v for k, v in completion.items() if k not in ("choices", "usage", "caf")}, include_usage)
    for choice in completion["choices"]:
        for delta, logprobs in _deltas(choice, sent.get(choice["index"])):
            yield {**base, "choices": [_chunk(choice["index"], delta, None, logprobs)]}
        caf = choice.get("caf") or completion.get("caf")
        end = {**base, "choices": [_chunk(choice["index"], {}, choice["finish_reason"])]}
        yield {**end, "caf": caf} if caf else end
    if include_usage:
        yield {**base, "usage": completion["usage"]}


def event(data: Any) -> bytes:
    """Encode one server-sent event with JSON data."""
    return b"data: " + orjson.dumps(data) + b"\n\n"


def pieces(text: str) -> Iterator[str]:
    """Split a text into pieces of about `PIECE` characters. The pieces together are the text."""
    start = 0
    while start < len(text):
        end = text.find(" ", start + PIECE, start + 4 * PIECE)
        end = start + 4 * PIECE if end < 0 else end
        yield text[start:end]
        start = end


def piece_chunks(head: Body, index: int, text: str, first: bool, include_usage: bool) -> Iterator[Body]:
    """Yield the chunks for a piece of text that is sent before its completion is finished.

    Args:
        head: The fields `id`, `created` and `model` of the later completion.
        index: The choice.
        text: The piece.
        first: Whether this is the first piece of the choice.
        include_usage: As in `events`.
    """
    base = _base(head, include_usage)
    for delta in (*([{"role": "assistant", "content": ""}] if first else []), {"content": text}):
        yield {**base, "choices": [_chunk(index, delta, None)]}


def _base(head: Body, include_usage: bool) -> Body:
    """Return the fields that all chunks of a stream share."""
    unknown = {"usage": None} if include_usage else {}
    return {**head, "object": "chat.completion.chunk", "choices": [], **unknown}


def _deltas(choice: Body, sent: int | None) -> Iterator[tuple[Body, Body | None]]:
    """Yield each delta of a choice with its logprobs. `sent` is the number of characters already sent; None: no delta was."""
    message = choice["message"]
    if sent is None:
        yield {"role": "assistant", "content": None if message["content"] is None else ""}, None
    refusal = message.get("refusal")
    refusal_is_text = refusal and refusal == message["content"]
    if refusal_is_text:  # first, so that the client reads the content as a refusal
        yield {"refusal": refusal}, None
    for piece, logprobs in _with_logprobs((message["content"] or "")[sent or 0 :], choice.get("logprobs")):
        yield {"content": piece}, logprobs
    if refusal and not refusal_is_text:
        yield {"refusal": refusal}, None
    if message.get("tool_calls"):
        yield {"tool_calls": [{"index": i, **call} for i, call in enumerate(message["tool_calls"])]}, None
    if message.get("function_call"):
        yield {"function_call": message["function_call"]}, None


def _with_logprobs(text: str, logprobs: Body | None) -> Iterator[tuple[str, Body | None]]:
    """Split a text into tokens with their logprobs, as OpenAI does. A text without logprobs is split into pieces."""
    tokens = logprobs["content"] if logprobs else []
    at, pending, raw = 0, [], b""
    if tokens and not encode(text).startswith(b"".join(map(token_bytes, tokens))):
        tokens = []  # the tokens are not of the text that is sent here
    for token in tokens:
        pending.append(token)
        raw += token_bytes(token)
        try:
            piece = raw.decode()
        except UnicodeDecodeError:
            continue  # wait for the other bytes of the character
        yield piece, {"content": pending, "refusal": None}
        at, pending, raw = at + len(piece), [], b""
    for piece in pieces(text[at:]):
        yield piece, None


def _chunk(index: int, delta: Body, finish: str | None, logprobs: Body | None = None) -> Body:
    return {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
