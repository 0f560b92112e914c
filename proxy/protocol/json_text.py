"""Pure: what a JSON document says, as a text for judges. Every key, string, number and constant, decoded, in its order."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_ESCAPE = re.compile(r'\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])')


MAX_NESTED_DOCUMENTS = 4
"""Documents within each other's strings whose escapes are decoded."""


@dataclass(frozen=True, slots=True)
class JsonText:
    """A JSON document as its judges read it."""

    text: str
    """A line for each scalar, behind its key (`dose_mg: 900`), and one for the key of each object and list."""
    duplicate_keys: bool
    """Whether an object in it names a key twice: readers differ in which value they take, so there is no telling what it says."""


class _Members(list[tuple[str, Any]]):
    """An object of a document: all of its members, also those that share a key."""


def json_text(document: str) -> JsonText:
    """Return what a JSON document says.

    What is no single JSON document (one in a code fence, with prose around it, followed by a second, cut off, nested too
    deeply to be read) is its own text. Escapes in it are decoded, since whoever takes the document out of it will decode them.
    """
    try:
        # Numbers stay as they are written. A line break in a string is no valid JSON, but many readers take it.
        value = json.loads(
            document, object_pairs_hook=_Members, parse_int=str, parse_float=str, parse_constant=str, strict=False
        )
    except (ValueError, RecursionError):
        return JsonText(_without_surrogates(_ESCAPE.sub(_decode, document)), duplicate_keys=False)
    text, duplicate_keys = _read(value)
    return JsonText(_without_surrogates(text) if text.strip() else document, duplicate_keys)


def _read(document: Any) -> tuple[str, bool]:
    """Return the lines of a decoded document, and whether a key is named twice. Without recursion, which deep nesting would end."""
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
    """Return a scalar as text; escapes that are left in a string are those of a document within the document."""
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
    """Join pairs of surrogates that were escaped one by one; half of one becomes a replacement character: it has no UTF-8."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
