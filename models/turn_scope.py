"""Whose turn a call belongs to, for engines that ask other models themselves."""

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


SCOPE: ContextVar[TurnScope | None] = ContextVar("turn_scope", default=None)
"""A context variable, because engines get requests and nothing of the turn that these are part of."""
