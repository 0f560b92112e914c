"""The settings of one judge in the configuration file."""

import re
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from judges.verdict import Stage
from proxy.config.settings import AnchoredPath, Settings, anchor_path


class ClassReference(NamedTuple):
    """A reference to a custom judge class. The class is imported later, because some commands only read the configuration."""

    path: str
    """MODULE:CLASS."""
    folder: Path
    """The folder of the configuration file, which is searched for modules that are not on Python's path."""


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
    """A custom judge as a Python class, in the form MODULE:CLASS. The module must be on Python's path or in the folder of the
    configuration file. See docs/custom_judges.md."""
    settings: dict[str, Any] = Field({})
    """Keyword arguments for the constructor of the class in `python`."""
    stages: list[Stage] | None = None
    """The stages to run, cheapest first. Each stage passes only the replies that it flags to the next stage. The last stage
    decides. Default: the stages with a prompt, and for the emergency judge `local` before them."""
    on_error: Literal["closed", "open"] = "closed"
    """What happens when the judge crashes, times out or gives an unreadable answer. closed: the fallback message replaces the
    reply. open: the reply is delivered with the outcome `unjudged`."""
    reject_alone: list[Stage] | None = None
    """Stages whose rejection is final although other stages follow. Default: `local` for the emergency judge, none for others."""
    timeout_s: float = Field(30, gt=0)
    """Time limit of each stage in seconds. A stage that takes longer gives the verdict `unjudged`."""

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
                "a judge needs `name` (a built-in judge), `prompts` (files of a custom judge), or `python` (a custom class)"
            )
        if self.python is not None and (
            others := self.model_fields_set - {"python", "settings", "on_error", "timeout_s"}
        ):
            raise ValueError(
                f"a judge with `python` takes no {', '.join(sorted(others))}, which its class defines; remove the setting"
            )
        if self.python is None and self.settings:
            raise ValueError(
                "`settings` needs `python`: it contains the arguments of that class; add one, or remove the other"
            )
        if self.stages is not None:
            order: list[Stage] = ["local", "swift", "chief"]
            if not self.stages or [s for s in order if s in self.stages] != self.stages:
                raise ValueError("`stages` must list one or more of local, swift, chief, in this order, each once")
        return self
