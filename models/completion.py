"""Builds chat completions for engines that produce only a text, an object or a message. Pure."""

import time

import orjson

from models.engine import Body
from models.usage import Usage


def completion(body: Body, answer: str | Body | None) -> Body:
    """Return a chat completion with an answer. If the request asks for several choices (`n`), all are equal.

    Args:
        body: the request.
        answer: a text; None for a message without content; a completion (with `choices`), which is returned unchanged; a message
            (with `tool_calls`); or any other object, which is encoded as JSON text.
    """
    if isinstance(answer, dict) and "choices" in answer:
        return answer
    if not isinstance(answer, dict):
        return wrap_message(body, {"content": answer})
    return wrap_message(body, answer if "tool_calls" in answer else {"content": orjson.dumps(answer).decode()})


def wrap_message(body: Body, message: Body) -> Body:
    """Return a chat completion with an assistant's message in each of its choices, and with estimated usage."""
    message = {"content": None} | message | {"role": "assistant"}
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    choices = [{"index": i, "message": message, "finish_reason": finish} for i in range(body.get("n") or 1)]
    response = {
        "id": f"chatcmpl-{time.time_ns():x}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": body.get("model"),
        "choices": choices,
    }
    return response | {"usage": Usage.from_body(response, body).as_openai()}
