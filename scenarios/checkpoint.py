"""A checkpoint: a saved conversation from which experiments start new conversations.

`caf chat --save` and `caf drift find` write checkpoints as YAML. People read and edit them, so texts are block strings.
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
"""Outcome of a turn: the same values as `proxy.traces.trace.Outcome`, which this package may not import."""


NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"


class Message(Strict):
    """One message of a conversation."""

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(min_length=1)]
    """The delivered text, with its citation line if it has one."""
    outcome: Outcome | None = None
    """Only for replies: the outcome of the turn, if it is known."""
    citations: tuple[str, ...] = ()
    """Only for replies: the ids of the cited sources."""

    @model_validator(mode="after")
    def _check_outcome(self) -> "Message":
        if self.role == "user" and (self.outcome is not None or self.citations):
            raise ValueError("`outcome` and `citations` belong to messages of the role assistant: remove them")
        return self


class Checkpoint(Strict):
    """A saved conversation, from which experiments start new conversations."""

    name: Annotated[str, Field(pattern=NAME)]
    """Name of the checkpoint in reports; letters, digits and `._-`."""
    chatbot: Annotated[str, Field(min_length=1)]
    """The chatbot in the conversation."""
    facilitator: str | None = None
    """The facilitator that talked to the chatbot and continues the conversation."""
    note: str = ""
    """What the conversation shows, for people who select a checkpoint."""
    created: datetime
    """Time of saving; without a time zone it is UTC."""
    messages: Annotated[tuple[Message, ...], Field(min_length=1)]
    """The messages, oldest first. The first is the user's. Either side may send several messages in a row."""

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
        """Return the SHA-256 of the chatbot's name and the messages, in hexadecimal.

        The name, note and date of the checkpoint do not change the hash, and neither does the metadata of replies.
        """
        messages = [[message.role, message.content] for message in self.messages]
        canonical = json.dumps([self.chatbot, messages], ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()


def load(path: Path) -> Checkpoint:
    """Read and validate a checkpoint.

    Raises:
        ScenarioError: The file cannot be read, is not YAML, or does not hold a checkpoint.
    """
    return files.load(path, "a checkpoint", Checkpoint)


def save(checkpoint: Checkpoint, path: Path, *, overwrite: bool = False) -> None:
    """Write a checkpoint.

    Raises:
        ScenarioError: The file already exists and `overwrite` is false, or it cannot be written.
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
