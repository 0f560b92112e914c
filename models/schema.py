"""Converts a pydantic model to the JSON Schema that OpenAI's strict mode accepts. Pure.

Strict mode forbids additional properties and makes every property required. It does not support defaults, `oneOf`, tuples or
free-form objects. Azure and most compatible servers also refuse limits such as `minimum`. So limits are written into the
description, and pydantic enforces them when the answer is parsed.
https://platform.openai.com/docs/guides/structured-outputs#supported-schemas
"""

from functools import cache
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

_LIMITS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
    "minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems",
)  # fmt: skip
_DROPPED = {*_LIMITS, "title", "default", "examples", "deprecated", "readOnly", "writeOnly", "discriminator"}


@cache
def strict_schema(model: type[BaseModel]) -> Schema:
    """Return the JSON Schema of a pydantic model in the form that strict mode requires.

    Raises:
        TypeError: strict mode does not support the type of a field. The message names the field and an alternative.
    """
    schema = model.model_json_schema()
    if "$ref" in schema:  # a model that contains itself
        root = schema["$defs"][schema["$ref"].rsplit("/", 1)[-1]]
        schema = {**root, "$defs": schema["$defs"]}
    if schema.get("type") != "object":
        raise TypeError(
            f"cannot convert {model.__name__} to a strict JSON Schema: the root must be an object; "
            "wrap it in a model with one field"
        )
    return _strict(schema, model.__name__)


def _strict(schema: Schema, where: str) -> Schema:
    _check_expressible(schema, where)
    strict = {name: value for name, value in schema.items() if name not in _DROPPED}
    limits = [f"{name} {schema[name]}" for name in _LIMITS if name in schema]
    if limits:
        strict["description"] = " ".join(filter(None, (schema.get("description"), f"({', '.join(limits)})")))
    if "const" in strict:
        strict["enum"] = [strict.pop("const")]
    if "oneOf" in strict:
        strict["anyOf"] = strict.pop("oneOf")
    if "$ref" in strict and len(strict) > 1:  # strict mode allows no keys beside a reference
        strict["anyOf"] = [{"$ref": strict.pop("$ref")}]
    if strict.get("type") == "object":
        strict.setdefault("properties", {})
        strict["required"] = list(strict["properties"])
        strict["additionalProperties"] = False
    for group in ("properties", "$defs"):
        if group in strict:
            strict[group] = {name: _strict(part, f"{where}.{name}") for name, part in strict[group].items()}
    if "anyOf" in strict:
        strict["anyOf"] = [_strict(part, where) for part in strict["anyOf"]]
    if "items" in strict:
        strict["items"] = _strict(strict["items"], f"{where}[]")
    return strict


def _check_expressible(schema: Schema, where: str) -> None:
    cannot = f"cannot convert {where} to a strict JSON Schema"
    if "prefixItems" in schema:
        raise TypeError(f"{cannot}: tuples are not supported; use a list, or a model with named fields")
    if schema.get("type") == "object" and "properties" not in schema and schema.get("additionalProperties"):
        raise TypeError(f"{cannot}: a dict is not supported; use a list of models with a key and a value")
    if schema.get("type") == "array" and not schema.get("items"):
        raise TypeError(f"{cannot}: a list without an item type is not supported; declare the type, such as list[str]")
    if not {"type", "$ref", "anyOf", "oneOf", "enum", "const"} & schema.keys():
        raise TypeError(f"{cannot}: Any is not supported; declare the possible types, such as str | int")
