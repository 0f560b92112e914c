"""A chatbot of `kind: passthrough`: what comes is forwarded, what comes back is relayed, nothing else."""

from typing import Any

import orjson
from aiohttp import web

from models.errors import ModelError
from models.usage import Call, Ledger, Usage
from proxy import stream
from proxy.chatbot import Chatbot
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
    forwarded = await bot.models.forward(bot.settings.model, raw, request.headers)
    relayed = len(forwarded.body or b"")
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
            except ModelError as error:  # the headers are gone: the stream says so itself, and ends without [DONE]
                await response.write(stream.event(told(request, error).body()))
            return response
    finally:
        usage = Usage(len(raw) // BYTES_PER_TOKEN, relayed // BYTES_PER_TOKEN, estimated=True)
        cost = usage.cost(bot.models.settings[bot.settings.model].price)
        ledger.add(Call("forward", bot.settings.model, 0.0, usage, cost, None))
