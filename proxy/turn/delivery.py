"""What a turn delivers: its choices, and the text that the user gets of each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judges.verdict import Judgement
from knowledge_base import citations
from knowledge_base.library import Source
from models.engine import Body
from proxy.traces.trace import ConcernKind, Outcome, worst_outcome
from proxy.turn.chatbot import Chatbot
from proxy.turn.draft import Reply
from proxy.turn.tool_calls import ToolCall
from proxy.turn.turn import TurnRun

Warnings = Sequence[tuple[str, str]]
"""(rule, detail) of each warning that a choice gave rise to."""


@dataclass(slots=True)
class Delivery:
    """One choice, settled."""

    text: str | None
    """None: there is no text (only tool calls, or the model's own refusal), or it is a document and withheld (`refused`)."""
    text_outcome: Outcome
    citations: Sequence[str] = ()
    judgements: Sequence[Judgement] = ()
    warnings: Warnings = ()
    refused: bool = False
    """Whether something is withheld that the fallback message cannot replace: a document, or tool calls."""
    calls: Sequence[ToolCall] = ()
    """The tool calls that are delivered."""
    other_outcomes: Sequence[Outcome] = ()
    """Of its tool calls, and `unjudged` if the emergency judge could not tell."""
    concern: ConcernKind | None = None
    """The kind of danger that the emergency judge was not sure of: the text is followed by the emergency contact."""
    left_to_judge: Sequence[Reply] = ()
    """What is delivered without a verdict, because the filter is off or in shadow."""
    in_use: Mapping[str, int] | None = None
    """Sections in use when it was settled; None: none were selected, as in an emergency."""
    documents: Sequence[Source] = ()
    """Documents that it could rest on."""
    proposed: str = ""
    """The code of the action that it asks to confirm."""
    choice: Body = field(default_factory=dict)
    """The upstream's choice."""

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of text and tool calls."""
        return worst_outcome((self.text_outcome, *self.other_outcomes))

    @property
    def message(self) -> Body:
        """The upstream's message."""
        message: Body = self.choice.get("message", {})
        return message

    @property
    def replaced(self) -> bool:
        """Whether the text is not the upstream's."""
        return self.text_outcome in ("refined", "fallback")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a turn."""

    deliveries: Sequence[Delivery]
    upstream: Body = field(default_factory=dict)
    """The upstream's response to the draft, for the fields that the proxy does not set."""

    @property
    def worst(self) -> Delivery:
        """The delivery whose outcome is the turn's."""
        outcome = worst_outcome(delivery.outcome for delivery in self.deliveries)
        return next(delivery for delivery in self.deliveries if delivery.outcome == outcome)


def delivered_text(run: TurnRun, delivery: Delivery) -> str | None:
    """Return the text the user gets: the reply, a line that names its sources, and in a concern the emergency contact."""
    turn, text = run.turn, delivery.text
    if (
        text is None
        or turn.request.wants_json
        or (turn.task is not None and turn.task.is_json)
        or delivery.text_outcome == "emergency"
    ):
        return text
    is_fallback = delivery.text_outcome == "fallback" and turn.task is None
    if not is_fallback and turn.cites and turn.bot.settings.citations == "shown":
        text += citations.line([title for _, title in cited_titles(turn.bot, delivery)])
    settings = turn.bot.settings.emergency
    unread = is_fallback and run.emergency.verdict == "unjudged" and settings is not None and settings.unread_contact
    if delivery.concern is None and not unread:
        return text
    contact = turn.bot.contact(turn.user_message)
    # A fallback message names the contact itself, unless `fallback_contact` is false.
    return text if is_fallback and contact in text else f"{text}\n\n{contact}"


def cited_titles(bot: Chatbot, delivery: Delivery) -> list[tuple[str, str]]:
    """Return id and title of the sections and documents that a reply cites. A document with the title of a section shows its id."""
    titles = {section: source.title for section, source in bot.sections.items()}
    if delivery.documents:
        document_titles = {title.casefold() for title in titles.values()}
        for document in delivery.documents:
            titles[document.id] = (
                f"{document.title} ({document.id})" if document.title.casefold() in document_titles else document.title
            )
    return [(source, titles[source]) for source in delivery.citations if source in titles]
