"""Structured logs: one canonical line per request. JSON, or readable on a terminal. No text of conversations above debug."""

import logging
import sys
import traceback
from collections.abc import MutableMapping
from typing import Any

import orjson
import structlog


def configure_logs(level: str = "info") -> None:
    """Set structlog up for the process: called by the commands that serve, not at import."""
    shared: list[Any] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        _without_messages,
    ]
    if sys.stderr.isatty():
        shared.append(structlog.dev.ConsoleRenderer())
        factory: Any = structlog.PrintLoggerFactory(sys.stderr)
    else:
        shared.append(structlog.processors.JSONRenderer(serializer=_dumps))
        factory = structlog.BytesLoggerFactory(sys.stderr.buffer)
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )


def _without_messages(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Write an exception as its types and frames: messages and variables hold what people have written."""
    info = event.pop("exc_info", None)
    error = info if isinstance(info, BaseException) else info[1] if isinstance(info, tuple) else sys.exc_info()[1]
    if not info or error is None:
        return event
    chain: list[str] = []
    while error is not None:
        chain.insert(0, "".join(traceback.format_tb(error.__traceback__)) + type(error).__name__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    event["exception"] = "\n\n".join(chain)
    return event


def _dumps(event: dict[str, Any], **_: Any) -> bytes:
    return orjson.dumps(event, default=str)
