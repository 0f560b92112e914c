"""A chatbot of `kind: passthrough`: what comes is forwarded, what comes back is relayed, nothing else."""

from typing import Any

import orjson
from aiohttp import web

from models.client import Body
from models.errors import ModelError, error_for_status
from models.request import text_of
from models.usage import Call, Ledger, Usage
from proxy import stream
from proxy.chatbot import Chatbot
from proxy.messages import OWN_FIELDS
from proxy.middleware import FIELDS, told

BYTES_PER_TOKEN = 4
"""Of JSON and event streams there are more; so limits err on the side of the operator's purse."""


async def passthrough(
    request: web.Request, bot: Chatbot, raw: bytes, data: dict[str, Any], ledger: Ledger
) -> web.StreamResponse:
    """Forward a request; only the model's name is replaced by the one that the upstream knows.

    Args:
        ledger: Gets what the call used, estimated from the bytes, which nobody reads here.

    Raises:
        ModelError: The upstream cannot be reached.
    """
    request[FIELDS]["chatbot"] = bot.name
    upstream = bot.upstream_model
    if data["model"] != upstream:
        raw = orjson.dumps({**data, "model": upstream})
    forwarded = await bot.models.forward(bot.settings.model, raw, request.headers, ledger)
    relayed = len(forwarded.body or b"")
    error = error_for_status(forwarded.status).kind if forwarded.status >= 400 else None
    try:
        if forwarded.chunks is None:
            return web.Response(status=forwarded.status, headers=forwarded.headers, body=forwarded.body)
        async with forwarded:
            response = web.StreamResponse(status=forwarded.status, headers=forwarded.headers)
            await response.prepare(request)
            try:
                async for chunk in forwarded.chunks:
                    relayed += len(chunk)
                    await response.write(chunk)
            except ModelError as broken:  # the headers are gone: the stream says so itself, and ends without [DONE]
                error = broken.kind
                await response.write(stream.event(told(request, broken).body()))
            return response
    finally:
        usage = Usage(len(raw) // BYTES_PER_TOKEN, relayed // BYTES_PER_TOKEN, estimated=True)
        cost = usage.cost(bot.models.settings[forwarded.alias].price)
        ledger.add(Call("forward", forwarded.alias, 0.0, usage, cost, error))


async def passed_through(request: web.Request, bot: Chatbot, data: dict[str, Any], ledger: Ledger) -> Body:
    """Ask the chatbot's model what a client asked in a form that upstreams do not speak; return the completion.

    Raises:
        ModelError: The upstream cannot be reached, or refuses the request.
    """
    request[FIELDS]["chatbot"] = bot.name
    asked = {name: value for name, value in data.items() if name not in OWN_FIELDS}
    asked["messages"] = data["messages"]
    answer = await bot.models.complete(bot.settings.model, asked, step="forward", ledger=ledger)
    first = answer["choices"][0]
    message = first["message"]
    refusal, calls = message.get("refusal"), message.get("tool_calls")
    first["message"] = {
        "content": text_of(message) or None,
        "refusal": refusal if isinstance(refusal, str) else None,
        "tool_calls": [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else [],
    }
    return {**answer, "choices": [{"index": 0, "finish_reason": "stop"} | first], "usage": ledger.usage.as_openai()}
