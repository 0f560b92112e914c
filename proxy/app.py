"""Builds the proxy's web application: `create_app` connects all parts, and ROUTES lists the HTTP routes."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AsyncExitStack
from typing import assert_never

from aiohttp import web
from cachetools import TTLCache

from assistants.registry import ENGINES
from models.client import EngineFactory, EngineWrapper, open_models, unwrapped
from models.fallback import with_all_asked
from models.openai_engine import make_session
from proxy.api.chat import chat
from proxy.api.cors import allow_origins
from proxy.api.embeddings import EMBEDDERS, embedding_names, embeddings, open_embedders
from proxy.api.erasure import erase
from proxy.api.handover import hand_over
from proxy.api.middleware import METRICS, boundary
from proxy.api.responses.route import create_response, delete_response, read_response
from proxy.api.responses.store import ProcessResponses, ResponseStore
from proxy.api.service import SERVICE, Service
from proxy.api.status import healthz, list_models, openapi, readyz, show_metrics, show_model
from proxy.audit.records import open_audit_log
from proxy.auth.key_ring import open_key_ring
from proxy.auth.limits import Meter, ProcessMeter
from proxy.auth.throttle import Throttle
from proxy.config.blueprint import assemble
from proxy.config.config import Config
from proxy.config.settings import MemorySettings
from proxy.console.admission import SESSIONS
from proxy.console.emergencies import FRESH_S, OPEN_COUNTS
from proxy.console.routes import console_routes
from proxy.console.session_store import open_sessions
from proxy.state.conversation_store import ConversationStore, LocalConversations
from proxy.telemetry.external_metric import ExternalMetric
from proxy.telemetry.metrics import SHARED, Metrics
from proxy.telemetry.tracing import open_telemetry, tracing_middleware
from proxy.telemetry.worker_metrics import keep_refreshed
from proxy.traces.backend import trace_backend, trace_detail
from proxy.traces.store import TraceStore
from proxy.traces.trace import Trace
from proxy.turn.chatbot import open_chatbot

__all__ = ["assemble", "create_app"]


def create_app(
    config: Config,
    engines: Mapping[str, EngineFactory] | None = None,
    *,
    wrap_engine: EngineWrapper = unwrapped,
    watch: Callable[[Trace], None] | None = None,
    after: web.Application | None = None,
) -> web.Application:
    """Build the proxy's web application for a configuration.

    Args:
        config: The configuration.
        engines: Additional engines, by the name that `models.<alias>.engine` uses. Default: the assistants.
        wrap_engine: Wraps the engine of each alias; see `models.client.open_models`.
        watch: Called with the trace of every finished turn, independent of `privacy.store`. For test harnesses.
        after: The running application that the new one replaces. The new one takes over its conversations and metrics.

    Raises:
        ConfigError: A knowledge base, a prompt or an alias is invalid. The message lists every problem.
        ModelSettingsError: At start-up, when a model's secret is missing.
    """
    blueprints = assemble(config)
    keys = open_key_ring(config)
    metrics = Metrics() if after is None else after[METRICS]
    telemetry = open_telemetry(os.environ)
    app = web.Application(
        middlewares=[tracing_middleware(telemetry), boundary], client_max_size=config.server.max_body_bytes
    )
    app[METRICS] = metrics

    async def serve(app: web.Application) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            if telemetry is not None:
                telemetry.start()
                stack.push_async_callback(asyncio.to_thread, telemetry.close)
            stack.callback(metrics.refresh)
            loss_counts: list[tuple[ExternalMetric, Callable[[], float]]] = []
            stack.callback(_stop_following, loss_counts)  # after everything is closed
            session = await stack.enter_async_context(make_session())
            # An alias that no chatbot uses needs no API key.
            aliases = {alias for alias, _ in embedding_names(config).values()}
            aliases = aliases.union(*(blueprint.aliases for blueprint in blueprints.values()))
            aliases = with_all_asked(aliases, config.models)
            used = {alias: settings for alias, settings in config.models.items() if alias in aliases}
            models = open_models(used, session, engines or ENGINES, wrap_engine=wrap_engine)
            stack.push_async_callback(models.close)
            if SHARED:
                await stack.enter_async_context(keep_refreshed(metrics))
            traces = TraceStore(
                trace_backend(config.privacy),
                trace_detail(config),
                config.privacy.days,
                sync=config.privacy.sync == "turn",
            )
            loss_counts.append((metrics.traces_dropped, lambda: traces.dropped))
            stack.push_async_callback(asyncio.to_thread, traces.close)
            await asyncio.to_thread(traces.start)  # an unreachable database blocks for seconds
            audit = open_audit_log(config, blueprints, keys)
            if audit is not None:
                stack.push_async_callback(asyncio.to_thread, audit.close)
                loss_counts.append((metrics.audit_dropped, lambda: audit.dropped))
            conversations = open_conversations(config.memory, os.environ)
            stack.push_async_callback(conversations.close)
            await conversations.answers()  # logs an unreachable store at start-up, not at the first request
            responses = open_responses(config.memory, os.environ)
            stack.push_async_callback(responses.close)
            meter = open_meter(config, os.environ)
            stack.push_async_callback(meter.close)
            loss_counts.append(
                (metrics.memory_failures, lambda: conversations.failures + responses.failures + meter.failures)
            )
            chatbots = {name: open_chatbot(blueprint, models) for name, blueprint in blueprints.items()}
            for chatbot in chatbots.values():
                chatbot.warm_up()
            app[SERVICE] = service = Service(
                config, chatbots, conversations, traces, metrics, session, keys, meter, audit, watch=watch, telemetry=telemetry,
                responses=responses, throttle=Throttle(config.keys.failures_per_minute if config.keys else 0),
            )  # fmt: skip
            if after is not None:
                hand_over(after[SERVICE], service)
            app[EMBEDDERS] = open_embedders(config, models, session)
            if config.serves_console:
                app[SESSIONS] = sessions = open_sessions(config.memory, os.environ)
                stack.push_async_callback(sessions.close)
                if after is not None and SESSIONS in after:
                    sessions.take_over(after[SESSIONS])
            # From here on start-up cannot fail. A failed start-up must not change the metrics.
            metrics.expect(blueprints.values())
            metrics.follow_bulkheads(models.bulkheads)
            for reading, count in loss_counts:
                reading.follow(count)
            stack.push_async_callback(service.stop_background)
            yield

    app.cleanup_ctx.append(serve)
    app.on_response_prepare.append(_remove_server_header)
    if config.server.cors_origins:
        allow_origins(app, config.server.cors_origins)
    app.add_routes(ROUTES)
    if embedding_names(config):
        app.add_routes([web.post("/v1/embeddings", embeddings)])
    if config.serves_console:
        app[OPEN_COUNTS] = TTLCache(100, FRESH_S)
        app.add_routes(console_routes())
    return app


def _stop_following(loss_counts: Iterable[tuple[ExternalMetric, Callable[[], float]]]) -> None:
    for reading, count in loss_counts:
        reading.leave(count)


async def _remove_server_header(request: web.Request, response: web.StreamResponse) -> None:
    """Remove the header that discloses the versions of Python and aiohttp."""
    response.headers.pop("Server", None)


def open_conversations(settings: MemorySettings, environ: Mapping[str, str]) -> ConversationStore:
    """Open the store of conversation states.

    Raises:
        ModelSettingsError: The environment variable that `memory.password_env` names is not set.
    """
    match settings.store:
        case "process":
            return LocalConversations(settings.max_turns, settings.max_age_s)
        case "redis":
            from proxy.state.redis_conversations import open_redis  # most proxies do not need the library

            return open_redis(settings, environ)
        case other:
            assert_never(other)


def open_responses(settings: MemorySettings, environ: Mapping[str, str]) -> ResponseStore:
    """Open the store of responses, in the same backend as conversation states.

    Raises:
        ModelSettingsError: The environment variable that `memory.password_env` names is not set.
    """
    match settings.store:
        case "process":
            return ProcessResponses(settings.max_turns, settings.max_age_s)
        case "redis":
            from proxy.api.responses.redis_store import RedisResponses
            from proxy.state.redis_conversations import connect

            return RedisResponses(connect(settings, environ), settings.max_turns, settings.max_age_s, settings.on_error)
        case other:
            assert_never(other)


def open_meter(config: Config, environ: Mapping[str, str]) -> Meter:
    """Open the usage meter of API keys: in Redis if conversation states are stored there, else in this process.

    Raises:
        ModelSettingsError: The environment variable that `memory.password_env` names is not set.
    """
    if config.keys is None:
        return ProcessMeter()
    match config.memory.store:
        case "process":
            return ProcessMeter()
        case "redis":
            from proxy.auth.redis_limits import RedisMeter
            from proxy.state.redis_conversations import connect

            lease_s = config.server.turn_timeout_s + 30  # longer than any turn
            return RedisMeter(connect(config.memory, environ), lease_s, degrade=config.memory.on_error == "degrade")
        case other:
            assert_never(other)


ROUTES = [
    web.post("/v1/chat/completions", chat),
    web.post("/v1/responses", create_response),
    web.get("/v1/responses/{id}", read_response),
    web.delete("/v1/responses/{id}", delete_response),
    web.get("/v1/models", list_models),
    web.get("/v1/models/{id:.+}", show_model),
    web.get("/openapi.json", openapi),
    web.delete("/admin/conversations/{id}", erase),
    web.get("/healthz", healthz),
    web.get("/readyz", readyz),
    web.get("/metrics", show_metrics),
]
