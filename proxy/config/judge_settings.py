"""The settings of one judge in the configuration file."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from judges.verdict import Stage
from proxy.config.settings import AnchoredPath, Settings, anchor_path


class ClassReference(NamedTuple):
    """A reference to a custom judge class. The class is not imported here: some commands read configurations and judge nothing."""

    path: str
    """MODULE:CLASS."""
    folder: Path
    """The configuration's folder, searched for modules that are not on Python's path."""


def _class_reference(value: Any, info: ValidationInfo) -> ClassReference:
    if not isinstance(value, str) or re.fullmatch(r"\w+(\.\w+)*:\w+", value) is None:
        raise ValueError("expected MODULE:CLASS, as in my_rules:NoPrices")
    return ClassReference(value, anchor_path(Path(), info))


OwnClass = Annotated[
    ClassReference,
    BeforeValidator(_class_reference),
    WithJsonSchema({"type": "string", "pattern": r"^\w+(\.\w+)*:\w+$"}),
]


class JudgeSettings(Settings):
    name: str | None = None
    """A built-in judge: source_fidelity, transparency, role or emergency. Leave it out for a custom judge."""
    prompts: list[AnchoredPath] = Field([])
    """Prompt files of a custom judge (a swift version, a chief version, or both), or files that replace the prompts of a built-in
    judge."""
    python: OwnClass | None = None
    """A custom judge as a Python class, MODULE:CLASS, from Python's path or the folder of this file; see docs/judges.md."""
    settings: dict[str, Any] = Field({})
    """Keyword arguments for the constructor of this class."""
    stages: list[Stage] | None = None
    """The stages, cheapest first. Each stage screens for the next, and the last one decides. Default: the stages with a prompt, and
    for the emergency judge `local` before them."""
    on_error: Literal["closed", "open"] = "closed"
    """When the judge crashes, times out or gives an unreadable answer: closed replaces the reply by the fallback message. open
    delivers it with the outcome `unjudged`."""
    reject_alone: list[Stage] | None = None
    """Stages whose reject is final although other stages follow. Default: none, but `local` for the emergency judge."""
    timeout_s: float = Field(30, gt=0)
    """Time limit of a stage. A stage that takes longer leaves the case unjudged."""

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
                "needs `name` (a built-in judge), `prompts` (files of a custom judge), or `python` (a custom class)"
            )
        if self.python is not None and (
            others := self.model_fields_set - {"python", "settings", "on_error", "timeout_s"}
        ):
            raise ValueError(
                f"a judge with `python` takes no {', '.join(sorted(others))}: its class defines that; remove the setting"
            )
        if self.python is None and self.settings:
            raise ValueError("`settings` needs `python`: it holds the arguments of that class")
        if self.stages is not None:
            order: list[Stage] = ["local", "swift", "chief"]
            if not self.stages or [s for s in order if s in self.stages] != self.stages:
                raise ValueError("`stages` must list one or more of local, swift, chief, in this order, each once")
        return self
