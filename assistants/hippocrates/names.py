"""Normalises names of concepts, and searches them. All functions are pure.

Names are compared word by word. Letter case, accents, plural endings, British spelling and SNOMED tags (`(disorder)`) are ignored.
"""

import functools
import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import OSA

EXACT_NAME, EXACT_SYNONYM, SAME_WORDS = 1.0, 0.98, 0.95
ALL_WORDS = 0.6
"""Minimum score of a name that contains all words of the query."""
SIMILAR = 0.7
"""Minimum similarity (1 - edits / length) of a misspelt word. This allows two edits in a word of seven letters."""
COMPLETE = ALL_WORDS * SIMILAR
"""Minimum score of a name that contains all words of the query, possibly misspelt. Other names have lower scores."""
_LEAST = 0.15
"""Minimum score of a name in the results of a search."""
_STOP = frozenset("a an and as at by due for from in into nos of on or other the to unspecified with".split())
_TAGS = re.compile(
    r"(?:(?<!\s)\s++)?\((?:disorder|finding|procedure|morphologic abnormality|situation|event|observable entity|substance|product|"
    r"clinical drug|regime/therapy|medicinal product|organism|person|body structure|specimen|assessment scale)\)\s*$",
    re.IGNORECASE,
)
"""Matches the tag at the end of a full SNOMED name, such as "(disorder)"."""
_WORD = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d_]+")


class Name(NamedTuple):
    concept_id: int
    text: str
    words: frozenset[str]
    key: str
    own: bool
    """Whether this is the concept's main name, and not a synonym."""


def content_words(text: str) -> list[str]:
    """Return the normalised words of a text, in their order, without stop words."""
    return [_fold(word) for word in _WORD.findall(_plain(text)) if word not in _STOP]


def read_name(concept_id: int, text: str, *, own: bool) -> Name:
    words = _WORD.findall(_plain(_TAGS.sub("", text) if text.endswith(")") else text))
    folded = [_fold(word) for word in words]
    content = frozenset(fold for fold, word in zip(folded, words, strict=True) if word not in _STOP)
    return Name(concept_id, text, content, " ".join(folded), own)


def _plain(text: str) -> str:
    if text.isascii():
        return text.casefold()
    letters = unicodedata.normalize("NFKD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).casefold()


@functools.lru_cache(maxsize=1 << 16)
def _fold(word: str) -> str:
    """Convert a word to the singular and to American spelling, such as "tumours" to "tumor" and "oedema" to "edema"."""
    word = word.replace("ae", "e").replace("oe", "e")
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return f"{word[:-3]}or" if len(word) > 4 and word.endswith("our") else word


class NameIndex:
    """Searches a list of names by their words. Results are scores, by index in the list."""

    def __init__(self, names: Sequence[Name], domains: Sequence[str]) -> None:
        """Args: domains: For each name, the domain of its concept, in lower case."""
        self._names = names
        self._equal: dict[object, list[int]] = defaultdict(list)
        postings: dict[str, list[int]] = defaultdict(list)
        for place, name in enumerate(names):
            for key in filter(None, (name.key, name.words)):
                self._equal[key].append(place)
            for word in name.words:
                postings[word].append(place)
        self._domains = np.array(domains, str)
        self._postings = {word: np.array(places, np.int32) for word, places in postings.items()}
        self._rarity = {word: float(np.log1p(len(names) / len(places))) for word, places in postings.items()}
        self._weight = np.array([sum(self._rarity[word] for word in name.words) or 1.0 for name in names], np.float32)

    def look_up(self, text: str) -> dict[int, float]:
        """Return the scores of the names that equal a text, or contain exactly its words in another order."""
        query = read_name(0, text, own=True)
        same, exact = (self._equal.get(key, ()) for key in (query.words, query.key))
        scores = {place: EXACT_NAME if self._names[place].own else EXACT_SYNONYM for place in exact}
        return dict.fromkeys(same, SAME_WORDS) | scores

    def search(self, text: str, domains: Collection[str], limit: int) -> dict[int, float]:
        """Return the scores of the `limit` names that match a text best.

        A name with all words of the text scores at least `ALL_WORDS`. Its score is higher if it has few other words. A name with
        some of the words scores less, depending on the weight of these words. Misspelt words count by their similarity.
        """
        words = read_name(0, text, own=True).words
        if not words or not self._names:
            return {}
        total = 0.0
        text_weight, covered, shared = np.zeros((3, len(self._names)), np.float32)
        for word in sorted(words):
            alike = {word: 1.0} if word in self._postings else self._find_similar(word)
            rarity = max((self._rarity[one] for one in alike), default=float(np.log1p(len(self._names))))
            total += rarity
            best = np.zeros(len(self._names), np.float32)
            for similar_word, similarity in sorted(alike.items(), key=lambda pair: pair[1]):
                best[self._postings[similar_word]] = similarity
                covered[self._postings[similar_word]] += similarity * self._rarity[similar_word]
            text_weight += rarity * best
            shared += best > 0
        share = text_weight / total
        of_name = np.minimum(covered / self._weight, 1.0)
        complete = shared == len(words)
        score = np.where(complete, share * (ALL_WORDS + 0.3 * of_name), share * (0.3 + 0.1 * of_name))
        if domains:
            score *= np.isin(self._domains, [*domains])
        places = np.flatnonzero(score >= _LEAST)
        best_places = places[np.argsort(-score[places], kind="stable")[:limit]]
        return {int(place): float(score[place]) for place in best_places}

    def _find_similar(self, word: str) -> dict[str, float]:
        if not word.isalpha() or len(word) < 4:  # numbers must match exactly; short words resemble too many others
            return {}
        words = self._postings.keys()
        alike = process.extract(word, words, scorer=OSA.normalized_similarity, score_cutoff=SIMILAR, limit=5)
        return {one: similarity for one, similarity, _ in alike if similarity >= alike[0][1] - 0.1}
