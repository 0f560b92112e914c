"""What a reply asserts, how far its sources carry it, and how it speaks of where it comes from."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from judges import phrases
from judges.case import Case
from judges.local import language
from judges.local.support import Support, best_passage, index_source, measure_support, support_features
from judges.local.words import Words, read_words
from judges.observation import Assertion, Claims
from judges.plain_text import plain
from judges.sentences import Sentence, normalise, sentences
from judges.topics import topic_of
from knowledge_base.library import Source

UNSUPPORTED_DOUBT = 0.5
"""Doubt from which a sentence is not supported."""
STATED_COVER = 0.8
"""Share of a supported sentence's content that a passage has, from which on it states the sentence."""
_RESTATED_COVER = 0.6
"""Share of a sentence's content that a passage has, from which on it restates the passage, whatever it is phrased like."""
_FIRST_PERSON = frozenset("i my i'm".split())
"""Words of a chatbot that speaks of itself, which no source does."""
_MAX_SHORT_WORDS = 2
"""Words with content up to which a sentence that points ("stop it") speaks of what the user spoke of."""
_PRONOUNS = frozenset("it that this these those them both either so one they".split())
_AFFIRMS = re.compile(
    r"\W*(?:yes|no|absolutely|definitely|certainly|of course|sure|yep|yeah|nope|correct|exactly)\b", re.I
)


@dataclass(frozen=True, slots=True)
class JudgedSentence:
    """A sentence of the reply."""

    sentence: Sentence
    lowered: str
    assertion: Assertion | None
    """What it asserts, if anything."""
    strength: float
    """How surely that is unsupported, 0 to 1."""


@dataclass(frozen=True, slots=True)
class ReplyReading:
    """A reply as the local claims judges and the local refiner read it."""

    sentences: tuple[JudgedSentence, ...]
    claims: Claims


def observe(case: Case) -> tuple[Claims, float]:
    """Fill in the form for a reply, and say how surely it asserts what its cited sources do not support.

    Raises:
        Unreadable: The reply is not in English, or hides its words.
    """
    reading = read_reply(case)
    return reading.claims, max([one.strength for one in reading.sentences], default=0.0)


@lru_cache(maxsize=16)
def read_reply(case: Case) -> ReplyReading:
    """Read the reply of a case. Cached, since two judges and the refiner read the same case."""
    language.check_english(case.draft)
    draft = normalise(case.draft)
    judged_sentences = tuple(_judge_sentences(case, list(sentences(draft))))
    statements = [one.lowered for one in judged_sentences]
    is_taken_back = any(map(phrases.takes_back, statements))
    claims = Claims(
        assertions=[one.assertion for one in judged_sentences if one.assertion is not None],
        admits_not_from_sources="no" if is_taken_back else phrases.strongest_of(map(phrases.admits, statements)),
        asks_to_verify="no" if is_taken_back else phrases.strongest_of(map(phrases.verifies, statements)),
    )
    return ReplyReading(judged_sentences, claims)


def _supporting(case: Case) -> list[Source]:
    """Return the sources that words are compared with. On a sensitive topic: those cited, unless only the reply's words have found
    them. "It cures schizophrenia" would find "No diet is known to cure schizophrenia"."""
    if topic_of(plain(f"{case.draft}\n{case.user_message}"), case.topics) is None:
        return [*case.supporting]
    return [one for one in case.cited if one.id not in case.by_own_words]


def asserting_sentence_features(case: Case) -> Iterator[dict[str, float]]:
    """Yield the features of each sentence that asserts something, for training."""
    question_stems = frozenset([word.stem for word in read_words(normalise(case.user_message).lower()).words])
    cited = [index_source(source) for source in case.supporting]
    for sentence in sentences(normalise(case.draft)):
        words = read_words(sentence.text.lower())
        passage = best_passage(words, cited)
        features = support_features(sentence.text, words, cited, passage, question_stems)
        if not _asserts_nothing(sentence.text.lower(), words, 1 - features["beside"]):
            yield features


def _judge_sentences(case: Case, parts: list[Sentence]) -> Iterable[JudgedSentence]:
    """Yield each sentence with what it asserts."""
    question = normalise(case.user_message)
    question_words = read_words(question.lower())
    question_stems = frozenset([word.stem for word in question_words.words])
    question_topic = topic_of(plain(question), case.topics)
    cited = [index_source(source) for source in _supporting(case)]
    silent = True
    for sentence in parts:
        lowered = sentence.text.lower()
        words = read_words(lowered)
        support = measure_support(sentence.text, words, cited, question_stems)
        if not _asserts_nothing(lowered, words, support.cover):
            silent = False
            topic = topic_of(plain(sentence.text), case.topics)
            if topic is None and len(words.content) <= _MAX_SHORT_WORDS and not _PRONOUNS.isdisjoint(words.texts):
                topic = question_topic
            yield _judge_sentence(sentence, support, topic)
        elif silent and sentence is parts[-1] and question.rstrip().endswith("?") and _AFFIRMS.match(parts[0].text):
            # A mere "yes" asserts what the user asked.
            support = measure_support(question, question_words, cited, frozenset())
            yield _judge_sentence(sentence, support, question_topic)
        else:
            yield JudgedSentence(sentence, lowered, None, 0.0)


def _asserts_nothing(lowered: str, words: Words, cover: float) -> bool:
    if not words.content:
        return True
    if cover < _RESTATED_COVER or not _FIRST_PERSON.isdisjoint(words.texts):
        return phrases.asserts_nothing(lowered)
    return False


def _judge_sentence(sentence: Sentence, support: Support, topic: str | None) -> JudgedSentence:
    source_id = quote = None
    if support.doubt < UNSUPPORTED_DOUBT:
        kind = "stated" if support.cover >= STATED_COVER else "implied"
        source_id, quote = support.passage.source_id, support.passage.quote
    else:  # what is basic and uncontroversial, words do not tell
        kind = "unsupported"
    form = {"text": sentence.text, "support": kind, "source_id": source_id, "quote": quote, "topic": topic}
    return JudgedSentence(sentence, sentence.text.lower(), Assertion.model_validate(form), support.doubt)
