"""Structured logs: one canonical line per request, as JSON, or as text on a terminal. No conversation text above debug level."""

import json
import logging
import sys
import traceback
from collections.abc import MutableMapping
from contextlib import suppress
from typing import Any, BinaryIO

import orjson
import structlog
from aiohttp import web

Event = MutableMapping[str, Any]


FIELDS = web.RequestKey("fields", dict[str, Any])
"""Fields of a request's canonical log line, added as they become known."""


def configure_logs(level: str = "info") -> None:
    """Configure structlog for the process. The commands that serve call it; importing this module has no effect."""
    on_terminal, lines = sys.stderr.isatty(), LineLogger(sys.stderr.buffer)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _without_messages,
            structlog.dev.ConsoleRenderer() if on_terminal else _encode,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr) if on_terminal else lambda *_names: lines,
    )


def _without_messages(_: Any, __: str, event: Event) -> Event:
    """Format an exception as types and frames only: its message and variables may quote people."""
    if "exc_info" not in event:
        return event
    info = event.pop("exc_info")
    error = info if isinstance(info, BaseException) else info[1] if isinstance(info, tuple) else sys.exc_info()[1]
    if not info or error is None:
        return event
    chain: list[str] = []
    while error is not None:
        chain.insert(0, "".join(traceback.format_tb(error.__traceback__)) + type(error).__name__)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    event["exception"] = "\n\n".join(chain)
    return event


def _encode(_: Any, __: str, event: Event) -> bytes:
    try:
        return orjson.dumps(event, default=str)
    except TypeError:  # a lone surrogate, or an integer above 64 bits
        return json.dumps(event, default=str).encode()


class LineLogger:
    """Writes each log line at once, like `structlog.BytesLogger`. On a full disk, lines are lost but no reply fails."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def msg(self, line: bytes) -> None:
        with suppress(OSError, ValueError):  # ValueError: the file is closed
            self._file.write(line + b"\n")
            self._file.flush()

    debug = info = warning = error = critical = exception = fatal = msg
