"""POST /v1/embeddings: forwards requests to an embedding model. No judge reads these requests."""

import asyncio
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aiohttp
import orjson
from aiohttp import web

from models.alias import Alias
from models.client import Models
from models.errors import ModelError, error_for_status
from models.fallback import chain
from models.openai_engine import OpenAIEngine
from models.relay import relay
from models.usage import Call, Ledger
from proxy.api.forwarded_usage import estimate_usage
from proxy.api.passthrough import ForwardAccounting
from proxy.api.request_body import read_body, refuse_forms
from proxy.api.service import SERVICE
from proxy.auth.limits import Estimate, Reservation
from proxy.config.config import Config
from proxy.protocol.errors import BadRequest, ModelNotFound
from proxy.protocol.messages import read_json
from proxy.telemetry.logs import FIELDS


@dataclass(frozen=True, slots=True)
class Embedder:
    """An embedding model that clients can select by name."""

    aliases: Sequence[Alias]
    """The model's alias and its fallbacks. They share the limits on concurrent calls (bulkheads) with chat calls."""
    chatbot: str | None
    """The chatbot whose name selects this model; None: the model of the setting `embeddings`."""


EMBEDDERS = web.AppKey("embedders", Mapping[str, Embedder])


def embedding_names(config: Config) -> dict[str, tuple[str, str | None]]:
    """Return the embedding models by the name that clients send in `model`. Without models, the route is not served.

    Returns:
        For each name: the model's alias, and the chatbot with this name; None for the model of the setting `embeddings`.
    """
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
    config: Config, models: Models, session: aiohttp.ClientSession, environ: Mapping[str, str] = os.environ
) -> dict[str, Embedder]:
    """Open the embedding models of a configuration. Return them by the name that clients send.

    Raises:
        ModelSettingsError: The environment variable of a model's API key is not set.
    """

    def open_alias(name: str) -> Alias:
        settings = config.models[name]
        engine = OpenAIEngine(settings, session, environ, alias=name, path="embeddings")
        alias = Alias(name, settings, engine, first_pause_s=0)  # forwarded requests are not retried
        alias.bulkhead = models.bulkheads.get(name)
        return alias

    return {
        name: Embedder([open_alias(one) for one in _interchangeable_aliases(config, alias)], chatbot)
        for name, (alias, chatbot) in embedding_names(config).items()
    }


def _interchangeable_aliases(config: Config, alias: str) -> list[str]:
    """Return an alias and those of its fallbacks that use the same model. Vectors of different models are not comparable."""
    model = config.models[alias]
    chained = ((one, config.models[one]) for one in chain(alias, config.models))
    return [one for one, its in chained if one == alias or (its.engine, its.model) == ("openai", model.model or alias)]


async def embeddings(request: web.Request) -> web.Response:
    """Forward a request for embeddings. Only the name of the model is replaced, by the name that the upstream uses."""
    service, embedders = request.app[SERVICE], request.app[EMBEDDERS]
    access = service.access(request)
    refuse_forms(request, service.keys)
    data = read_json(raw := await read_body(request))
    name = data.get("model")
    if not isinstance(name, str) or not name:
        raise BadRequest("model: expected the name of an embedding model.", param="model")
    embedder = embedders.get(name)
    # A key that is limited to certain chatbots may use only their embedding models.
    visible = [n for n, e in embedders.items() if access.visible_chatbots([e.chatbot or ""])]
    if embedder is None or name not in visible:
        expected = (
            f"expected one of: {', '.join(visible)}"
            if visible
            else "this API key gives access to no embedding model; the operator can add one to its `chatbots`"
        )
        raise ModelNotFound(f"model: unknown embedding model {name[:64]!r}; {expected}.", param="model")
    first = embedder.aliases[0]
    upstream = first.settings.model or first.name
    if name != upstream:
        raw = orjson.dumps({**data, "model": upstream})
    request[FIELDS]["model"] = first.name
    usage = estimate_usage(len(raw), 0)
    costs = [usage.cost(alias.settings.price) or 0.0 for alias in embedder.aliases]
    reservation = Reservation(usage.prompt_tokens, max(costs))
    estimate = Estimate(first.name, reservation, reservation)
    async with service.meter.admit(access.key, Ledger(service.telemetry), estimate) as ledger:
        with ForwardAccounting(service, embedder.chatbot or first.name, access.key, ledger):
            started = time.perf_counter()

            def add_call(alias: str, error: str | None) -> None:
                # Embeddings are charged by input, also when the client disconnects. Estimated, because the answer is not parsed.
                usage = estimate_usage(len(raw), 0)
                cost = usage.cost(service.config.models[alias].price)
                ledger.add(Call("embed", alias, _since(started), usage, cost, error))

            try:
                answer = await relay(embedder.aliases, raw, request.headers, ledger, "embed")
            except asyncio.CancelledError:  # the client disconnected before the answer
                add_call(first.name, "cancelled")
                raise
            error = error_for_status(answer.status).kind if answer.status >= 400 else None
            try:
                async with answer:
                    body = answer.body if answer.chunks is None else b"".join([chunk async for chunk in answer.chunks])
            except ModelError as broken:
                error = broken.kind
                raise
            except asyncio.CancelledError:
                error = "cancelled"
                raise
            finally:
                add_call(answer.alias, error)
    return web.Response(status=answer.status, headers=answer.headers, body=body)


def _since(started: float) -> float:
    return (time.perf_counter() - started) * 1000
