"""A loopback server that answers as OpenAI does, written from OpenAI's reference and not from the proxy's code.

What it says follows from what it is asked: a tool call when there are tools and no result yet, a document when JSON is wanted,
else a greeting; so a suite of calls finds the same shapes here and behind the proxy.
"""

import json
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
LINE = web.AppKey("line", str)
ASKED = web.AppKey("asked", list[Body])
"""The requests it got."""
GREETING = "Hello! What would you like to know?"
DOCUMENT = '{"greeting": "Hello!"}'
ARGUMENTS = '{"city": "Paris"}'
CALL = {"id": "call_abc123", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}


def server(commands: bool) -> web.Application:
    """Return the server. Args: commands: whether it writes the citation commands that a guarded chatbot is to write."""
    app = web.Application(middlewares=[_understanding])
    app[LINE] = "[[cite: no_claims]]\n" if commands else ""
    app[ASKED] = []
    app.router.add_post("/v1/chat/completions", _chat)
    app.router.add_post("/v1/responses", _responses)
    app.router.add_post("/v1/embeddings", _embeddings)
    app.router.add_get("/v1/models", _models)
    app.router.add_get("/v1/models/{id}", _model)
    return app


@web.middleware
async def _understanding(request: web.Request, handler: Any) -> web.StreamResponse:
    try:
        return await handler(request)
    except (TypeError, ValueError, KeyError, IndexError, AttributeError):
        return _error(400, "Invalid type.", None, "invalid_type")


def _error(status: int, message: str, param: str | None, code: str | None) -> web.Response:
    error = {"message": message, "type": "invalid_request_error", "param": param, "code": code}
    return web.json_response({"error": error}, status=status)


async def _models(request: web.Request) -> web.Response:
    return web.json_response({"object": "list", "data": [_entry("bot")]})


async def _model(request: web.Request) -> web.Response:
    if request.match_info["id"] != "bot":
        return _error(404, "The model does not exist", "model", "model_not_found")
    return web.json_response(_entry("bot"))


def _entry(name: str) -> Body:
    return {"id": name, "object": "model", "created": 1686935002, "owned_by": "openai"}


async def _embeddings(request: web.Request) -> web.Response:
    body = await request.json()
    request.app[ASKED].append(body)
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]
    data = [{"object": "embedding", "index": i, "embedding": [0.25, -0.5]} for i, _ in enumerate(given)]
    usage = {"prompt_tokens": 8, "total_tokens": 8}
    return web.json_response({"object": "list", "data": data, "model": body["model"], "usage": usage})


async def _chat(request: web.Request) -> web.StreamResponse:
    body = await request.json()
    request.app[ASKED].append(body)
    if not body.get("messages"):
        return _error(400, "Missing required parameter: 'messages'.", "messages", "missing_required_parameter")
    calls = bool(body.get("tools")) and body["messages"][-1]["role"] != "tool"
    json_wanted = (body.get("response_format") or {}).get("type", "text") != "text"
    text = None if calls else DOCUMENT if json_wanted else request.app[LINE] + GREETING
    head = {"id": "chatcmpl-B9MBs8", "created": 1741569952, "model": body["model"], "service_tier": "default"}
    head["system_fingerprint"] = "fp_44709d6fcb"
    message: Body = {"role": "assistant", "content": text, "refusal": None}
    if calls:
        message["tool_calls"] = [CALL]
    reason = "tool_calls" if calls else "stop"
    if not body.get("stream"):
        choices = [
            {"index": i, "message": message, "logprobs": None, "finish_reason": reason}
            for i in range(body.get("n") or 1)
        ]
        return web.json_response({**head, "object": "chat.completion", "choices": choices, "usage": USAGE})
    usage = bool((body.get("stream_options") or {}).get("include_usage"))
    head |= {"object": "chat.completion.chunk"} | ({"usage": None} if usage else {})
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream; charset=utf-8"})
    await response.prepare(request)

    async def send(data: Any) -> None:
        await response.write(b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n")

    async def delta(index: int, delta: Body, finish: str | None = None) -> None:
        await send({**head, "choices": [{"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}]})

    for index in range(body.get("n") or 1):
        await delta(index, {"role": "assistant", "content": "" if text else None})
        for word in (text or "").split(" "):
            if word:
                await delta(index, {"content": word + " "})
        if calls:
            await delta(index, {"tool_calls": [{"index": 0, **CALL}]})
        await delta(index, {}, reason)
    if usage:
        await send({**head, "choices": [], "usage": USAGE})
    await send(b"[DONE]")
    return response


async def _responses(request: web.Request) -> web.StreamResponse:
    """Answer as the examples of OpenAI's reference do."""
    body = await request.json()
    if body.get("previous_response_id") not in (None, "resp_67ccd2bed1ec"):
        return _error(404, "Previous response not found.", "previous_response_id", "previous_response_not_found")
    given = body["input"]
    answered = isinstance(given, list) and given[-1].get("type") == "function_call_output"
    json_wanted = ((body.get("text") or {}).get("format") or {}).get("type", "text") != "text"
    if body.get("tools") and not answered:
        item = {
            "id": "fc_67ca09c6bedc", "type": "function_call", "status": "completed", "arguments": ARGUMENTS,
            "call_id": "call_unLAR8MvFNptuiZK6K6HCy5k", "name": "get_weather",
        }  # fmt: skip
    else:
        text = DOCUMENT if json_wanted else GREETING
        part = {"type": "output_text", "text": text, "annotations": [], "logprobs": []}
        item = {
            "id": "msg_67ccd2bf17f0",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [part],
        }
    whole = {
        "id": "resp_67ccd2bed1ec", "object": "response", "created_at": 1741476542, "status": "completed",
        "background": False, "error": None, "incomplete_details": None, "instructions": body.get("instructions"),
        "max_output_tokens": None, "max_tool_calls": None, "model": body["model"], "output": [item],
        "parallel_tool_calls": True, "previous_response_id": body.get("previous_response_id"),
        "reasoning": {"effort": None, "summary": None}, "service_tier": "default", "store": True, "temperature": 1.0,
        "text": body.get("text") or {"format": {"type": "text"}}, "tool_choice": "auto", "tools": body.get("tools") or [],
        "top_logprobs": 0, "top_p": 1.0, "truncation": "disabled",
        "usage": {
            "input_tokens": 36, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 87,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 123,
        },
        "user": None, "metadata": {},
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
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        data = json.dumps({**event, "sequence_number": number})
        await response.write(f"event: {event['type']}\ndata: {data}\n\n".encode())
    return response
