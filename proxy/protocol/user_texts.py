"""Finds the user's texts in an unvalidated request, for the emergency judge, which runs before anything can refuse it.

Nothing here may fail on any shape.
"""

from collections.abc import Container
from typing import Any
from urllib.parse import unquote

from proxy.protocol.lenient_json import Repeated

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
NOT_WRITTEN = frozenset(("role", "type", "id", "detail", "format", "control", "status", "model"))
"""Last words of the names of fields that hold no sentences."""
SELDOM_WRITTEN = frozenset(("url", "data", "name", "filename"))
"""Last words of the names of fields that seldom do: names, addresses, and encoded files."""
MAX_SELDOM_CHARS = 2_000
"""Characters of a text in such a field that is read; a file has more."""
TEXT_URLS = ("data:text/plain", "data:,", "data:;")
"""Beginnings of data: URLs that hold text; others hold an image or a file, which may have spaces."""


def find_user_texts(data: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the user's texts of an unvalidated request.

    Returns:
        The user's text since the last reply (or the last user text), a paragraph for each message and part of one; and the
        earlier user texts, oldest first.
    """
    earlier: list[str] = []
    now: list[str] = []
    for message in messages_in(data):
        if _is_user(message):
            now.append(_texts_in(message, NOT_WRITTEN))
        elif _is_reply(message):
            earlier += now
            now = []
    if not now and earlier:
        now = [earlier.pop()]
    return "\n\n".join(now), earlier


def messages_in(data: dict[str, Any]) -> list[Any]:
    """Return possible messages of an unvalidated request to either endpoint: objects, texts, and lists of them.

    Of several lists, what each says since its last reply comes last.
    """
    fields = [value for name, value in data.items() if name.strip().casefold() in SPOKEN_IN]
    lists = [one for value in fields for one in (value if isinstance(value, Repeated) else [value])]
    before: list[Any] = []
    since: list[Any] = []
    for entries in (one if isinstance(one, list) else [one] for one in lists):
        last = (
            max((place for place, entry in enumerate(entries) if _is_reply(entry)), default=-1)
            if len(lists) > 1
            else -1
        )
        before += entries[: last + 1]
        since += entries[last + 1 :]
    return [entry for entry in (*before, *since) if isinstance(entry, str | dict | list)]


def _is_user(message: Any) -> bool:
    """Tell whether a user may have written a message."""
    return _role_of(message) not in OTHERS


def _is_reply(message: Any) -> bool:
    return _role_of(message) == "assistant" and bool(_texts_in(message.get("content"), NOT_A_REPLY).strip())


def _role_of(message: Any) -> str:
    role = message.get("role") if isinstance(message, dict) else "user"
    if role is None and (kind := message.get("type")) and isinstance(kind, str) and kind in OTHER_ITEMS:
        return "tool"
    return role if isinstance(role, str) else "user"


NOT_A_REPLY = NOT_WRITTEN | SELDOM_WRITTEN | {"refusal"}


def _texts_in(value: object, passed_over: Container[str]) -> str:
    """Return all texts in a value of any shape, in their order, but for those in certain fields; a paragraph each."""
    texts: list[str] = []
    rest = [value]  # no recursion: nobody has looked how deeply it is nested
    while rest:
        one = rest.pop()
        if isinstance(one, str) and not _is_file(one):
            # Half of a cut emoji is no text.
            texts.append(one if one.isascii() else one.encode("utf-8", "replace").decode())
        elif isinstance(one, list):
            rest.extend(reversed(one))
        elif isinstance(one, dict):
            for name, inner in reversed(one.items()):
                kind = name.casefold().rpartition("_")[2]
                if kind not in passed_over:
                    rest.append(_sentence_in(inner) if kind in SELDOM_WRITTEN and isinstance(inner, str) else inner)
    return "\n\n".join(texts)


def _is_file(text: str) -> bool:
    """Tell whether a text, of a field of any name, is an encoded file: it would fill traces with what nobody has written."""
    return text.startswith("data:") and ";base64," in text[:MAX_SELDOM_CHARS] and len(text.split(None, 2)) < 3


def _sentence_in(text: str) -> str | None:
    """Return the text of a field that seldom holds one; None: it is no sentence, which has spaces between its words."""
    if len(text) > MAX_SELDOM_CHARS or (text.startswith("data:") and not text.startswith(TEXT_URLS)):
        return None
    text = unquote(text)
    return text if text.count(" ") > 1 else None
