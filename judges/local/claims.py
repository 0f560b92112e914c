"""What a reply asserts, how far its sources carry it, and how it speaks of where it comes from."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from judges import phrases
from judges.case import Case
from judges.local import language
from judges.local.support import Support, best_passage, describe, index, weigh
from judges.local.topics import topic_of
from judges.local.words import Words, read
from judges.observation import Assertion, Claims
from judges.sentences import Sentence, normalise, sentences

UNSUPPORTED = 0.5
"""Doubt from which a sentence is not supported."""
STATED = 0.8
"""Share of a supported sentence's content that a passage has, from which on it states the sentence."""
_RESTATED = 0.6
"""Share of a sentence's content that a passage has, from which on it restates the passage, whatever it is phrased like."""
_IN_PERSON = frozenset("i my i'm".split())
"""Words of a chatbot that speaks of itself, which no source does."""
_SHORT = 2
"""Words with content up to which a sentence that points ("stop it") speaks of what the user spoke of."""
_POINTING = frozenset("it that this these those them both either so one they".split())
_AFFIRMS = re.compile(
    r"\W*(?:yes|no|absolutely|definitely|certainly|of course|sure|yep|yeah|nope|correct|exactly)\b", re.I
)


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence of the reply."""

    sentence: Sentence
    lowered: str
    assertion: Assertion | None
    """What it asserts, if anything."""
    strength: float
    """How surely that is unsupported, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What the local judges of claims and the refiner know of one case."""

    judged: tuple[Judged, ...]
    claims: Claims


def observe(case: Case) -> tuple[Claims, float]:
    """Fill in the form for a reply, and say how surely it asserts what its cited sources do not support.

    Raises:
        Unreadable: The reply is not in English, or hides its words.
    """
    seen = reading(case)
    return seen.claims, max([one.strength for one in seen.judged], default=0.0)


@lru_cache(maxsize=16)
def reading(case: Case) -> Reading:
    """Read a case; kept for the judges and the refiner that read the same case next."""
    draft = normalise(case.draft)
    language.check(draft)
    judged = tuple(_judge(case, list(sentences(draft))))
    statements = [one.lowered for one in judged]
    belied = any(map(phrases.takes_back, statements))
    claims = Claims(
        assertions=[one.assertion for one in judged if one.assertion is not None],
        admits_not_from_sources="no" if belied else phrases.strongest_of(map(phrases.admits, statements)),
        asks_to_verify="no" if belied else phrases.strongest_of(map(phrases.verifies, statements)),
    )
    return Reading(judged, claims)


def sentences_that_assert(case: Case) -> Iterator[dict[str, float]]:
    """Yield the features of each sentence that asserts something: what the weights are learned from."""
    named = frozenset([word.stem for word in read(normalise(case.user_message).lower()).words])
    cited = [index(source) for source in case.cited]
    for sentence in sentences(normalise(case.draft)):
        words = read(sentence.text.lower())
        passage = best_passage(words, cited)
        features = describe(sentence.text, words, cited, passage, named)
        if not _asserts_nothing(sentence.text.lower(), words, 1 - features["beside"]):
            yield features


def _judge(case: Case, found: list[Sentence]) -> Iterable[Judged]:
    """Yield each sentence with what it asserts."""
    asked = normalise(case.user_message).lower()
    words_asked = read(asked)
    named = frozenset([word.stem for word in words_asked.words])
    cited = [index(source) for source in case.cited]
    silent = True
    for sentence in found:
        lowered = sentence.text.lower()
        words = read(lowered)
        support = weigh(sentence.text, words, cited, named)
        if _asserts_nothing(lowered, words, support.cover):
            if silent and sentence is found[-1] and asked.rstrip().endswith("?") and _AFFIRMS.match(found[0].text):
                # A mere "yes" asserts what the user asked.
                support = weigh(case.user_message, words_asked, cited, frozenset())
                yield _judged(found[-1], support, topic_of(asked, words_asked, case.topics))
            else:
                yield Judged(sentence, lowered, None, 0.0)
            continue
        silent = False
        topic = topic_of(lowered, words, case.topics)
        if topic is None and len(words.content) <= _SHORT and not _POINTING.isdisjoint(words.texts):
            topic = topic_of(asked, words_asked, case.topics)
        yield _judged(sentence, support, topic)


def _asserts_nothing(lowered: str, words: Words, cover: float) -> bool:
    if not words.content:
        return True
    if cover < _RESTATED or not _IN_PERSON.isdisjoint(words.texts):
        return phrases.asserts_nothing(lowered)
    return False


def _judged(sentence: Sentence, support: Support, topic: str | None) -> Judged:
    source_id = quote = None
    if support.doubt < UNSUPPORTED:
        kind = "stated" if support.cover >= STATED else "implied"
        source_id, quote = support.passage.source_id, support.passage.quote
    else:  # what is basic and uncontroversial, words do not tell
        kind = "unsupported"
    form = {"text": sentence.text, "support": kind, "source_id": source_id, "quote": quote, "topic": topic}
    return Judged(sentence, sentence.text.lower(), Assertion.model_validate(form), support.doubt)
