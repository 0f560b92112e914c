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
    """An assistant cannot answer; the message says why, free of secrets and of anybody's text."""


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
        """Ask as strictly as the model's server takes it, and once more where the answer cannot be read.

        Args:
            step: What the call is called in the trace and the costs.
            options: Further fields of the request, such as `temperature`.
            timeout_s: Seconds that all of it may take.

        Raises:
            ModelError: The model fails, is slow, or also its second answer does not fit.
        """


@dataclass(frozen=True)
class AssistantRequest:
    """What an assistant is asked. All it knows of the conversation stands here: it keeps no session of its own."""

    messages: Sequence[Body]
    """As a model would see them: role, sources and warnings of the proxy in system messages, then the conversation."""
    view: View
    """The same, read: the question, earlier exchanges, the sections that were given."""
    tools: Collection[str] = ()
    """Names of the tools that the client declares; only these may be called."""
    principal: Principal = field(default_factory=Principal)
    options: Body = field(default_factory=dict)
    """Further fields of the request: `temperature`, `response_format` ..."""
    ask: Ask | None = None
    """Asks one of the models that the configuration gives the assistant under `models`; None: it has none."""
    ask_structured: AskStructured | None = None
    """The same, for answers that fit a pydantic model."""
    note: Callable[[str, str], None] = lambda step, detail: None
    """Tells the trace what the assistant did."""
    conversation_id: str = ""
    """The proxy's id of the conversation, by which what is kept of it is erased. It finds nothing again: a request whose history
    the proxy does not know gets a new one."""


@dataclass(frozen=True, slots=True)
class Document:
    """A passage that the reply rests on. Its id is the assistant's own; clients see `doc:1` and on."""

    id: str
    title: str
    text: str


_LETTERS = "bcdfghjkmnpqrstvwxyz"
"""No vowels, so that no code is a word."""


@dataclass(frozen=True)
class Action:
    """Something to be done outside, once, after the verdict, when the user has confirmed exactly this.

    Under the reply that proposes it the proxy asks for confirmation and shows `code`; when the user has confirmed, the assistant
    proposes the same action with `confirmed`. The proxy checks that it asked for this code under the last reply that was delivered,
    and that the key has the permission `act`.
    """

    name: str
    arguments: Mapping[str, Any]
    confirmed: bool = False
    """Whether the user has confirmed it."""
    prompt: str = "To have this done, answer: confirm {code}"
    """How the user is asked, in their language; with `{code}`."""

    @cached_property
    def code(self) -> str:
        """Six letters that stand for exactly this action."""
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
    """What an assistant says."""

    text: str = ""
    citations: Sequence[str] = ()
    """Ids of sections that it was given, or of its own documents; none: a class of citations is given for it."""
    documents: Sequence[Document] = ()
    tool_calls: Sequence[ToolRequest] = ()
    action: Action | None = None
    requested_section: str = ""
    """A section of the catalogue that it asks for in place of a reply."""


class Assistant(Protocol):
    """A chatbot written in Python. Drafting has no side effects: a draft may be asked for again, or never be delivered."""

    async def reply(self, request: AssistantRequest) -> AssistantReply:
        """Reply to a conversation.

        Raises:
            AssistantError: It cannot.
        """

    async def close(self) -> None:
        """Let go of what it holds."""


@runtime_checkable
class ActingAssistant(Assistant, Protocol):
    """An assistant that acts outside."""

    async def act(self, action: Action, principal: Principal) -> str:
        """Do what the user has confirmed, and return what to tell them: a sentence, with no text of another server in it.

        Raises:
            AssistantError: It was not done; the message is shown to the user.
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
