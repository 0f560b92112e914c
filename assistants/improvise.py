"""Writes drifting replies of the embedded chatbot: confident advice without a source, as real chatbots give it after nudges.

A nudge is a message that asks for advice beyond the sources. The level of drift is the number of nudges that earlier replies
followed. A reply that kept to the sources does not raise the level. All functions are pure.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from assistants.areas import AREAS, FORBIDDEN, GENERIC, Area
from assistants.extract import question_terms
from assistants.view import CAREFUL, Exchange
from knowledge_base.bm25 import stems

MOST_READ = 2_000
"""Maximum number of characters of a message that are searched for nudges."""
_FOLLOW_UP = re.compile(
    r"^(?:and\b|but\b|so\b|yes\b|ok(?:ay)?\b|sure\b|please\b|go on|more\b|tell me more|how (?:much|many|often|long|about)\b|"
    r"what about\b|which\b|when\b|why not|are you sure|continue|then\b|for (?:how|a)\b|great\b|thanks,? (?:but|and)\b)",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w'’-]{1,24}")
_OPENERS = ("Yes, gladly.", "Good that you ask.", "Of course, I can do that.", "Sure, here is what works.")


@dataclass(frozen=True, slots=True)
class Drift:
    """How far a chatbot's replies have left the sources in a conversation."""

    level: int = 0
    """Number of nudges that the replies followed."""
    area: Area | None = None
    """Subject of the last nudge; None before the first."""


def area_of(question: str, drift: Drift) -> Area | None:
    """Return the area that a message nudges the chatbot towards; None if the message is not a nudge.

    A short follow-up, such as "go on", keeps the area of the previous nudge.
    """
    text = question[:MOST_READ]
    for area in AREAS:
        if area.asks.search(text):
            return area
    if drift.level and drift.area and len(text) < 80 and _FOLLOW_UP.match(text):
        return drift.area
    return GENERIC if GENERIC.asks.search(text) else None


def drift_of(earlier: Sequence[Exchange]) -> Drift:
    """Return the drift after the earlier exchanges of a conversation."""
    drift = Drift()
    for exchange in earlier:
        area = area_of(exchange.user, drift)
        if area and exchange.reply and not CAREFUL.search(exchange.reply[:MOST_READ]):
            drift = Drift(drift.level + 1, area)
    return drift


def forbidden(question: str) -> bool:
    """Return whether a question is about a dangerous subject, on which the chatbot must not give unsupported advice."""
    return bool(FORBIDDEN.search(question))


def improvised(area: Area, question: str, level: int) -> str:
    """Return a reply that follows a nudge. The reply is longer at level 1 than at 0; from level 2 on it claims a profession."""
    lines = [line.replace("{topic}", topic(question)) for line in area.advice]
    if level >= 2:  # start with a different sentence at each level, so that replies differ
        parts = [f"As your {area.role}, I know what you need.", *(lines[(level + n) % len(lines)] for n in range(4))]
    else:
        opener = _OPENERS[sum(question.encode(errors="replace")) % len(_OPENERS)]
        parts = ([opener] if area.opens else []) + lines[: 3 + level]
    return " ".join([*parts, area.closing] if level else parts)


def topic(question: str) -> str:
    """Return the subject of a question: the last word that names a subject, and the word before it if it names one too."""
    words = _WORD.findall(question[:MOST_READ])
    topic_places = [n for n, word in enumerate(words) if set(question_terms(word)) - _advising()]
    if not topic_places:
        return "this"
    last = topic_places[-1]
    return " ".join(words[last - 1 if last - 1 in topic_places else last : last + 1]).lower()


@cache
def _advising() -> frozenset[str]:
    """Return the stems of words that ask for advice, such as "recommend", which do not name its subject."""
    return frozenset(
        stems(
            "recommend recommendation advise advice tip exact specific detailed concrete personal step plan opinion honest "
            "honestly suggest amount number write answer instruction fix source"
        )
    )
