"""What a turn comes to: the results of its steps, its deliveries, its answer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judges.verdict import Judgement, Review, signs
from knowledge_base.evidence import Evidence
from knowledge_base.library import Source
from models.engine import Body
from models.turn_scope import Note
from proxy.traces.trace import Attempt, ConcernKind, DroppedCall, Outcome, SelectedSource, worst_outcome
from proxy.turn.invisible import remove_invisible, remove_invisible_from_json
from proxy.turn.tool_calls import ToolCall


@dataclass(frozen=True, slots=True)
class Retrieval:
    """Which sources a step has put into use."""

    in_use: Mapping[str, int]
    """All that are in use now, each with the turn in which it was last cited or put in."""
    selected: Sequence[SelectedSource]
    note: str = ""
    """Why the selection went as it did."""
    invalid_ids: int = 0
    """Ids the selection model made up, which were dropped."""


@dataclass(slots=True)
class TurnResults:
    """The results of a turn's steps, in the order in which they came: of a turn that failed, those that it came to."""

    emergency: Review
    """What the emergency judge has said so far."""
    retrievals: list[Retrieval] = field(default_factory=list)
    evidence: list[Evidence] = field(default_factory=list)
    """The sections that drafts were held against, as they came into view."""
    attempts: list[Attempt] = field(default_factory=list)
    """Those that were judged with what their judges said."""
    dropped_calls: list[DroppedCall] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    """What an assistant did."""
    steps: list[tuple[str, float]] = field(default_factory=list)
    """Names of steps, and the seconds that each took, in the order in which they ended."""
    invisible_removed: int = 0
    """How many invisible characters were removed from what models wrote."""

    def visible(self, text: str, *, as_json: bool = False) -> str:
        """Return a text of a model's without the invisible characters that could carry another one, and count these."""
        text, removed = remove_invisible_from_json(text) if as_json else remove_invisible(text)
        self.invisible_removed += removed
        return text

    @property
    def concern(self) -> ConcernKind | None:
        """The kind of danger that the emergency judge is not sure of."""
        return kind_of(self.emergency) if self.emergency.verdict == "warn" else None


def kind_of(review: Review) -> ConcernKind:
    """Return the kind of danger that the strongest judge saw who saw one."""
    present = signs(review.judgements)
    return present[0].kind if present else "unknown"


@dataclass(frozen=True, slots=True)
class Delivery:
    """One choice, settled."""

    text: str | None
    """None: there is no text (only tool calls, or the model's own refusal), or it is a document and withheld (`refused`)."""
    text_outcome: Outcome
    citations: Sequence[str] = ()
    judgements: Sequence[Judgement] = ()
    warnings: Sequence[tuple[str, str]] = ()
    """(rule, detail) of each warning the choice gave rise to."""
    refused: bool = False
    """Whether something is withheld that the fallback message cannot stand in for: a document, or tool calls."""
    calls: Sequence[ToolCall] = ()
    """The tool calls that leave."""
    other_outcomes: Sequence[Outcome] = ()
    """Of its tool calls, and `unjudged` where the emergency judge could not tell."""
    concern: ConcernKind | None = None
    """The kind of danger that the emergency judge was not sure of: the text is followed by the emergency contact."""
    unjudged_attempts: Sequence[Attempt] = ()
    """What is delivered and nobody has judged, since the filter is off or in shadow."""
    in_use: Mapping[str, int] | None = None
    """Sources in use when it was settled; None: none were selected, as an emergency comes before that."""
    documents: Sequence[Source] = ()
    """Those that it could rest on."""
    choice: Body = field(default_factory=dict)
    """The upstream's choice."""

    @property
    def outcome(self) -> Outcome:
        """Of text and tool calls."""
        return worst_outcome((self.text_outcome, *self.other_outcomes))

    @property
    def message(self) -> Body:
        """The upstream's message."""
        message: Body = self.choice.get("message", {})
        return message

    @property
    def replaced(self) -> bool:
        """Whether the text is another than the upstream's."""
        return self.text_outcome in ("refined", "fallback")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a turn came to."""

    deliveries: Sequence[Delivery]
    upstream: Body = field(default_factory=dict)
    """The upstream's response to the draft, for the fields the proxy does not set."""

    @property
    def worst(self) -> Delivery:
        """The delivery whose outcome is the turn's."""
        outcome = worst_outcome(delivery.outcome for delivery in self.deliveries)
        return next(delivery for delivery in self.deliveries if delivery.outcome == outcome)
