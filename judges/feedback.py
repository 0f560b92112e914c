"""What the chatbot is told of a rejected reply, in a judge's own words as far as they are safe. Pure.

A judge's feedback names what to do otherwise, which a fixed reminder does not. But its author, a model, has read the
rejected reply: feedback must not carry that reply's content back into the context.
"""

from decimal import Decimal
from functools import cache

from judges.case import Case
from judges.numbers import values_in
from judges.observation import Claims, Observation
from judges.plain_text import WORD, plain
from judges.rules import RULES
from knowledge_base.bm25 import stems
from knowledge_base.citations import neutralise

MAX_WORDS = 30
MAX_WORD_CHARS, MAX_LETTERS = 18, 3
"""Longer words are several written together, and more single letters are words spelt out: neither can be compared."""
MAX_RUN = 4
"""Content words in a row that feedback must not share with the reply."""
MAX_OWN_WORDS = 2
"""Content words of the reply's own, in any order, that feedback may have: enough to name the subject."""
MAX_SECTIONS = 3
"""Sections that a warning names. Of more, as where the whole knowledge base is in view, none is the one to look at."""


def warning_text(feedback: str | None, rule: str, case: Case, observation: Observation | None = None) -> str:
    """Return what to tell the chatbot: the feedback where it is safe, else the rule's text with the topic and the section named.

    Args:
        feedback: What the judge says; one sentence to the chatbot.
        rule: The rule that the reply broke, one of `RULES`.
        case: The reply.
        observation: The judge's observation, which may name a sensitive topic.
    """
    if feedback and is_safe(feedback, case):
        return " ".join(neutralise(feedback).split())
    topics = {one.topic for one in observation.assertions} if isinstance(observation, Claims) else set()
    named = [topic.name for topic in case.topics if topic.name in topics]
    sections = [source.title for source in case.cited if not source.is_document]
    return " ".join(
        [
            RULES[rule].message,
            *([f"This was about: {', '.join(named)}."] if named else []),
            *(
                [f"What your sources say on it is under: {', '.join(sections)}."]
                if 0 < len(sections) <= MAX_SECTIONS
                else []
            ),
        ]
    )


def is_safe(feedback: str, case: Case) -> bool:
    """Tell whether feedback repeats nothing of a reply.

    It shares no number and no run of four content words with it, and no more than two content words, in any order, that neither
    the user, the sources nor the rules have. It is one line of at most thirty words.
    """
    text = feedback.strip()
    if not text or len(text.splitlines()) > 1 or len(text.split()) > MAX_WORDS:
        return False
    lengths = [len(word) for word in WORD.findall(plain(text))]
    if (
        max(lengths, default=0) > MAX_WORD_CHARS
        or lengths.count(1) > MAX_LETTERS
        or _values(text) & _values(case.draft)
    ):
        return False
    words, reply = _words(text), _words(case.draft)
    length = min(MAX_RUN, len(reply))
    if length and not _runs(words, length).isdisjoint(_runs(reply, length)):
        return False
    shared = set(words) & set(reply) - _rule_words()
    return len(shared) <= MAX_OWN_WORDS or len(shared - _words_in_view(case)) <= MAX_OWN_WORDS


def _words(text: str) -> list[str]:
    """Return the content words of a text as its readers see them, whatever letters it is written in."""
    return stems(plain(text))


def _values(text: str) -> frozenset[Decimal]:
    return values_in(text) | values_in(plain(text))


def _runs(words: list[str], length: int) -> frozenset[tuple[str, ...]]:
    return frozenset(tuple(words[at : at + length]) for at in range(len(words) - length + 1))


def _words_in_view(case: Case) -> frozenset[str]:
    """Return the content words of what is no part of the reply."""
    texts = [
        case.user_message,
        *(f"{source.title} {source.text}" for source in case.sources),
        *(t.name for t in case.topics),
    ]
    return frozenset(_words("\n".join(texts)))


@cache
def _rule_words() -> frozenset[str]:
    return frozenset(word for rule in RULES.values() for word in _words(rule.message))
