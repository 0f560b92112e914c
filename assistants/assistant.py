"""The interface of an assistant: a chatbot in Python that gets messages and returns a reply. See docs/assistants.md."""

import hashlib
import math
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeVar, runtime_checkable

import orjson
from pydantic import BaseModel

from assistants.view import View
from models.engine import Body
from models.request import Message
from models.structured import StructuredAnswer
from models.turn_scope import Principal

T = TypeVar("T", bound=BaseModel)


class AssistantError(Exception):
    """An assistant cannot answer. The message gives the reason. It contains no secrets and quotes no user or server."""


Ask = Callable[..., Awaitable[Body]]
"""Calls another model: `await ask("planner", {"messages": [...]})` returns the model's chat completion."""


class AskStructured(Protocol):
    """Calls another model for an answer that fits a schema: `(await ask("planner", messages, Plan)).value` is a `Plan`."""

    async def __call__(
        self,
        role: str,
        messages: list[Message],
        schema: type[T],
        *,
        step: str = "assistant",
        options: Body | None = None,
        timeout_s: float = math.inf,
    ) -> StructuredAnswer[T]:
        """Ask with the strictest response format that the model's server accepts; retry once if the answer is invalid.

        Args:
            role: Key under `models` of the assistant's alias. Its value is the alias of the model to call.
            step: Name of the call in the trace and in the costs.
            options: Further fields of the request, such as `temperature`.
            timeout_s: Time limit for all attempts together, in seconds.

        Raises:
            ModelError: The model fails or times out, or its second answer does not fit the schema either.
        """


@dataclass(frozen=True)
class AssistantRequest:
    """A request to an assistant. It contains the whole conversation, because an assistant keeps no session."""

    messages: Sequence[Body]
    """The conversation as a model would get it. The proxy's system messages contain the role, sources and warnings."""
    view: View
    """The parsed `messages`: the question, the earlier exchanges, and the sections in the prompt."""
    tools: Collection[str] = ()
    """Names of the tools that the client declares. A reply may call only these tools."""
    principal: Principal = field(default_factory=Principal)
    options: Body = field(default_factory=dict)
    """Further fields of the request: `temperature`, `response_format` ..."""
    ask: Ask | None = None
    """Calls one of the models that the alias lists under `models`; None if the alias lists no models."""
    ask_structured: AskStructured | None = None
    """Calls one of these models and parses the answer as a pydantic model; None if the alias lists no models."""
    note: Callable[[str, str], None] = lambda step, detail: None
    """Adds a step of the assistant to the turn's trace: `note(step, detail)`."""
    conversation_id: str = ""
    """The proxy's id of the conversation. Store it with your data, so that the data can be erased. Do not look data up by it: a
    request whose history the proxy does not know gets a new id."""


@dataclass(frozen=True, slots=True)
class Document:
    """A passage that supports the reply. The assistant chooses the id; clients see `doc:1`, `doc:2` ..."""

    id: str
    title: str
    text: str


_LETTERS = "bcdfghjkmnpqrstvwxyz"
"""Letters of confirmation codes. Without vowels, no code spells a word."""


@dataclass(frozen=True)
class Action:
    """A side effect that an assistant proposes. It is performed once: after the verdict, and after the user has confirmed it.

    1. The assistant proposes the action with its reply. Below the reply, the proxy asks for confirmation and shows `code`.
    2. The user confirms. The assistant proposes the same action again, with `confirmed`.
    3. The proxy performs the action if the last delivered reply asked for this code, and the API key has the permission `act`.
    """

    name: str
    arguments: Mapping[str, Any]
    confirmed: bool = False
    """Whether the user has confirmed the action."""
    prompt: str = "To have this done, answer: confirm {code}"
    """Request for the confirmation, in the user's language; contains `{code}`."""

    @cached_property
    def code(self) -> str:
        """The code with which the user confirms: six letters, derived from a hash of the name and arguments."""
        content = orjson.dumps([self.name, self.arguments], option=orjson.OPT_SORT_KEYS)
        digest = hashlib.blake2b(content, digest_size=6).digest()
        return "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest)


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A call of a tool that the client declares."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AssistantReply:
    """A reply of an assistant: text with citations, a call of tools, or a request for a section."""

    text: str = ""
    citations: Sequence[str] = ()
    """Ids of cited sections in the prompt, or of `documents`. If empty, the reply cites `no_claims`."""
    documents: Sequence[Document] = ()
    tool_calls: Sequence[ToolRequest] = ()
    action: Action | None = None
    requested_section: str = ""
    """Id of a section in the catalogue whose text the assistant needs before it can reply; "" to reply now."""


class Assistant(Protocol):
    """A chatbot written in Python. `reply` must have no side effects: it may be called again, or its reply never delivered."""

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        """Reply to a conversation.

        Raises:
            AssistantError: The assistant cannot answer.
        """

    async def close(self) -> None:
        """Release connections, files and threads."""


@runtime_checkable
class ActingAssistant(Assistant, Protocol):
    """An assistant whose replies may propose an `Action`."""

    async def act(self, action: Action, principal: Principal) -> str:
        """Perform a confirmed action. Return a sentence for the user that quotes no response of another server.

        Raises:
            AssistantError: The action failed; the message is shown to the user.
        """


@runtime_checkable
class ErasingAssistant(Assistant, Protocol):
    """An assistant that stores data of conversations, and can delete them by `AssistantRequest.conversation_id`."""

    async def erase(self, conversation_ids: Collection[str] | None) -> int:
        """Permanently delete the stored data of conversations of all API keys. Return the number of deleted entries.

        Args:
            conversation_ids: The conversations to delete; None for all.

        Raises:
            AssistantError: Some data may not have been deleted.
        """
