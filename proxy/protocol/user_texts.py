"""Finds the user's texts in an unvalidated request, for the emergency judge, which runs before the request can be refused.

All functions accept data of any shape, and raise no errors.
"""

from collections.abc import Container
from typing import Any
from urllib.parse import unquote

from proxy.protocol.lenient_json import Repeated

SPOKEN_IN = frozenset(("messages", "message", "input", "prompt"))
"""Request fields that contain the user's texts, at any endpoint."""
OTHERS = frozenset(("assistant", "system", "developer", "tool", "function"))
"""Roles of messages that no user writes. A user may have written a message with any other role."""
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
"""Types of items without a role that no user writes."""
NOT_WRITTEN = frozenset(("role", "type", "id", "detail", "format", "control", "status", "model"))
"""Last words of the names of fields that contain no sentences."""
SELDOM_WRITTEN = frozenset(("url", "data", "name", "filename"))
"""Last words of the names of fields that seldom contain sentences, but names, addresses or encoded files."""
MAX_SELDOM_CHARS = 2_000
"""Maximum characters of a text in a field of SELDOM_WRITTEN. A longer text is a file, and is not read."""
TEXT_URLS = ("data:text/plain", "data:,", "data:;")
"""Prefixes of data: URLs with text. Other data: URLs hold images or files, which may contain spaces."""


def find_user_texts(data: dict[str, Any]) -> tuple[str, list[str]]:
    """Find the user's texts in an unvalidated request.

    Returns:
        The user's text since the last reply, with one paragraph per message or part. If the last message is a reply, this is the
        last text before. Then the user's earlier texts, oldest first.
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
    """Return the values in an unvalidated request that may be messages: objects, texts and lists, at either endpoint.

    If the request has several lists, the messages after the last reply of each list come last.
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
    """Return whether a user may have written a message."""
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
    """Return all texts in a value of any shape, in order, one paragraph each. Fields in `passed_over` are skipped."""
    texts: list[str] = []
    rest = [value]  # no recursion: the depth is unchecked
    while rest:
        one = rest.pop()
        if isinstance(one, str) and not _is_file(one):
            # A lone surrogate, such as half of a cut emoji, has no UTF-8 form.
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
    """Return whether a text is an encoded file. Such files are ignored, because they would fill traces with unreadable text."""
    return text.startswith("data:") and ";base64," in text[:MAX_SELDOM_CHARS] and len(text.split(None, 2)) < 3


def _sentence_in(text: str) -> str | None:
    """Return the text of a field that seldom holds sentences; None unless it has at least two spaces, like a sentence."""
    if len(text) > MAX_SELDOM_CHARS or (text.startswith("data:") and not text.startswith(TEXT_URLS)):
        return None
    text = unquote(text)
    return text if text.count(" ") > 1 else None
