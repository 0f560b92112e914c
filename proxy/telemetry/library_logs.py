"""Log records, warnings and uncaught exceptions of libraries, redacted, as structlog lines.

Their texts quote: aiohttp prints the first bytes of a request that it cannot read, and where it came from; asyncio the message of
an exception that nobody fetched; a crashed thread its whole traceback. So of a line of theirs only what stands in their source is
kept, the template without its values, and of an exception the types and frames.
"""

import logging
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

import structlog

QUIET = ("aiohttp.access",)
"""Loggers whose every line says who somebody is, and nothing that the line of the request does not."""


class RedactingHandler(logging.Handler):
    """Writes records of the standard library's logging through structlog."""

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record's origin and its fields that hold no text of people."""
        if record.name in QUIET:
            return
        fields: dict[str, Any] = {"logger": record.name, "at": f"{record.module}:{record.lineno}"}
        # A message without values may have been put together before it came here.
        if record.args and isinstance(record.msg, str):
            fields["template"] = record.msg
        if record.exc_info and record.exc_info[1] is not None:
            fields["exc_info"] = record.exc_info
        log = structlog.get_logger()
        write: Callable[..., Any] = log.error if record.levelno >= logging.ERROR else log.warning
        write("library", **fields)


def redact_libraries() -> None:
    """Have all that is not ours written redacted: logging, warnings, and exceptions that nobody has caught.

    Called by the command that serves, after `configure_logs`; not at import.
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
    structlog.get_logger().error(
        "error that nobody could be told", exc_info=(type(error), error, unraisable.exc_traceback)
    )


def _crashed(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is None or issubclass(args.exc_type, SystemExit):
        return
    thread = None if args.thread is None else args.thread.name.partition(" ")[0]
    structlog.get_logger().error(
        "thread crashed", thread=thread, exc_info=(args.exc_type, args.exc_value, args.exc_traceback)
    )
