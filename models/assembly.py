"""Assembly: builds a chat completion from the chunks of its stream. Pure."""

from typing import Any

import orjson

from models.engine import Body
from models.errors import UpstreamGarbled, UpstreamUnavailable, error_for_status
from models.refusal import read_refusal
from models.streaming import Listener

_HEAD = ("id", "created", "model", "system_fingerprint", "service_tier", "usage")


class Assembly:
    """Builds a chat completion from its chunks.

    It takes over text, refusals, tool calls, the legacy function call, logprobs and usage. Other fields of a delta, such as a
    model's reasoning, are dropped.
    """

    def __init__(self, listener: Listener, choice_count: int = 1) -> None:
        """Args: choice_count: `n` of the request."""
        self._listener = listener
        self._choice_count = choice_count
        self._rest: list[bytes] = []
        """Bytes since the last line break."""
        self._data: list[bytes] = []
        self._answer: Body = {}
        self._choices: dict[int, Body] = {}
        self.done = False
        """Whether the server has sent `[DONE]`."""

    def feed(self, part: bytes) -> None:
        """Take the next bytes of the event stream, cut anywhere.

        Raises:
            ModelError: An event is an error, or no chunk of a chat completion.
        """
        first, *others = part.split(b"\n")
        self._rest.append(first)
        for other in others:
            line, self._rest = b"".join(self._rest), [other]
            self._feed_line(line.removesuffix(b"\r"))

    def completion(self) -> Body:
        """Return the answer, once the stream has ended.

        Raises:
            UpstreamUnavailable: It ended in the middle.
        """
        if any(self._rest) or self._data:  # some servers leave the last line break out
            self.feed(b"\n\n")
        ended = [choice for choice in self._choices.values() if choice["finish_reason"]]
        if not (self.done or len(ended) == self._choice_count):
            raise UpstreamUnavailable("the stream ended within the answer")
        choices = [self._choices[index] for index in sorted(self._choices)]
        if [choice["index"] for choice in choices] != list(range(len(choices))):
            raise UpstreamGarbled("streamed a choice and not those before it")
        return {**self._answer, "choices": choices}

    def _feed_line(self, line: bytes) -> None:
        if line.startswith(b"data:"):
            self._data.append(line[5:].removeprefix(b" "))
        elif not line and self._data:
            data, self._data = b"\n".join(self._data), []
            self._feed_event(data)

    def _feed_event(self, data: bytes) -> None:
        if data.strip() == b"[DONE]":
            self.done = True
            return
        try:
            chunk = orjson.loads(data)
            if isinstance(chunk, dict) and chunk.get("error"):
                raise _stream_error(chunk["error"])
            was_empty, pieces = bool(self._choices), self._add_chunk(chunk)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise UpstreamGarbled("streamed something that is no chunk of a chat completion") from None
        # Here, where a fault of the listener is not taken for the upstream's.
        if not was_empty and self._choices:
            self._listener.begin(self._answer)
        for index, piece in pieces:
            self._listener.hear(index, piece)

    def _add_chunk(self, chunk: Body) -> list[tuple[int, str]]:
        """Add a chunk, and return what it says, by choice."""
        pieces = []
        for name in _HEAD:
            if chunk.get(name) is not None:
                self._answer[name] = chunk[name]
        for part in chunk.get("choices") or ():
            index = int(part.get("index", 0)) if self._choice_count > 1 else 0
            if not 0 <= index < self._choice_count:
                raise ValueError
            choice = self._choices.get(index) or self._start_choice(index)
            if part.get("finish_reason"):
                choice["finish_reason"] = part["finish_reason"]
            if part.get("logprobs"):
                _add_logprobs(choice, part["logprobs"])
            delta = part.get("delta") or {}
            if isinstance(delta.get("content"), list):  # some servers write parts
                delta = {**delta, "content": "".join(one.get("text") or "" for one in delta["content"])}
            _add_delta(choice["message"], delta)
            if delta.get("content"):
                pieces.append((index, delta["content"]))
        return pieces

    def _start_choice(self, index: int) -> Body:
        choice = {"index": index, "message": {"role": "assistant", "content": None}, "finish_reason": None}
        self._choices[index] = choice
        return choice


def _stream_error(error: object) -> Exception:
    """Return the error for an error event, without the upstream's text: that may quote a prompt or a key."""
    status = error.get("code") if isinstance(error, dict) else None
    if isinstance(status, int) and 400 <= status < 600:
        code, param = read_refusal(error)
        return error_for_status(status, code=code, param=param)
    return UpstreamUnavailable("the stream told of an error")


def _add_delta(message: Body, delta: Body) -> None:
    for name in ("content", "refusal"):
        if delta.get(name):
            message[name] = (message.get(name) or "") + delta[name]
    for nth, call in enumerate(delta.get("tool_calls") or ()):
        _add_call(message.setdefault("tool_calls", []), int(call.get("index", nth)), call)
    if function := delta.get("function_call"):
        _add_function(message.setdefault("function_call", {}), function)


def _add_logprobs(choice: Body, logprobs: Any) -> None:
    merged = choice.setdefault("logprobs", {"content": None, "refusal": None})
    for name in ("content", "refusal"):
        if logprobs.get(name):
            merged[name] = (merged[name] or []) + logprobs[name]


def _add_call(calls: list[Body], index: int, piece: Body) -> None:
    if not 0 <= index <= len(calls):
        raise ValueError
    if index == len(calls):
        calls.append({"id": "", "type": "function", "function": {}})
    call = calls[index]
    call |= {name: piece[name] for name in ("id", "type") if piece.get(name)}
    for kind in ("function", "custom"):
        if piece.get(kind):
            if kind != "function":
                call.pop("function", None)
            _add_function(call.setdefault(kind, {}), piece[kind])


def _add_function(function: Body, piece: Body) -> None:
    if piece.get("name"):
        function["name"] = function.get("name", "") + piece["name"]
    for name in ("arguments", "input"):
        if name in piece:
            function[name] = function.get(name, "") + (piece[name] or "")
