"""The converted schemas follow all rules of OpenAI's strict mode."""

import datetime
import enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel

from models.schema import strict_schema


class Support(enum.Enum):
    STATED = "stated"
    UNSUPPORTED = "unsupported"


class Assertion(BaseModel):
    """A statement in a reply."""

    text: str
    support: Support = Support.STATED
    quote: str | None = Field(default=None, description="verbatim")


class Text(BaseModel):
    kind: Literal["text"]
    text: str


class Number(BaseModel):
    kind: Literal["number"]
    value: int


class Observation(BaseModel):
    model_config = ConfigDict(extra="allow")
    assertions: list[Assertion] = []
    main: Assertion = Field(description="the most important one")
    part: Annotated[Text | Number, Field(discriminator="kind")]
    score: int = Field(default=0, ge=0, le=4, description="the score")
    title: str = Field(default="x", max_length=9, examples=["y"])
    default: datetime.date | None = None
    tags: set[Literal["a", "b"]] = set()
    nested: list[list[str] | None] = []


class Tree(BaseModel):
    name: str
    children: list["Tree"] = []


ALLOWED = {
    "type",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "enum",
    "$ref",
    "$defs",
    "description",
}


def assert_strict(schema: Any) -> None:
    assert not schema.keys() - ALLOWED, schema
    assert schema.keys() & {"type", "anyOf", "$ref", "enum"}, schema
    assert "$ref" not in schema or len(schema) == 1
    if schema.get("type") == "object":
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])
    for part in [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", [])]:
        assert_strict(part)
    if "items" in schema:
        assert_strict(schema["items"])


@pytest.mark.parametrize("model", [Observation, Tree, Assertion, Text])
def test_every_part_is_strict(model):
    """Objects are closed, properties are required, references have no siblings, and no unsupported keyword remains."""
    schema = strict_schema(model)
    assert schema["type"] == "object"
    assert_strict(schema)


def test_fields_keep_their_names_and_types():
    """Fields named like keywords stay, None stays allowed, and descriptions stay."""
    schema = strict_schema(Observation)
    fields = schema["properties"]
    assert list(fields) == list(Observation.model_fields)
    assert [part["type"] for part in fields["default"]["anyOf"]] == ["string", "null"]
    assert fields["main"] == {"anyOf": [{"$ref": "#/$defs/Assertion"}], "description": "the most important one"}
    assert schema["$defs"]["Support"]["enum"] == ["stated", "unsupported"]
    assert schema["$defs"]["Text"]["properties"]["kind"]["enum"] == ["text"]
    assert fields["tags"]["items"]["enum"] == ["a", "b"]


def test_limits_are_told_in_words():
    """Limits that strict mode does not support are written into the description."""
    fields = strict_schema(Observation)["properties"]
    assert fields["score"]["description"] == "the score (minimum 0, maximum 4)"
    assert fields["title"]["description"] == "(maxLength 9)"


@pytest.mark.parametrize(
    ("kind", "hint"),
    [(dict[str, int], "dict"), (Any, "Any"), (tuple[int, str], "tuple"), (list, "list"), (list[Any], "list")],
)
def test_what_cannot_be_strict_is_named(kind, hint):
    """The message has the field and an alternative."""
    model = type("Bad", (BaseModel,), {"__annotations__": {"field": kind}})
    with pytest.raises(TypeError, match=rf"Bad\.field.*{hint}"):
        strict_schema(model)


def test_root_must_be_an_object():
    """Strict mode does not support a list as the root."""
    with pytest.raises(TypeError, match="wrap it"):
        strict_schema(RootModel[list[int]])
