"""Messages about invalid data: a message for each fault, with the path of the field in the file."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from models.validation_errors import describe_faults


class Rule(BaseModel):
    model_config = ConfigDict(extra="forbid")

    when: str | None = None
    reply: str | dict[str, int] | None = None

    @model_validator(mode="after")
    def _has_a_reply(self) -> "Rule":
        if self.reply is None:
            raise ValueError("a rule needs `reply`")
        return self


class Settings(BaseModel):
    model_config = ConfigDict(extra="forbid")

    script: list[str | Rule] | None = None
    limit: int | Literal["none"] = 1
    texts: Annotated[
        dict[str, Rule], BeforeValidator(lambda value: {key.lower(): one for key, one in value.items()})
    ] = {}
    names: dict[Annotated[str, Field(pattern="^[A-Z]$")], str] = {}


@pytest.mark.parametrize(
    ("data", "messages"),
    [
        (
            {"script": [{"reply": "x"}, 7]},
            ["script.1: invalid value 7: expected a text or a mapping of keys to values"],
        ),
        ({"script": [{"whne": "a", "reply": "b"}]}, ["script.0.whne: is not a known key; did you mean 'when'?"]),
        ({"script": [{"when": "a"}]}, ["script.0: a rule needs `reply`"]),
        (
            {"script": [{"reply": 5}]},
            ["script.0.reply: invalid value 5: expected a text or a mapping of keys to values"],
        ),
        ({"script": "a"}, ["script: invalid value 'a': expected a list"]),
        ({"limit": "seven"}, ["limit: invalid value 'seven': expected a whole number or 'none'"]),
        ({"limit": "non"}, ["limit: invalid value 'non': expected a whole number or 'none'; did you mean 'none'?"]),
        (
            {"texts": {"EN": {"reply": 5}, "DE": {"when": "x"}}},
            [
                "texts.en.reply: invalid value 5: expected a text or a mapping of keys to values",
                "texts.de: a rule needs `reply`",
            ],
        ),
        ({"names": {"a": "x"}}, ["names.a: invalid value 'a': expected a text that matches the pattern ^[A-Z]$"]),
        ({"lmit": 2}, ["lmit: is not a known key; did you mean 'limit'?"]),
    ],
)
def test_a_fault_is_one_message_with_the_path_of_its_field(data: object, messages: list[str]) -> None:
    """Pydantic reports a fault of a union once for each branch, with the branch's name in the path."""
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(data)
    assert describe_faults(caught.value, Settings) == messages


def test_a_secret_is_not_quoted() -> None:
    """The caller knows where secrets can be."""
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(list[str | Rule]).validate_python("sk-secret")
    assert describe_faults(caught.value, list[str | Rule], may_show=lambda location: False) == ["expected a list"]
