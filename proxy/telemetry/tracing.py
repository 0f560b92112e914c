"""Sets up OpenTelemetry tracing if the environment enables it. Otherwise only the client's `traceparent` is forwarded."""

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
    """Return the span exporter if OpenTelemetry's standard environment variables enable it, else None.

    Raises:
        ConfigError: A variable asks for an unsupported exporter or protocol, or the libraries are not installed.
    """
    exporter = environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    requested = exporter == "otlp" or any(environ.get(name, "").strip() for name in ENDPOINTS)
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true" or exporter == "none":
        return None
    if exporter and exporter not in EXPORTERS:
        raise ConfigError(
            [f"OTEL_TRACES_EXPORTER: unsupported exporter {exporter!r} (expected {' or '.join(EXPORTERS)})"]
        )
    if not requested:
        return None
    names = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((environ[name] for name in names if environ.get(name)), "http/protobuf")
    if protocol != "http/protobuf":
        raise ConfigError([f"OTEL_EXPORTER_OTLP_PROTOCOL: unsupported protocol {protocol!r} (expected http/protobuf)"])
    try:
        from proxy.telemetry.spans import (
            Telemetry,  # imported late: it takes 0.1 s, and most proxies do not use it
        )
    except ImportError as error:
        raise ConfigError(
            [
                f"cannot start OpenTelemetry, which the environment enables: the module {error.name!r} is not installed; "
                f"run `{install_command('otel')}`, or set OTEL_SDK_DISABLED=true"
            ]
        ) from None
    return Telemetry()


def tracing_middleware(telemetry: "Telemetry | None") -> Middleware:
    """Return the middleware that creates spans, or, without telemetry, only forwards the client's `traceparent`."""
    if telemetry is not None:
        return telemetry.middleware
    return pass_trace_on


@web.middleware
async def pass_trace_on(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Forward the client's `traceparent` to upstreams unchanged."""
    parent = request.headers.get(_PARENT)
    if parent is None:
        return await handler(request)
    token = TRACE_HEADERS.set({"traceparent": parent})
    try:
        return await handler(request)
    finally:
        TRACE_HEADERS.reset(token)
