"""Assembly builds a chat completion from the server-sent events of a streamed answer. Pure."""

from collections.abc import Iterator
from typing import Any

import orjson

from models.answer import content_text, decode_leniently, find_error, read_index, repair_characters
from models.engine import Body
from models.errors import UpstreamGarbled, UpstreamUnavailable
from models.streamed_calls import StreamedCalls, add_function

_HEAD = ("id", "created", "model", "system_fingerprint", "service_tier", "usage")


class Assembly:
    """Builds a chat completion from its streamed chunks. The result has all fields of an unstreamed answer, even unknown ones."""

    def __init__(self, choice_count: int = 1) -> None:
        """Args: choice_count: number of choices that the request asked for (`n`)."""
        self._choice_count = choice_count
        self._rest: list[bytes] = []
        """Bytes since the last line break."""
        self._data: list[bytes] = []
        self.head: Body = {}
        """Fields of the completion other than `choices`, as received so far."""
        self._choices: dict[int, _StreamedChoice] = {}
        self._lenient = False
        """Whether an event was not strict JSON and was decoded leniently."""
        self.done = False
        """Whether the server has sent `[DONE]`."""

    def feed(self, part: bytes) -> Iterator[tuple[int, str]]:
        """Parse the next bytes of the event stream, which may end anywhere. Yield the new text as pairs (choice index, text).

        Raises:
            ModelError: An event holds an error, or is not a chunk of a chat completion.
        """
        first, *others = part.split(b"\n")
        self._rest.append(first)
        for other in others:
            line, self._rest = b"".join(self._rest).removesuffix(b"\r"), [other]
            if line.startswith(b"data:"):
                self._data.append(line[5:].removeprefix(b" "))
            elif not line and self._data:
                data, self._data = b"\n".join(self._data), []
                yield from self._read_event(data)

    def completion(self) -> Body:
        """Return the chat completion. Call this after the stream has ended.

        Raises:
            UpstreamUnavailable: The stream ended before the answer was complete.
            UpstreamGarbled: The indexes of the choices are not 0, 1, 2 and so on.
        """
        if any(self._rest) or self._data:  # some servers omit the last line break
            for _ in self.feed(b"\n\n"):
                pass
        ended = [choice for choice in self._choices.values() if choice.finish_reason]
        if not (self.done or len(ended) == self._choice_count):
            raise UpstreamUnavailable("ended the stream before the answer was complete")
        if sorted(self._choices) != list(range(len(self._choices))):
            raise UpstreamGarbled("streamed choices with missing indexes (expected 0, 1, 2 and so on)")
        answer = {**self.head, "choices": [self._choices[index].written(index) for index in sorted(self._choices)]}
        return repair_characters(answer) if self._lenient else answer

    def _read_event(self, data: bytes) -> list[tuple[int, str]]:
        """Parse the data of an event. Return its text as pairs (choice index, text)."""
        if data.strip() == b"[DONE]":
            self.done = True
            return []
        try:
            chunk = self._decode(data)
            if (error := find_error(chunk)) is None:
                return self._add_chunk(chunk)
        except (ValueError, TypeError, KeyError, AttributeError):
            raise UpstreamGarbled("streamed an event that is not a chunk of a chat completion") from None
        raise error

    def _decode(self, data: bytes) -> Any:
        try:
            return orjson.loads(data)
        except orjson.JSONDecodeError:
            self._lenient = True
            return decode_leniently(data)

    def _add_chunk(self, chunk: Body) -> list[tuple[int, str]]:
        """Merge a decoded chunk into the completion. Return its text as pairs (choice index, text)."""
        pieces = []
        for name in _HEAD:
            if chunk.get(name) is not None:
                self.head[name] = chunk[name]
        if "choices" not in chunk and not chunk.get("usage"):  # such as FastChat's {"text": ..., "error_code": ...}
            raise ValueError
        for part in chunk.get("choices") or ():
            index = read_index(part.get("index", 0)) if self._choice_count > 1 else 0
            if index is None or index >= self._choice_count:
                raise ValueError
            choice = self._choices.setdefault(index, _StreamedChoice())
            if piece := choice.add(part):
                pieces.append((index, piece))
        return pieces


class _StreamedChoice:
    """Collects the streamed parts of one choice."""

    def __init__(self) -> None:
        self.finish_reason: Any = None
        self._logprobs: Body = {}
        self._texts: dict[str, list[str]] = {}
        """By name of a text field, such as `content`, `refusal` or `reasoning_content`, its pieces."""
        self._fields: Body = {}
        self._calls = StreamedCalls()
        self._half = ""
        """A high surrogate at the end of the last piece. The next piece begins with its low surrogate."""

    def add(self, part: Body) -> str:
        """Merge the element of a chunk for this choice. Return its text; an incomplete surrogate pair at the end is held back."""
        self.finish_reason = part.get("finish_reason") or self.finish_reason
        for name, tokens in (part.get("logprobs") or {}).items():
            if name in ("content", "refusal") and tokens:
                self._logprobs.setdefault(name, []).extend(tokens)
        content = ""
        # Some servers send a whole answer as one event, with `message`.
        said = part["delta"] if "delta" in part else part.get("message")
        for name, value in (said or {}).items():
            if name == "content" and value:
                value = content = content_text(value)
            self._add_field(name, value)
        return self._whole(content) if content else ""

    def written(self, index: int) -> Body:
        """Return the choice in the form that it has in an unstreamed answer."""
        message: Body = {"role": "assistant", "content": None} | self._fields
        message |= {name: "".join(pieces) for name, pieces in self._texts.items()}
        if calls := self._calls.written():
            message["tool_calls"] = calls
        choice = {"index": index, "message": message, "finish_reason": self.finish_reason}
        if self._logprobs:
            choice["logprobs"] = {"content": None, "refusal": None} | self._logprobs
        return choice

    def _add_field(self, name: str, value: Any) -> None:
        if not value or name == "role":
            return
        known = self._fields.get(name)
        if name == "tool_calls":
            self._calls.add(value)
        elif name == "function_call":
            add_function(self._fields.setdefault(name, {}), value)
        elif isinstance(value, str):
            self._texts.setdefault(name, []).append(value)
        elif isinstance(value, list) and isinstance(known, list):
            known.extend(value)
        else:
            self._fields[name] = known | value if isinstance(known, dict) and isinstance(value, dict) else value

    def _whole(self, piece: str) -> str:
        piece, self._half = self._half + piece, ""
        if "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return str(repair_characters(piece))
