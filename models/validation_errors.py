"""Messages about invalid data: what a field must hold, and suggestions such as `; did you mean 'title'?`. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

Location = tuple[int | str, ...]
"""The path of a field in validated data: pydantic's `loc`."""
_EXPECTED = {
    "a text": ("string_type",),
    "a whole number": ("int_type", "int_parsing", "int_from_float"),
    "a number": ("float_type", "float_parsing"),
    "true or false": ("bool_type", "bool_parsing"),
    "a list": ("list_type", "tuple_type"),
    "a path": ("path_type",),
    "a mapping of keys to values": ("dict_type", "model_type", "model_attributes_type"),
    "a date such as 2026-01-31": ("date_type", "date_parsing", "date_from_datetime_parsing"),
    "{expected}": ("literal_error", "enum"),
    "more than {gt:g}": ("greater_than",),
    "at least {ge:g}": ("greater_than_equal",),
    "less than {lt:g}": ("less_than",),
    "at most {le:g}": ("less_than_equal",),
    "a text that matches the pattern {pattern}": ("string_pattern_mismatch",),
    "at least {min_length} entries": ("too_short",),
    "at most {max_length} entries": ("too_long",),
    "at least {min_length} characters": ("string_too_short",),
    "at most {max_length} characters": ("string_too_long",),
}
_EXPECTED_BY_TYPE = {kind: expected for expected, kinds in _EXPECTED.items() for kind in kinds}
"""What a field must hold, by the type of pydantic's error. `{name}` is filled in from the error."""
_TYPE_FAULTS = tuple(
    kind for kind in _EXPECTED_BY_TYPE if kind.endswith(("_type", "_parsing", "literal_error", "enum"))
)
"""Types of errors about a value of a wrong type. They are left out if another branch of a union fits the value's type."""
_SHOWN_CHARACTERS = 60
"""Maximum length of an offending text in an error message."""


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """Return `; did you mean 'X'?` with the known word most similar to a misspelt word, or an empty text if none is similar."""
    near = _nearest(word, known)
    return f"; did you mean {near!r}?" if near else ""


def with_suggestions(error: ValidationError, model: Any) -> Iterator[tuple[Any, str]]:
    """Yield pairs of a pydantic error and a suggestion for its key or value. Without a suggestion, the text is empty.

    A misspelt key is reported once, as an unknown key. The error about the missing correct key is left out.

    Args:
        model: the type whose validation failed.
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
            hint = did_you_mean(fault["loc"][-1], _keys_at(model, fault["loc"][:-1]))
            yield fault, hint or "; check the spelling or remove it"
        elif fault["type"] in ("literal_error", "enum"):
            yield fault, did_you_mean(fault["input"], re.findall(r"'([^']*)'", fault["ctx"]["expected"]))
        else:
            yield fault, ""


def describe_faults(
    error: ValidationError,
    model: Any = BaseModel,
    data: Any = None,
    may_show: Callable[[Location], bool] = lambda location: True,
) -> list[str]:
    """Return the faults of invalid data, each with the path of its field, what is wrong, and a suggestion.

    Pydantic reports the faults of every branch of a union. They become one message with all expected types. If the value has the
    type of a branch, only the faults of this branch remain.

    Args:
        error: Pydantic's error.
        model: The type whose validation failed, to find the unions, and the keys to suggest for misspelt ones.
        data: The validated data. With it, a path names only keys and indices that the data contain.
        may_show: Returns whether a message may quote the value at a location. A value can be a secret.
    """
    fields: dict[Location, list[tuple[Any, str]]] = {}
    for fault, hint in with_suggestions(error, model):
        path = _walk(model, fault["loc"])[0] if data is None else tuple(_steps_in(data, fault))
        fields.setdefault(path, []).append((fault, hint))
    parents = {path[:length] for path in fields for length in range(len(path))}
    messages = []
    for path, faults in fields.items():
        rest = [one for one in faults if one[0]["type"] not in _TYPE_FAULTS]
        if path in parents:
            rest = [one for one in rest if one[0]["type"] != "too_short"]  # it only repeats the faults of the items
        elif not rest:
            hint = next(filter(None, (hint for _, hint in faults)), "")
            rest = [(faults[0][0], hint)]
        of_type = [fault for fault, _ in faults if fault["type"] in _TYPE_FAULTS]
        described = [describe_fault(fault, may_show(fault["loc"]), of_type) + hint for fault, hint in rest]
        field = ".".join(map(str, path))
        lines = dict.fromkeys(line for message in described for line in message.split("\n"))
        messages += [f"{field}: {line}" if field else line for line in lines]
    return messages


def describe_fault(fault: Any, show_value: bool = True, of_type: Sequence[Any] = ()) -> str:
    """Return what is wrong with a field, as the predicate of a sentence that begins with the field.

    Args:
        fault: One of pydantic's errors (`ValidationError.errors()`).
        show_value: Whether the message may quote the invalid value.
        of_type: If the value has a wrong type, the errors of all branches of a union.
    """
    if fault["type"] == "missing":
        return "is missing"
    if fault["type"] == "extra_forbidden":
        return "is not a known key"
    if fault["type"] in ("too_short", "string_too_short") and fault["ctx"]["min_length"] == 1:
        return "is empty"
    value = fault.get("input", "")
    shown = (
        show_value
        and "input" in fault
        and isinstance(value, str | int | float | None)
        and len(str(value)) <= _SHOWN_CHARACTERS
    )
    if fault["type"] not in _EXPECTED_BY_TYPE:
        message = re.sub(r"^Input should ", "must ", fault["msg"].removeprefix("Value error, "))
        return f"{message} (got {value!r})" if shown and repr(value) not in message else message
    branches = of_type if fault in of_type else [fault]
    expected = " or ".join(
        dict.fromkeys(_EXPECTED_BY_TYPE[one["type"]].format_map(one.get("ctx", {})) for one in branches)
    )
    if value is None:
        return f"has no value: expected {expected}"
    return f"invalid value {value!r}: expected {expected}" if shown else f"expected {expected}"


def _steps_in(data: Any, fault: Any) -> Iterator[int | str]:
    """Yield the steps of a fault's path that exist in the data. Pydantic adds branches of unions, and indices of wrapped values."""
    for step in fault["loc"]:
        if (isinstance(data, Mapping) and step in data) or (isinstance(data, list) and isinstance(step, int)):
            data = data[step]
            yield step
        elif fault["type"] == "missing" and step == fault["loc"][-1]:
            yield step


def _nearest(word: object, known: Iterable[str]) -> str | None:
    known = [one for one in known if one != word]  # the word itself can be valid elsewhere in a union
    return next(iter(get_close_matches(word, known, 1)), None) if isinstance(word, str) else None


def _keys_at(model: Any, location: Iterable[int | str]) -> list[str]:
    """Return the valid keys at the location of a validation error."""
    models = [kind for kind in _walk(model, location)[1] if isinstance(kind, type) and issubclass(kind, BaseModel)]
    return [field.alias or name for one in models for name, field in one.model_fields.items()]


def _walk(model: Any, location: Iterable[int | str]) -> tuple[Location, list[Any]]:
    """Follow the location of a validation error through the types of a model.

    Returns:
        The path, without pydantic's names of the branches of unions, and the possible types at its end.
    """
    path: list[int | str] = []
    kinds = _branches(model)
    names_branch = False
    for step in location:
        if names_branch:
            names_branch = False
        elif step != "[key]":  # pydantic's mark of an invalid key
            path.append(step)
            kinds = [inner for kind in kinds for inner in _inside(kind, step)]
            names_branch = len([kind for kind in kinds if kind is not NoneType]) > 1
    return tuple(path), kinds


def _inside(kind: Any, step: int | str) -> list[Any]:
    """Return the possible types of a type's member.

    Args:
        kind: the type.
        step: a field name, key or index.
    """
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [
            branch
            for name, field in kind.model_fields.items()
            if step == (field.alias or name)
            for branch in _branches(field.annotation)
        ]
    args = [one for one in get_args(kind) if one is not Ellipsis]
    is_mapping = isinstance(origin := get_origin(kind), type) and issubclass(origin, Mapping)
    return _branches(args[-1]) if args and (is_mapping or isinstance(step, int)) else []


def _branches(kind: Any) -> list[Any]:
    origin = get_origin(kind)
    if origin is Annotated:
        return _branches(get_args(kind)[0])
    if origin in (Union, UnionType):
        return [branch for one in get_args(kind) for branch in _branches(one)]
    return [kind]
