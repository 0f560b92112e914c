"""What one turn is asked, and what it works with."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType

from knowledge_base.evidence import Evidence
from knowledge_base.library import Source
from models.turn_scope import Principal
from models.usage import Ledger
from proxy.config.chatbot_settings import FilterMode
from proxy.protocol.messages import ChatRequest
from proxy.state.conversation import CarriedWarning, Conversation
from proxy.state.delivered_calls import DeliveredCall
from proxy.traces.trace import Recognition
from proxy.turn.chatbot import Chatbot
from proxy.turn.results import Retrieval, TurnResults
from proxy.turn.stream_gate import NO_TEXT, CommittedText, StreamGate
from proxy.turn.task_prompt import TaskPrompt


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn. It never changes; what comes of it is returned, and added to `results` as it comes."""

    id: str
    bot: Chatbot
    request: ChatRequest
    user_message: str
    earlier: Sequence[str]
    """The user's earlier messages, oldest first."""
    conversation: Conversation
    how_found: Recognition
    """How the conversation was recognised."""
    filter: FilterMode
    results: TurnResults
    generated_id: bool = True
    """Whether this proxy made up the conversation's id."""
    stream_gate: StreamGate | None = None
    """What may be sent of the reply before its verdict; None: nothing may."""
    in_use: Mapping[str, int] | None = None
    """Sources in use, each with the turn in which it was last cited or put in; None before retrieval."""
    evidence: tuple[Evidence, ...] = ()
    """The sections that the draft is held against, found for it."""
    principal: Principal = field(default_factory=Principal)
    """Who asks."""
    documents: tuple[Source, ...] = ()
    """What the reply may rest on that stands in no knowledge base."""
    task: TaskPrompt | None = None
    """What a chat application asks for, where no person waits for an answer."""
    calls: Mapping[str, DeliveredCall] = field(default_factory=dict)
    """Tool calls of the request that this proxy delivered, by the ids that the client knows them by."""
    tool_messages: Mapping[int, str] = field(default_factory=dict)
    """Which messages of the request are such a document: its id by the message's place."""
    own_ids: Mapping[str, str] = field(default_factory=dict)
    """What the chatbot itself calls the documents that it brought: our id by its own."""
    ledger: Ledger = field(default_factory=Ledger)
    started_at: float = field(default_factory=time.time)
    """Unix time, seconds."""
    started: float = field(default_factory=time.perf_counter)

    @property
    def number(self) -> int:
        """Of the turn in its conversation, from 1."""
        return self.conversation.turn + 1

    @property
    def cites(self) -> bool:
        """Whether the chatbot is to write citation commands: not in JSON, and a wrapped one knows none."""
        return self.bot.settings.kind == "guarded" and self.bot.library is not None and not self.request.wants_json

    @property
    def reveals(self) -> bool:
        """Whether the client may see judges' own reasons and the rejected draft."""
        return "trace" in self.principal.permissions

    @property
    def judged(self) -> bool:
        return self.filter == "on" and not self.bot.pipeline.empty

    @property
    def shown_warnings(self) -> tuple[CarriedWarning, ...]:
        """The warnings that the chatbot is shown: none unless the filter is on."""
        return self.conversation.live_warnings(self.number) if self.filter == "on" else ()

    @property
    def fallback(self) -> str:
        """The fallback message, in the user's language where there is one."""
        return self.bot.fallback(self.user_message)

    @property
    def sources(self) -> tuple[Source, ...]:
        """What the reply may rest on: the sections that the chatbot was given, for a wrapped one those found; then documents."""
        if self.bot.settings.kind == "wrapped":
            return (*[one.source for one in self.evidence], *self.documents)
        return (*[self.bot.sections[s] for s in self.in_use or ()], *self.documents)

    @property
    def citable(self) -> Mapping[str, Source]:
        """All that has an id: the sections of the knowledge base, whether in use or not, and the documents."""
        if not self.documents:
            return self.bot.sections
        documents = {document.id: document for document in self.documents}
        own = {name: documents[ident] for name, ident in self.own_ids.items()}
        return {**own, **documents, **self.bot.sections}

    @property
    def source_ids(self) -> frozenset[str]:
        """Ids of what a reply may cite: what the chatbot was given, and what its reply is held against."""
        own = self.own_ids.keys() - self.bot.sections.keys()
        evidence = (one.source.id for one in self.evidence)
        return frozenset((*(self.in_use or ()), *evidence, *(document.id for document in self.documents), *own))

    @property
    def at_ms(self) -> float:
        return round((time.perf_counter() - self.started) * 1000, 2)

    def with_sources(self, retrieval: Retrieval) -> "Turn":
        """Return the turn as it goes on with the sources of a retrieval."""
        self.results.retrievals.append(retrieval)
        return replace(self, in_use=retrieval.in_use)

    def with_evidence(self, evidence: Sequence[Evidence]) -> "Turn":
        """Return the turn with more sections that its reply is held against."""
        self.results.evidence += evidence
        return replace(self, evidence=(*self.evidence, *evidence))

    def committed(self, choice: int) -> CommittedText:
        """Return the beginning of a choice that may have been sent already."""
        return self.stream_gate.committed(choice) if self.stream_gate is not None else NO_TEXT

    @property
    def observed(self) -> bool:
        """Whether the reply is sent as it is written, and judged afterwards."""
        return self.stream_gate is not None

    def step(self, name: str) -> "Step":
        """Time what is done within the block; where telemetry is on it is a span too."""
        return Step(self, name)


class Step:
    """A step of a turn, while it is done. A class, since a generator would cost twice the time of what it times."""

    __slots__ = ("_ended", "_name", "_started", "_turn")

    def __init__(self, turn: Turn, name: str) -> None:
        self._turn, self._name = turn, name

    def __enter__(self) -> None:
        watch = self._turn.ledger.watch
        self._ended = None if watch is None else watch.step(self._name)
        self._started = time.perf_counter()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._turn.results.steps.append((self._name, time.perf_counter() - self._started))
        if self._ended is not None:
            self._ended(None if kind is None else kind.__name__)
