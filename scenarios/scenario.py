"""A checkpoint: a conversation saved to a file, from which later ones branch.

`caf chat --save` writes them; people read and edit them, so texts stand in the YAML as block strings, line by line.
"""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

Outcome = Literal["emergency", "fallback", "unjudged", "refined", "warned", "accepted", "unfiltered"]
"""How a turn ended; the same words as `proxy.trace.Outcome`, which this package may not import."""


class ScenarioError(Exception):
    """A scenario file cannot be used; `problems` holds one sentence for each fault, with file and field."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Message(_Strict):
    """What one side said."""

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(min_length=1)]
    """The text as it was delivered, with the citation line if there was one."""
    outcome: Outcome | None = None
    """Of a reply: how its turn ended, if that is known."""
    citations: tuple[str, ...] = ()
    """Of a reply: the ids that it cited."""

    @model_validator(mode="after")
    def _only_replies_have_outcomes(self) -> "Message":
        if self.role == "user" and (self.outcome is not None or self.citations):
            raise ValueError("`outcome` and `citations` belong to messages of the role assistant; remove them")
        return self


class Checkpoint(_Strict):
    """A saved conversation."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    """Letters, digits and `._-`: reports name samples by it."""
    chatbot: Annotated[str, Field(min_length=1)]
    """The chatbot it was held with."""
    note: str = ""
    """What it shows, for whoever picks a checkpoint."""
    created: datetime
    """When it was saved; UTC unless it says otherwise."""
    messages: Annotated[tuple[Message, ...], Field(min_length=1)]
    """The first is the user's; sides may speak several times in a row."""

    @field_validator("created")
    @classmethod
    def _in_a_time_zone(cls, value: datetime) -> datetime:
        return value if value.tzinfo else value.replace(tzinfo=UTC)

    @field_validator("messages")
    @classmethod
    def _user_begins(cls, value: tuple[Message, ...]) -> tuple[Message, ...]:
        if value[0].role != "user":
            raise ValueError("the first message must have the role user")
        return value

    def sha256(self) -> str:
        """Return the fingerprint of the conversation: of its chatbot and what was said, in hexadecimal.

        Name, note, date and the metadata of replies do not count: they say something about it and are not in it.
        """
        said = [[message.role, message.content] for message in self.messages]
        canonical = json.dumps([self.chatbot, said], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


def load(path: Path) -> Checkpoint:
    """Read and validate a checkpoint.

    Raises:
        ScenarioError: The file cannot be read, is no YAML, or does not hold a checkpoint.
    """
    try:
        # Not the faster CSafeLoader: deep nesting crashes it, Python and all.
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ScenarioError([f"{path}: cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise ScenarioError([f"{path}: is not UTF-8 text (byte {error.start})"]) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: a date such as 2026-02-31
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
        raise ScenarioError([f"{path}: {where}not valid YAML: {getattr(error, 'problem', None) or error}"]) from error
    if not isinstance(data, dict):
        raise ScenarioError(
            [f"{path}: holds no mapping; a checkpoint has the keys {', '.join(Checkpoint.model_fields)}"]
        )
    try:
        return Checkpoint.model_validate(data)
    except ValidationError as error:
        raise ScenarioError([f"{path}: {fault}" for fault in _faults(error)]) from error


def save(checkpoint: Checkpoint, path: Path, *, overwrite: bool = False) -> None:
    """Write a checkpoint, readable by its owner alone: it may hold somebody's crisis.

    Raises:
        ScenarioError: The file is there already and `overwrite` is false, or it cannot be written.
    """
    text = dumps(checkpoint)
    target = path.with_name(f".{path.name}.{os.getpid()}.new") if overwrite else path
    try:
        with open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        if overwrite:
            target.replace(path)
    except FileExistsError:
        raise ScenarioError([f"{target}: is there already and is not overwritten; give another name"]) from None
    except OSError as error:
        raise ScenarioError([f"{path}: cannot be written: {error.strerror}"]) from error


def dumps(checkpoint: Checkpoint) -> str:
    """Return the checkpoint as YAML."""
    data = checkpoint.model_dump(exclude_defaults=True)
    data["messages"] = [
        {key: list(value) if key == "citations" else value for key, value in message.items()}
        for message in data["messages"]
    ]
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as block strings."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # These count as line breaks in YAML: anywhere but between double quotes they would come back as others.
    odd = any(character in text for character in "\x85\u2028\u2029")
    style = '"' if odd else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)


def _faults(error: ValidationError) -> list[str]:
    sentences = []
    for fault in error.errors(include_url=False):
        field = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"].removeprefix("Value error, ")
        if fault["type"] == "extra_forbidden":
            message = "is not a field here; check the spelling or remove it"
        sentences.append(f"{field}: {message}")
    return sentences
