"""Opens OpenTelemetry if it is configured; otherwise passes the client's `traceparent` to upstreams."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from multidict import istr

from models.extras import install_command
from models.turn_scope import TRACE_HEADERS
from proxy.config.config import ConfigError

if TYPE_CHECKING:
    from proxy.telemetry.spans import Telemetry

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
EXPORTERS = ("otlp", "none")
_PARENT = istr("traceparent")


def open_telemetry(environ: Mapping[str, str]) -> "Telemetry | None":
    """Open telemetry if OpenTelemetry's own environment variables ask for it; None: they do not.

    Raises:
        ConfigError: They ask for something that is not here.
    """
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    requested = exporter == "otlp" or any(environ.get(name, "").strip() for name in ENDPOINTS)
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or exporter == "none":
        return None
    if exporter and exporter not in EXPORTERS:
        raise ConfigError([f"OTEL_TRACES_EXPORTER: {exporter!r} is not here; there is {', '.join(EXPORTERS)}"])
    if not requested:
        return None
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((environ[name] for name in names if environ.get(name)), "http/protobuf")
    if protocol != "http/protobuf":
        raise ConfigError([f"OTEL_EXPORTER_OTLP_PROTOCOL: {protocol!r} is not here; set it to http/protobuf"])
    try:
        from proxy.telemetry.spans import (
            Telemetry,  # libraries that most proxies do without, a tenth of a second of imports
        )
    except ImportError as error:
        raise ConfigError(
            [
                f"the environment asks for OpenTelemetry, and {error.name!r} is not installed; "
                f"run `{install_command('otel')}`, or set OTEL_SDK_DISABLED=true"
            ]
        ) from None
    return Telemetry()


def tracing_middleware(telemetry: "Telemetry | None") -> Middleware:
    """Return the middleware that traces requests: spans, or only the client's `traceparent` passed on."""
    if telemetry is not None:
        return telemetry.middleware
    return pass_trace_on


@web.middleware
async def pass_trace_on(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Pass the client's `traceparent` to upstreams unchanged."""
    parent = request.headers.get(_PARENT)
    if parent is None:
        return await handler(request)
    token = TRACE_HEADERS.set({"traceparent": parent})
    try:
        return await handler(request)
    finally:
        TRACE_HEADERS.reset(token)
