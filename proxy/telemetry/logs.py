"""Structured logs: one canonical line per request. JSON, or readable on a terminal. No text of conversations above debug."""

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
"""What the canonical log line of a request will say, bound as it becomes known."""


def configure_logs(level: str = "info") -> None:
    """Set structlog up for the process: called by the commands that serve, not at import."""
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
    """Format an exception as types and frames; messages and variables may quote people."""
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
    except TypeError:  # half of a character, or an enormous number
        return json.dumps(event, default=str).encode()


class LineLogger:
    """Writes each log line at once, as `structlog.BytesLogger` does; but a full disk costs lines, and no reply."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def msg(self, line: bytes) -> None:
        with suppress(OSError, ValueError):  # ValueError: it is closed
            self._file.write(line + b"\n")
            self._file.flush()

    debug = info = warning = error = critical = exception = fatal = msg
