"""create_app: everything is wired here."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack

import orjson
from aiohttp import hdrs, web

from assistants.registry import ENGINES
from models.client import Around, EngineFactory, open_models, plain
from models.fallback import with_all_asked
from models.openai_engine import make_session
from proxy.api.chat import chat
from proxy.api.embeddings import EMBEDDERS, embedding_names, embeddings, open_embedders
from proxy.api.erasure import erase
from proxy.api.handover import hand_over
from proxy.api.middleware import METRICS, boundary
from proxy.api.openapi import document
from proxy.api.responses.route import create_response, delete_response, read_response
from proxy.api.responses.store import ProcessResponses, ResponseStore
from proxy.api.service import SERVICE, Service
from proxy.audit.records import open_audit_log
from proxy.config.blueprint import assemble
from proxy.config.config import Config
from proxy.config.settings import MemorySettings
from proxy.state.conversation_store import ConversationStore, LocalConversations
from proxy.telemetry.external_metric import Reading
from proxy.telemetry.metrics import SHARED, Metrics
from proxy.telemetry.tracing import open_telemetry, traced
from proxy.telemetry.worker_metrics import refreshed
from proxy.tenants.access import asks_directly, authorize
from proxy.tenants.key_ring import open_key_ring
from proxy.tenants.limits import Meter, ProcessMeter
from proxy.tenants.throttle import Throttle
from proxy.traces.backend import place_of, stored
from proxy.traces.store import TraceStore
from proxy.traces.trace import Trace
from proxy.turn.chatbot import open_chatbot
from proxy.wire.errors import Forbidden, ModelNotFound, Unauthorized

__all__ = ["assemble", "create_app"]


def create_app(
    config: Config,
    engines: Mapping[str, EngineFactory] | None = None,
    *,
    around: Around = plain,
    watch: Callable[[Trace], None] | None = None,
    after: web.Application | None = None,
) -> web.Application:
    """Return the proxy for a configuration.

    Args:
        config: The configuration.
        engines: Kinds of engine besides those of `models`, by the name they have in `models.<alias>.engine`.
            Default: the embedded chatbot.
        around: What to put between an alias and its engine; see `models.client.open_models`.
        watch: Is given the trace of every finished turn, whatever `privacy.store` says: for a harness in this process.
        after: The application that this one takes over from, with its conversations and counts.

    Raises:
        ConfigError: A knowledge base, a prompt or an alias is not right; with every problem found.
        ModelSettingsError: At start-up, when a model's secret is missing.
    """
    blueprints = assemble(config)
    keys = open_key_ring(config)
    metrics = Metrics() if after is None else after[METRICS]
    telemetry = open_telemetry(os.environ)
    app = web.Application(middlewares=[traced(telemetry), boundary], client_max_size=config.server.max_body_bytes)
    app[METRICS] = metrics

    async def serve(app: web.Application) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if telemetry is not None:
                telemetry.start()
                stack.push_async_callback(asyncio.to_thread, telemetry.close)
            stack.callback(metrics.refresh)
            lost: list[tuple[Reading, Callable[[], float]]] = []
            stack.callback(_leave, lost)  # once all is closed
            session = await stack.enter_async_context(make_session())
            # An alias that nobody asks needs no key.
            asked = {alias for alias, _ in embedding_names(config).values()}
            asked = asked.union(*(blueprint.aliases for blueprint in blueprints.values()))
            asked = with_all_asked(asked, config.models)
            used = {alias: settings for alias, settings in config.models.items() if alias in asked}
            models = open_models(used, session, engines or ENGINES, around=around)
            stack.push_async_callback(models.close)
            if SHARED:
                await stack.enter_async_context(refreshed(metrics))
            traces = TraceStore(place_of(config.privacy), stored(config), config.privacy.days)
            lost.append((metrics.traces_dropped, lambda: traces.dropped))
            stack.push_async_callback(asyncio.to_thread, traces.close)
            await asyncio.to_thread(traces.start)  # a database that is away takes seconds to find out
            audit = open_audit_log(config, blueprints, keys)
            if audit is not None:
                stack.push_async_callback(asyncio.to_thread, audit.close)
                lost.append((metrics.audit_dropped, lambda: audit.dropped))
            conversations = open_conversations(config.memory, os.environ)
            stack.push_async_callback(conversations.close)
            await conversations.answers()  # if not, that is in the log now, and not only when the first request fails
            responses = open_responses(config.memory, os.environ)
            stack.push_async_callback(responses.close)
            meter = open_meter(config, os.environ)
            stack.push_async_callback(meter.close)
            lost.append((metrics.memory_failures, lambda: conversations.failures + responses.failures + meter.failures))
            chatbots = {name: open_chatbot(blueprint, models) for name, blueprint in blueprints.items()}
            for chatbot in chatbots.values():
                chatbot.filter.warm_up()
            app[SERVICE] = service = Service(
                config, chatbots, conversations, traces, metrics, session, keys, meter, audit, watch=watch, telemetry=telemetry,
                responses=responses, throttle=Throttle(config.keys.failures_per_minute if config.keys else 0),
            )  # fmt: skip
            if after is not None:
                hand_over(after[SERVICE], service)
            app[EMBEDDERS] = open_embedders(config, models, session)
            # From here on nothing can be refused: an application that is shows nothing of its own.
            metrics.expect(blueprints.values())
            metrics.guard(models.guards)
            for reading, count in lost:
                reading.follow(count)
            stack.push_async_callback(service.settle)
            yield

    app.cleanup_ctx.append(serve)
    app.on_response_prepare.append(_unnamed)
    app.add_routes(ROUTES)
    if embedding_names(config):
        app.add_routes([web.post("/v1/embeddings", embeddings)])
    return app


def _leave(lost: Iterable[tuple[Reading, Callable[[], float]]]) -> None:
    for reading, count in lost:
        reading.leave(count)


async def _unnamed(request: web.Request, response: web.StreamResponse) -> None:
    """Leave out of a response which versions of Python and aiohttp are at work: strangers get it, too."""
    response.headers.pop("Server", None)


def open_conversations(settings: MemorySettings, environ: Mapping[str, str]) -> ConversationStore:
    """Open the store of conversation states.

    Raises:
        ModelSettingsError: A secret of it is missing.
    """
    if settings.store == "process":
        return LocalConversations(settings.max_turns, settings.max_age_s)
    from proxy.state.redis_conversations import open_redis  # a library that most proxies do without

    return open_redis(settings, environ)


def open_responses(settings: MemorySettings, environ: Mapping[str, str]) -> ResponseStore:
    """Open the store of kept responses: where states of conversations are.

    Raises:
        ModelSettingsError: A secret of it is missing.
    """
    if settings.store == "process":
        return ProcessResponses(settings.max_turns, settings.max_age_s)
    from proxy.api.responses.redis_store import RedisResponses
    from proxy.state.redis_conversations import connect

    return RedisResponses(connect(settings, environ), settings.max_turns, settings.max_age_s, settings.on_error)


def open_meter(config: Config, environ: Mapping[str, str]) -> Meter:
    """Open what counts the use of keys: in Redis, if states are kept there.

    Raises:
        ModelSettingsError: A secret of it is missing.
    """
    if config.memory.store == "process" or config.keys is None:
        return ProcessMeter()
    from proxy.state.redis_conversations import connect
    from proxy.tenants.redis_limits import RedisMeter

    lease_s = config.server.turn_timeout_s + 30  # longer than any turn
    return RedisMeter(connect(config.memory, environ), lease_s, degrade=config.memory.on_error == "degrade")


async def models(request: web.Request) -> web.Response:
    """List the chatbots that a client may ask, as OpenAI lists models."""
    service = request.app[SERVICE]
    access = service.access(request)
    names = access.visible_chatbots(service.chatbots)
    return _json({"object": "list", "data": [_model(name) for name in names]})


async def model(request: web.Request) -> web.Response:
    """Show one chatbot, as OpenAI shows a model."""
    service = request.app[SERVICE]
    access = service.access(request)
    name, known = request.match_info["id"], access.visible_chatbots(service.chatbots)
    if name not in known:
        raise ModelNotFound(f"There is no chatbot {name[:64]!r} here; there is: {', '.join(known)}.", param="model")
    return _json(_model(name))


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "caf"}


async def healthz(request: web.Request) -> web.Response:
    """Say that the process lives."""
    return _json({"status": "ok"})


async def readyz(request: web.Request) -> web.Response:
    """Say that requests can be served; where there are keys, what is served only to one with `admin`."""
    service = request.app[SERVICE]
    served = service.config.memory.on_error == "degrade" or await service.conversations.answers()
    told: dict[str, object] = {"status": "ready" if served else "not ready"}
    try:
        authorize(request.headers, service.keys, "admin", direct=service.keys is None and asks_directly(request))
        told["chatbots"] = list(service.chatbots)
        if not served:
            told["reason"] = "the store of conversations does not answer"
    except Unauthorized:
        if hdrs.AUTHORIZATION in request.headers:  # a probe need not have a key, but who guesses is one who guesses
            service.throttle.count_failure(request.remote)
    except Forbidden:
        pass
    return _json(told, status=200 if served else 503)


async def metrics(request: web.Request) -> web.Response:
    """Return the metrics in Prometheus' format, to whoever may `admin`."""
    request.app[SERVICE].access(request, "admin")
    return web.Response(body=request.app[METRICS].text(), headers={"Content-Type": "text/plain; version=0.0.4"})


async def openapi(request: web.Request) -> web.Response:
    """Describe what is served here, for programs."""
    config = request.app[SERVICE].config
    return _json(document(keys=config.keys is not None, embeddings=bool(embedding_names(config))))


def _json(data: object, status: int = 200) -> web.Response:
    return web.Response(status=status, body=orjson.dumps(data), content_type="application/json")


ROUTES = [
    web.post("/v1/chat/completions", chat),
    web.post("/v1/responses", create_response),
    web.get("/v1/responses/{id}", read_response),
    web.delete("/v1/responses/{id}", delete_response),
    web.get("/v1/models", models),
    web.get("/v1/models/{id:.+}", model),
    web.get("/openapi.json", openapi),
    web.delete("/admin/conversations/{id}", erase),
    web.get("/healthz", healthz),
    web.get("/readyz", readyz),
    web.get("/metrics", metrics),
]
