"""Selection without a model: BM25 over summaries, titles and texts.

A question that asks several things is split, and each part chooses for itself. A summary says which questions its
section answers, and sends others on ("for stress use stress"): those words count for the section they point to.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Protocol

from rapidfuzz import fuzz, process

from knowledge_base.words import terms

TITLE, SUMMARY, TEXT = 2, 2, 0.5
"""How often a word counts in each place."""
K1, B = 1.5, 0.5
"""Parameters of BM25: term saturation, and normalisation by length."""
Postings = dict[str, dict[int, float]]
"""What each term scores in the documents that have it."""
MIN_RARE_SHARE, MIN_COVERAGE, MIN_SHARE_OF_BEST = 0.12, 0.4, 0.7
"""A section needs this share of the rarest word's weight, must meet this share of what the part asks, and must come
this near to the best section."""
RECENT_WEIGHT = 0.3
"""Weight of a word of the turn before, in a question too short to stand alone."""
SHORT_QUESTION = 3
"""A question of so few words is short."""
MAX_CHARS, MAX_PARTS, MAX_WORDS = 8_000, 6, 60
"""How much of a question is read: its end, its last parts, and the first words of each."""
MIN_SIMILARITY = 85
"""Similarity (0-100) from which a word is read as a misspelling of a term of the index."""
MIN_CORRECTED_CHARS = 6
"""Words from this length on are searched for misspellings: too many shorter ones are alike."""
MAX_CORRECTED_WORDS = 12
"""Longer parts are not searched for misspellings: that costs more, and they have words enough."""
SHORT_UNKNOWN_WEIGHT = 2.0
"""The weight of an unknown word of up to three letters: often only a slip. A longer one counts like a rare word."""


class Section(Protocol):
    """What the index reads of a section; a `library.Source` is one."""

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
    """A section chosen for a question."""

    id: str
    score: float
    reason: str


class LexicalIndex:
    """Chooses sections of one library by their words. Build it once; it keeps no state between questions."""

    def __init__(self, library: Mapping[str, Section]) -> None:
        self.library = library
        self._ids = list(library)
        self._titles = [frozenset(terms(section.title)) for section in library.values()]
        self._sections_by_title_term = {
            term: [n for n, title in enumerate(self._titles) if term in title]
            for term in frozenset[str]().union(*self._titles)
        }
        """Sections by the words of their titles."""
        heads = _bm25_index(_index_terms(library))
        self._postings = _add_scores(heads, _bm25_index([terms(section.text) for section in library.values()]))
        count = len(self._ids)
        rarity = [math.log(1 + (count - n + 0.5) / (n + 0.5)) for n in range(count + 1)]
        self._unknown_weight = rarity[0]
        self._weights = {
            term: max(rarity[len(heads[term])] if term in heads else 0, rarity[len(scores)])
            for term, scores in self._postings.items()
        }
        self._similar = _similar_by_length(self._postings)

    def choose(self, question: str, recent: Sequence[str], limit: int) -> list[SectionChoice]:
        """Choose the sections that a question needs, best first; none when nothing fits.

        Args:
            question: the user's message.
            recent: the user's turns before it, the newest last; they help short follow-ups only.
            limit: the largest number of sections.
        """
        terms_of_parts = [terms(part)[:MAX_WORDS] for part in split_question(question[-MAX_CHARS:])[-MAX_PARTS:]]
        ranked = [self._rank(part, [], limit) for part in terms_of_parts]
        if recent and not all(ranked):  # what was said before helps only a question that says too little by itself
            before = terms(recent[-1][-MAX_CHARS:])[:MAX_WORDS]
            ranked = [
                choices or self._rank(part, before, limit) for choices, part in zip(ranked, terms_of_parts, strict=True)
            ]
        chosen: dict[str, SectionChoice] = {}
        for equals in zip_longest(*ranked):  # every part's best comes before any part's second
            for choice in sorted(filter(None, equals), key=lambda c: -c.score):
                chosen.setdefault(choice.id, choice)
        return list(chosen.values())[:limit]

    def _rank(self, query_terms: list[str], terms_before: list[str], limit: int) -> list[SectionChoice]:
        if len(query_terms) <= MAX_CORRECTED_WORDS:
            query_terms = [term if term in self._postings else self._correct(term) for term in query_terms]
        weights = dict.fromkeys(query_terms, 1.0)
        total = sum(
            [
                self._weights.get(term, self._unknown_weight if len(term) > 3 else SHORT_UNKNOWN_WEIGHT)
                for term in weights
            ]
        )
        if not total:
            return []
        if len(weights) <= SHORT_QUESTION:
            weights = {term: RECENT_WEIGHT for term in terms_before if term in self._postings} | weights
        scores = [0.0] * len(self._ids)
        for term, weight in weights.items():
            for n, score in self._postings.get(term, _NO_SCORES).items():
                scores[n] += weight * score
        for n in {n for term in weights for n in self._sections_by_title_term.get(term, ())}:
            title = self._titles[n]
            shared = len(title.intersection(weights))
            scores[n] *= 1 + shared / (len(title) + len(weights) - shared)
        return self._above_floor(weights, scores, total, limit)

    def _above_floor(
        self, weights: Mapping[str, float], scores: list[float], total: float, limit: int
    ) -> list[SectionChoice]:
        floor = max(MIN_RARE_SHARE * self._unknown_weight, MIN_SHARE_OF_BEST * max(scores, default=0))
        near = [n for n, score in enumerate(scores) if score >= floor]
        choices: list[SectionChoice] = []
        for n in sorted(near, key=scores.__getitem__, reverse=True):
            matched = [term for term in weights if n in self._postings.get(term, _NO_SCORES)]
            if sum([self._weights[term] for term in matched if weights[term] == 1]) / total >= MIN_COVERAGE:
                choices.append(SectionChoice(self._ids[n], round(scores[n], 3), "words: " + ", ".join(matched)))
        return choices[:limit]

    def _correct(self, term: str) -> str:
        """Return the term of the index that a term is probably a misspelling of, or the term itself."""
        similar = self._similar.get(len(term), ())
        near = process.extractOne(term, similar, scorer=fuzz.ratio, score_cutoff=MIN_SIMILARITY)
        return near[0] if near else term


_NO_SCORES: dict[int, float] = {}
# What it can begin with is looked for first, which passes over the letters between in half the time. Before a word that joins,
# the last of many spaces are enough: else thousands of them, tried from each on, take a second.
_BREAK = re.compile(
    r"(?=[?!.;,\s])(?:[?!.;\n]+|(?:,|(?:,\s++|\s{1,50}+)(?:and|but|or|also))\s++(?:also\s++)?"
    r"(?=(?:what|how|why|when|where|who|can|could|should|do|does|is|are|will|would)\b))",
    re.IGNORECASE,
)


def split_question(question: str) -> list[str]:
    """Split a question into the things it asks."""
    return [part for part in map(str.strip, _BREAK.split(question)) if part]


def _index_terms(library: Mapping[str, Section]) -> list[list[str]]:
    """Collect the words of each section's title and summary, and those that other summaries send to it."""
    summaries = [_split_pointers(section.summary, library) for section in library.values()]
    sent_elsewhere = [pointer for _, pointers in summaries for pointer in pointers]
    return [
        terms(section.title) * TITLE
        + terms(own) * SUMMARY
        + terms(" ".join([words for target, words in sent_elsewhere if target == section.id]))
        for section, (own, _) in zip(library.values(), summaries, strict=True)
    ]


def _add_scores(heads: Postings, texts: Postings) -> Postings:
    """Add up the scores of the two indexes. Terms are sorted, since their order decides between corrections."""
    scores_by_term = {}
    for term in sorted(heads.keys() | texts.keys()):
        scores = dict(heads.get(term, _NO_SCORES))
        for n, score in texts.get(term, _NO_SCORES).items():
            scores[n] = scores.get(n, 0) + TEXT * score
        scores_by_term[term] = scores
    return scores_by_term


def _similar_by_length(postings: Postings) -> dict[int, list[str]]:
    """Return, by length of a word, the terms that it can be a misspelling of: those of similar length."""
    lengths = {len(term) for term in postings}
    return {
        length: [term for term in postings if 200 * min(len(term), length) >= MIN_SIMILARITY * (len(term) + length)]
        for length in range(MIN_CORRECTED_CHARS, 2 * max(lengths, default=0))
    }


_POINTER = re.compile(r"\bfor ((?:(?!\bfor\b)[^.]){1,200}?) (?:use|choose|see) ([a-z0-9-]+)", re.IGNORECASE)


def _split_pointers(summary: str, library: Mapping[str, Section]) -> tuple[str, list[tuple[str, str]]]:
    """Split a summary into its own words and (id, words) of each "for ... use id" that sends a question elsewhere."""
    pointers = [(match[2], match[1]) for match in _POINTER.finditer(summary) if match[2] in library]
    return _POINTER.sub(lambda match: " " if match[2] in library else match[0], summary), pointers


def _bm25_index(documents: list[list[str]]) -> Postings:
    """Index documents with BM25, as Lucene weighs it, and return what each term scores in each.

    Written here, because the library bm25s imports scipy's sparse matrices: a fifth of the memory of a process that serves.
    """
    mean = sum(map(len, documents)) / max(1, len(documents)) or 1
    counts = [Counter(document) for document in documents]
    document_counts = Counter(term for count in counts for term in count)
    rarity = {term: math.log(1 + (len(documents) - n + 0.5) / (n + 0.5)) for term, n in document_counts.items()}
    scores: Postings = {term: {} for term in document_counts}
    for n, count in enumerate(counts):
        damping = K1 * (1 - B + B * len(documents[n]) / mean)
        for term, often in count.items():
            scores[term][n] = rarity[term] * often / (often + damping)
    return scores
