"""The context of a turn, for engines. It is kept in context variables, because an engine's methods receive only the request."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from models.usage import Ledger


@dataclass(frozen=True, slots=True)
class Principal:
    """The client and end user of a request."""

    key_id: str = "keyless"
    user: str = ""
    """The end user's name as given by the client; empty: not given."""
    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Note:
    """An action of an assistant, for the trace."""

    step: str
    """A short constant text, such as `search` or `fill slots`."""
    detail: str = ""


@dataclass(slots=True)
class TurnScope:
    """The parts of a turn that an engine may need besides the request."""

    ledger: Ledger = field(default_factory=Ledger)
    principal: Principal = Principal()
    notes: list[Note] = field(default_factory=list)
    conversation_id: str = ""
    """Empty: the request is of none, such as one that a `passthrough` chatbot forwards."""


SCOPE: ContextVar[TurnScope | None] = ContextVar("turn_scope", default=None)
"""The current turn, for engines that ask other models."""
TRACE_HEADERS: ContextVar[Mapping[str, str] | None] = ContextVar("trace_headers", default=None)
"""Headers that identify the call's trace to upstreams."""
