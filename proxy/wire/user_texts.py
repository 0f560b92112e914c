"""Finds the user's texts in an unvalidated request, for the emergency judge, which runs before anything can refuse it.

Nothing here may fail on any shape.
"""

import json
import re
from collections.abc import Container
from itertools import pairwise
from typing import Any

SPOKEN_IN = frozenset(("messages", "message", "input", "prompt"))
"""Fields in which some endpoint or other takes what a user says."""
OTHERS = frozenset(("assistant", "system", "developer", "tool", "function"))
"""Roles of messages that no user has written. Whatever another role is called, a person may have."""
OTHER_ITEMS = frozenset(
    (
        "function_call",
        "function_call_output",
        "custom_tool_call",
        "custom_tool_call_output",
        "reasoning",
        "web_search_call",
    )
)
"""Types of items without a role, of which the same is true."""
NOT_WRITTEN = frozenset(
    ("role", "type", "id", "url", "data", "name", "filename", "detail", "format", "control", "status", "model")
)
"""Last words of the names of fields that hold no sentences."""


def find_user_texts(data: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the user's texts of an unvalidated request.

    Returns:
        The user's text since the last reply (or the last user text), a paragraph for each message and part of one; and the
        earlier user texts, oldest first.
    """
    earlier: list[str] = []
    now: list[str] = []
    for message in messages_in(data):
        role = _role_of(message)
        if role not in OTHERS:
            now.append(_texts_in(message, NOT_WRITTEN))
        elif role == "assistant" and _texts_in(message.get("content"), NOT_A_REPLY).strip():
            earlier += now
            now = []
    if not now and earlier:
        now = [earlier.pop()]
    return "\n\n".join(now), earlier


def messages_in(data: dict[str, Any]) -> list[Any]:
    """Return possible messages of an unvalidated request to either endpoint: objects, texts, and lists of them."""
    fields = [value for name, value in data.items() if name.strip().casefold() in SPOKEN_IN]
    entries = [entry for value in fields for entry in (value if isinstance(value, list) else [value])]
    return [entry for entry in entries if isinstance(entry, str | dict | list)]


def _role_of(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else "user"
    if role is None and (kind := message.get("type")) and isinstance(kind, str) and kind in OTHER_ITEMS:
        return "tool"
    return role if isinstance(role, str) else "user"


NOT_A_REPLY = NOT_WRITTEN | {"refusal"}


def _texts_in(value: object, passed_over: Container[str]) -> str:
    """Return all texts in a value of any shape, in their order, but for those in certain fields; a paragraph each."""
    texts: list[str] = []
    rest = [value]  # no recursion: nobody has looked how deeply it is nested
    while rest:
        one = rest.pop()
        if isinstance(one, str):
            # Half of a cut emoji is no text.
            texts.append(one if one.isascii() else one.encode("utf-8", "replace").decode())
        elif isinstance(one, list):
            rest.extend(reversed(one))
        elif isinstance(one, dict):
            fields = reversed(one.items())
            rest.extend(inner for name, inner in fields if name.casefold().rpartition("_")[2] not in passed_over)
    return "\n\n".join(texts)


def read_json_leniently(raw: bytes) -> dict[str, Any]:
    """Decode as much as possible of a body that `read_json` refuses, for the emergency judge."""
    text = raw.decode(json.detect_encoding(raw), "replace")
    try:
        data = json.loads(text, strict=False)
    except ValueError:
        return {}
    except RecursionError:
        return _strings_of(text)
    return data if isinstance(data, dict) else {}


_STRING = re.compile(r'"((?>(?:[^"\\]++|\\.)*))"?\s*+(:?)', re.DOTALL)
"""A string of a JSON document, and the colon behind it if it is a key. One without an end goes on to the end of the document, or
there would be as many readings of the rest as there are quotes in it."""


def _strings_of(document: str) -> dict[str, Any]:
    """Return a document that is nested too deeply to be decoded as a request: all its strings, as one message."""
    strings = _STRING.findall(document)
    model = next((value for (key, colon), (value, _) in pairwise(strings) if key == "model" and colon), None)
    values = ",".join(f'"{string}"' for string, colon in strings if not colon)
    try:
        return {"model": model, "messages": [json.loads(f"[{values}]", strict=False)]}
    except ValueError:
        return {}
