"""Which sensitive topic a sentence touches."""

import re
from dataclasses import dataclass
from functools import lru_cache

from judges.case import Topic
from judges.local.words import STOP_WORDS, Words, read_words
from judges.sentences import normalise
from judges.topics import built_in, built_in_terms, is_drug, plain_name


@dataclass(frozen=True, slots=True)
class Terms:
    """The words that touch one topic."""

    name: str
    stems: frozenset[str]
    phrases: re.Pattern[str] | None
    drugs: bool
    """Whether the name of any medicine does."""

    def touched_by(self, lowered: str, words: Words) -> bool:
        """Tell whether a lower-case sentence touches the topic."""
        if not self.stems.isdisjoint([word.stem for word in words.words]):
            return True
        if self.phrases is not None and self.phrases.search(lowered):
            return True
        return self.drugs and any(is_drug(word.text) for word in words.words)


def topic_of(lowered: str, words: Words, topics: tuple[Topic, ...]) -> str | None:
    """Return the name of the first topic that a normalised lower-case sentence touches."""
    return next((terms.name for terms in _terms(topics) if terms.touched_by(lowered, words)), None)


@lru_cache(maxsize=64)
def _terms(topics: tuple[Topic, ...]) -> tuple[Terms, ...]:
    return tuple(map(_terms_of, topics))


def _terms_of(topic: Topic) -> Terms:
    name, built_in_names = plain_name(topic), built_in(topic)
    terms = [name, *topic.terms, *built_in_terms(built_in_names)]
    if not built_in_names:
        terms += [word for word in re.findall(r"[\w-]{4,}", name) if word not in STOP_WORDS]
    read_terms = [read_words(normalise(term).lower()).words for term in terms]
    phrases = [r"[\s-]+".join(re.escape(word.text) for word in words) for words in read_terms if len(words) > 1]
    return Terms(
        topic.name,
        frozenset([words[0].stem for words in read_terms if len(words) == 1]),
        re.compile(rf"\b(?:{'|'.join(phrases)})") if phrases else None,
        bool({"medication", "supplement"} & built_in_names),
    )
