"""Builds tool calls from the pieces of a streamed answer. Pure."""

import json
from typing import Any

from models.answer import arguments_text, read_index
from models.engine import Body


class StreamedCalls:
    """Collects the tool calls of one choice, in the order of their first pieces.

    A piece belongs to the call with the same id. Only for a piece without a known id does `index` decide, because many servers
    send the same index for all calls, or null, -1 or no index (https://github.com/ollama/ollama/issues/15457).
    """

    def __init__(self) -> None:
        self._calls: list[Body] = []
        self._indexes: list[int | None] = []
        """For each call in `_calls`, the `index` of its first piece."""

    def add(self, pieces: list[Body]) -> None:
        """Add the elements of a chunk's `tool_calls`."""
        for piece in pieces:
            index = read_index(piece.get("index"))
            call = self._find(piece, index)
            if call is None:
                call = {"id": "", "type": "function"}
                self._calls.append(call)
                self._indexes.append(index)
            _add_piece(call, piece)

    def written(self) -> list[Body]:
        """Return the calls in the form that `tool_calls` has in an unstreamed answer."""
        return [call if "custom" in call else {"function": {}} | call for call in self._calls]

    def _find(self, piece: Body, index: int | None) -> Body | None:
        """Return the call that a piece belongs to, or None if the piece begins a new call."""
        if ident := piece.get("id"):
            same = next((call for call in self._calls if call["id"] == ident), None)
            if same is not None:
                return same
        owns = zip(self._calls, self._indexes, strict=True)
        candidates = [call for call, own in owns if index is None or own in (index, None)]
        if not candidates:
            return None
        call = candidates[-1]
        if call["id"]:  # a server that sends ids sends one for every call
            return None if ident else call
        return None if _begins_another(call, piece, index) else call


def _begins_another(call: Body, piece: Body, index: int | None) -> bool:
    """Return whether a piece begins a new call, if the last call has no id.

    The piece must name a function, and the arguments of the last call must be complete.
    """
    known, name = _function(call), _function(piece).get("name")
    if not name or not known.get("name"):
        return False
    arguments = known.get("arguments") or known.get("input") or ""
    if arguments:
        return _is_complete(arguments)
    return index is None and name != known["name"]


def _function(call: Body) -> Body:
    function = call.get("function") or call.get("custom")
    return function if isinstance(function, dict) else {}


def _is_complete(arguments: str) -> bool:
    if not arguments.rstrip().endswith("}"):  # avoids parsing after most pieces
        return False
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


def _add_piece(call: Body, piece: Body) -> None:
    for name, value in piece.items():
        if name in ("function", "custom"):
            if value:
                add_function(call.setdefault(name, {}), value)
        elif name != "index" and value not in (None, ""):
            known = call.get(name)
            call[name] = known | value if isinstance(known, dict) and isinstance(value, dict) else value


def add_function(function: Body, piece: Any) -> None:
    """Merge a streamed piece into a function call. Servers split the name across pieces, or repeat it in each piece."""
    for name, value in piece.items():
        if value is None:
            continue
        known = function.get(name, "")
        if name in ("arguments", "input"):
            function[name] = known + arguments_text(value)
        elif name != "name" or not known or value.startswith(known):
            function[name] = value
        elif not function.get("arguments"):
            function[name] = known + value
