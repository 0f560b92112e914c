"""create_app: everything is wired here."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import AsyncExitStack
from typing import Literal

import orjson
from aiohttp import web

from assistants.embedded import Embedded
from models.client import Around, EngineFactory, open_models, plain
from models.openai_engine import make_session
from proxy.access import access_of, is_loopback
from proxy.chat import SERVICE, Service, chat
from proxy.chatbot import assemble
from proxy.config import Config, ConfigError
from proxy.keys import KeyFileError, KeyRing
from proxy.memory import ProcessMemory
from proxy.metrics import Metrics
from proxy.middleware import METRICS, boundary
from proxy.trace import Trace
from proxy.trace_store import TraceStore

__all__ = ["assemble", "create_app"]


def create_app(
    config: Config,
    engines: Mapping[str, EngineFactory] | None = None,
    *,
    around: Around = plain,
    watch: Callable[[Trace], None] | None = None,
) -> web.Application:
    """Return the proxy for a configuration.

    Args:
        config: The configuration.
        engines: Kinds of engine besides those of `models`, by the name they have in `models.<alias>.engine`.
            Default: the embedded chatbot.
        around: What to put between an alias and its engine; see `models.client.open_models`.
        watch: Is given the trace of every finished turn, whatever `privacy.store` says: for a harness in this process.

    Raises:
        ConfigError: A knowledge base, a prompt or an alias is not right; with every problem found.
        ModelSettingsError: At start-up, when a model's secret is missing.
    """
    blueprints = assemble(config)
    keys = key_ring(config, blueprints)
    metrics = Metrics()
    app = web.Application(middlewares=[boundary], client_max_size=config.server.max_body_bytes)
    app[METRICS] = metrics

    async def serve(app: web.Application) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            session = await stack.enter_async_context(make_session())
            # An alias that nobody asks needs no key.
            asked = set().union(*(blueprint.aliases for blueprint in blueprints.values()))
            used = {alias: settings for alias, settings in config.models.items() if alias in asked}
            models = open_models(used, session, engines or {"embedded": Embedded}, around=around)
            stack.push_async_callback(models.close)
            traces = TraceStore(config.privacy.path, stored(config), config.privacy.days)
            stack.push_async_callback(asyncio.to_thread, traces.close)
            traces.start()
            metrics.traces_dropped.set_function(lambda: traces.dropped)
            memory = ProcessMemory(config.memory.max_turns, config.memory.max_age_s)
            chatbots = {name: blueprint.open(models) for name, blueprint in blueprints.items()}
            for chatbot in chatbots.values():
                chatbot.filter.warm_up()
            app[SERVICE] = service = Service(config, chatbots, memory, traces, metrics, session, keys, watch=watch)
            stack.push_async_callback(service.settle)
            yield

    app.cleanup_ctx.append(serve)
    app.add_routes(ROUTES)
    return app


def stored(config: Config) -> Literal["full", "redacted", "none"]:
    """Return what traces hold under a configuration: `auto` is full on a loopback address, else redacted."""
    if config.privacy.store != "auto":
        return config.privacy.store
    return "full" if config.keys is None and is_loopback(config.server.host) else "redacted"


def key_ring(config: Config, chatbots: Collection[str], environ: Mapping[str, str] = os.environ) -> KeyRing | None:
    """Open the keys of a configuration; None: it has none.

    Raises:
        ConfigError: They cannot be read, name a chatbot that is not there, or are missing where strangers can connect.
    """
    settings = config.keys
    if settings is None:
        if not is_loopback(config.server.host):
            raise ConfigError(
                [
                    f"server.host: {config.server.host!r} is no loopback address, and there are no `keys`: anybody could ask. Run "
                    "`caf key create NAME`, and set keys: {file: data/keys.json}"
                ]
            )
        return None
    if settings.env is not None and settings.env not in environ:
        raise ConfigError([f"keys.env: the environment variable {settings.env!r} is not set"])
    try:
        ring = KeyRing(settings.file, None if settings.env is None else environ[settings.env])
    except KeyFileError as error:
        raise ConfigError([f"keys: {error}"]) from None
    unknown = sorted({name for record in ring.records for name in record.chatbots or ()} - set(chatbots))
    if unknown:
        raise ConfigError(
            [f"keys: chatbots that are not configured: {', '.join(unknown)}; there is {', '.join(chatbots)}"]
        )
    return ring


async def models(request: web.Request) -> web.Response:
    """List the chatbots that a client may ask, as OpenAI lists models."""
    service = request.app[SERVICE]
    access = access_of(request.headers, service.keys, service.config.server.host)
    names = access.chatbots(service.chatbots)
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "caf"} for name in names]
    return _json({"object": "list", "data": data})


async def healthz(request: web.Request) -> web.Response:
    """Say that the process lives."""
    return _json({"status": "ok"})


async def readyz(request: web.Request) -> web.Response:
    """Say that requests can be served."""
    return _json({"status": "ready", "chatbots": list(request.app[SERVICE].chatbots)})


async def metrics(request: web.Request) -> web.Response:
    """Return the metrics in Prometheus' format: to everybody on loopback, elsewhere to keys with `admin`."""
    service = request.app[SERVICE]
    if not is_loopback(service.config.server.host):
        access_of(request.headers, service.keys, service.config.server.host, "admin")
    return web.Response(body=request.app[METRICS].text(), headers={"Content-Type": "text/plain; version=0.0.4"})


def _json(data: object) -> web.Response:
    return web.Response(body=orjson.dumps(data), content_type="application/json")


ROUTES = [
    web.post("/v1/chat/completions", chat),
    web.get("/v1/models", models),
    web.get("/healthz", healthz),
    web.get("/readyz", readyz),
    web.get("/metrics", metrics),
]
