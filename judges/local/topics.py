"""Which sensitive topic a sentence touches."""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from judges.case import Topic
from judges.kept import Remembered
from judges.local import lexicon
from judges.local.reading import MOST_KEPT, Reading, stem, words
from judges.topics import built_in, built_in_terms, is_drug, plain_name


class Phrase(NamedTuple):
    """A term of several words."""

    last: str
    """Its last word, which is looked for first: a search for the pattern takes ten times as long."""
    pattern: re.Pattern[str]
    name: str


class Touch(NamedTuple):
    """What a word touches by itself, and with the words that follow it."""

    name: str | None
    phrases: list[Phrase]


class Lexicon:
    """The sensitive topics of one chatbot, ready to be looked up."""

    def __init__(self, topics: Iterable[Topic]) -> None:
        self.stems: dict[str, str] = {}
        self.phrases: dict[str, list[Phrase]] = {}
        """Terms of several words, by the first."""
        self.drugs: str | None = None
        for topic in topics:
            self._learn(topic)
        self._touches = Remembered(self._touch)
        self._told: dict[int, str | None] = {}
        """What sentences touch, which often come again, by their hashes."""

    def _learn(self, topic: Topic) -> None:
        name, known = plain_name(topic), built_in(topic)
        if {"medication", "supplement"} & known and self.drugs is None:
            self.drugs = topic.name
        terms = [name, *topic.terms, *built_in_terms(known)]
        if not known:
            terms += [w for w in re.findall(r"[\w-]{4,}", name) if w not in lexicon.STOP_WORDS | lexicon.LIGHT_WORDS]
        for term in terms:
            found = words(term)
            if len(found) == 1:
                self.stems.setdefault(stem(found[0]), topic.name)
            elif found:
                pattern = r"\b" + r"[\s-]+".join(re.escape(word) for word in found)
                self.phrases.setdefault(found[0], []).append(Phrase(found[-1], re.compile(pattern), topic.name))

    def find(self, text: str) -> str | None:
        """Return the name of the first topic that a normalised text touches."""
        return self.find_in(text.lower(), words(text))

    def find_in(self, lowered: str, tokens: Iterable[str]) -> str | None:
        """As `find`, for a text whose words are known already."""
        for touch in filter(None, map(self._touches.__getitem__, tokens)):
            if touch.name is not None:
                return touch.name
            for last, pattern, name in touch.phrases:
                if last in lowered and pattern.search(lowered):
                    return name
        return None

    def find_again(self, reading: Reading) -> str | None:
        """As `find`, for a sentence of a reply; what is found is kept for when it comes again."""
        key = hash(reading.lowered)
        if key in self._told:
            return self._told[key]
        if len(self._told) >= MOST_KEPT:
            self._told.clear()
        name = self._told[key] = self.find_in(reading.lowered, reading.words)
        return name

    def _touch(self, word: str) -> Touch | None:
        name = self.stems.get(stem(word)) or (self.drugs if is_drug(word) else None)
        phrases = self.phrases.get(word, [])
        return Touch(name, phrases) if name or phrases else None


@lru_cache(maxsize=64)
def compiled(topics: tuple[Topic, ...]) -> Lexicon:
    """Return the lexicon of some topics; built once per chatbot."""
    return Lexicon(topics)
