"""Finds the usage of a forwarded answer: as the upstream reports it, or else estimated from the texts of the answer.

An estimate counts only the texts, because a stream wraps each word in about 200 bytes of JSON.
"""

import json
import re
from typing import Any

import orjson

from models.usage import BYTES_PER_TOKEN, Usage

TAIL = 4096
"""Number of bytes at the end of an answer that are searched for the usage, which upstreams send last."""
WHOLE = 2**16
"""Maximum bytes of an answer that is decoded to find the usage, or searched for texts."""

_USAGE = re.compile(rb'"usage"\s*:\s*(?=\{)')
_TEXT = re.compile(rb'"(?:content|refusal|arguments|reasoning|reasoning_content)"\s*:\s*"([^"]*+)"')
# Within a JSON string these quotation marks are escaped, so a model's text can match neither pattern.
_DECODER = json.JSONDecoder()


class StreamUsage:
    """Collects the usage of a stream while it is forwarded."""

    __slots__ = ("_size", "_tail", "_text_count", "_text_size")

    def __init__(self) -> None:
        self._tail = b""
        self._size = self._text_count = self._text_size = 0

    def add_lines(self, lines: bytes) -> None:
        """Add whole lines of the stream."""
        self._tail = lines[-TAIL:] if len(lines) >= TAIL else (self._tail + lines)[-TAIL:]
        self._size += len(lines)
        found = _texts(lines)
        self._text_count += len(found)
        self._text_size += sum(map(len, found))

    def usage(self, sent: int) -> Usage:
        """Return the usage so far. `sent` is the size of the request in bytes."""
        return _last_usage(self._tail) or estimate_usage(sent, self._text_size if self._text_count else self._size)


def usage_of(body: bytes, sent: int) -> Usage:
    """Return the usage of an answer that is not a stream. `sent` is the size of the request in bytes."""
    if len(body) > WHOLE:
        return _last_usage(body[-TAIL:]) or estimate_usage(sent, len(body))
    if (place := body.rfind(b'"usage"')) >= 0:
        # The usage is mostly near the end. Parsing from a nested `usage` leaves extra brackets, and fails.
        answer = _object(b"{" + body[place:]) or _object(body)
        if answer is not None and (usage := _parse_usage(answer.get("usage"))) is not None:
            return usage
    found = _texts(body)
    return estimate_usage(sent, sum(map(len, found)) if found else len(body))


def _texts(raw: bytes) -> list[bytes]:
    """Return the texts in an answer. Escapes are masked, which does not change the lengths."""
    # Masked first, because a pattern that skips escapes keeps a backtracking step for each: 60 MB for a line of 1 MB.
    return _TEXT.findall(raw.replace(rb"\\", b"__").replace(rb"\"", b"__"))


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def estimate_usage(sent: int, written: int) -> Usage:
    """Estimate the usage of a call. `sent` is the size of the request in bytes, and `written` the size of the answer."""
    return Usage(sent // BYTES_PER_TOKEN, written // BYTES_PER_TOKEN, estimated=True)


def _last_usage(tail: bytes) -> Usage | None:
    """Return the last usage in the end of a stream; None if there is no complete usage."""
    starts = [found.end() for found in _USAGE.finditer(tail)]
    if not starts:
        return None
    try:
        return _parse_usage(_DECODER.raw_decode(tail[starts[-1] :].decode(errors="replace"))[0])
    except (ValueError, RecursionError):
        return None


def _parse_usage(reported: object) -> Usage | None:
    """Parse the usage that an upstream reports; None if a number is missing or impossible."""
    if not isinstance(reported, dict):
        return None
    usage = Usage.from_body({"usage": reported})
    return None if usage.estimated else usage
