"""The trace of one turn: what the proxy did, step by step, with the verdicts and their evidence. `store.py` stores it."""

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
    """Return the worst of several outcomes: the one that `Outcome` lists first. A turn has the worst outcome of its choices."""
    return min(outcomes, key=_RANK.index)


Recognition = Literal["fresh", "history", "pair", "explicit", "missed"]
"""How the state of a conversation was found. fresh: a new conversation. history: by the whole history. pair: by one exchange of
user and chatbot. explicit: by the client's conversation id. missed: not found, although the request has a history."""


ConcernKind = CrisisKind | Literal["unknown"]
"""The kind of danger of a concern. unknown: no judge named a kind."""


@dataclass(frozen=True, slots=True)
class SelectedSource:
    """A section that was selected for the chatbot, or found as evidence for the judges."""

    id: str
    by: Literal["model", "lexical", "chatbot"] | How
    """What selected it: the selection model, BM25 by the question (`lexical`), or the chatbot with a source command. For evidence:
    how it was found."""
    reason: str


@dataclass(frozen=True, slots=True)
class TracedDocument:
    """A document that counts as a source of the reply."""

    id: str
    title: str
    text: str
    trusted: bool
    """Whether a trusted model provided the document; False: a client sent it."""
    choice: int | None = None
    """The choice for which a model provided the document; None: the document is for all choices."""


@dataclass(frozen=True, slots=True)
class ShownWarning:
    """A warning with the text that the chatbot sees."""

    rule: str
    message: str
    turn: int
    """Number of the turn that raised the warning, from 1."""
    expires: int
    """Number of the last turn in which the chatbot sees the warning."""


@dataclass(frozen=True, slots=True)
class DroppedCall:
    """A tool call that was not delivered."""

    choice: int
    name: str
    why: Literal["undeclared", "rejected"]
    """undeclared: the request does not declare the tool. rejected: a judge rejected the call."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A draft, a rewritten reply or tool calls: one candidate for the reply of a choice."""

    kind: Literal["draft", "redraft", "shortened", "refinement", "mended", "tool_calls"]
    """mended: the previous attempt with missing statements added by code. In older traces, small faults may be deleted as well."""
    choice: int
    text: str
    citations: Sequence[str]
    at_ms: float
    """When the text was complete, in milliseconds since the start of the turn."""
    problems: Sequence[str] = ()
    """Problems that the hard checks found, as messages to the chatbot."""
    modes: Sequence[str] = ()
    judgements: Sequence[Judgement] = ()
    left: int = 0
    """Number of characters that were delivered before the text was judged."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The stored record of one turn."""

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
    """How the conversation was recognised."""
    selected: Sequence[SelectedSource] = ()
    selection_note: str = ""
    """The selection model's reason, or why a keyword search replaced the model."""
    invalid_ids: int = 0
    """Number of unknown ids that the selection model returned. They were ignored."""
    sources_in_use: Sequence[str] = ()
    """Sections that the chatbot received. A wrapped chatbot receives none."""
    evidence: Sequence[SelectedSource] = ()
    """Sections that the judges received in addition to the cited ones, in the order in which they were found."""
    documents: Sequence[TracedDocument] = ()
    warnings_shown: Sequence[ShownWarning] = ()
    emergency: Sequence[Judgement] = ()
    concern: ConcernKind | None = None
    """The kind of danger if the emergency judge was uncertain. The reply then ends with the emergency contact."""
    attempts: Sequence[Attempt] = ()
    warnings_added: Sequence[ShownWarning] = ()
    replies: Sequence[str | None] = ()
    """The delivered texts, one per choice; None for a choice without text."""
    refusals: Sequence[str | None] = ()
    """The delivered `refusal` texts, one per choice; empty if the turn has no refusal."""
    tool_calls: int = 0
    """Number of delivered tool calls."""
    dropped_calls: Sequence[DroppedCall] = ()
    invisible_removed: int = 0
    """Number of invisible characters removed from the models' output."""
    outcome: Outcome = "unfiltered"
    would: Outcome | None = None
    """In shadow mode: the outcome that the filter would have had; None: not judged."""
    error: str | None = None
    """The code of the error that ended the turn, if any."""
    notes: Sequence[Note] = ()
    """The actions of an assistant, in order."""
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
"""Descriptions of how a section of `Trace.evidence` was found."""

OLDER: dict[str, Any] = {
    "documents": [], "concern": None, "refusals": [], "dropped_calls": [], "would": None, "notes": [], "invalid_ids": 0,
    "selection_note": "", "error": None, "invisible_removed": 0, "evidence": [],
}  # fmt: skip
"""Defaults of fields that stored traces of older versions lack."""


def view_stored(data: dict[str, Any]) -> Trace:
    """Return a stored trace with its fields as attributes."""
    trace = _with_attributes(OLDER | data)
    trace.judgements = [*trace.emergency, *(one for attempt in trace.attempts for one in attempt.judgements)]
    return cast(Trace, trace)


def _with_attributes(value: Any) -> Any:
    if isinstance(value, dict):
        return SimpleNamespace(**{name: _with_attributes(one) for name, one in value.items()})
    return [_with_attributes(one) for one in value] if isinstance(value, list) else value
