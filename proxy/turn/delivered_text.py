"""The text that the user gets."""

from knowledge_base import citations
from proxy.turn.chatbot import Chatbot
from proxy.turn.inputs import Turn
from proxy.turn.results import Delivery


def delivered_text(turn: Turn, delivery: Delivery) -> str | None:
    """Return the text the user gets: the reply, a line that names its sources, and in a concern the emergency contact."""
    text, task = delivery.text, turn.task
    if (
        text is None
        or turn.request.wants_json
        or (task is not None and task.is_json)
        or delivery.text_outcome == "emergency"
    ):
        return text
    is_fallback = delivery.text_outcome == "fallback" and task is None
    if not is_fallback and turn.cites and turn.bot.settings.citations == "shown":
        text += citations.line([title for _, title in cited_titles(turn.bot, delivery)])
    if delivery.concern is None and not (is_fallback and turn.results.emergency.verdict == "unjudged"):
        return text
    contact = turn.bot.contact(turn.user_message)
    # A fallback message names the contact itself, unless `fallback_contact` is false.
    return text if is_fallback and contact in text else f"{text}\n\n{contact}"


def cited_titles(bot: Chatbot, delivery: Delivery) -> list[tuple[str, str]]:
    """Return id and title of the sections and documents a reply cites. A document that is called as a section is shows its id."""
    titles = {section: source.title for section, source in bot.sections.items()}
    if delivery.documents:
        document_titles = {title.casefold() for title in titles.values()}
        for document in delivery.documents:
            titles[document.id] = (
                f"{document.title} ({document.id})" if document.title.casefold() in document_titles else document.title
            )
    return [(source, titles[source]) for source in delivery.citations if source in titles]
