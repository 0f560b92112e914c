"""Counts events in a conversation, such as offers and denials, for the user study.

The messages are parsed as the assistant parses them. All functions are pure.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from assistants.gesundheit.assistant import MOST_READ
from assistants.gesundheit.dialogue import State, Texts
from assistants.view import Exchange


class Counts(NamedTuple):
    """Number of events of each kind in one conversation."""

    messages: int = 0
    offers: int = 0
    second_offers: int = 0
    denials_explicit: int = 0
    """Messages that say no to an offer or to "was that your question?", or that say "that was not my question"."""
    denials_implicit: int = 0
    """Messages after an offer that are neither a yes nor a no."""
    recommendations: int = 0
    recommendations_taken: int = 0
    source_requests: int = 0
    references_back: int = 0
    """Messages that name no focus, and that the assistant read as questions about the conversation's focus."""


def count(exchanges: Sequence[Exchange], texts: Texts, foci_in: Callable[[str], set[str]]) -> Counts:
    """Count the events of a conversation.

    Args:
        exchanges: The exchanges of the conversation, oldest first.
        texts: The texts of the assistant that wrote the replies.
        foci_in: A function that returns the ids of the foci that a message names.
    """
    state, counter, language = State(), Counter[str](), texts.language
    second, source = (language.texts[name].partition("{")[0] for name in ("next_offer", "source"))
    for exchange in exchanges:
        user, reply = exchange.user[:MOST_READ].strip(), exchange.reply[:MOST_READ]
        intent, after = language.intent(user), texts.read(state, reply)
        answered = after.answered[len(state.answered) :]
        # The reply shows how the message was read. A model may have understood a wording that german.yaml does not list.
        detail = after.asked == "detail" and after.pair == state.pair
        is_taken = state.pair is not None and (state.pair in answered or detail)
        is_no = intent == "no" or second in reply or language.no_but.match(user) is not None
        is_denial = intent == "not_mine" or (is_no and state.asked in ("offer", "confirm"))
        is_own = intent is None and not is_taken
        stays = after.focus == state.focus != "" and (after.asked == "offer" or bool(answered))
        happened = Counts(
            1, after.asked == "offer", second in reply, is_denial, state.asked == "offer" and is_own and not is_denial,
            after.asked == "recommend", is_taken and state.asked == "recommend", intent == "source" or source in reply,
            is_own and stays and not foci_in(user),
        )  # fmt: skip
        counter.update(happened._asdict())
        state = after
    return Counts(**counter)
