"""Structured logs: one canonical line per request. JSON, or readable on a terminal. No text of conversations above debug."""

import logging
import sys
from typing import Any

import orjson
import structlog


def configure_logs(level: str = "info") -> None:
    """Set structlog up for the process: called by the commands that serve, not at import."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    if sys.stderr.isatty():
        shared.append(structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback))
        factory: Any = structlog.PrintLoggerFactory(sys.stderr)
    else:
        # Frames are logged without their variables: these hold what people have written.
        shared.append(structlog.processors.format_exc_info)
        shared.append(structlog.processors.JSONRenderer(serializer=_dumps))
        factory = structlog.BytesLoggerFactory(sys.stderr.buffer)
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )


def _dumps(event: dict[str, Any], **_: Any) -> bytes:
    return orjson.dumps(event, default=str)
