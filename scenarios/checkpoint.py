"""A checkpoint: a conversation saved to a file, from which later ones branch.

`caf chat --save` writes them; people read and edit them, so texts stand in the YAML as block strings, line by line.
"""

import hashlib
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from scenarios import files
from scenarios.files import Strict

Outcome = Literal["emergency", "fallback", "unjudged", "refined", "warned", "accepted", "unfiltered"]
"""How a turn ended; the same words as `proxy.traces.trace.Outcome`, which this package may not import."""


NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"


class Message(Strict):
    """What one side said."""

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(min_length=1)]
    """The text as it was delivered, with the citation line if there was one."""
    outcome: Outcome | None = None
    """Of a reply: how its turn ended, if that is known."""
    citations: tuple[str, ...] = ()
    """Of a reply: the ids that it cited."""

    @model_validator(mode="after")
    def _check_outcome(self) -> "Message":
        if self.role == "user" and (self.outcome is not None or self.citations):
            raise ValueError("`outcome` and `citations` belong to messages of the role assistant; remove them")
        return self


class Checkpoint(Strict):
    """A saved conversation."""

    name: Annotated[str, Field(pattern=NAME)]
    """Letters, digits and `._-`: reports name samples by it."""
    chatbot: Annotated[str, Field(min_length=1)]
    """The chatbot it was held with."""
    facilitator: str | None = None
    """The facilitator that led it there and is to go on from it."""
    note: str = ""
    """What it shows, for whoever picks a checkpoint."""
    created: datetime
    """When it was saved; UTC unless it says otherwise."""
    messages: Annotated[tuple[Message, ...], Field(min_length=1)]
    """The first is the user's; sides may speak several times in a row."""

    @field_validator("created")
    @classmethod
    def _check_time_zone(cls, value: datetime) -> datetime:
        return value if value.tzinfo else value.replace(tzinfo=UTC)

    @field_validator("messages")
    @classmethod
    def _check_first_message(cls, value: tuple[Message, ...]) -> tuple[Message, ...]:
        if value[0].role != "user":
            raise ValueError("the first message must have the role user")
        return value

    def sha256(self) -> str:
        """Return the fingerprint of the conversation: of its chatbot and what was said, in hexadecimal.

        Name, note, date and the metadata of replies do not count: they say something about it and are not in it.
        """
        messages = [[message.role, message.content] for message in self.messages]
        canonical = json.dumps([self.chatbot, messages], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


def load(path: Path) -> Checkpoint:
    """Read and validate a checkpoint.

    Raises:
        ScenarioError: The file cannot be read, is no YAML, or does not hold a checkpoint.
    """
    return files.load(path, "a checkpoint", Checkpoint)


def save(checkpoint: Checkpoint, path: Path, *, overwrite: bool = False) -> None:
    """Write a checkpoint.

    Raises:
        ScenarioError: The file is there already and `overwrite` is false, or it cannot be written.
    """
    files.write(dumps(checkpoint), path, overwrite=overwrite)


def dumps(checkpoint: Checkpoint) -> str:
    """Return the checkpoint as YAML."""
    data = checkpoint.model_dump(exclude_defaults=True)
    data["messages"] = [
        {key: list(value) if key == "citations" else value for key, value in message.items()}
        for message in data["messages"]
    ]
    return files.dumps(data)
