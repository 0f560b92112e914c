"""Adds suggestions such as `; did you mean 'title'?` to messages about misspelt keys and values. Pure."""

import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return `; did you mean 'X'?` with the known word most similar to a misspelt word, or an empty text if none is similar."""
    near = _nearest(word, known)
    return f"; did you mean {near!r}?" if near else ""


def with_suggestions(error: ValidationError, model: type[BaseModel]) -> Iterator[tuple[Any, str]]:
    """Yield pairs of a pydantic error and a suggestion for its key or value. Without a suggestion, the text is empty.

    A misspelt key is reported once, as an unknown key. The error about the missing correct key is left out.

    Args:
        model: the model whose validation failed.
    """
    faults: list[Any] = error.errors(include_url=False)
    meant = {
        (*fault["loc"][:-1], near)
        for fault in faults
        if fault["type"] == "extra_forbidden"
        and (near := _nearest(fault["loc"][-1], _keys_at(model, fault["loc"][:-1])))
    }
    for fault in faults:
        if fault["type"] == "missing" and fault["loc"] in meant:
            continue
        if fault["type"] == "extra_forbidden":
            yield fault, did_you_mean(fault["loc"][-1], _keys_at(model, fault["loc"][:-1]))
        elif fault["type"] in ("literal_error", "enum"):
            yield fault, did_you_mean(fault["input"], re.findall(r"'([^']*)'", fault["ctx"]["expected"]))
        else:
            yield fault, ""


def _nearest(word: object, known: Iterable[str]) -> str | None:
    return next(iter(get_close_matches(word, list(known), 1)), None) if isinstance(word, str) else None


def _keys_at(model: type[BaseModel], place: Iterable[int | str]) -> list[str]:
    """Return the valid keys at the location of a validation error."""
    types: list[Any] = [model]
    for step in place:
        types = [inner for one in types for inner in _inside(one, step)]
    models = [one for one in types if isinstance(one, type) and issubclass(one, BaseModel)]
    return [field.alias or name for one in models for name, field in one.model_fields.items()]


def _inside(kind: Any, step: int | str) -> list[Any]:
    """Return the possible types of a type's member.

    Args:
        kind: the type.
        step: one step of pydantic's `loc`: a field name, key or index. A name of a union's branch returns the type itself.
    """
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = {field.alias or name: field.annotation for name, field in kind.model_fields.items()}
        return _branches(fields[str(step)]) if step in fields else [kind]
    args = [one for one in get_args(kind) if one is not Ellipsis]
    return _branches(args[-1]) if args else []


def _branches(kind: Any) -> list[Any]:
    origin = get_origin(kind)
    if origin is Annotated:
        return _branches(get_args(kind)[0])
    if origin in (Union, UnionType):
        return [branch for one in get_args(kind) for branch in _branches(one)]
    return [kind]
