"""Pure: requests, reads and repairs an answer that must fit a pydantic model.

A request uses the strictest way that the model accepts. With `json_schema`, the server enforces the schema. With
`json_object`, it enforces JSON. With `prompt`, only the instruction asks for both.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from models.engine import Body
from models.errors import UpstreamRefused
from models.request import Message, is_system, text_of
from models.schema import strict_schema
from models.thoughts import cut_thoughts

T = TypeVar("T", bound=BaseModel)
Way = Literal["json_schema", "json_object", "prompt"]

_LESS_STRICT: dict[Way, Way] = {"json_schema": "json_object", "json_object": "prompt"}


@dataclass(frozen=True, slots=True)
class StructuredAnswer(Generic[T]):
    """A valid answer."""

    value: T
    raw: str
    """The answer as the model wrote it, for the trace."""
    repaired: bool
    """Whether this is the second answer, after a repair request."""


@dataclass(frozen=True, slots=True)
class UnreadableText:
    """An invalid answer."""

    raw: str
    problem: str
    """Description of the problem, addressed to the model that wrote the answer."""


def build_request(messages: list[Message], schema: type[BaseModel], way: Way) -> Body:
    """Return the parts of a request that ask for an answer of this schema."""
    strict = strict_schema(schema)
    if way == "json_schema":
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", schema.__name__)[:64]
        form = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": strict}}
        return {"messages": messages, "response_format": form}
    wish = (
        "Answer with one JSON object and nothing else. It must fit this JSON Schema:\n" + orjson.dumps(strict).decode()
    )
    body: Body = {"messages": _add_instruction(messages, wish)}
    if way == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def less_strict_way(way: Way, error: UpstreamRefused) -> Way | None:
    """Return the next less strict way if the upstream may have refused this one, else None.

    Many servers do not say which field they refused. So an error without a field counts too.
    """
    if error.status not in (400, 422):
        return None
    culprit = error.param or error.code
    return _LESS_STRICT.get(way) if culprit is None or culprit.startswith("response_format") else None


def read_answer(answer: Body, schema: type[T]) -> T | UnreadableText:
    """Read a completion: exactly one complete object, and no text that could retract it.

    A judge may quote an object from the text it judges, or draft one in its thoughts, or be refused midway.
    """
    raw, choice = raw_text(answer), answer["choices"][0]
    finish_reason = choice.get("finish_reason")
    try:
        if len(answer["choices"]) > 1:
            raise _NoAnswer("there were several answers; give one")
        if choice["message"].get("refusal") or finish_reason == "content_filter":
            raise _NoAnswer("it was refused")
        value = schema.model_validate_json(_object_in(raw))
        if finish_reason != "length":
            return value
        problem = "nobody knows how it goes on"
    except ValidationError as error:
        problem = _describe_error(error)
    except _NoAnswer as error:
        problem = str(error)
    if finish_reason == "length":
        problem += "; it was cut off at the length limit, so be shorter"
    return UnreadableText(raw, problem)


def raw_text(answer: Body) -> str:
    """Return what the model wrote in its first choice."""
    return text_of(answer["choices"][0]["message"])


def repair_messages(messages: list[Message], unreadable: UnreadableText) -> list[Message]:
    """Return the messages of a repair request, which names the problem."""
    wish = (
        f"Your answer could not be read: {unreadable.problem}.\n"
        "Answer again, completely, with one JSON object that has the structure asked for, and nothing else."
    )
    # Several servers refuse an empty assistant message.
    reply = {"role": "assistant", "content": unreadable.raw or "(an empty answer)"}
    return [*messages, reply, {"role": "user", "content": wish}]


def _add_instruction(messages: list[Message], wish: str) -> list[Message]:
    """Add an instruction to the first message if it is a system message, else insert a system message."""
    if messages and is_system(messages[0]):
        return [{**messages[0], "content": f"{text_of(messages[0])}\n\n{wish}"}, *messages[1:]]
    return [{"role": "system", "content": wish}, *messages]


class _NoAnswer(Exception):
    """The text holds no valid answer. The message describes the problem to the model."""


def _object_in(text: str) -> str:
    """Return the JSON object of a text. Only thoughts and lines of prose may precede it, and only a code fence may enclose it.

    Text after the object could retract it, and one of two objects may be a quotation, so both are refused. So are an object
    inside a broken one, and an object with a duplicate name.

    Raises:
        _NoAnswer: The text has no such object.
    """
    text = text.strip("\ufeff \t\r\n")
    if not text:
        raise _NoAnswer("it was empty")
    text = cut_thoughts(text)[0]  # of an alias with `thoughts: keep`
    if text.startswith("[") or "{" not in text:
        raise _NoAnswer("it holds no JSON object")
    if (begin := _BEGIN.match(text)) is None:
        raise _NoAnswer(_SEVERAL)
    start = begin.end()
    try:
        _, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _NoAnswer(f"it is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}") from None
    except RecursionError:
        raise _NoAnswer("it is nested too deeply") from None
    if text[end:].strip() != ("```" if begin[1] else ""):
        raise _NoAnswer(_SEVERAL)
    return text[start:end]


def _reject_duplicate_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise _NoAnswer(f"it names {name[:64]!r} twice")
        members[name] = value
    return members


_BEGIN = re.compile(r"(?>(?:[^{`\n]*\n)*)\s*(```[a-zA-Z]*\s*)?(?=\{)")
_DECODER = json.JSONDecoder(object_pairs_hook=_reject_duplicate_names)
_SEVERAL = "it holds several things; give exactly one JSON object and nothing else"


def _describe_error(error: ValidationError) -> str:
    problems: list[Mapping[str, Any]] = list(
        error.errors(include_url=False, include_input=False, include_context=False)
    )
    descriptions = [
        f"{'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}" for problem in problems[:8]
    ]
    return "; ".join(descriptions) + ("; and more" if len(problems) > 8 else "")
