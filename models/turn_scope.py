"""What engines know of the turn that a call belongs to. Context variables, because they get requests and nothing else of it."""

from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field

from models.usage import Ledger


@dataclass(frozen=True, slots=True)
class Principal:
    """Who asks."""

    key_id: str = "keyless"
    user: str = ""
    """The end user, by the name that the client gave; empty: none."""
    permissions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Note:
    """Something that an assistant did, for the trace."""

    step: str
    """A few words, fixed: `search`, `fill slots`."""
    detail: str = ""


@dataclass(slots=True)
class TurnScope:
    """What a turn has that an engine may need beside the request."""

    ledger: Ledger = field(default_factory=Ledger)
    principal: Principal = Principal()
    notes: list[Note] = field(default_factory=list)
    conversation_id: str = ""
    """Empty: the request is of none, such as one that a `passthrough` chatbot forwards."""


SCOPE: ContextVar[TurnScope | None] = ContextVar("turn_scope", default=None)
"""Whose turn it is, for engines that ask other models themselves."""
TRACE_HEADERS: ContextVar[Mapping[str, str] | None] = ContextVar("trace_headers", default=None)
"""What upstreams are told of the trace that the call belongs to."""
