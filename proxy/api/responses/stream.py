"""Translates the chunks of a chat completion one by one into the server-sent events of a response. Pure.

response.created, response.in_progress
response.output_item.added                      the message
├── response.content_part.added
├── response.output_text.delta ...              or response.refusal.delta
├── response.output_text.done
├── response.content_part.done
└── response.output_item.done
response.output_item.added                      each tool call
├── response.function_call_arguments.delta, .done     or response.custom_tool_call_input.delta, .done
└── response.output_item.done
response.completed                              or response.incomplete
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

import orjson

from models.engine import Body
from proxy.api.responses.reply import Frame, message_item, response, text_part, tool_call
from proxy.protocol.errors import ApiError


class ResponseStream:
    """Builds the server-sent events of one response."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._sequence = 0
        self._is_open = False
        self._output = 0
        """Number of finished output items."""
        self._parts: list[Body] = []
        """The finished parts of the current message."""
        self._part: Body | None = None
        """The current part of the message."""
        self._logprobs: list[Body] = []
        self._message: Body = {"content": None}
        self._finish: str | None = None
        self._beside: Body = {}
        """Fields of the whole completion that its chunks contain: `usage`, `caf`, `service_tier`."""

    def mark_not_stored(self) -> None:
        """Set `store: false` in the last event, because the response could not be stored."""
        self._frame = replace(self._frame, store_failed=True)

    def opening(self) -> bytes:
        """Return the first events, which need no verdict; an empty string if they were returned before."""
        if self._is_open:
            return b""
        self._is_open = True
        created = self._frame.body("in_progress", [])
        return self._event("response.created", response=created) + self._event("response.in_progress", response=created)

    def events(self, chunks: Iterable[Body]) -> Iterator[bytes]:
        """Yield all remaining events, from the chunks of a finished chat completion."""
        yield self.opening()
        for chunk in chunks:
            yield from self.chunk(chunk)
        yield from self.end()

    def chunk(self, chunk: Body) -> Iterator[bytes]:
        """Yield the events of one chunk of the chat completion."""
        self._beside |= {name: chunk[name] for name in ("usage", "caf", "service_tier") if chunk.get(name)}
        for choice in chunk["choices"]:
            delta = choice["delta"]
            if refusal := delta.get("refusal"):
                yield from self._text_delta("refusal", refusal, [])
            # Content after a refusal only repeats it.
            if (text := delta.get("content")) and not self._message.get("refusal"):
                logprobs = choice.get("logprobs") or {}
                yield from self._text_delta("output_text", text, logprobs.get("content") or [])
            if calls := delta.get("tool_calls"):
                yield from self._message_done("completed")
                for call in calls:
                    yield from self._call_events(call)
            self._finish = choice["finish_reason"] or self._finish

    def end(self) -> Iterator[bytes]:
        """Yield the last events. The final event contains the whole response object."""
        logprobs = {"content": self._logprobs} if self._logprobs else None
        choice = {"message": self._message, "finish_reason": self._finish, "logprobs": logprobs}
        whole = response(self._frame, {"choices": [choice], **self._beside})
        if self._part is None and not self._output:  # an empty reply is also a message
            yield from self._part_begun("output_text")
        yield from self._message_done(whole["status"])
        yield self._event(f"response.{whole['status']}", response=whole)

    def failure(self, error: ApiError) -> bytes:
        """Return the event `error` for a failure after the stream began. OpenAI's client library raises an exception for it."""
        fields = error.body()["error"]
        flat = {name: fields[name] for name in ("code", "message", "param")}
        return self._event("error", **flat, error=fields)

    def _text_delta(self, kind: str, text: str, logprobs: list[Body]) -> Iterator[bytes]:
        if self._part is None or self._part["type"] != kind:
            yield from self._part_done()
            yield from self._part_begun(kind)
        name = "content" if kind == "output_text" else "refusal"
        self._message[name] = (self._message.get(name) or "") + text
        self._logprobs += logprobs
        more = {"logprobs": logprobs} if kind == "output_text" else {}
        yield self._event(f"response.{kind}.delta", **self._place(), delta=text, **more)

    def _part_begun(self, kind: str) -> Iterator[bytes]:
        self._part = text_part("", []) if kind == "output_text" else {"type": "refusal", "refusal": ""}
        if not self._parts:
            item = message_item(self._frame, "in_progress", [])
            yield self._event("response.output_item.added", output_index=self._output, item=item)
        yield self._event("response.content_part.added", **self._place(), part=self._part)

    def _part_done(self) -> Iterator[bytes]:
        if self._part is None:
            return
        if self._part["type"] == "refusal":
            part = {"type": "refusal", "refusal": self._message["refusal"]}
            yield self._event("response.refusal.done", **self._place(), refusal=part["refusal"])
        else:
            part = text_part(self._message["content"] or "", self._logprobs)
            yield self._event("response.output_text.done", **self._place(), text=part["text"], logprobs=self._logprobs)
        yield self._event("response.content_part.done", **self._place(), part=part)
        self._parts.append(part)
        self._part = None

    def _message_done(self, status: str) -> Iterator[bytes]:
        yield from self._part_done()
        if not self._parts:
            return
        item = message_item(self._frame, status, self._parts)
        yield self._event("response.output_item.done", output_index=self._output, item=item)
        self._parts = []
        self._output += 1

    def _call_events(self, call: Body) -> Iterator[bytes]:
        calls = self._message.setdefault("tool_calls", [])
        item = tool_call(self._frame, len(calls), call, "completed")
        calls.append(call)
        place = {"output_index": self._output}
        is_function = item["type"] == "function_call"
        given, kind = ("arguments", "function_call_arguments") if is_function else ("input", "custom_tool_call_input")
        added = {**item, **({"status": "in_progress"} if is_function else {}), given: ""}
        yield self._event("response.output_item.added", **place, item=added)
        place_of_item = {"item_id": item["id"], **place}
        yield self._event(f"response.{kind}.delta", **place_of_item, delta=item[given])
        name = {"name": item["name"]} if is_function else {}
        yield self._event(f"response.{kind}.done", **place_of_item, **name, **{given: item[given]})
        yield self._event("response.output_item.done", **place, item=item)
        self._output += 1

    def _place(self) -> Body:
        return {"item_id": f"msg_{self._frame.hex}", "output_index": self._output, "content_index": len(self._parts)}

    def _event(self, kind: str, **fields: object) -> bytes:
        data = {"type": kind, "sequence_number": self._sequence, **fields}
        self._sequence += 1
        return b"event: " + kind.encode() + b"\ndata: " + orjson.dumps(data) + b"\n\n"
