"""A chatbot of `kind: passthrough`: what comes is forwarded, what comes back is relayed, nothing else."""

from typing import Any

import orjson
from aiohttp import web

from models.errors import ModelError
from proxy import stream
from proxy.chatbot import Chatbot
from proxy.middleware import FIELDS, told


async def passthrough(request: web.Request, bot: Chatbot, raw: bytes, data: dict[str, Any]) -> web.StreamResponse:
    """Forward a request; only the model's name is replaced by the one that the upstream knows.

    Raises:
        ModelError: The upstream cannot be reached.
    """
    request[FIELDS]["chatbot"] = bot.name
    upstream = bot.upstream_model
    if data["model"] != upstream:
        raw = orjson.dumps({**data, "model": upstream})
    forwarded = await bot.models.forward(bot.settings.model, raw, request.headers)
    if forwarded.chunks is None:
        return web.Response(status=forwarded.status, headers=forwarded.headers, body=forwarded.body)
    async with forwarded:
        response = web.StreamResponse(status=forwarded.status, headers=forwarded.headers)
        await response.prepare(request)
        try:
            async for chunk in forwarded.chunks:
                await response.write(chunk)
        except ModelError as error:  # the headers are gone: the stream says so itself, and ends without [DONE]
            await response.write(stream.event(told(request, error).body()))
        return response
