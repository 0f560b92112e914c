"""A conversation of the playground as a checkpoint file (docs/schemas/checkpoint.json), the start of experiments. Pure."""

from datetime import datetime
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, field_validator

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Message(_Strict):
    """The messages of one side."""

    role: Literal["user", "assistant"]
    content: Annotated[str, Field(min_length=1)]
    outcome: Literal["emergency", "fallback", "unjudged", "refined", "warned", "accepted", "unfiltered"] | None = None
    citations: tuple[str, ...] = ()


class Conversation(_Strict):
    """A conversation as sent by the page."""

    name: Annotated[str, Field(pattern=NAME)]
    chatbot: Annotated[str, Field(min_length=1)]
    note: str = ""
    messages: Annotated[tuple[Message, ...], Field(min_length=1)]

    @field_validator("messages")
    @classmethod
    def _check_first(cls, value: tuple[Message, ...]) -> tuple[Message, ...]:
        if value[0].role != "user":
            raise ValueError("the first message must have the role `user`")
        return value


def write_checkpoint(conversation: Conversation, created: datetime) -> str:
    """Return a conversation as the YAML of a checkpoint."""
    data: dict[str, Any] = {"name": conversation.name, "chatbot": conversation.chatbot}
    if conversation.note:
        data["note"] = conversation.note
    data["created"] = created
    data["messages"] = [message.model_dump(exclude_defaults=True, mode="json") for message in conversation.messages]
    text: str = yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as block strings, as checkpoints have them."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # These count as line breaks in YAML, and come back as others unless they stand between double quotes.
    odd = any(character in text for character in "\x85\u2028\u2029")
    style = '"' if odd else "|" if "\n" in text else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _represent_text)
