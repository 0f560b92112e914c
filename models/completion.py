"""Pure: wraps an answer as a chat completion."""

import time

import orjson

from models.engine import Body
from models.usage import Usage


def completion(body: Body, answer: str | Body | None) -> Body:
    """Wrap an answer as a chat completion. Each of the `n` choices holds the same answer."""
    if isinstance(answer, dict) and "choices" in answer:
        return answer
    if not isinstance(answer, dict):
        return wrap_message(body, {"content": answer})
    return wrap_message(body, answer if "tool_calls" in answer else {"content": orjson.dumps(answer).decode()})


def wrap_message(body: Body, message: Body) -> Body:
    """Wrap an assistant's message as a chat completion."""
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
