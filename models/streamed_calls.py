"""Tool calls put together from the pieces of a stream. Pure."""

import json
from typing import Any

from models.answer import arguments_text, read_index
from models.engine import Body


class StreamedCalls:
    """The tool calls of one choice, in the order in which they began.

    A piece belongs to the call with its id. `index` decides only where a piece has no id, since many servers give all calls
    the same index, none, null or -1 (https://github.com/ollama/ollama/issues/15457).
    """

    def __init__(self) -> None:
        self._calls: list[Body] = []
        self._indexes: list[int | None] = []
        """By call, the `index` of its first piece."""

    def add(self, pieces: list[Body]) -> None:
        """Add the pieces of one chunk."""
        for position, piece in enumerate(pieces):
            index = read_index(piece.get("index"))
            call = self._find(piece, index, position if len(pieces) > 1 else None)
            if call is None:
                call = {"id": "", "type": "function"}
                self._calls.append(call)
                self._indexes.append(index)
            _add_piece(call, piece)

    def written(self) -> list[Body]:
        """Return the calls as an unstreamed answer holds them."""
        return [call if "custom" in call else {"function": {}} | call for call in self._calls]

    def _find(self, piece: Body, index: int | None, position: int | None) -> Body | None:
        """Return the call that a piece goes on with; None: it begins one.

        Args:
            position: Of the piece in its chunk; None: it is alone there.
        """
        candidates = [call for call, own in zip(self._calls, self._indexes, strict=True) if own == index]
        if ident := piece.get("id"):
            same = [call for call in self._calls if call["id"] == ident]
            without_id = [call for call in candidates[-1:] if not call["id"]]
            return next(iter(same or without_id), None)
        if index is None and position is not None and position < len(candidates):
            candidates = candidates[: position + 1]
        if not candidates or _begins_another(candidates[-1], piece, index):
            return None
        return candidates[-1]


def _begins_another(call: Body, piece: Body, index: int | None) -> bool:
    """Tell whether a piece without an id begins another call: it names a function, and the call is complete."""
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
    """Add a piece of a function: its name, which may come in pieces or again in each, and its arguments."""
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
