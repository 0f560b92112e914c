"""The input of a turn, which never changes (Turn), and the progress of a turn (TurnRun, ChoiceRun)."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import TracebackType

from judges.case import HistoryMessage
from judges.verdict import Review, signs
from knowledge_base.evidence import Evidence
from knowledge_base.library import Source
from models.turn_scope import Note, Principal
from models.usage import Ledger
from proxy.config.chatbot_settings import FilterMode
from proxy.protocol.canonical import without_citation_lines
from proxy.protocol.invisible import remove_invisible, remove_invisible_from_json
from proxy.protocol.messages import ChatRequest
from proxy.protocol.task_prompt import TaskPrompt
from proxy.state.conversation import CarriedWarning, Conversation, Identity
from proxy.state.delivered_calls import DeliveredCall
from proxy.traces.trace import Attempt, ConcernKind, DroppedCall, Recognition, SelectedSource
from proxy.turn.chatbot import Chatbot
from proxy.turn.stream import NO_TEXT, CommittedText, StreamGate

HISTORY_FOR_JUDGES = 6
"""Maximum number of earlier messages that a judge sees."""


@dataclass(frozen=True)
class Turn:
    """The input of one turn: the request, the chatbot, and the stored state of the conversation."""

    id: str
    bot: Chatbot
    request: ChatRequest
    user_message: str
    earlier: Sequence[str]
    """The user's earlier messages, oldest first."""
    conversation: Conversation
    """The state of the conversation before this turn."""
    identity: Identity
    """The keys by which the conversation is recognised."""
    how_found: Recognition
    """How the conversation was recognised."""
    filter: FilterMode
    generated_id: bool = True
    """Whether this proxy generated the conversation's id."""
    principal: Principal = field(default_factory=Principal)
    """The API key and user that sent the request, and their permissions."""
    documents: tuple[Source, ...] = ()
    """Documents from the request, including tool results."""
    tool_messages: Mapping[int, str] = field(default_factory=dict)
    """Ids of the documents that are tool results, by the index of the message in the request."""
    calls: Mapping[str, DeliveredCall] = field(default_factory=dict)
    """Tool calls in the request that this proxy delivered earlier, by the id that the client knows."""
    task: TaskPrompt | None = None
    """A chat application's request for a title, tags or follow-ups. None: a person asks."""
    started_at: float = field(default_factory=time.time)
    """Unix time, seconds."""
    started: float = field(default_factory=time.perf_counter)

    @property
    def number(self) -> int:
        """The number of the turn in its conversation, from 1."""
        return self.conversation.turn + 1

    @property
    def cites(self) -> bool:
        """Whether the chatbot writes citation commands. Wrapped chatbots and JSON replies have none."""
        return self.bot.settings.kind == "guarded" and self.bot.library is not None and not self.request.wants_json

    @cached_property
    def history(self) -> tuple[HistoryMessage, ...]:
        """The messages before the user's newest message, as judges see them."""
        newest: list[HistoryMessage] = []
        for message in reversed(self.request.messages):
            if message.is_reply:
                verified = self.conversation.find_delivered(message) is not None
                text = without_citation_lines(message.text) if verified else message.text
                newest.append(HistoryMessage("assistant", text, verified=verified))
            elif message.role == "user" and newest:
                newest.append(HistoryMessage("user", message.text))
            if len(newest) == HISTORY_FOR_JUDGES:
                break
        return tuple(reversed(newest))

    @property
    def exchange_before(self) -> str:
        """The user's previous message and the reply to it; empty in the first turn."""
        return "\n".join(message.text for message in self.history[-2:])

    @property
    def reveals(self) -> bool:
        """Whether the client may see the reasons of the judges, and the rejected draft."""
        return "trace" in self.principal.permissions

    @property
    def shown_warnings(self) -> tuple[CarriedWarning, ...]:
        """The warnings that the chatbot is shown: none unless the filter is on."""
        return self.conversation.live_warnings(self.number) if self.filter == "on" else ()

    @property
    def fallback(self) -> str:
        """The fallback message, in the user's language if it is configured."""
        return self.bot.fallback(self.user_message)

    @property
    def at_ms(self) -> float:
        """Milliseconds since the turn began."""
        return round((time.perf_counter() - self.started) * 1000, 2)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The result of one selection of sections for the chatbot's prompt."""

    in_use: Mapping[str, int]
    """All sections in use after the selection, each with the turn in which it was last cited or added."""
    selected: Sequence[SelectedSource]
    """The newly selected sections."""
    note: str = ""
    """The reason for the selection."""
    invalid_ids: int = 0
    """Number of ids that the selection model invented. They were dropped."""


@dataclass(slots=True)
class TurnRun:
    """The progress of a turn. The trace is built from this object, also if the turn fails."""

    turn: Turn
    emergency: Review
    """The review of the emergency judge so far."""
    ledger: Ledger = field(default_factory=Ledger)
    gate: StreamGate | None = None
    """Holds the part of the reply that may be sent before its verdict. None: nothing may be sent before the verdict."""
    in_shadow: bool = False
    """Whether the turn is now being judged in shadow, after its reply was sent."""
    retrievals: list[Retrieval] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    """The sections that drafts were compared with, in the order in which they were found."""
    attempts: list[Attempt] = field(default_factory=list)
    """All drafts and rewrites; the judged ones with their judgements."""
    dropped_calls: list[DroppedCall] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    """Notes of an assistant on its steps."""
    steps: list[tuple[str, float]] = field(default_factory=list)
    """Finished steps: name and duration in seconds."""
    invisible_removed: int = 0
    """Number of invisible characters removed from the models' texts."""
    cause: str | None = None
    """Why the chatbot's model returned no text, for the operator's log."""

    @property
    def needs_judging(self) -> bool:
        return (self.turn.filter == "on" or self.in_shadow) and not self.turn.bot.pipeline.empty

    @property
    def sent_before_verdict(self) -> bool:
        """Whether the reply is streamed while the model writes it, and judged afterwards."""
        return self.gate is not None

    @property
    def has_sent(self) -> bool:
        """Whether a part of the reply has been sent."""
        return self.gate is not None and bool(self.gate.sent_chars)

    @property
    def concern(self) -> ConcernKind | None:
        """The kind of danger that the emergency judge suspects. None: no danger, or a certain emergency."""
        return kind_of(self.emergency) if self.emergency.verdict == "warn" else None

    def visible(self, text: str, *, as_json: bool = False) -> str:
        """Return a model's text without invisible characters, which could hide a text. The removed ones are counted."""
        text, removed = remove_invisible_from_json(text) if as_json else remove_invisible(text)
        self.invisible_removed += removed
        return text

    def record(self, attempt: Attempt) -> Attempt:
        """Add an attempt to the record of the turn, and return it."""
        self.attempts.append(attempt)
        return attempt

    def step(self, name: str) -> "Step":
        """Return a context manager that times a step of the turn, and records a span if telemetry is on."""
        return Step(self, name)


@dataclass(slots=True)
class ChoiceRun:
    """The progress of one choice. Choices are settled concurrently, so each has its own sources."""

    run: TurnRun
    index: int = 0
    in_use: Mapping[str, int] | None = None
    """Sections given to the chatbot, each with the turn in which it was last cited or added; None before retrieval."""
    evidence: tuple[Evidence, ...] = ()
    """Sections that the judges compare the draft with."""
    documents: tuple[Source, ...] = ()
    """Documents of the request, then documents from the upstream's completion."""
    own_ids: Mapping[str, str] = field(default_factory=dict)
    """The ids that this proxy gave the upstream's documents (`doc:1`), by the upstream's ids."""
    turn: Turn = field(init=False)

    def __post_init__(self) -> None:
        self.turn = self.run.turn

    def fork(self, index: int) -> "ChoiceRun":
        """Return a copy of this choice with another index and the same sources."""
        return replace(self, index=index)

    @property
    def committed(self) -> CommittedText:
        """The start of the choice's text, which may already have been sent."""
        return NO_TEXT if self.run.gate is None else self.run.gate.committed(self.index)

    @property
    def sources(self) -> tuple[Source, ...]:
        """The sources of the reply: first the sections in the prompt (for a wrapped chatbot: the evidence), then documents."""
        bot = self.turn.bot
        if bot.settings.kind == "wrapped":
            return (*[one.source for one in self.evidence], *self.documents)
        return (*[bot.sections[s] for s in self.in_use or ()], *self.documents)

    @property
    def citable(self) -> Mapping[str, Source]:
        """Every source by its id: all sections of the knowledge base, in use or not, and the documents."""
        sections = self.turn.bot.sections
        if not self.documents:
            return sections
        documents = {document.id: document for document in self.documents}
        own = {name: documents[ident] for name, ident in self.own_ids.items()}
        return {**own, **documents, **sections}

    @property
    def source_ids(self) -> frozenset[str]:
        """Ids that a reply may cite: sources given to the chatbot, and sections that the reply is compared with."""
        own = self.own_ids.keys() - self.turn.bot.sections.keys()
        evidence = (one.source.id for one in self.evidence)
        return frozenset((*(self.in_use or ()), *evidence, *(document.id for document in self.documents), *own))

    def use(self, retrieval: Retrieval) -> None:
        """Put the sections of a retrieval into use."""
        self.run.retrievals.append(retrieval)
        self.in_use = retrieval.in_use

    def compare_with(self, evidence: Sequence[Evidence]) -> None:
        """Add sections that judges compare the reply with."""
        self.run.evidence += evidence
        self.evidence = (*self.evidence, *evidence)


def kind_of(review: Review) -> ConcernKind:
    """Return the kind of danger in a review, from the strongest stage that found danger; `unknown` if none did."""
    present = signs(review.judgements)
    return present[0].kind if present else "unknown"


class Step:
    """Context manager that times one step of a turn. A generator-based context manager would take twice as long."""

    __slots__ = ("_ended", "_name", "_run", "_started")

    def __init__(self, run: TurnRun, name: str) -> None:
        self._run, self._name = run, name

    def __enter__(self) -> None:
        watch = self._run.ledger.watch
        self._ended = None if watch is None else watch.step(self._name)
        self._started = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._run.steps.append((self._name, time.perf_counter() - self._started))
        if self._ended is not None:
            self._ended(None if kind is None else kind.__name__)
