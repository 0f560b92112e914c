"""create_app: everything is wired here."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Literal

import orjson
from aiohttp import web

from assistants.embedded import Embedded
from models.client import Around, EngineFactory, open_models, plain
from models.openai_engine import make_session
from proxy.access import is_loopback
from proxy.chat import SERVICE, Service, chat
from proxy.chatbot import assemble
from proxy.config import Config
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
            app[SERVICE] = service = Service(config, chatbots, memory, traces, metrics, session, watch)
            stack.push_async_callback(service.settle)
            yield

    app.cleanup_ctx.append(serve)
    app.add_routes(ROUTES)
    return app


def stored(config: Config) -> Literal["full", "redacted", "none"]:
    """Return what traces hold under a configuration: `auto` is full on a loopback address, else redacted."""
    if config.privacy.store != "auto":
        return config.privacy.store
    return "full" if is_loopback(config.server.host) else "redacted"


async def models(request: web.Request) -> web.Response:
    """List the chatbots, as OpenAI lists models."""
    data = [{"id": name, "object": "model", "created": 0, "owned_by": "caf"} for name in request.app[SERVICE].chatbots]
    return _json({"object": "list", "data": data})


async def healthz(request: web.Request) -> web.Response:
    """Say that the process lives."""
    return _json({"status": "ok"})


async def readyz(request: web.Request) -> web.Response:
    """Say that requests can be served."""
    return _json({"status": "ready", "chatbots": list(request.app[SERVICE].chatbots)})


async def metrics(request: web.Request) -> web.Response:
    """Return the metrics in Prometheus' format."""
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
