"""What a turn works on (`Turn`), and what it comes to (`Delivery`, `Answer`)."""

import time
from dataclasses import dataclass, field
from types import TracebackType

from judges.review import Review
from judges.verdict import Judgement
from knowledge_base.library import Source
from models.client import Body
from models.usage import Ledger
from proxy.config.chatbot_settings import Filter
from proxy.state.conversation import Conversation
from proxy.traces.trace import Attempt, Outcome, Trace
from proxy.turn.chatbot import Chatbot
from proxy.turn.stream_gate import NO_TEXT, CommittedText, StreamGate
from proxy.turn.tool_calls import ToolCall
from proxy.wire.messages import ChatRequest


@dataclass(slots=True)
class Turn:
    """What one turn works on."""

    bot: Chatbot
    request: ChatRequest
    user_message: str
    earlier: list[str]
    """The user's earlier messages, oldest first."""
    conversation: Conversation
    filter: Filter
    alarm: Review
    """What the local emergency judge said before anything else was done."""
    trace: Trace
    minted_id: bool
    """Whether the conversation's id is one that this proxy made up."""
    ledger: Ledger = field(default_factory=Ledger)
    started: float = field(default_factory=time.perf_counter)
    reveals: bool = False
    """Whether the client may see judges' own reasons and the rejected draft."""
    selected: bool = False
    """Whether sources have been selected; an emergency comes before that."""
    in_use: dict[str, int] = field(default_factory=dict)
    """Sources in use, each with the turn in which it was last cited or put in."""
    steps: list[tuple[str, float]] = field(default_factory=list)
    """What the turn has done, and the seconds that it took; in the order in which it ended."""
    stream_gate: StreamGate | None = None
    """What may be sent of the reply before its verdict; None: nothing may."""
    concern: Review | None = None
    """What the emergency judge said when it was not sure: the reply goes on, and ends with the emergency contact."""
    shadowed: list[Attempt] = field(default_factory=list)
    """What is judged in the background when the filter is in shadow."""
    number: int = field(init=False)
    """Of the turn in its conversation, from 1."""
    cites: bool = field(init=False)
    """Whether the chatbot is to write citation commands: not in JSON, and a wrapped one knows none."""

    def __post_init__(self) -> None:
        self.number = self.conversation.turn + 1
        knows = self.bot.settings.kind == "guarded" and self.bot.library is not None
        self.cites = knows and not self.request.wants_json

    def step(self, name: str) -> "Step":
        """Time what is done within the block; where telemetry is on it is a span too."""
        return Step(self, name)

    def committed(self, choice: int) -> CommittedText:
        """Return the beginning of a choice that may have been sent already."""
        return self.stream_gate.committed(choice) if self.stream_gate is not None else NO_TEXT

    @property
    def judged(self) -> bool:
        return self.filter == "on" and not self.bot.filter.empty

    @property
    def fallback(self) -> str:
        """The fallback message, in the user's language where there is one."""
        return self.bot.fallback(self.user_message)

    @property
    def sources(self) -> tuple[Source, ...]:
        return tuple([self.bot.sections[s] for s in self.in_use])

    @property
    def at_ms(self) -> float:
        return round((time.perf_counter() - self.started) * 1000, 2)


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
        self._turn.steps.append((self._name, time.perf_counter() - self._started))
        if self._ended is not None:
            self._ended(None if kind is None else kind.__name__)


@dataclass(slots=True)
class Delivery:
    """One choice, settled."""

    text: str | None
    """None: there is no text (only tool calls, or the model's own refusal), or it is a document and withheld (`refused`)."""
    outcome: Outcome
    """Of text and tool calls."""
    citations: tuple[str, ...] = ()
    judgements: list[Judgement] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    """(rule, detail) of each warning the choice gave rise to."""
    refused: bool = False
    """Whether something is withheld that the fallback message cannot stand in for: a document, or tool calls."""
    calls: list[ToolCall] = field(default_factory=list)
    """The tool calls that leave."""
    message: Body = field(default_factory=dict)
    """The upstream's message."""
    choice: Body = field(default_factory=dict)
    """The upstream's choice that the message came in."""
    text_outcome: Outcome = field(init=False)
    """Of the text alone."""

    def __post_init__(self) -> None:
        self.text_outcome = self.outcome

    @property
    def replaced(self) -> bool:
        """Whether the text is another than the upstream's."""
        return self.text_outcome in ("refined", "fallback")


@dataclass(slots=True)
class Answer:
    """What a turn came to."""

    deliveries: list[Delivery]
    upstream: Body = field(default_factory=dict)
    """The upstream's response to the draft, for the fields the proxy does not set."""
