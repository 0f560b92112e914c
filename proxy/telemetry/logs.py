"""Structured logs: one canonical line per request. JSON, or readable on a terminal. No text of conversations above debug."""

import atexit
import json
import logging
import sys
import traceback
from collections.abc import MutableMapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, BinaryIO

import orjson
import structlog
from aiohttp import web

from proxy.telemetry.together import Together

Event = MutableMapping[str, Any]


FIELDS = web.RequestKey("fields", dict[str, Any])
"""What the canonical log line of a request will say, bound as it becomes known."""


def configure_logs(level: str = "info") -> None:
    """Set structlog up for the process: called by the commands that serve, not at import."""
    global _lines
    if sys.stderr.isatty():
        _lines = None
        processors: list[Any] = [
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            _without_messages,
            structlog.dev.ConsoleRenderer(),
        ]
        factory: Any = structlog.PrintLoggerFactory(sys.stderr)
    else:
        processors = [_json_line]
        lines = Lines(sys.stderr.buffer)
        _lines = lines if level in ("debug", "info") else None
        atexit.register(lines.flush)

        def factory(*_: Any) -> Lines:
            return lines

    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=factory,
        cache_logger_on_first_use=True,
    )


def tell_request(fields: dict[str, Any]) -> None:
    """Log the canonical line of a request; as JSON past structlog, whose steps are much of what a passed-through request costs."""
    if _lines is None:
        structlog.get_logger().info("request", **fields)
    else:
        fields |= {"event": "request", "level": "info", "timestamp": datetime.now(UTC)}
        _lines.info(fields)


def _without_messages(_: Any, __: str, event: Event) -> Event:
    """Write an exception as its types and frames: messages and variables hold what people have written."""
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


def _json_line(logger: Any, method: str, event: Event) -> bytes:
    """Write a line as JSON. In one go: structlog's own chain of five costs a passed-through request a tenth of its CPU."""
    event = _without_messages(logger, method, event)
    event["level"], event["timestamp"] = method, datetime.now(UTC)
    return _encoded(event)


def _encoded(event: Event) -> bytes:
    try:
        return orjson.dumps(event, default=str, option=orjson.OPT_UTC_Z)
    except TypeError:  # half of a character, or an enormous number: the lines beside it are not to be lost with it
        return json.dumps(event, default=str).encode()


class Lines:
    """Writes log lines, those of one moment together: a system call for each costs as much as making it.

    Warnings and worse are written at once.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._together = Together[bytes | Event](self._write)

    def info(self, line: bytes | Event) -> None:
        """Write a line, or an event that is still to be made one."""
        self._together.add(line)

    def warning(self, line: bytes) -> None:
        self._together.add(line)
        self.flush()

    debug = msg = info
    error = critical = exception = fatal = warning

    def flush(self) -> None:
        self._together.flush()

    def _write(self, lines: list[bytes | Event]) -> None:
        written = [line if isinstance(line, bytes) else _encoded(line) for line in lines]
        with suppress(OSError, ValueError):  # a full disk costs lines: no reply, and no emergency text
            self._file.write(b"\n".join([*written, b""]))
            self._file.flush()


_lines: Lines | None = None
"""Where requests are told of; None: structlog is set up for a terminal, or hears no `info`."""
