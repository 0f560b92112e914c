"""One request in each form that a client may send it in, and what its answer holds, read as strictly as OpenAI's library can."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import BaseModel, TypeAdapter

from tests.proxy.conftest import Body, Proxy

FORMS = ["chat", "chat streamed", "responses", "responses streamed"]
CHAT_FORMS = FORMS[:2]
EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)


@dataclass(frozen=True)
class Got:
    """What a client got."""

    form: str
    status: int
    headers: dict[str, str]
    parts: list[Body]
    """The decoded body, or the decoded events."""

    def __contains__(self, text: object) -> bool:
        """Return whether a text stands anywhere in it."""
        return str(text) in json.dumps([self.headers, self.parts], ensure_ascii=False)

    @property
    def failed(self) -> bool:
        return self.status != 200 or any("error" in part and part["error"] for part in self.parts)

    @property
    def whole(self) -> Body:
        """A response as it came, or as its last event has it; chunks put together to a chat completion with one choice or more."""
        if self.form == "responses streamed":
            return dict(self.parts[-1]["response"])
        if self.form != "chat streamed":
            return self.parts[0]
        choices: dict[int, Body] = {}
        for chunk in self.parts:
            for choice in chunk["choices"]:
                one = choices.setdefault(choice["index"], {"message": {"content": None, "refusal": None}})
                _grow(one["message"], choice["delta"])
                one["finish_reason"] = choice["finish_reason"]
                one["caf"] = choice.get("caf") or chunk.get("caf")
        return {"choices": [choices[index] for index in sorted(choices)], "caf": self.parts[-1].get("caf")}

    @property
    def calls(self) -> list[tuple[str, str]]:
        """The calls of tools: name, and what they are given."""
        if self.form.startswith("responses"):
            items = [item for item in self.whole["output"] if item["type"] == "function_call"]
            return [(item["name"], item["arguments"]) for item in items]
        found = []
        for choice in self.whole["choices"]:
            message = choice["message"]
            called = [call.get("function") or call["custom"] for call in message.get("tool_calls") or ()]
            called += [message["function_call"]] if message.get("function_call") else []
            found += [(one["name"], one.get("arguments", one.get("input"))) for one in called]
        return found

    @property
    def texts(self) -> list[str]:
        """The text of each choice, as far as there is one."""
        return self._said("content", "output_text", "text")

    @property
    def refusals(self) -> list[str]:
        return self._said("refusal", "refusal", "refusal")

    def _said(self, name: str, kind: str, field: str) -> list[str]:
        if self.form.startswith("chat"):
            return [c["message"][name] for c in self.whole["choices"] if c["message"].get(name)]
        parts = [part for item in self.whole["output"] for part in item.get("content") or ()]
        return [part[field] for part in parts if part["type"] == kind and part[field]]


def _grow(message: Body, delta: Body) -> None:
    for name in ("content", "refusal"):
        if delta.get(name):
            message[name] = (message[name] or "") + delta[name]
    for name in ("tool_calls", "function_call"):
        if name in delta:
            assert name not in message  # they come in one piece
            message[name] = delta[name]


async def ask(proxy: Proxy, form: str, said: str, **fields: Any) -> Got:
    """Ask in one form. Args: fields: of a chat request."""
    streamed = form.endswith("streamed")
    asked: Body = {"model": "bot", "stream": streamed, **fields}
    if form.startswith("chat"):
        path, asked["messages"] = "chat/completions", [{"role": "user", "content": said}]
    else:
        path, asked["input"] = "responses", said
        if "tools" in fields:
            asked["tools"] = [{"type": "function", **tool["function"]} for tool in fields["tools"]]
        if "response_format" in fields:
            asked["text"] = {"format": asked.pop("response_format")}
    async with proxy.session.post(f"{proxy.url}/v1/{path}", json=asked) as response:
        raw = (await response.read()).decode()
        headers = dict(response.headers)
        headers.pop("Date", None)
        if not streamed or response.status != 200:
            return Got(form, response.status, headers, [json.loads(raw)])
        data = [line.removeprefix("data: ") for line in raw.split("\n") if line.startswith("data: ")]
        return Got(form, response.status, headers, [json.loads(one) for one in data if one != "[DONE]"])


def check(got: Got) -> None:
    """Read an answer as OpenAI's types have it: no field is unknown or has a wrong type, no list of calls is empty."""
    if got.failed:
        return
    for part in got.parts:
        match got.form:
            case "chat":
                read: Any = ChatCompletion.model_validate(part)
            case "chat streamed":
                read = ChatCompletionChunk.model_validate(part)
            case "responses":
                read = Response.model_validate(_newest(part))
            case _:
                read = EVENTS.validate_python(
                    {**part, "response": _newest(part["response"])} if "response" in part else part
                )
        assert set(_unknown(read)) <= {"caf", "store", "bytes"}
        for choice in part.get("choices", ()):
            message = choice.get("message") or choice["delta"]
            assert message.get("tool_calls", True)
            assert message.get("function_call", True)
    if got.form.startswith("chat"):
        for choice in got.whole["choices"]:
            called = bool(choice["message"].get("tool_calls"))
            assert called or choice["finish_reason"] != "tool_calls"
            assert choice["message"].get("function_call") or choice["finish_reason"] != "function_call"


def _unknown(value: Any) -> Iterator[str]:
    """Yield the names of the fields that OpenAI's types do not know, at any depth."""
    if isinstance(value, BaseModel):
        yield from value.model_extra or ()
        for name in type(value).model_fields:
            yield from _unknown(getattr(value, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _unknown(inner)


def _newest(response: Body) -> Body:
    """Add what only the newest version of OpenAI's types asks for."""
    usage = response["usage"] and {
        **response["usage"],
        "input_tokens_details": {"cache_write_tokens": 0, **response["usage"]["input_tokens_details"]},
    }
    return {**response, "usage": usage}
