"""Words to concepts of the vocabulary: taken where they are its own name for one, else offered as candidates."""

import re
from collections.abc import Collection
from functools import lru_cache

from assistants.hippocrates.names import EXACT_SYNONYM
from assistants.hippocrates.slots import Choice, Term
from assistants.hippocrates.vocabulary import Vocabulary

MOST_CANDIDATES = 10
_ID = re.compile(r"(?:omop )?concept(?: id)? (\d+)", re.I)


class Terms:
    """The only way from words to concepts. No concept comes from anywhere but the vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._cached = lru_cache(maxsize=4096)(self._lookup)  # every request reads the whole conversation anew

    def look_up(self, words: str, domains: Collection[str] = ()) -> Term | None:
        """Return the term if the words are a name, a synonym or `concept ID`; with candidates if they are so of several."""
        return self._cached(words, frozenset(domains))

    def search(self, words: str, domains: Collection[str] = ()) -> Term | None:
        """Return the term of the words, else the candidates that they may mean, or None if they are like no name."""
        if term := self.look_up(words, domains):
            return term
        if _ID.fullmatch(words):
            return None
        matches = self._vocabulary.find(unquoted(words), domains, MOST_CANDIDATES)
        return Term(unquoted(words), candidates=tuple(match.concept for match in matches)) if matches else None

    def _lookup(self, words: str, domains: frozenset[str]) -> Term | None:
        if by_id := _ID.fullmatch(words):
            concept = self._vocabulary.get(int(by_id[1]))
            fits = concept is not None and (not domains or concept.domain_id in domains)
            return Term(words, (Choice(concept),)) if concept and fits else None
        words = unquoted(words)
        matches = [match for match in self._vocabulary.lookup(words) if match.score >= EXACT_SYNONYM]
        matches = [match for match in matches if not domains or match.concept.domain_id in domains]
        if not matches:
            return None
        standard = [match for match in matches if match.concept.standard]
        by_name = [match.concept for match in standard if match.score > EXACT_SYNONYM]
        concepts = by_name or [match.concept for match in standard]
        if len(concepts) == 1:
            return Term(words, (Choice(concepts[0]),))
        return Term(words, candidates=tuple(match.concept for match in matches)[:MOST_CANDIDATES])


def unquoted(words: str) -> str:
    """Return a phrase without the quotation marks around it."""
    words = words.strip()
    return words[1:-1].strip() if len(words) > 2 and words[0] == words[-1] and words[0] in "\"'" else words
