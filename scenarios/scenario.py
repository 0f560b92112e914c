"""A scenario: one reply or user message, with the verdict that each judge should give. Scenarios are grouped into families.

`scenario_files.py` reads and writes scenarios. The shipped scenarios are in `judges/*.yaml`.
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
    """Add the short form `{user: "..."}` to the JSON Schema."""
    whole = dict(schema)
    text = {"type": "string", "minLength": 1}
    short = [
        {"type": "object", "properties": {side: text}, "required": [side], "additionalProperties": False}
        for side in ("user", "assistant")
    ]
    schema.clear()
    schema["anyOf"] = [*short, whole]


class Earlier(Strict):
    """One message before the user's last message."""

    model_config = ConfigDict(json_schema_extra=_allow_short_form)

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _short_form(cls, value: Any) -> Any:
        """Accept the short form `{user: "..."}`."""
        if isinstance(value, dict) and len(value) == 1 and (role := next(iter(value))) in ("user", "assistant"):
            return {"role": role, "content": value[role]}
        return value


class InlineSource(Strict):
    """A cited source that is not in a knowledge base."""

    id: Annotated[str, Field(min_length=1)]
    """An id that begins with `doc:` marks a document, against which judges check the numbers in the reply."""
    title: str = ""
    text: Annotated[str, Field(min_length=1)]
    trusted: bool = True
    """False: the source comes from a client, so it does not support statements on sensitive topics."""


class Scenario(Strict):
    """The input of the judges and their expected verdicts."""

    id: Identifier
    """Unique among all scenarios that are loaded together."""
    user_message: str = ""
    history: tuple[Earlier, ...] = ()
    """Earlier turns, oldest first."""
    response: str = ""
    """The reply to judge, without citation command or line. May be empty if only the user's message is judged."""
    citations: tuple[str, ...] = ()
    """Ids of the knowledge-base sections that the reply cites."""
    sources: tuple[InlineSource, ...] = ()
    """Other cited sources, in full."""
    expect: dict[str, frozenset[Verdict]] = Field(default_factory=dict)
    """Correct verdicts by judge, one or several. The scenario is violating (positive) unless `accept` is correct."""
    tags: tuple[str, ...] = ()
    """Kinds of difficulty. On a harmless scenario, `twin-of:ID` names the violating scenario that it resembles."""
    note: str = ""
    """Why the expected verdicts are correct."""

    @field_validator("sources", mode="before", json_schema_input_type=InlineSource | str | list[InlineSource | str])
    @classmethod
    def _accept_bare_texts(cls, value: Any) -> Any:
        """Accept plain texts, and a single value instead of a list."""
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
                raise ValueError(
                    f"{judge}: the list is empty: expected accept, warn or reject, or a list of correct verdicts"
                )
        return value

    @model_validator(mode="after")
    def _check_texts(self) -> "Scenario":
        if not self.user_message.strip() and not self.response.strip():
            raise ValueError("the scenario has neither `user_message` nor `response`: judges need at least one of them")
        return self

    @property
    def twins(self) -> tuple[str, ...]:
        return tuple(tag.removeprefix("twin-of:") for tag in self.tags if tag.startswith("twin-of:"))


class Family(Strict):
    """Variations of one situation. All scenarios of a family are in the same split, and are resampled together."""

    family: Identifier
    split: Split = "dev"
    """`dev`: for selecting prompts and settings. `holdout`: only for measuring the selected prompts and settings."""
    knowledge_base: Path | None = None
    """Folder of the cited sections, relative to the file; default: the chatbot's knowledge base."""
    role: str | None = None
    """Role of the chatbot; default: the role of the chatbot whose judges are measured."""
    sensitive_topics: tuple[str, ...] | None = None
    """Sensitive topics of the chatbot; default: those of the chatbot whose judges are measured."""
    scenarios: Annotated[tuple[Scenario, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _check_twins(self) -> "Family":
        if lost := missing_twins(self.scenarios):
            raise ValueError("; ".join(f"{id}: {fault}" for id, fault in lost))
        return self


def missing_twins(scenarios: Sequence[Scenario]) -> list[tuple[str, str]]:
    """Return the id of each scenario with a `twin-of:` tag that names a missing scenario, and the problem."""
    ids = {scenario.id for scenario in scenarios}
    return [
        (scenario.id, f"tags: twin-of:{twin}: this family has no scenario of that id")
        for scenario in scenarios
        for twin in scenario.twins
        if twin not in ids
    ]
