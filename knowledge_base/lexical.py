"""Selection without a model: BM25 over summaries, titles and texts.

A question that asks several things is split, and each part chooses for itself. A summary says which questions its
section answers, and sends others on ("for stress use stress"): those words count for the section they point to.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from knowledge_base.library import Library, Source
from knowledge_base.words import terms

TITLE, SUMMARY, TEXT = 2, 2, 0.5
"""How often a word counts in each place."""
SATURATION, LENGTHS = 1.5, 0.5
"""BM25's k1 and b: how soon more of a word says no more, and how much longer sections count less."""
Postings = dict[str, tuple[tuple[int, float], ...]]
FLOOR, COVERAGE, BESIDE = 0.12, 0.4, 0.7
"""A section needs this share of the rarest word's weight, must meet this share of what the part asks, and must come
this near to the best section."""
RECENT = 0.3
"""What a word of the turn before counts in a question too short to stand alone."""
SHORT = 3
"""A question of so few words is short."""
CHARACTERS, PARTS, WORDS = 8_000, 6, 60
"""How much of a question is read: its end, its last parts, and the first words of each."""
MISSPELT = 85
"""How alike a word must be to a known one, of 100, to be read as its misspelling."""
CORRECTED = 12
"""Longer parts are not searched for misspellings: that costs more, and they have words enough."""
SHORT_UNKNOWN = 2.0
"""The weight of an unknown word of up to three letters: often only a slip. A longer one counts like a rare word."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A section chosen for a question."""

    id: str
    score: float
    reason: str


class Lexical:
    """Chooses sections of one library by their words. Build it once; it keeps no state between questions."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._ids = list(library)
        self._titles = [frozenset(terms(source.title)) for source in library.sources]
        self._titled = {
            term: [n for n, title in enumerate(self._titles) if term in title]
            for term in frozenset[str]().union(*self._titles)
        }
        """Sections by the words of their titles."""
        heads = _postings([_head(source, library) for source in library.sources])
        texts = _postings([terms(source.text) for source in library.sources])
        self._postings = _merged(heads, texts)
        self._where = {term: frozenset(n for n, _ in found) for term, found in self._postings.items()}
        count = len(self._ids)
        rarity = [math.log(1 + (count - n + 0.5) / (n + 0.5)) for n in range(count + 1)]
        self._unknown = rarity[0]
        self._weights = {
            term: max(rarity[len(heads.get(term, ()))] if term in heads else 0, rarity[len(self._postings[term])])
            for term in self._postings
        }

    def choose(self, question: str, recent: Sequence[str], limit: int) -> list[Choice]:
        """Choose the sections that a question needs, best first; none when nothing fits.

        Args:
            question: the user's message.
            recent: the user's turns before it, the newest last; they help short follow-ups only.
            limit: the largest number of sections.
        """
        asked = [terms(part)[:WORDS] for part in parts(question[-CHARACTERS:])[-PARTS:]]
        ranked = [self._rank(part, []) for part in asked]
        if recent and not all(ranked):  # what was said before helps only a question that says too little by itself
            before = terms(recent[-1][-CHARACTERS:])[:WORDS]
            ranked = [found or self._rank(part, before) for found, part in zip(ranked, asked, strict=True)]
        chosen: dict[str, Choice] = {}
        for rank in range(limit):  # every part's best comes before any part's second
            for choice in sorted((part[rank] for part in ranked if rank < len(part)), key=lambda c: -c.score):
                chosen.setdefault(choice.id, choice)
        return list(chosen.values())[:limit]

    def _rank(self, asked: list[str], before: list[str]) -> list[Choice]:
        if len(asked) <= CORRECTED:
            asked = [term if term in self._postings else self._correct(term) for term in asked]
        weights = dict.fromkeys(asked, 1.0)
        total = sum(self._weights.get(term, self._unknown if len(term) > 3 else SHORT_UNKNOWN) for term in weights)
        if not total:
            return []
        if len(weights) <= SHORT:
            weights = {term: RECENT for term in before if term in self._postings} | weights
        scores, met = [0.0] * len(self._ids), [0.0] * len(self._ids)
        for term, weight in weights.items():
            counts = self._weights.get(term, 0.0) if weight == 1 else 0.0
            for n, score in self._postings.get(term, ()):
                scores[n] += weight * score
                met[n] += counts
        for n in {n for term in weights for n in self._titled.get(term, ())}:
            title = self._titles[n]
            scores[n] *= 1 + len(title & weights.keys()) / len(title | weights.keys())
        return self._above_floor(weights, scores, met, total)

    def _above_floor(
        self, asked: Mapping[str, float], scores: list[float], met: list[float], total: float
    ) -> list[Choice]:
        floor = max(FLOOR * self._unknown, BESIDE * max(scores, default=0))
        fit = [n for n, score in enumerate(scores) if score >= floor and met[n] / total >= COVERAGE]
        return [
            Choice(self._ids[n], round(scores[n], 3), self._reason(n, asked))
            for n in sorted(fit, key=lambda n: (-scores[n], n))
        ]

    def _reason(self, n: int, asked: Mapping[str, float]) -> str:
        return "words: " + ", ".join(term for term in asked if n in self._where.get(term, ()))

    def _correct(self, term: str) -> str:
        """Return the known term that an unknown one is probably a misspelling of, or the term itself."""
        if len(term) < 6:
            return term
        near = process.extractOne(term, self._postings.keys(), scorer=fuzz.ratio, score_cutoff=MISSPELT)
        return near[0] if near else term


_BREAK = re.compile(
    r"[?!.;\n]+|(?:,|,?\s+(?:and|but|or|also))\s+(?:also\s+)?"
    r"(?=(?:what|how|why|when|where|who|can|could|should|do|does|is|are|will|would)\b)",
    re.IGNORECASE,
)


def parts(question: str) -> list[str]:
    """Split a question into the things it asks."""
    return [part for part in map(str.strip, _BREAK.split(question)) if part]


def _head(source: Source, library: Library) -> list[str]:
    """Collect the words of a section's title and summary, and those that other summaries send to it."""
    own = _without_pointers(source.summary, library)[0]
    sent = [words for other in library.sources for target, words in _without_pointers(other.summary, library)[1]
            if target == source.id]  # fmt: skip
    return terms(source.title) * TITLE + terms(own) * SUMMARY + terms(" ".join(sent))


def _merged(heads: Postings, texts: Postings) -> Postings:
    """Add up the scores of the two indexes, in an order that is the same in every process: it decides between corrections."""
    merged = {}
    for term in sorted(heads.keys() | texts.keys()):
        scores = dict(heads.get(term, ()))
        for n, score in texts.get(term, ()):
            scores[n] = scores.get(n, 0) + TEXT * score
        merged[term] = tuple(scores.items())
    return merged


_POINTER = re.compile(r"\bfor ((?:(?!\bfor\b)[^.]){1,200}?) (?:use|choose|see) ([a-z0-9-]+)", re.IGNORECASE)


def _without_pointers(summary: str, library: Library) -> tuple[str, list[tuple[str, str]]]:
    """Split a summary into its own words and (id, words) of each "for ... use id" that sends a question elsewhere."""
    found = [(match[2], match[1]) for match in _POINTER.finditer(summary) if match[2] in library]
    return _POINTER.sub(lambda match: " " if match[2] in library else match[0], summary), found


def _postings(documents: list[list[str]]) -> Postings:
    """Index documents with BM25, as Lucene weighs it, and return the (document, score) pairs of each term.

    Written here, because the library bm25s imports scipy's sparse matrices: a fifth of the memory of a process that serves.
    """
    mean = sum(map(len, documents)) / max(1, len(documents)) or 1
    counts = [Counter(document) for document in documents]
    found = Counter(term for count in counts for term in count)
    rarity = {term: math.log(1 + (len(documents) - n + 0.5) / (n + 0.5)) for term, n in found.items()}
    scores: dict[str, list[tuple[int, float]]] = {term: [] for term in found}
    for n, count in enumerate(counts):
        damping = SATURATION * (1 - LENGTHS + LENGTHS * len(documents[n]) / mean)
        for term, often in count.items():
            scores[term].append((n, rarity[term] * often / (often + damping)))
    return {term: tuple(pairs) for term, pairs in scores.items() if term}
