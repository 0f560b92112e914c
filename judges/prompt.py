"""A judge as its markdown file describes it: front matter, and the instructions below."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from judges.case import Mode
from judges.guard_model import FORMS, Format, Guard, Target
from judges.observation import OBSERVATIONS
from judges.rules import unreadable_rule
from knowledge_base.front_matter import FrontMatterError, split_front_matter


@dataclass(frozen=True, slots=True)
class Prompt:
    """A judge as its file describes it."""

    name: str
    stage: Literal["swift", "chief"]
    model: str
    modes: frozenset[Mode]
    observation: str
    text: str
    hash: str
    guard: Guard | None = None
    """With `observation: guard`, how the guard model is asked."""
    warning: str = ""
    """What the chatbot is told after a reply that the judge has objected to; empty: the text of the rule `custom`."""

    @property
    def unreadable(self) -> str:
        """The rule of what this judge could not judge."""
        if self.guard is not None and self.guard.target == "user":
            return "unreadable_message"
        return unreadable_rule(self.name)


SHARED = "reply"
"""The name of the prompts that ask for all built-in judges of a reply at once."""


class PromptError(Exception):
    """A judge's prompt file cannot be used; names file, key and what would be right."""


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
                f"`observation: screening` and `assessment` are for the prompts with `name: {SHARED}`, which have no other"
            )
        if shared and self.observation != {"swift": "screening", "chief": "assessment"}[self.stage]:
            raise ValueError("the swift stage has `observation: screening`, the chief `observation: assessment`")
        if self.observation != "guard":
            if unread_keys := {"format", "threshold", "target", "categories"} & self.model_fields_set:
                raise ValueError(f"{', '.join(sorted(unread_keys))}: only read with `observation: guard`")
        elif self.format is None:
            raise ValueError(f"`observation: guard` needs `format`: {', '.join(FORMS)}")
        elif self.categories and self.format != "llama_guard":
            raise ValueError("categories: only read with `format: llama_guard`")
        return self

    @property
    def guard(self) -> Guard | None:
        return None if self.format is None else Guard(self.format, self.threshold, self.target, self.categories)


def load_prompt(path: Path) -> Prompt:
    """Read a judge's prompt file: front matter (name, stage, model, modes, observation) and instructions.

    Raises:
        PromptError: The file cannot be read, or its front matter is not right.
    """
    try:
        whole = path.read_text(encoding="utf-8")
        data, text = split_front_matter(whole)
        front = _FrontMatter.model_validate(data)
    except OSError as error:
        raise PromptError(f"{path}: the judge's prompt cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise PromptError(f"{path}: is not UTF-8; save the file with that encoding") from error
    except FrontMatterError as error:
        raise PromptError(f"{path}: {error}") from error
    except ValidationError as error:
        wrong = "; ".join(_describe_error(one) for one in error.errors(include_url=False))
        raise PromptError(
            f"{path}: front matter {wrong} (a judge has name, stage swift|chief, model, modes of source|default, "
            f"observation of {'|'.join([*OBSERVATIONS, 'guard'])}; a guard also format, threshold, target, categories)"
        ) from error
    if front.format == "llama_guard":
        if text.strip():
            raise PromptError(
                f"{path}: has instructions, which Llama Guard does not read: describe what is unsafe in `categories`"
            )
    elif not text.strip():
        raise PromptError(f"{path}: has front matter but no instructions below it")
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


def _describe_error(error: Mapping[str, Any]) -> str:
    where, message = ".".join(map(str, error["loc"])), str(error["msg"]).removeprefix("Value error, ")
    return f"key {where!r}: {message}" if where else message
