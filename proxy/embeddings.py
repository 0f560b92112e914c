"""POST /v1/embeddings: forwarded and not judged, since numbers say nothing to anybody."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

import aiohttp
import orjson
from aiohttp import web

from models.openai_engine import OpenAIEngine
from models.settings import ModelSettings
from models.usage import Call, Ledger, Usage
from proxy.audit.audited import forwarding
from proxy.chat import read_body
from proxy.config import Config
from proxy.errors import BadRequest, ModelNotFound
from proxy.messages import read_json
from proxy.middleware import FIELDS
from proxy.passthrough import BYTES_PER_TOKEN
from proxy.service import SERVICE


@dataclass(frozen=True, slots=True)
class Embedder:
    """A model that embeds, behind one name or several."""

    alias: str
    settings: ModelSettings
    engine: OpenAIEngine
    chatbot: str | None
    """The chatbot whose name it answers to; None: the model of the setting `embeddings`."""


EMBEDDERS = web.AppKey("embedders", Mapping[str, Embedder])


def embedding_names(config: Config) -> dict[str, tuple[str, str | None]]:
    """Return which alias embeds under which name, and for which chatbot; without any, there is no such route."""
    names: dict[str, tuple[str, str | None]] = {}
    if config.embeddings is not None:
        for name in (config.models[config.embeddings].model, config.embeddings):
            if name is not None:
                names[name] = (config.embeddings, None)
    for name, bot in config.chatbots.items():
        if bot.kind == "passthrough" and config.models[bot.model].engine == "openai":
            names[name] = (bot.model, name)
    return names


def open_embedders(
    config: Config, session: aiohttp.ClientSession, environ: Mapping[str, str] = os.environ
) -> dict[str, Embedder]:
    """Open what embeds.

    Raises:
        ModelSettingsError: A secret is missing.
    """
    found = {}
    for name, (alias, chatbot) in embedding_names(config).items():
        settings = config.models[alias]
        engine = OpenAIEngine(settings, session, environ, alias=alias, path="embeddings")
        found[name] = Embedder(alias, settings, engine, chatbot)
    return found


async def embeddings(request: web.Request) -> web.Response:
    """Forward a request for embeddings; only the model's name is replaced by the one that the upstream knows."""
    service, embedders = request.app[SERVICE], request.app[EMBEDDERS]
    access = service.access(request)
    data = read_json(raw := await read_body(request))
    name = data.get("model")
    if not isinstance(name, str) or not name:
        raise BadRequest("model: the name of a model is missing.", param="model")
    embedder = embedders.get(name)
    # A key that is for certain chatbots is for nothing else.
    known = [n for n, e in embedders.items() if access.chatbots([e.chatbot or ""])]
    if embedder is None or name not in known:
        raise ModelNotFound(
            f"There is no model {name[:64]!r} for embeddings here; there is: {', '.join(known)}.", param="model"
        )
    upstream = embedder.settings.model or embedder.alias
    if name != upstream:
        raw = orjson.dumps({**data, "model": upstream})
    request[FIELDS]["model"] = embedder.alias
    async with service.meter.admitted(access.key, Ledger(service.telemetry)) as ledger:
        with forwarding(service.audit, embedder.chatbot or embedder.alias, access.key):
            answer = await embedder.engine.forward(raw, request.headers)
            async with answer:
                body = answer.body if answer.chunks is None else b"".join([chunk async for chunk in answer.chunks])
        # Embeddings are paid by what is read. Estimated, as for all that is forwarded: nobody reads the answer here.
        usage = Usage(len(raw) // BYTES_PER_TOKEN, 0, estimated=True)
        ledger.add(Call("embed", embedder.alias, 0.0, usage, usage.cost(embedder.settings.price), None))
    return web.Response(status=answer.status, headers=answer.headers, body=body)
