"""The result of a turn: a delivery for each choice, and the text that the user gets."""

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
"""(rule, detail) of each warning that a choice caused."""


@dataclass(slots=True)
class Delivery:
    """The result of one choice: what the client gets, and the judgements of it."""

    text: str | None
    """The reply without the line of sources. None: only tool calls, the model's refusal, or a withheld JSON reply (`refused`)."""
    text_outcome: Outcome
    citations: Sequence[str] = ()
    judgements: Sequence[Judgement] = ()
    warnings: Warnings = ()
    refused: bool = False
    """Whether a JSON document or tool calls are withheld. The fallback message cannot replace these."""
    calls: Sequence[ToolCall] = ()
    """The delivered tool calls."""
    other_outcomes: Sequence[Outcome] = ()
    """The outcome of the tool calls, and `unjudged` if the emergency judge failed."""
    concern: ConcernKind | None = None
    """The kind of danger that the emergency judge suspects. If set, the emergency contact is added to the text."""
    left_to_judge: Sequence[Reply] = ()
    """Replies delivered without a verdict, because the filter is off or in shadow mode."""
    in_use: Mapping[str, int] | None = None
    """Sections in use when the choice was settled; None: no selection ran, as in an emergency."""
    documents: Sequence[Source] = ()
    """Documents that the reply could use."""
    proposed: str = ""
    """The code of the action that the reply asks to confirm."""
    choice: Body = field(default_factory=dict)
    """The upstream's choice."""

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the text and the tool calls."""
        return worst_outcome((self.text_outcome, *self.other_outcomes))

    @property
    def message(self) -> Body:
        """The upstream's message."""
        message: Body = self.choice.get("message", {})
        return message

    @property
    def replaced(self) -> bool:
        """Whether the upstream's text was replaced by a refined text or the fallback message."""
        return self.text_outcome in ("refined", "fallback")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a turn: the deliveries of all choices."""

    deliveries: Sequence[Delivery]
    upstream: Body = field(default_factory=dict)
    """The upstream's response with the draft, for the fields that the proxy does not set."""

    @property
    def worst(self) -> Delivery:
        """The delivery with the worst outcome, which is the turn's outcome."""
        outcome = worst_outcome(delivery.outcome for delivery in self.deliveries)
        return next(delivery for delivery in self.deliveries if delivery.outcome == outcome)


def delivered_text(run: TurnRun, delivery: Delivery) -> str | None:
    """Return the text that the user gets: the reply, the line of sources, and if danger is suspected the emergency contact."""
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
    # A fallback message already contains the contact, unless `fallback_contact` is false.
    return text if is_fallback and contact in text else f"{text}\n\n{contact}"


def cited_titles(bot: Chatbot, delivery: Delivery) -> list[tuple[str, str]]:
    """Return (id, title) of each cited source. The title of a document gets its id added if a section has the same title."""
    titles = {section: source.title for section, source in bot.sections.items()}
    if delivery.documents:
        document_titles = {title.casefold() for title in titles.values()}
        for document in delivery.documents:
            titles[document.id] = (
                f"{document.title} ({document.id})" if document.title.casefold() in document_titles else document.title
            )
    return [(source, titles[source]) for source in delivery.citations if source in titles]
