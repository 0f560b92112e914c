"""Pure: how an answer that must fit a pydantic model is asked for, read, and asked for again.

A model is asked in the strictest way it takes: `json_schema`, where the server makes the answer fit; `json_object`,
where it makes it JSON; `prompt`, where only the instruction does.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Generic, Literal, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from models.engine import Body
from models.errors import UpstreamRefused
from models.request import Message, is_system, text_of
from models.schema import Schema, strict_schema

T = TypeVar("T", bound=BaseModel)
Way = Literal["json_schema", "json_object", "prompt"]

_LESS_STRICT: dict[Way, Way] = {"json_schema": "json_object", "json_object": "prompt"}


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """An answer that was read."""

    value: T
    raw: str
    """The answer as the model wrote it, for the trace."""
    repaired: bool
    """Whether the model had to be told what was wrong with its first answer."""


@dataclass(frozen=True, slots=True)
class Unread:
    """An answer that could not be read."""

    raw: str
    problem: str
    """What is wrong, addressed to the model that wrote it."""


def question(messages: list[Message], schema: type[BaseModel], way: Way) -> Body:
    """Return the parts of a request that ask for an answer of this schema."""
    strict = _strict(schema)
    if way == "json_schema":
        name = re.sub(r"[^a-zA-Z0-9_-]", "_", schema.__name__)[:64]
        form = {"type": "json_schema", "json_schema": {"name": name, "strict": True, "schema": strict}}
        return {"messages": messages, "response_format": form}
    wish = (
        "Answer with one JSON object and nothing else. It must fit this JSON Schema:\n" + orjson.dumps(strict).decode()
    )
    body: Body = {"messages": _instructed(messages, wish)}
    if way == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def after_refusal(way: Way, error: UpstreamRefused) -> Way | None:
    """Return the next less strict way if the upstream may have refused this one, else None.

    Many servers do not say which field they refused; what names no other culprit counts.
    """
    if error.status not in (400, 422):
        return None
    culprit = error.param or error.code
    return _LESS_STRICT.get(way) if culprit is None or culprit.startswith("response_format") else None


def read(answer: Body, schema: type[T]) -> T | Unread:
    """Read a completion: one object that was written to its end, and nothing that could take it back.

    A judge may quote in its prose an object that stands in the text it judges, or think aloud of one, or be refused midway.
    """
    raw = raw_text(answer)
    found = _object_in(raw)
    problem = None if isinstance(found, str) else found.problem
    value: T | None = None
    if isinstance(found, str):
        try:
            value = schema.model_validate_json(found)
        except ValidationError as error:
            problem = _described(error)
    choice = answer["choices"][0]
    reason = choice.get("finish_reason")
    if len(answer["choices"]) > 1:
        problem = "there were several answers; give one"
    elif choice["message"].get("refusal") or reason == "content_filter":
        problem = "it was refused"
    elif reason == "length":
        problem = f"{problem or 'it was not ended'}; it was cut off at the length limit, so be shorter"
    return value if value is not None and problem is None else Unread(raw, problem or "it was empty")


def raw_text(answer: Body) -> str:
    """Return what the model wrote in its first choice."""
    return text_of(answer["choices"][0]["message"])


def repair(messages: list[Message], unread: Unread) -> list[Message]:
    """Return the messages that tell the model what was wrong and ask again."""
    wish = (
        f"Your answer could not be read: {unread.problem}.\n"
        "Answer again, completely, with one JSON object that has the structure asked for, and nothing else."
    )
    # Several servers refuse an empty assistant message.
    said = {"role": "assistant", "content": unread.raw or "(an empty answer)"}
    return [*messages, said, {"role": "user", "content": wish}]


@cache
def _strict(schema: type[BaseModel]) -> Schema:
    return strict_schema(schema)


def _instructed(messages: list[Message], wish: str) -> list[Message]:
    """Add an instruction to the leading system message, or lead with one."""
    if messages and is_system(messages[0]):
        return [{**messages[0], "content": f"{text_of(messages[0])}\n\n{wish}"}, *messages[1:]]
    return [{"role": "system", "content": wish}, *messages]


def _object_in(text: str) -> str | Unread:
    """Return the JSON object that a text is, but for thoughts and a word before it, and a fence around it.

    What comes after it could take it back, and of two objects one may be quoted: neither is an answer. Nor is an object inside
    another one that is broken, nor one that says two things of the same.
    """
    raw, text = text, text.strip("\ufeff \t\r\n")
    if not text:
        return Unread(raw, "it was empty")
    if not text.startswith(("{", "```")):  # the thoughts of some models are opened by their template
        text = text.rpartition(_THOUGHT)[2].lstrip()
    if text.startswith(("[", "<think>")) or "{" not in text:
        return Unread(raw, "it holds no JSON object")
    begin = _BEGIN.match(text)
    if begin is None:
        return Unread(raw, _SEVERAL)
    start = begin.end()
    try:
        _, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        return Unread(raw, f"it is not valid JSON: {error.msg} at line {error.lineno} column {error.colno}")
    except _Twice as twice:
        return Unread(raw, f"it names {str(twice)[:64]!r} twice")
    except RecursionError:
        return Unread(raw, "it is nested too deeply")
    if text[end:].strip() != ("```" if begin[1] else ""):
        return Unread(raw, _SEVERAL)
    return text[start:end]


_THOUGHT = "</think>"
_BEGIN = re.compile(r"(?:[^{`]*\n)?\s*(```[a-zA-Z]*\s*)?(?=\{)")
_SEVERAL = "it holds several things; give exactly one JSON object and nothing else"


class _Twice(Exception):
    """An object has a field twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise _Twice(name)
        found[name] = value
    return found


_DECODER = json.JSONDecoder(object_pairs_hook=_once)


def _described(error: ValidationError) -> str:
    problems: list[Mapping[str, Any]] = list(
        error.errors(include_url=False, include_input=False, include_context=False)
    )
    said = [f"{'.'.join(map(str, problem['loc'])) or 'the object'}: {problem['msg']}" for problem in problems[:8]]
    return "; ".join(said) + ("; and more" if len(problems) > 8 else "")
