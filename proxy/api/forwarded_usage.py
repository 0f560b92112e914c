"""What a forwarded answer used: as the upstream reports it, else estimated from the texts in it.

An estimate leaves out what frames the texts: around each word of a stream lie some two hundred bytes.
"""

import json
import re
from typing import Any

import orjson

from models.usage import BYTES_PER_TOKEN, Usage

TAIL = 4096
"""Bytes at an answer's end in which its usage is looked for; where it stands, it is the last thing that is said."""
WHOLE = 2**16
"""Bytes; a longer answer is not decoded to find its usage, nor searched for its texts."""

_USAGE = re.compile(rb'"usage"\s*:\s*(?=\{)')
_TEXT = re.compile(rb'"(?:content|refusal|arguments|reasoning|reasoning_content)"\s*:\s*"([^"]*+)"')
# Within a JSON string these quotation marks are escaped: what a model writes cannot look like a usage, nor like a text of its own.
_DECODER = json.JSONDecoder()


class Relayed:
    """The usage of a stream, heard while it is relayed."""

    __slots__ = ("_found", "_size", "_tail", "_text")

    def __init__(self) -> None:
        self._tail = b""
        self._size = self._found = self._text = 0

    def hear(self, lines: bytes) -> None:
        """Take note of whole lines."""
        self._tail = lines[-TAIL:] if len(lines) >= TAIL else (self._tail + lines)[-TAIL:]
        self._size += len(lines)
        found = _texts(lines)
        self._found += len(found)
        self._text += sum(map(len, found))

    def usage(self, sent: int) -> Usage:
        """Return what was used so far, for a request of so many bytes."""
        return _reported(self._tail) or estimated(sent, self._text if self._found else self._size)


def usage_of(body: bytes, sent: int) -> Usage:
    """Return what an answer in one piece used, for a request of so many bytes."""
    if len(body) > WHOLE:
        return _reported(body[-TAIL:]) or estimated(sent, len(body))
    if (place := body.rfind(b'"usage"')) >= 0:
        # It mostly stands near the end; one that is not the answer's own, but of something within it, leaves brackets over.
        answer = _object(b"{" + body[place:]) or _object(body)
        if answer is not None and (usage := _trusted(answer.get("usage"))) is not None:
            return usage
    found = _texts(body)
    return estimated(sent, sum(map(len, found)) if found else len(body))


def _texts(raw: bytes) -> list[bytes]:
    """Find the texts of an answer, as long as they are; not what they hold."""
    # A pattern that steps over what is escaped remembers every step: 60 MB for a line of 1 MB that a server may send.
    return _TEXT.findall(raw.replace(rb"\\", b"__").replace(rb"\"", b"__"))


def _object(text: bytes) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def estimated(sent: int, written: int) -> Usage:
    """Estimate the usage from the bytes of a request and of what was written for it."""
    return Usage(sent // BYTES_PER_TOKEN, written // BYTES_PER_TOKEN, estimated=True)


def _reported(tail: bytes) -> Usage | None:
    """Return the last usage that stands there as a whole."""
    starts = [found.end() for found in _USAGE.finditer(tail)]
    if not starts:
        return None
    try:
        return _trusted(_DECODER.raw_decode(tail[starts[-1] :].decode(errors="replace"))[0])
    except (ValueError, RecursionError):
        return None


def _trusted(reported: object) -> Usage | None:
    """Read a usage; None: a number of it is missing or cannot be."""
    if not isinstance(reported, dict):
        return None
    usage = Usage.from_body({"usage": reported})
    return None if usage.estimated else usage
