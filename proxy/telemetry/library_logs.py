"""Log records, warnings and uncaught exceptions of libraries, redacted, as structlog lines.

Their texts may quote people. aiohttp logs the first bytes of an unreadable request and its sender. asyncio logs the message of an
exception that was never retrieved. A crashed thread prints its whole traceback. So only texts from the libraries' source code are
kept: of a log line the template without its values, of an exception the types and frames.
"""

import logging
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import structlog

QUIET = ("aiohttp.access",)
"""Loggers whose lines identify clients and add nothing to the canonical line of the request."""


class RedactingHandler(logging.Handler):
    """Writes records of the standard library's logging through structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record's origin and the fields that cannot quote people."""
        if record.name in QUIET:
            return
        fields: dict[str, Any] = {"logger": record.name, "at": f"{record.module}:{record.lineno}"}
        # A message without arguments may already contain formatted values.
        if record.args and isinstance(record.msg, str):
            fields["template"] = record.msg
        if record.exc_info and record.exc_info[1] is not None:
            fields["exc_info"] = record.exc_info
        log = structlog.get_logger()
        write: Callable[..., Any] = log.error if record.levelno >= logging.ERROR else log.warning
        write("library", **fields)


def redact_libraries() -> None:
    """Redact the output of libraries: logging, warnings and uncaught exceptions.

    The commands that serve call it after `configure_logs`; importing this module has no effect.
    """
    root = logging.getLogger()
    root.handlers[:] = [RedactingHandler(logging.WARNING)]
    logging.captureWarnings(True)
    sys.excepthook = _uncaught
    sys.unraisablehook = _unraisable
    threading.excepthook = _crashed


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    structlog.get_logger().error("crashed", exc_info=(kind, error, trace))


def _unraisable(unraisable: Any) -> None:
    error = unraisable.exc_value
    structlog.get_logger().error("unraisable exception", exc_info=(type(error), error, unraisable.exc_traceback))


def _crashed(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is None or issubclass(args.exc_type, SystemExit):
        return
    thread = None if args.thread is None else args.thread.name.partition(" ")[0]
    structlog.get_logger().error(
        "thread crashed", thread=thread, exc_info=(args.exc_type, args.exc_value, args.exc_traceback)
    )
