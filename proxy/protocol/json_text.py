"""Converts a JSON document to text for judges: all keys, strings, numbers and constants in document order. Pure."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')


MAX_NESTED_DOCUMENTS = 4
"""Maximum levels of JSON documents within strings that are decoded."""


@dataclass(frozen=True, slots=True)
class JsonText:
    """A JSON document as text for judges."""

    text: str
    """One line per scalar with its key (`dose_mg: 900`), and one line for the key of each object and list."""
    duplicate_keys: bool
    """Whether an object contains the same key twice. Parsers keep different values, so the meaning is ambiguous."""


class _Members(list[tuple[str, Any]]):
    """A JSON object as a list of (key, value), including members with the same key."""


def json_text(document: str) -> JsonText:
    """Convert a JSON document to text.

    A text that is not a single JSON document is returned with its escapes decoded, because a client that extracts a document from
    the text decodes them too. Examples are a document in a code fence, with prose around it, truncated or too deeply nested.
    """
    try:
        # Numbers keep their spelling. A line break in a string is not valid JSON, but many parsers accept it.
        value = json.loads(
            document, object_pairs_hook=_Members, parse_int=str, parse_float=str, parse_constant=str, strict=False
        )
    except (ValueError, RecursionError):
        return JsonText(_without_surrogates(_ESCAPE.sub(_decode, document)), duplicate_keys=False)
    text, duplicate_keys = _read(value)
    return JsonText(_without_surrogates(text) if text.strip() else document, duplicate_keys)


def _read(document: Any) -> tuple[str, bool]:
    """Return the lines of a decoded document, and whether it has duplicate keys. Iterative: deep nesting would break recursion."""
    lines: list[str] = []
    duplicate_keys = False
    open_values: list[Iterator[tuple[str | None, Any]]] = [iter([(None, document)])]
    while open_values:
        for key, value in open_values[-1]:
            label = "" if key is None else f"{key}:"
            if not isinstance(value, list):
                lines.append(f"{label} {_written(value)}" if label else _written(value))
                continue
            if label:
                lines.append(label)
            if isinstance(value, _Members):
                duplicate_keys |= len({name for name, _ in value}) < len(value)
                open_values.append(iter(value))
            else:
                open_values.append((None, item) for item in value)
            break
        else:
            open_values.pop()
    return "\n".join(lines), duplicate_keys


def _written(scalar: str | bool | None) -> str:
    """Return a scalar as text. Escapes that remain in a string belong to a nested document, and are decoded too."""
    if not isinstance(scalar, str):
        return json.dumps(scalar)
    for _ in range(MAX_NESTED_DOCUMENTS):
        if (decoded := _ESCAPE.sub(_decode, scalar)) == scalar:
            break
        scalar = decoded
    return scalar


def _decode(escape: re.Match[str]) -> str:
    decoded: str = json.loads(f'"{escape[0]}"')
    return decoded


def _without_surrogates(text: str) -> str:
    """Join pairs of escaped surrogates. A lone surrogate has no UTF-8 form and becomes a replacement character."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
