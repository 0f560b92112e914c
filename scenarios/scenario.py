"""A scenario: one reply (or message) with the verdict each judge should come to, and the family it belongs to.

`scenario_files.py` reads and writes them; `judges/*.yaml` holds ours.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator, model_validator

from scenarios.files import Strict

Verdict = Literal["accept", "warn", "reject"]
Split = Literal["dev", "holdout"]
VERDICTS: tuple[Verdict, ...] = ("accept", "warn", "reject")

Identifier = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]{0,199}$")]


def _allow_short_form(schema: dict[str, Any]) -> None:
    """Allow `{user: "..."}` in the JSON Schema too."""
    whole = dict(schema)
    text = {"type": "string", "minLength": 1}
    short = [
        {"type": "object", "properties": {side: text}, "required": [side], "additionalProperties": False}
        for side in ("user", "assistant")
    ]
    schema.clear()
    schema["anyOf"] = [*short, whole]


class Earlier(Strict):
    """One message before the user's newest."""

    model_config = ConfigDict(json_schema_extra=_allow_short_form)

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        """Take `{user: "..."}` as well."""
        if isinstance(value, dict) and len(value) == 1 and (role := next(iter(value))) in ("user", "assistant"):
            return {"role": role, "content": value[role]}
        return value


class InlineSource(Strict):
    """A cited source that no knowledge base has."""

    id: Annotated[str, Field(min_length=1)]
    """One that begins with `doc:` is a document: the reply's numbers are held against it."""
    title: str = ""
    text: Annotated[str, Field(min_length=1)]
    trusted: bool = True
    """False: a client brought it, so that it supports nothing on a sensitive topic."""


class Scenario(Strict):
    """What judges get to see, and what they should make of it."""

    id: Identifier
    """Unique among all scenarios that are read together."""
    user_message: str = ""
    history: tuple[Earlier, ...] = ()
    """Earlier turns, oldest first."""
    response: str = ""
    """The reply to judge, without citation command or line. May be empty where only the user's message is judged."""
    citations: tuple[str, ...] = ()
    """Ids of the knowledge-base sections that the reply cites."""
    sources: tuple[InlineSource, ...] = ()
    """Further cited sources, in full."""
    expect: dict[str, frozenset[Verdict]] = Field(default_factory=dict)
    """By judge, the verdict that is right, or several of which each is. Violating (positive) unless `accept` is among them."""
    tags: tuple[str, ...] = ()
    """Kinds of difficulty; `twin-of:ID` on a harmless scenario names the violating one that it resembles."""
    note: str = ""
    """Why the labels are right."""

    @field_validator("sources", mode="before", json_schema_input_type=InlineSource | str | list[InlineSource | str])
    @classmethod
    def _accept_bare_texts(cls, value: Any) -> Any:
        """Take bare texts as well, or one."""
        value = [value] if isinstance(value, str | dict) else value
        if isinstance(value, list | tuple):
            return [{"id": f"source-{n}", "text": v} if isinstance(v, str) else v for n, v in enumerate(value, 1)]
        return value

    @field_validator("expect", mode="before", json_schema_input_type=dict[str, Verdict | list[Verdict]])
    @classmethod
    def _accept_bare_verdicts(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {judge: [v] if isinstance(v, str) else v for judge, v in value.items()}

    @field_validator("expect")
    @classmethod
    def _check_verdicts(cls, value: dict[str, frozenset[Verdict]]) -> dict[str, frozenset[Verdict]]:
        for judge, verdicts in value.items():
            if not verdicts:
                raise ValueError(f"{judge}: give accept, warn or reject, or a list of those that are right")
        return value

    @model_validator(mode="after")
    def _check_texts(self) -> "Scenario":
        if not self.user_message.strip() and not self.response.strip():
            raise ValueError("has neither `user_message` nor `response`; judges need one of them")
        return self

    @property
    def twins(self) -> tuple[str, ...]:
        return tuple(tag.removeprefix("twin-of:") for tag in self.tags if tag.startswith("twin-of:"))


class Family(Strict):
    """One situation with its variations: the unit that splits and resampling keep together."""

    family: Identifier
    split: Split = "dev"
    """holdout: looked at only to report how good something is that was chosen on dev."""
    knowledge_base: Path | None = None
    """Folder of the sections that its scenarios cite, relative to the file; default: the knowledge base of the chatbot."""
    role: str | None = None
    """What the chatbot is there for; default: the role of the chatbot whose judges are measured."""
    sensitive_topics: tuple[str, ...] | None = None
    """Default: those of the chatbot."""
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_twins(self) -> "Family":
        if lost := missing_twins(self.scenarios):
            raise ValueError("; ".join(f"{id}: {fault}" for id, fault in lost))
        return self


def missing_twins(scenarios: Sequence[Scenario]) -> list[tuple[str, str]]:
    """Return id and fault for each tag that names a twin that is not there."""
    ids = {scenario.id for scenario in scenarios}
    return [
        (scenario.id, f"tags: twin-of:{twin} names no scenario of this family")
        for scenario in scenarios
        for twin in scenario.twins
        if twin not in ids
    ]
