"""The text that the user gets."""

from knowledge_base import citations
from proxy.turn.chatbot import Chatbot
from proxy.turn.inputs import Turn
from proxy.turn.results import Delivery


def delivered_text(turn: Turn, delivery: Delivery) -> str | None:
    """Return the text the user gets: the reply, a line that names its sources, and in a concern the emergency contact."""
    text = delivery.text
    if text is None or turn.request.wants_json or delivery.text_outcome in ("emergency", "fallback"):
        return text
    if turn.cites and turn.bot.settings.citations == "shown":
        text += citations.line([title for _, title in cited_sections(turn.bot, delivery)])
    return text if delivery.concern is None else f"{text}\n\n{turn.bot.contact(turn.user_message)}"


def cited_sections(bot: Chatbot, delivery: Delivery) -> list[tuple[str, str]]:
    """Return id and title of the sections a reply cites."""
    return [(section, bot.sections[section].title) for section in delivery.citations if section in bot.sections]
