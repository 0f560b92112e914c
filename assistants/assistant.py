"""What an assistant is: messages in, a reply out. Write one in a few dozen lines: docs/assistants.md."""

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
    """An assistant cannot answer. The message states the reason, without secrets and without quoted text."""


Ask = Callable[..., Awaitable[Body]]
"""Asks another model: `await ask("planner", {"messages": [...]})` returns its chat completion."""


class AskStructured(Protocol):
    """Asks another model for an answer of a schema: `(await ask("planner", messages, Plan)).value` is a `Plan`."""

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
            step: Name of the call in the trace and in the costs.
            options: Further fields of the request, such as `temperature`.
            timeout_s: Limit for the whole exchange, in seconds.

        Raises:
            ModelError: The model fails or times out, or its second answer does not fit the schema either.
        """


@dataclass(frozen=True)
class AssistantRequest:
    """A request to an assistant. It holds the whole conversation: an assistant keeps no session."""

    messages: Sequence[Body]
    """As a model would see them: role, sources and warnings of the proxy in system messages, then the conversation."""
    view: View
    """The same messages, parsed: the question, the earlier exchanges, the sections in the prompt."""
    tools: Collection[str] = ()
    """Names of the tools that the client declares; only these may be called."""
    principal: Principal = field(default_factory=Principal)
    options: Body = field(default_factory=dict)
    """Further fields of the request: `temperature`, `response_format` ..."""
    ask: Ask | None = None
    """Asks one of the models that the alias lists under `models`; None without `models`."""
    ask_structured: AskStructured | None = None
    """The same, for answers that fit a pydantic model."""
    note: Callable[[str, str], None] = lambda step, detail: None
    """Adds a step of the assistant to the trace."""
    conversation_id: str = ""
    """The proxy's id of the conversation, for erasing stored data. It is not a key for lookups: a request whose history the
    proxy does not know gets a new id."""


@dataclass(frozen=True, slots=True)
class Document:
    """A passage that supports the reply. The assistant chooses the id; clients see `doc:1`, `doc:2` ..."""

    id: str
    title: str
    text: str


_LETTERS = "bcdfghjkmnpqrstvwxyz"
"""No vowels, so that no code is a word."""


@dataclass(frozen=True)
class Action:
    """A side effect: performed once, after the verdict, when the user has confirmed exactly this action.

    Under the reply that proposes it the proxy asks for confirmation and shows `code`; when the user has confirmed, the assistant
    proposes the same action with `confirmed`. The proxy checks that it asked for this code under the last reply that was delivered,
    and that the key has the permission `act`.
    """

    name: str
    arguments: Mapping[str, Any]
    confirmed: bool = False
    """Whether the user has confirmed it."""
    prompt: str = "To have this done, answer: confirm {code}"
    """Request for the confirmation, in the user's language; contains `{code}`."""

    @cached_property
    def code(self) -> str:
        """Six letters, a hash of name and arguments."""
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
    """A reply of an assistant."""

    text: str = ""
    citations: Sequence[str] = ()
    """Ids of sections in the prompt, or of `documents`. If empty, the class `no_claims` is cited."""
    documents: Sequence[Document] = ()
    tool_calls: Sequence[ToolRequest] = ()
    action: Action | None = None
    requested_section: str = ""
    """Id of a section in the catalogue. The assistant asks for its text instead of replying."""


class Assistant(Protocol):
    """A chatbot written in Python. Drafting has no side effects: a draft may be asked for again, or never be delivered."""

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
        """Perform a confirmed action, and return a sentence for the user, without text of another server.

        Raises:
            AssistantError: The action failed; the message is shown to the user.
        """


@runtime_checkable
class ErasingAssistant(Assistant, Protocol):
    """An assistant that keeps something of conversations, by `AssistantRequest.conversation_id`."""

    async def erase(self, conversation_ids: Collection[str] | None) -> int:
        """Delete for good what is kept of conversations, of any key; return the number of entries.

        Args:
            conversation_ids: None: all conversations.

        Raises:
            AssistantError: Something of them may still be there.
        """
