"""One turn: what it is asked, which never changes, and what has happened in it so far."""

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
"""Earlier messages that a judge sees."""


@dataclass(frozen=True)
class Turn:
    """What one turn is asked."""

    id: str
    bot: Chatbot
    request: ChatRequest
    user_message: str
    earlier: Sequence[str]
    """The user's earlier messages, oldest first."""
    conversation: Conversation
    """The state of the conversation before this turn."""
    identity: Identity
    """By which the conversation is recognised."""
    how_found: Recognition
    filter: FilterMode
    generated_id: bool = True
    """Whether this proxy made up the conversation's id."""
    principal: Principal = field(default_factory=Principal)
    """Who asks."""
    documents: tuple[Source, ...] = ()
    """Documents that came with the request."""
    tool_messages: Mapping[int, str] = field(default_factory=dict)
    """Messages of the request that are such a document: its id by the message's index."""
    calls: Mapping[str, DeliveredCall] = field(default_factory=dict)
    """Tool calls of the request that this proxy delivered, by the ids that the client knows."""
    task: TaskPrompt | None = None
    """What a chat application asks for, when no person waits for an answer."""
    started_at: float = field(default_factory=time.time)
    """Unix time, seconds."""
    started: float = field(default_factory=time.perf_counter)

    @property
    def number(self) -> int:
        """The number of the turn in its conversation, from 1."""
        return self.conversation.turn + 1

    @property
    def cites(self) -> bool:
        """Whether the chatbot writes citation commands: not in JSON, and a wrapped one knows none."""
        return self.bot.settings.kind == "guarded" and self.bot.library is not None and not self.request.wants_json

    @cached_property
    def history(self) -> tuple[HistoryMessage, ...]:
        """The messages before the user's newest, as judges see them."""
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
        """The last user message and the reply to it; empty in the first turn."""
        return "\n".join(message.text for message in self.history[-2:])

    @property
    def reveals(self) -> bool:
        """Whether the client may see judges' own reasons and the rejected draft."""
        return "trace" in self.principal.permissions

    @property
    def shown_warnings(self) -> tuple[CarriedWarning, ...]:
        """The warnings that the chatbot is shown: none unless the filter is on."""
        return self.conversation.live_warnings(self.number) if self.filter == "on" else ()

    @property
    def fallback(self) -> str:
        """The fallback message, in the user's language if there is one."""
        return self.bot.fallback(self.user_message)

    @property
    def at_ms(self) -> float:
        """Milliseconds since the turn began."""
        return round((time.perf_counter() - self.started) * 1000, 2)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """The sections that one step put into use."""

    in_use: Mapping[str, int]
    """All that are in use now, each with the turn in which it was last cited or put in."""
    selected: Sequence[SelectedSource]
    note: str = ""
    """Why the selection went as it did."""
    invalid_ids: int = 0
    """Ids that the selection model made up, which were dropped."""


@dataclass(slots=True)
class TurnRun:
    """A turn while it is taken. The trace is built from it, also if the turn fails."""

    turn: Turn
    emergency: Review
    """What the emergency judge has said so far."""
    ledger: Ledger = field(default_factory=Ledger)
    gate: StreamGate | None = None
    """What may be sent of the reply before its verdict; None: nothing."""
    in_shadow: bool = False
    """Whether a turn in shadow is judged now, after its reply was sent."""
    retrievals: list[Retrieval] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    """The sections that drafts were compared with, as they came into view."""
    attempts: list[Attempt] = field(default_factory=list)
    """All texts that were tried; the judged ones with their judgements."""
    dropped_calls: list[DroppedCall] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    """What an assistant did."""
    steps: list[tuple[str, float]] = field(default_factory=list)
    """Steps that have ended, with their seconds."""
    invisible_removed: int = 0
    """Invisible characters that were removed from what models wrote."""

    @property
    def needs_judging(self) -> bool:
        return (self.turn.filter == "on" or self.in_shadow) and not self.turn.bot.pipeline.empty

    @property
    def sent_before_verdict(self) -> bool:
        """Whether the reply is sent as it is written, and judged afterwards."""
        return self.gate is not None

    @property
    def has_sent(self) -> bool:
        """Whether some of the reply has been sent."""
        return self.gate is not None and bool(self.gate.sent_chars)

    @property
    def concern(self) -> ConcernKind | None:
        """The kind of danger that the emergency judge is not sure of."""
        return kind_of(self.emergency) if self.emergency.verdict == "warn" else None

    def visible(self, text: str, *, as_json: bool = False) -> str:
        """Return a model's text without the invisible characters that could carry another text, and count these."""
        text, removed = remove_invisible_from_json(text) if as_json else remove_invisible(text)
        self.invisible_removed += removed
        return text

    def record(self, attempt: Attempt) -> Attempt:
        """Add an attempt and return it."""
        self.attempts.append(attempt)
        return attempt

    def step(self, name: str) -> "Step":
        """Time what is done within the block; with telemetry it is a span too."""
        return Step(self, name)


@dataclass(slots=True)
class ChoiceRun:
    """One choice of a turn while it is drafted and judged. Choices are settled concurrently, so each has its own sources."""

    run: TurnRun
    index: int = 0
    in_use: Mapping[str, int] | None = None
    """Sections that the chatbot is given, each with the turn in which it was last cited or put in; None before retrieval."""
    evidence: tuple[Evidence, ...] = ()
    """Sections that the draft is compared with."""
    documents: tuple[Source, ...] = ()
    own_ids: Mapping[str, str] = field(default_factory=dict)
    """The document ids of the chatbot itself: our id by its own."""
    turn: Turn = field(init=False)

    def __post_init__(self) -> None:
        self.turn = self.run.turn

    def fork(self, index: int) -> "ChoiceRun":
        """Return another choice with the same sources."""
        return replace(self, index=index)

    @property
    def committed(self) -> CommittedText:
        """The beginning of the choice that may have been sent already."""
        return NO_TEXT if self.run.gate is None else self.run.gate.committed(self.index)

    @property
    def sources(self) -> tuple[Source, ...]:
        """What the reply may rest on: the sections that the chatbot was given, for a wrapped one those found; then documents."""
        bot = self.turn.bot
        if bot.settings.kind == "wrapped":
            return (*[one.source for one in self.evidence], *self.documents)
        return (*[bot.sections[s] for s in self.in_use or ()], *self.documents)

    @property
    def citable(self) -> Mapping[str, Source]:
        """All that has an id: the sections of the knowledge base, whether in use or not, and the documents."""
        sections = self.turn.bot.sections
        if not self.documents:
            return sections
        documents = {document.id: document for document in self.documents}
        own = {name: documents[ident] for name, ident in self.own_ids.items()}
        return {**own, **documents, **sections}

    @property
    def source_ids(self) -> frozenset[str]:
        """Ids that a reply may cite: what the chatbot was given, and what its reply is compared with."""
        own = self.own_ids.keys() - self.turn.bot.sections.keys()
        evidence = (one.source.id for one in self.evidence)
        return frozenset((*(self.in_use or ()), *evidence, *(document.id for document in self.documents), *own))

    def use(self, retrieval: Retrieval) -> None:
        """Put the sections of a retrieval into use."""
        self.run.retrievals.append(retrieval)
        self.in_use = retrieval.in_use

    def compare_with(self, evidence: Sequence[Evidence]) -> None:
        """Add sections that the reply is compared with."""
        self.run.evidence += evidence
        self.evidence = (*self.evidence, *evidence)


def kind_of(review: Review) -> ConcernKind:
    """Return the kind of danger that the strongest judge saw who saw one."""
    present = signs(review.judgements)
    return present[0].kind if present else "unknown"


class Step:
    """A step of a turn, while it is done. A class, because a generator would cost twice the time of what it times."""

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
