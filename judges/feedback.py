"""What the chatbot is told of a rejected reply, in a judge's own words as far as they are safe. Pure.

A judge's feedback names what to do otherwise, which a fixed reminder does not. But its author, a model, has read the
rejected reply: feedback must not carry that reply's content back into the context.
"""

from judges.case import Case
from judges.numbers import values_in
from judges.observation import Claims, Observation
from judges.rules import RULES
from knowledge_base.bm25 import stems
from knowledge_base.citations import neutralise

MAX_WORDS = 30
MAX_RUN = 4
"""Content words in a row that feedback must not share with the reply."""


def warning_text(feedback: str | None, rule: str, case: Case, observation: Observation | None = None) -> str:
    """Return what to tell the chatbot: the feedback where it is safe, else the rule's text with the topic and the section named.

    Args:
        feedback: What the judge says; one sentence to the chatbot.
        rule: The rule that the reply broke, one of `RULES`.
        case: The reply.
        observation: The judge's observation, which may name a sensitive topic.
    """
    if feedback and is_safe(feedback, case.draft):
        return " ".join(neutralise(feedback).split())
    topics = {one.topic for one in observation.assertions} if isinstance(observation, Claims) else set()
    named = [topic.name for topic in case.topics if topic.name in topics]
    sections = [source.title for source in case.cited if not source.is_document]
    return " ".join(
        [
            RULES[rule].message,
            *([f"This was about: {', '.join(named)}."] if named else []),
            *([f"What your sources say on it stands under: {', '.join(sections)}."] if sections else []),
        ]
    )


def is_safe(feedback: str, draft: str) -> bool:
    """Tell whether feedback repeats nothing of a reply: no run of four content words, and no number.

    It must be one line of at most thirty words.
    """
    text = feedback.strip()
    if not text or "\n" in text or len(text.split()) > MAX_WORDS:
        return False
    return not values_in(text) & values_in(draft) and _runs(text).isdisjoint(_runs(draft))


def _runs(text: str) -> frozenset[tuple[str, ...]]:
    words = stems(text)
    return frozenset(tuple(words[at : at + MAX_RUN]) for at in range(len(words) - MAX_RUN + 1))
