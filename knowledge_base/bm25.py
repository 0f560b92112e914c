"""SectionIndex searches sections with BM25 over title, summary and text, using Snowball stemming and stop words."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Literal, Protocol

K1, B = 1.5, 0.75
"""BM25 parameters: term saturation and length normalisation. These are the usual values; others gave the same results."""
MAX_QUERY_CHARS = 8_000
"""Maximum characters of a query. Only the end of a longer query is used."""
_WORD = re.compile(r"[^\W_]{1,40}(?:['’][^\W_]{1,10})?")


Language = Literal[
    "danish", "dutch", "english", "french", "german", "italian", "norwegian", "portuguese", "russian", "spanish", "swedish",
    "turkish",
]  # fmt: skip
"""The languages with both a Snowball stemmer and a list of stop words."""


class Section(Protocol):
    """Interface of the sections that an index searches. `library.Source` implements it."""

    @property
    def id(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class SectionChoice:
    """A section found by BM25 or selected by a model."""

    id: str
    score: float
    reason: str
    """The words in common with the query, or the part of the question that the section answers."""


class SectionIndex:
    """A BM25 index of the sections of a library. Queries do not change the index, so build it once and share it."""

    def __init__(self, library: Mapping[str, Section], language: Language = "english") -> None:
        # Imported here: the import takes a second and 80 MB, which only chatbots with a knowledge base need.
        from bm25s import BM25

        self.library = library
        self.language = language
        self._ids = list(library)
        words = [stems(f"{one.title} {one.summary} {one.text}", language) for one in library.values()]
        self._words = [frozenset(one) for one in words]
        self._numbers = {word: n for n, word in enumerate(dict.fromkeys(word for one in words for word in one))}
        self._bm25 = BM25(k1=K1, b=B)
        if self._numbers:
            encoded = [[self._numbers[word] for word in one] for one in words]
            self._bm25.index((encoded, self._numbers), show_progress=False)

    def choose(self, question: str, before: str, limit: int) -> list[SectionChoice]:
        """Return the sections for a question, best first.

        The search uses the question alone, except for one section: that search includes the previous exchange, because a follow-up
        such as "and why?" has too few words. For the follow-up questions in `scenarios/benign`, this finds all 15 sections; the
        question alone finds 6.

        Args:
            question: The user's message.
            before: The previous message and reply; empty for the first message.
            limit: Maximum number of sections.
        """
        alone = self.search(question, limit)
        if not before:
            return alone
        with_exchange = self.search(f"{before}\n{question}", 1)
        return list({one.id: one for one in (*alone[: max(limit - 1, 1)], *with_exchange, *alone)}.values())[:limit]

    def search(self, text: str, limit: int) -> list[SectionChoice]:
        """Return up to `limit` sections that share a word with a text, best first."""
        words = [one for one in dict.fromkeys(stems(text[-MAX_QUERY_CHARS:], self.language)) if one in self._numbers]
        if not words:
            return []
        scores = self._bm25.get_scores_from_ids([self._numbers[word] for word in words])
        order = (-scores).argsort(kind="stable")[:limit]
        return [self._choice(int(n), float(scores[n]), words) for n in order if scores[n] > 0]

    def _choice(self, section: int, score: float, words: Iterable[str]) -> SectionChoice:
        reason = "words: " + ", ".join(word for word in words if word in self._words[section])
        return SectionChoice(self._ids[section], round(score, 3), reason)


def stems(text: str, language: Language = "english") -> list[str]:
    """Return the stems of the words of a text, in order, without stop words."""
    stem, stop = _stemmer(language)
    return [stem(word) for word in _WORD.findall(text.lower()) if word.replace("’", "'") not in stop]


@cache
def _stemmer(language: Language) -> tuple[Callable[[str], str], frozenset[str]]:
    import snowballstemmer
    from bm25s import stopwords

    stop = getattr(stopwords, "STOPWORDS_" + {"english": "EN_PLUS"}.get(language, language.upper()))
    return lru_cache(maxsize=5_000)(snowballstemmer.stemmer(language).stemWord), frozenset(stop)
