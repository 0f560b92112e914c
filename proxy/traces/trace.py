"""The trace of one turn: what happened, in order, with its evidence. `store.py` keeps it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Literal, cast, get_args

from judges.observation import CrisisKind
from judges.verdict import Judgement
from knowledge_base.evidence import How
from models.turn_scope import Note
from models.usage import Call

Outcome = Literal["emergency", "fallback", "unjudged", "refined", "warned", "accepted", "unfiltered"]
_RANK: tuple[Outcome, ...] = get_args(Outcome)


def worst_outcome(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of a turn, or of a choice, whose parts came to these: the one that `Outcome` names first."""
    return min(outcomes, key=_RANK.index)


Recognition = Literal["fresh", "history", "pair", "explicit", "missed"]
"""By its whole history, by one exchange of it, by the id the client gave; missed: it has a history that is not known."""


ConcernKind = CrisisKind | Literal["unknown"]
"""unknown: no judge named a sign."""


@dataclass(frozen=True, slots=True)
class SelectedSource:
    """A source picked for this turn."""

    id: str
    by: Literal["model", "lexical", "chatbot"] | How
    """Who picked it: the selection model, BM25 by the question (`lexical`), or the chatbot with a source command. Of evidence:
    what it was found by."""
    reason: str


@dataclass(frozen=True, slots=True)
class TracedDocument:
    """A document that the reply could rest on."""

    id: str
    title: str
    text: str
    trusted: bool
    """False: a client sent it."""
    choice: int | None = None
    """The choice that it came with; None: it came with the request."""


@dataclass(frozen=True, slots=True)
class ShownWarning:
    """A warning, as the chatbot is shown it."""

    rule: str
    message: str
    turn: int
    """The turn it arose in (the first is 1)."""
    expires: int
    """The last turn that shows it."""


@dataclass(frozen=True, slots=True)
class DroppedCall:
    """A tool call that was not delivered."""

    choice: int
    name: str
    why: Literal["undeclared", "rejected"]
    """undeclared: the request has no such tool."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One text the turn tried for a choice."""

    kind: Literal["draft", "redraft", "shortened", "refinement", "mended", "tool_calls"]
    """mended: the attempt before it with missing statements added by code; in older traces also with small faults deleted."""
    choice: int
    text: str
    citations: Sequence[str]
    at_ms: float
    """When it was there, milliseconds after the turn began."""
    problems: Sequence[str] = ()
    """What the hard checks found."""
    modes: Sequence[str] = ()
    judgements: Sequence[Judgement] = ()
    left: int = 0
    """How many of its characters had left before it was judged."""


@dataclass(frozen=True, slots=True)
class Trace:
    """One turn."""

    turn_id: str
    conversation_id: str
    key_id: str
    chatbot: str
    filter: str
    started: float
    """Unix time, seconds."""
    turn: int = 1
    """Number of the turn in its conversation, from 1."""
    user_message: str = ""
    memory: Recognition = "fresh"
    """How the conversation was found."""
    selected: Sequence[SelectedSource] = ()
    selection_note: str = ""
    """Why the selection went as it did: the model's reason, or why it fell back to a search by words."""
    invalid_ids: int = 0
    """Ids the selection model made up, which were dropped."""
    sources_in_use: Sequence[str] = ()
    """Sections that the chatbot was given; a wrapped one is given none."""
    evidence: Sequence[SelectedSource] = ()
    """Sections that the replies were held against besides those they cite, in the order in which they came into view."""
    documents: Sequence[TracedDocument] = ()
    warnings_shown: Sequence[ShownWarning] = ()
    emergency: Sequence[Judgement] = ()
    concern: ConcernKind | None = None
    """The kind of danger that the emergency judge was not sure of; the reply went on, with the emergency contact."""
    attempts: Sequence[Attempt] = ()
    warnings_added: Sequence[ShownWarning] = ()
    replies: Sequence[str | None] = ()
    """What was delivered, one for each choice; None for a choice without text."""
    refusals: Sequence[str | None] = ()
    """What was delivered as `refusal`, one for each choice; empty if there was none."""
    tool_calls: int = 0
    """How many were delivered."""
    dropped_calls: Sequence[DroppedCall] = ()
    invisible_removed: int = 0
    """How many invisible characters were removed from what models wrote."""
    outcome: Outcome = "unfiltered"
    would: Outcome | None = None
    """In shadow: what the filter would have made of it; None: nobody has judged it."""
    error: str | None = None
    """The code of the error that ended the turn, if one did."""
    notes: Sequence[Note] = ()
    """What an assistant did, in order."""
    calls: Sequence[Call] = ()
    ms: float = 0.0

    @property
    def judgements(self) -> list[Judgement]:
        """All judgements of the turn."""
        return [*self.emergency, *[one for attempt in self.attempts for one in attempt.judgements]]


HOW_FOUND: dict[str, str] = {
    "whole": "whole knowledge base", "model": "selected by the model", "draft": "found by the draft",
    "question": "found by the question", "near": "next nearest", "quote": "found by a flagged quote",
}  # fmt: skip
"""How a section of `Trace.evidence` came into view, in words."""

OLDER: dict[str, Any] = {
    "documents": [], "concern": None, "refusals": [], "dropped_calls": [], "would": None, "notes": [], "invalid_ids": 0,
    "selection_note": "", "error": None, "invisible_removed": 0, "evidence": [],
}  # fmt: skip
"""What stored traces of older versions lack, and what it is there."""


def view_stored(data: dict[str, Any]) -> Trace:
    """Return a stored trace with its fields as attributes."""
    trace = _with_attributes(OLDER | data)
    trace.judgements = [*trace.emergency, *(one for attempt in trace.attempts for one in attempt.judgements)]
    return cast(Trace, trace)


def _with_attributes(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _with_attributes(one) for name, one in value.items()})
    return [_with_attributes(one) for one in value] if isinstance(value, list) else value
