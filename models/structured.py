"""Structured output: requests an answer that fits a pydantic model, parses the answer, and builds a repair request. Pure.

A request uses the strictest way that the model accepts. With `json_schema`, the server enforces the schema. With
`json_object`, the server enforces JSON. With `prompt`, only the instruction in the prompt asks for JSON of this schema.
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
"""The ways to request JSON, strictest first."""

_LESS_STRICT: dict[Way, Way] = {"json_schema": "json_object", "json_object": "prompt"}


@dataclass(frozen=True, slots=True)
class StructuredAnswer(Generic[T]):
    """An answer that fits the requested pydantic model."""

    value: T
    raw: str
    """The answer's text as the model wrote it, for the trace."""
    repaired: bool
    """Whether this is the answer to a repair request, after an invalid first answer."""


@dataclass(frozen=True, slots=True)
class UnreadableText:
    """An answer that does not fit the requested pydantic model."""

    raw: str
    problem: str
    """The problem, in words for the model that wrote the answer."""


def build_request(messages: list[Message], schema: type[BaseModel], way: Way) -> Body:
    """Return the fields of a request that ask for JSON of this schema: the messages, and `response_format` if `way` needs it."""
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
    """Return the next less strict way if the upstream may have refused `way`, else None.

    An error that does not name the refused field counts too, because many servers never name the field.
    """
    if error.status not in (400, 422):
        return None
    culprit = error.param or error.code
    return _LESS_STRICT.get(way) if culprit is None or culprit.startswith("response_format") else None


def read_answer(answer: Body, schema: type[T]) -> T | UnreadableText:
    """Parse the answer in a chat completion. It must hold exactly one complete JSON object, and no text after the object.

    The parser never chooses between objects. A judge may quote an object from the text under judgement, draft an object in its
    thoughts, or retract an object afterwards.
    """
    raw, choice = raw_text(answer), answer["choices"][0]
    finish_reason = choice.get("finish_reason")
    try:
        if len(answer["choices"]) > 1:
            raise _NoAnswer(f"expected one answer, but got {len(answer['choices'])}")
        if choice["message"].get("refusal") or finish_reason == "content_filter":
            raise _NoAnswer("the answer is a refusal")
        value = schema.model_validate_json(_object_in(raw))
        if finish_reason != "length":
            return value
        problem = "the answer is incomplete"
    except ValidationError as error:
        problem = _describe_error(error)
    except _NoAnswer as error:
        problem = str(error)
    if finish_reason == "length":
        problem += "; it was cut off at the length limit, so write a shorter answer"
    return UnreadableText(raw, problem)


def raw_text(answer: Body) -> str:
    """Return the text of the first choice, unchanged."""
    return text_of(answer["choices"][0]["message"])


def repair_messages(messages: list[Message], unreadable: UnreadableText) -> list[Message]:
    """Return the messages of a repair request: the original messages, the unreadable answer, and its problem."""
    wish = (
        f"Your answer could not be read: {unreadable.problem}.\n"
        "Answer again, completely, with one JSON object that has the structure asked for, and nothing else."
    )
    # Several servers refuse an empty assistant message.
    reply = {"role": "assistant", "content": unreadable.raw or "(an empty answer)"}
    return [*messages, reply, {"role": "user", "content": wish}]


def _add_instruction(messages: list[Message], wish: str) -> list[Message]:
    """Append an instruction to the first message if that is a system message, else insert a new system message."""
    if messages and is_system(messages[0]):
        return [{**messages[0], "content": f"{text_of(messages[0])}\n\n{wish}"}, *messages[1:]]
    return [{"role": "system", "content": wish}, *messages]


class _NoAnswer(Exception):
    """The text holds no valid answer. The message is sent to the model, after 'Your answer could not be read: '."""


def _object_in(text: str) -> str:
    """Return the only JSON object of a text. Thoughts and lines of prose may precede the object; a code fence may enclose it.

    Text after the object is refused, because it could retract the object. Two objects are refused, because one may be a
    quotation. An object inside a malformed object and a duplicate key are refused too.

    Raises:
        _NoAnswer: The text does not follow these rules.
    """
    text = text.strip("\ufeff \t\r\n")
    if not text:
        raise _NoAnswer("the answer is empty")
    text = cut_thoughts(text)[0]  # of an alias with `thoughts: keep`
    if text.startswith("[") or "{" not in text:
        raise _NoAnswer("the answer holds no JSON object")
    if (begin := _BEGIN.match(text)) is None:
        raise _NoAnswer(_SEVERAL)
    start = begin.end()
    try:
        _, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _NoAnswer(
            f"the answer is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}"
        ) from None
    except RecursionError:
        raise _NoAnswer("the JSON object is nested too deeply") from None
    if text[end:].strip() != ("```" if begin[1] else ""):
        raise _NoAnswer(_SEVERAL)
    return text[start:end]


def _reject_duplicate_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise _NoAnswer(f"the JSON object has the duplicate key {name[:64]!r}")
        members[name] = value
    return members


_BEGIN = re.compile(r"(?>(?:[^{`\n]*\n)*)\s*(```[a-zA-Z]*\s*)?(?=\{)")
_DECODER = json.JSONDecoder(object_pairs_hook=_reject_duplicate_names)
_SEVERAL = "the answer holds several JSON objects, or text beside the object; give one JSON object and nothing else"


def _describe_error(error: ValidationError) -> str:
    problems: list[Mapping[str, Any]] = list(
        error.errors(include_url=False, include_input=False, include_context=False)
    )
    descriptions = [
        f"{'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}" for problem in problems[:8]
    ]
    return "; ".join(descriptions) + ("; and more" if len(problems) > 8 else "")
