"""A loopback server that answers as OpenAI does, written from OpenAI's reference and not from the proxy's code.

What it says follows from what it is asked: a tool call when there are tools and no result yet, a document when JSON is wanted,
else a greeting; so a suite of calls finds the same shapes here and behind the proxy. Some things it is told to do, in the
user's last message: see `BUSY` and the lines below it.
"""

import asyncio
import json
import re
from typing import Any

from aiohttp import web

Body = dict[str, Any]
USAGE = {
    "prompt_tokens": 19,
    "completion_tokens": 10,
    "total_tokens": 29,
    "prompt_tokens_details": {"cached_tokens": 4},
    "completion_tokens_details": {"reasoning_tokens": 2},
}
BUSY, ALWAYS_BUSY = "Are you busy?", "Are you always busy?"
"""It is, on every other request, or on every one: 429, and when to come again."""
BREAK_OFF = "Break off."
"""It fails in mid-stream; unstreamed, so late that a proxy has begun its own stream."""
REFUSE = "Refuse."
REFUSAL = "I cannot help with that."
LATE_S = 0.4
LEAST = 16
"""The least `max_output_tokens` that OpenAI takes; here it is enough for a word."""

LINE = web.AppKey("line", str)
KEY = web.AppKey("key", str)
"""The only key that is right; empty: any."""
ASKED = web.AppKey("asked", list[Body])
"""The requests it got."""
SAYS = web.AppKey("says", dict[str, str])
"""What it says in place of a greeting, by the user's last message."""
GREETING = "Hello! What would you like to know?"
DOCUMENT = '{"greeting": "Hello!"}'
ARGUMENTS = '{"city": "Paris"}'
CALL = {"id": "call_abc123", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}


def server(commands: bool, key: str = "") -> web.Application:
    """Return the server.

    Args:
        commands: Whether it writes the citation commands that a guarded chatbot is to write.
        key: The only key that is right.
    """
    app = web.Application(middlewares=[_understanding])
    app[KEY] = key
    app[LINE] = "[[cite: no_claims]]\n" if commands else ""
    app[ASKED] = []
    app[SAYS] = {}
    app.router.add_post("/v1/chat/completions", _chat)
    app.router.add_post("/v1/responses", _responses)
    app.router.add_post("/v1/embeddings", _embeddings)
    app.router.add_get("/v1/models", _models)
    app.router.add_get("/v1/models/{id}", _model)
    return app


@web.middleware
async def _understanding(request: web.Request, handler: Any) -> web.StreamResponse:
    if request.app[KEY] and request.headers.get("Authorization") != f"Bearer {request.app[KEY]}":
        return _error(401, "Incorrect API key provided: x.", None, "invalid_api_key")
    try:
        return await handler(request)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return _error(400, "Invalid type.", None, "invalid_type")


def _error(status: int, message: str, param: str | None, code: str | None) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return web.json_response({"error": error}, status=status)


def _nobody() -> web.Response:
    return _error(404, "The model does not exist or you do not have access to it.", "model", "model_not_found")


def _busy() -> web.Response:
    error = {"message": "Rate limit reached.", "type": "requests", "param": None, "code": "rate_limit_exceeded"}
    return web.json_response({"error": error}, status=429, headers={"Retry-After": "1", "retry-after-ms": "20"})


FAILURE = {"message": "The server had an error.", "type": "server_error", "param": None, "code": None}


async def _models(request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [_entry("bot")]})


async def _model(request: web.Request) -> web.Response:
    if request.match_info["id"] != "bot":
        return _nobody()
    return web.json_response(_entry("bot"))


def _entry(name: str) -> Body:
    return {"id": name, "object": "model", "created": 1686935002, "owned_by": "openai"}


async def _embeddings(request: web.Request) -> web.Response:
    body = await request.json()
    request.app[ASKED].append(body)
    if body["model"] == "nobody":
        return _nobody()
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]
    data = [{"object": "embedding", "index": i, "embedding": [0.25, -0.5]} for i, _ in enumerate(given)]
    usage = {"prompt_tokens": 8, "total_tokens": 8}
    return web.json_response({"object": "list", "data": data, "model": body["model"], "usage": usage})


def _said(messages: list[Body]) -> str:
    """Return the text of the user's last message."""
    content = next((message["content"] for message in reversed(messages) if message["role"] == "user"), "")
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


async def _chat(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    request.app[ASKED].append(body)
    if not body.get("messages"):
        code = "empty_array" if body.get("messages") == [] else "missing_required_parameter"
        return _error(400, "Invalid 'messages'.", "messages", code)
    if body["model"] == "nobody":
        return _nobody()
    if (body.get("temperature") or 0) > 2:
        return _error(400, "Expected a value <= 2.", "temperature", "decimal_above_max_value")
    said = _said(body["messages"])
    if said == ALWAYS_BUSY or (
        said == BUSY and sum(asked.get("messages") == body["messages"] for asked in request.app[ASKED]) % 2
    ):
        return _busy()
    if said == BREAK_OFF and not body.get("stream"):
        await asyncio.sleep(LATE_S)
        return web.json_response({"error": FAILURE}, status=500)
    answer = _answer(body, request.app[LINE], said, request.app[SAYS].get(said))
    head = {"id": "chatcmpl-B9MBs8", "created": 1741569952, "model": body["model"], "service_tier": "default"}
    head["system_fingerprint"] = "fp_44709d6fcb"
    if not body.get("stream"):
        choices = [{"index": i, **answer} for i in range(body.get("n") or 1)]
        return web.json_response({**head, "object": "chat.completion", "choices": choices, "usage": USAGE})
    usage = bool((body.get("stream_options") or {}).get("include_usage"))
    head |= {"object": "chat.completion.chunk"} | ({"usage": None} if usage else {})
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)

    async def send(data: Any) -> None:
        await response.write(b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n")

    for index in range(body.get("n") or 1):
        for choice in _deltas(answer):
            await send({**head, "choices": [{"index": index, **choice}]})
            if said == BREAK_OFF and choice["delta"].get("content"):
                await send({"error": FAILURE})
                return response
    if usage:
        await send({**head, "choices": [], "usage": USAGE})
    await send(b"[DONE]")
    return response


def _answer(body: Body, line: str, said: str, says: str | None) -> Body:
    """Write a choice, but for its index."""
    message: Body = {"role": "assistant", "content": None, "refusal": None}
    if body.get("tools") and body["messages"][-1]["role"] != "tool":
        return {"message": {**message, "tool_calls": [CALL]}, "logprobs": None, "finish_reason": "tool_calls"}
    if said == REFUSE:
        return {"message": {**message, "refusal": REFUSAL}, "logprobs": None, "finish_reason": "stop"}
    json_wanted = (body.get("response_format") or {}).get("type", "text") != "text"
    text = DOCUMENT if json_wanted else says or line + GREETING
    stops = body.get("stop") or []
    for stop in [stops] if isinstance(stops, str) else stops:
        text = text.split(stop)[0]
    finish = "stop"
    if (body.get("max_completion_tokens") or body.get("max_tokens")) in (1, LEAST):
        text, finish = line + GREETING.split()[0], "length"
    tokens = [{"token": t, "logprob": -0.25, "bytes": list(t.encode()), "top_logprobs": []} for t in _words(text)]
    logprobs = {"content": tokens, "refusal": None} if body.get("logprobs") else None
    return {"message": {**message, "content": text}, "logprobs": logprobs, "finish_reason": finish}


def _deltas(choice: Body) -> list[Body]:
    """Write the chunks of a choice, but for its index."""
    message, logprobs = choice["message"], choice["logprobs"]
    parts: list[Body] = [{"delta": {"role": "assistant", "content": "" if message["content"] else None}}]
    for i, word in enumerate(_words(message["content"] or "")):
        likely = {"content": [logprobs["content"][i]], "refusal": None} if logprobs else None
        parts.append({"delta": {"content": word}, "logprobs": likely})
    parts += [{"delta": {"refusal": word}} for word in _words(message["refusal"] or "")]
    if calls := message.get("tool_calls"):
        begun = {**CALL, "function": {**CALL["function"], "arguments": ""}}
        parts.append({"delta": {"tool_calls": [{"index": i, **begun} for i, _ in enumerate(calls)]}})
        for piece in (ARGUMENTS[:7], ARGUMENTS[7:]):
            parts.append({"delta": {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}})
    parts.append({"delta": {}, "finish_reason": choice["finish_reason"]})
    return [{"logprobs": None, "finish_reason": None, **part} for part in parts]


def _words(text: str) -> list[str]:
    """Cut a text before its spaces, and before and after a line break."""
    return re.findall(r"\n|[^\S\n]*\S+|[^\S\n]+$", text)


async def _responses(request: web.Request) -> web.StreamResponse:
    """Answer as the examples of OpenAI's reference do."""
    body = await request.json()
    if body.get("previous_response_id") not in (None, "resp_67ccd2bed1ec"):
        return _error(404, "Previous response not found.", "previous_response_id", "previous_response_not_found")
    if body["model"] == "nobody":
        return _nobody()
    given = body["input"]
    said = given if isinstance(given, str) else _said([item for item in given if item.get("role")])
    if said == ALWAYS_BUSY:
        return _busy()
    answered = isinstance(given, list) and given[-1].get("type") == "function_call_output"
    json_wanted = ((body.get("text") or {}).get("format") or {}).get("type", "text") != "text"
    short = body.get("max_output_tokens") == LEAST
    if body.get("tools") and not answered:
        item = {
            "id": "fc_67ca09c6bedc", "type": "function_call", "status": "completed", "arguments": ARGUMENTS,
            "call_id": "call_unLAR8MvFNptuiZK6K6HCy5k", "name": "get_weather",
        }  # fmt: skip
    else:
        text = DOCUMENT if json_wanted else GREETING.split()[0] if short else GREETING
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        item = {
            "id": "msg_67ccd2bf17f0",
            "type": "message",
            "status": "incomplete" if short else "completed",
            "role": "assistant",
            "content": [part],
        }
    whole = {
        "id": "resp_67ccd2bed1ec", "object": "response", "created_at": 1741476542, "status": "incomplete" if short else "completed",
        "background": False, "error": None, "incomplete_details": {"reason": "max_output_tokens"} if short else None,
        "instructions": body.get("instructions"), "max_output_tokens": body.get("max_output_tokens"),
        "max_tool_calls": None, "model": body["model"], "output": [item],
        "parallel_tool_calls": True, "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None}, "service_tier": "default", "store": True, "temperature": 1.0,
        "text": body.get("text") or {"format": {"type": "text"}}, "tool_choice": "auto", "tools": body.get("tools") or [],
        "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled",
        "usage": {
            "input_tokens": 19, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 10,
            "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 29,
        },
        "user": body.get("user"), "metadata": body.get("metadata") or {},
    }  # fmt: skip
    if not body.get("stream"):
        return web.json_response(whole)
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[Body] = [
        {"type": "response.created", "response": begun},
        {"type": "response.in_progress", "response": begun},
    ]
    place = {"item_id": item["id"], "output_index": 0}
    if item["type"] == "function_call":
        events += [
            {"type": "response.output_item.added", "output_index": 0, "item": {**item, "status": "in_progress", "arguments": ""}},
            {"type": "response.function_call_arguments.delta", **place, "delta": ARGUMENTS},
            {"type": "response.function_call_arguments.done", **place, "name": item["name"], "arguments": ARGUMENTS},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
        ]  # fmt: skip
    else:
        place["content_index"] = 0
        empty = {**item, "status": "in_progress", "content": []}
        events += [
            {"type": "response.output_item.added", "output_index": 0, "item": empty},
            {"type": "response.content_part.added", **place, "part": {**part, "text": ""}},
            *({"type": "response.output_text.delta", **place, "delta": word, "logprobs": []} for word in (text[:5], text[5:])),
            {"type": "response.output_text.done", **place, "text": text, "logprobs": []},
            {"type": "response.content_part.done", **place, "part": part},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
        ]  # fmt: skip
    events.append({"type": f"response.{whole['status']}", "response": whole})
    if said == BREAK_OFF:
        events[2:] = [{"type": "error", "error": FAILURE}]
    for number, event in enumerate(events):
        data = json.dumps({**event, "sequence_number": number})
        await response.write(f"event: {event['type']}\ndata: {data}\n\n".encode())
    return response
