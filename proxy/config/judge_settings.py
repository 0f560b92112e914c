"""What the configuration file says of one judge."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from judges.verdict import Stage
from proxy.config.settings import AnchoredPath, Settings, anchor_path


class ClassReference(NamedTuple):
    """A class of the user's own. It is not imported here: some commands read configurations and judge nothing."""

    path: str
    """MODULE:CLASS."""
    folder: Path
    """The configuration's folder, where modules are looked for that are not on Python's path."""


def _class_reference(value: Any, info: ValidationInfo) -> ClassReference:
    if not isinstance(value, str) or re.fullmatch(r"\w+(\.\w+)*:\w+", value) is None:
        raise ValueError("name a module and a class in it, as in my_rules:NoPrices")
    return ClassReference(value, anchor_path(Path(), info))


OwnClass = Annotated[
    ClassReference,
    BeforeValidator(_class_reference),
    WithJsonSchema({"type": "string", "pattern": r"^\w+(\.\w+)*:\w+$"}),
]


class JudgeSettings(Settings):
    name: str | None = None
    """A built-in judge: source_fidelity, transparency, role or emergency. Left out, a judge of your own."""
    prompts: list[AnchoredPath] = Field([])
    """The prompt files of your own judge (a swift and a chief version, or one of them), or of a built-in one to replace its own."""
    python: OwnClass | None = None
    """Your own judge as a Python class, MODULE:CLASS, from Python's path or the folder of this file; see docs/judges.md."""
    settings: dict[str, Any] = Field({})
    """The keyword arguments that this class is made with."""
    stages: list[Stage] | None = None
    """Cheapest first. Each stage screens for the next; the last one decides. Default: the stages that have a prompt, and for the
    emergency judge `local` before them."""
    on_error: Literal["closed", "open"] = "closed"
    """When the judge crashes, times out or says something unreadable: closed replaces the reply by the fallback message,
    open delivers it with the outcome `unjudged`."""
    reject_alone: list[Stage] | None = None
    """Stages whose reject is final though others follow. Default: none, but `local` for the emergency judge."""
    timeout_s: float = Field(30, gt=0)
    """A stage that has not answered by then leaves the case unjudged."""

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        if isinstance(value, str):
            return {"prompts": [value]} if value.endswith(".md") else {"name": value}
        return value

    @model_validator(mode="after")
    def _one_of_both(self) -> "JudgeSettings":
        if self.python is None and self.name is None and not self.prompts:
            raise ValueError(
                "give `name` (a built-in judge), `prompts` (files of your own judge), or `python` (a class of your own)"
            )
        if self.python is not None and (
            others := self.model_fields_set - {"python", "settings", "on_error", "timeout_s"}
        ):
            raise ValueError(f"a judge with `python` has no {', '.join(sorted(others))}: its class says that")
        if self.python is None and self.settings:
            raise ValueError("`settings` are for the class that `python` names")
        if self.stages is not None:
            order: list[Stage] = ["local", "swift", "chief"]
            if not self.stages or [s for s in order if s in self.stages] != self.stages:
                raise ValueError("`stages` lists one or more of local, swift, chief, in that order, each once")
        return self
