"""Context variables that give engines access to the current turn. The methods of an engine receive only the request."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from models.usage import Ledger


@dataclass(frozen=True, slots=True)
class Principal:
    """The client that sent a request, and its end user."""

    key_id: str = "keyless"
    user: str = ""
    """Name of the end user, as the client sent it; empty if the client sent none."""
    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Note:
    """A note in the trace about a step that an assistant took."""

    step: str
    """Name of the step: a short constant text, such as `search` or `fill slots`."""
    detail: str = ""


@dataclass(slots=True)
class TurnScope:
    """Data about the current turn for engines that need more than the request, such as assistants."""

    ledger: Ledger = field(default_factory=Ledger)
    principal: Principal = Principal()
    notes: list[Note] = field(default_factory=list)
    conversation_id: str = ""
    """Id of the conversation; empty if the request belongs to none, for example a request that a passthrough chatbot forwards."""


SCOPE: ContextVar[TurnScope | None] = ContextVar("turn_scope", default=None)
"""The current turn. None: the call belongs to no turn."""
TRACE_HEADERS: ContextVar[Mapping[str, str] | None] = ContextVar("trace_headers", default=None)
"""HTTP headers of distributed tracing to send to the upstream, such as `traceparent`. None: tracing is off."""
