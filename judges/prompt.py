"""Parses a judge's markdown file: YAML front matter with the settings, then the instructions for the model."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from judges.case import Mode
from judges.guard_model import FORMS, Format, Guard, Target
from judges.observation import OBSERVATIONS
from judges.rules import unreadable_rule
from knowledge_base.front_matter import FrontMatterError, split_front_matter
from models.validation_errors import describe_faults


@dataclass(frozen=True, slots=True)
class Prompt:
    """The contents of a judge's markdown file."""

    name: str
    stage: Literal["swift", "chief"]
    model: str
    """The alias of the model under `models` in the configuration."""
    modes: frozenset[Mode]
    observation: str
    """The form that the model fills in: a key of `judges.observation.OBSERVATIONS`, or `guard`."""
    text: str
    """The instructions below the front matter."""
    hash: str
    """First 16 hex digits of the SHA-256 of the instructions; for a guard model, of the whole file."""
    guard: Guard | None = None
    """The guard model's settings; only with `observation: guard`."""
    warning: str = ""
    """Warning to the chatbot after a `warn` or `reject` of this judge; empty: the message of the broken rule."""

    @property
    def unreadable(self) -> str:
        """Id of the rule for an `unjudged` verdict of this judge."""
        if self.guard is not None and self.guard.target == "user":
            return "unreadable_message"
        return unreadable_rule(self.name)


SHARED = "reply"
"""The `name` of the shared prompts. One call with a shared prompt answers for all built-in judges of a reply."""


class PromptError(Exception):
    """A judge's prompt file cannot be used. The message names file, key and the expected value."""


class _FrontMatter(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str = Field(min_length=1)
    stage: Literal["swift", "chief"]
    model: str = Field(min_length=1)
    modes: list[Mode] = Field(["source", "default"], min_length=1)
    observation: Literal["claims", "role", "crisis", "verdict", "guard", "screening", "assessment"]
    warning: str = Field("", max_length=500)
    format: Format | None = None
    threshold: float = Field(0.5, gt=0, le=1)
    target: Target = "reply"
    categories: dict[Annotated[str, Field(pattern=r"^[A-Z]\d+$")], str] = Field({})

    @model_validator(mode="after")
    def _check_guard_keys(self) -> "_FrontMatter":
        shared = self.observation in ("screening", "assessment")
        if shared != (self.name == SHARED):
            raise ValueError(
                f"`observation: {self.observation}`: use screening or assessment with `name: {SHARED}`, "
                f"and only with that name (got `name: {self.name}`)"
            )
        if shared and self.observation != {"swift": "screening", "chief": "assessment"}[self.stage]:
            raise ValueError(
                f"`observation: {self.observation}`: expected screening for the swift stage, assessment for the chief"
            )
        if self.observation != "guard":
            if unread_keys := {"format", "threshold", "target", "categories"} & self.model_fields_set:
                raise ValueError(
                    f"{', '.join(sorted(unread_keys))}: allowed only with `observation: guard` "
                    f"(got `observation: {self.observation}`)"
                )
        elif self.format is None:
            raise ValueError(f"`observation: guard` needs `format`, one of {', '.join(FORMS)}")
        elif self.categories and self.format != "llama_guard":
            raise ValueError(f"categories: allowed only with `format: llama_guard` (got `format: {self.format}`)")
        return self

    @property
    def guard(self) -> Guard | None:
        return None if self.format is None else Guard(self.format, self.threshold, self.target, self.categories)


def load_prompt(path: Path) -> Prompt:
    """Read and validate a judge's markdown file.

    Raises:
        PromptError: The file cannot be read, its front matter is invalid, or its instructions are missing.
    """
    try:
        whole = path.read_text(encoding="utf-8")
        data, text = split_front_matter(whole)
        front = _FrontMatter.model_validate(data)
    except OSError as error:
        raise PromptError(f"{path}: cannot read the judge's prompt: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise PromptError(f"{path}: the file is not UTF-8 text (byte {error.start}); save the file as UTF-8") from error
    except FrontMatterError as error:
        raise PromptError(f"{path}: {error}") from error
    except ValidationError as error:
        known = (
            f" (expected keys: name, stage swift|chief, model, modes [source, default], warning, "
            f"observation {'|'.join([*OBSERVATIONS, 'guard'])}; for a guard also format, threshold, target, categories)"
        )
        is_key_wrong = any(fault["type"] in ("missing", "extra_forbidden") for fault in error.errors())
        wrong = "; ".join(describe_faults(error, _FrontMatter))
        raise PromptError(f"{path}: front matter {wrong}{known if is_key_wrong else ''}") from error
    if front.format == "llama_guard":
        if text.strip():
            raise PromptError(
                f"{path}: Llama Guard does not read the instructions below the front matter; remove the instructions, "
                "and describe what is unsafe in `categories`"
            )
    elif not text.strip():
        raise PromptError(f"{path}: no instructions below the front matter; add the instructions for the model")
    digest = hashlib.sha256((whole if front.guard else text).encode()).hexdigest()[:16]
    return Prompt(
        front.name,
        front.stage,
        front.model,
        frozenset(front.modes),
        front.observation,
        text.strip(),
        digest,
        front.guard,
        front.warning.strip(),
    )
