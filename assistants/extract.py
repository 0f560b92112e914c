"""Answers a question with verbatim sentences of sections, selected by the words that they share with the question.

All functions are pure.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from rapidfuzz import fuzz, process

from knowledge_base.bm25 import stems

FEWEST, MOST, WORDS = 3, 6, 120
"""Minimum and maximum number of sentences in an answer, and its maximum number of words."""
NEIGHBOUR, LEADING = 0.35, 0.6
"""Weights in a sentence's score: of the scores of adjacent sentences, and of the title's score for a section's first sentence."""
NEAR, SECOND = 0.35, 0.6
"""Minimum scores relative to the best sentence: of further sentences, and of the best sentence of another section."""
MISSPELT = 85
MOST_ASKED = 40
"""Maximum number of words of a question that are looked up in the sections."""
_LEANS = re.compile(r"(?:They|Them|It|Its|He|She|This|These|Those|Such|That|Then|Other|Others|Another|One of these|For that|"
                    r"Examples?|About \d|Both|So|Also|Instead|Often these|In such)\b")  # fmt: skip
"""Matches the beginning of a sentence that refers to the previous sentence, such as "They"."""
_HEADING = re.compile(r"^#{1,6} .*$", re.MULTILINE)
"""Matches markdown headings, which are removed from sections."""
_END = re.compile(
    r"(?:(?<=[.!?])|(?<=[.!?][\"')\]]))(?<!\b[DM]r\.)(?<!\bMrs\.)(?<!\bMs\.)(?<!\be\.g\.)(?<!\bi\.e\.)\s+(?![a-zß-ÿ])"
)
"""Matches the space between two sentences. Abbreviations such as "Dr." do not end a sentence."""


@cache
def _asking() -> frozenset[str]:
    """Return the stems of common words in questions, such as "explain", which say nothing about the subject."""
    return frozenset(
        stems(
            "ask explain find get give go good great help hello hey hi know least let like look lot make mean need now ok okay "
            "please question really say show sure talk tell thank thanks thing think want morning afternoon evening day today"
        )
    )


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a section. A list, with the sentence that introduces it, counts as one sentence."""

    text: str
    paragraph: int
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class Section:
    """A source in the chatbot's prompt: a section of the knowledge base, or a document."""

    id: str
    title: str
    sentences: tuple[Sentence, ...]
    title_terms: frozenset[str]

    @property
    def text(self) -> str:
        """The sentences of the section, without headings."""
        return " ".join(sentence.text for sentence in self.sentences)

    @property
    def is_document(self) -> bool:
        """Whether the source is a document of the request or of an earlier draft, and not a section of the knowledge base."""
        return self.id.startswith("doc:")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer that consists of verbatim sentences of sections."""

    text: str
    ids: tuple[str, ...]
    """Ids of the sections that the sentences come from."""
    coverage: float
    """Share of the question's words that the sections contain, from 0 to 1."""


@lru_cache(maxsize=256)
def section(name: str, title: str, text: str) -> Section:
    """Split a source into sentences. The result is cached, because consecutive turns usually have the same sources."""
    sentences = [
        Sentence(sentence, n, frozenset(stems(sentence)))
        for n, paragraph in enumerate(re.split(r"\n\s*\n", _HEADING.sub("", text).strip()))
        for sentence in _sentences(paragraph)
    ]
    return Section(name, title, tuple(sentences), frozenset(stems(title)))


def answer(question: str, before: str, sections: Sequence[Section], most: int = MOST) -> Answer | None:
    """Answer a question with sentences of the sections.

    Args:
        question: The user's message.
        before: The user's previous message, whose words count less; "" for the first message.
        sections: The sections to select sentences from.
        most: Maximum number of sentences.

    Returns:
        The answer, or None if no sentence shares a word with the question.
    """
    own = [_correct(term, sections) for term in question_terms(question)[:MOST_ASKED]]
    weights, coverage = _weights(
        dict.fromkeys(question_terms(before)[:MOST_ASKED], 0.2) | dict.fromkeys(own, 1.0), sections
    )
    scored = [(score, s, n) for s, sec in enumerate(sections) for n, score in enumerate(_scores(sec, weights))]
    best = max(scored, default=(0.0, 0, 0))[0]
    if best <= 0:
        return None
    near = {s for score, s, _ in scored if score >= SECOND * best}
    scored = [candidate for candidate in scored if candidate[1] in near]
    chosen: set[tuple[int, int]] = set()
    words = 0
    for score, s, n in sorted(scored, key=lambda candidate: (-candidate[0], candidate[1:])):
        if len(chosen) >= most or (score < NEAR * best and len(chosen) >= FEWEST) or score <= 0:
            break
        group = _with_antecedents(sections[s], s, n) - chosen
        length = sum(len(sections[a].sentences[b].text.split()) for a, b in group)
        if chosen and (words + length > WORDS or len(chosen) + len(group) > most):
            continue
        chosen |= group
        words += length
    ids = dict.fromkeys(sections[s].id for s, _ in sorted(chosen))
    return Answer(_join(sections, sorted(chosen)), tuple(ids), coverage)


def question_terms(question: str) -> list[str]:
    """Return the stems of a question's words, without words that say nothing about the subject, such as "explain"."""
    return [term for term in stems(question) if term not in _asking()]


def coverage(question: str, text_terms: frozenset[str]) -> float:
    """Return the share of a question's words that a text contains, from 0 to 1.

    Args:
        text_terms: The word stems of the text.
    """
    terms = set(question_terms(question))
    return len(terms & text_terms) / len(terms) if terms else 0.0


def sentences(text: str) -> list[str]:
    """Split a text into sentences."""
    return [sentence for sentence in _END.split(text.strip()) if sentence]


def _correct(term: str, sections: Sequence[Section]) -> str:
    """Return the term of the sections that a misspelt term most resembles; the unchanged term if none is similar."""
    if len(term) < 6 or any(term in sentence.terms for sec in sections for sentence in sec.sentences):
        return term
    section_terms = {one: None for sec in sections for sentence in sec.sentences for one in sentence.terms}
    near = process.extractOne(term, section_terms.keys(), scorer=fuzz.ratio, score_cutoff=MISSPELT)
    return near[0] if near else term


def _sentences(paragraph: str) -> list[str]:
    lines = paragraph.split("\n")
    if not any(line.lstrip().startswith(("- ", "* ")) for line in lines):
        return sentences(" ".join(lines))
    first = next(n for n, line in enumerate(lines) if line.lstrip().startswith(("- ", "* ")))
    lead = sentences(" ".join(lines[:first])) if first else []
    return [*lead[:-1], "\n".join([*lead[-1:], *lines[first:]])]


def _weights(asked: Mapping[str, float], sections: Sequence[Section]) -> tuple[dict[str, float], float]:
    """Weight each word of a question by its rarity in the sections.

    Args:
        asked: Weight of each word in the question: 1 for the question itself, less for the previous question.

    Returns:
        The weights of the words that the sections contain, and the share of the question's words among them, from 0 to 1.
    """
    everything = [sentence.terms for sec in sections for sentence in sec.sentences]
    frequency = Counter(term for words in everything for term in words if term in asked)
    for sec in sections:
        frequency.update(term for term in sec.title_terms if term in asked)
    weights = {
        term: asked[term] * math.log(1 + len(everything) / (1 + frequency[term])) for term in asked if frequency[term]
    }
    own = [term for term, weight in asked.items() if weight == 1]
    return weights, sum(term in frequency for term in own) / len(own) if own else 0.0


def _scores(sec: Section, weights: Mapping[str, float]) -> list[float]:
    plain = [sum(weights[term] for term in sentence.terms if term in weights) for sentence in sec.sentences]
    titled = sum(weights[term] for term in sec.title_terms if term in weights)
    scores = []
    for n, sentence in enumerate(sec.sentences):
        near = [m for m in (n - 1, n + 1) if 0 <= m < len(plain) and sec.sentences[m].paragraph == sentence.paragraph]
        scores.append(plain[n] + NEIGHBOUR * sum(plain[m] for m in near) + LEADING * titled / (1 + n))
    return scores


def _with_antecedents(sec: Section, s: int, n: int) -> set[tuple[int, int]]:
    """Return the positions of a sentence and of the preceding sentences that it refers to.

    A position is a pair of indexes: of the section (`s`), and of the sentence in the section (`n`).
    """
    group = {(s, n)}
    while n and sec.sentences[n - 1].paragraph == sec.sentences[n].paragraph and _LEANS.match(sec.sentences[n].text):
        n -= 1
        group.add((s, n))
    return group


def _join(sections: Sequence[Section], places: Sequence[tuple[int, int]]) -> str:
    """Join the sentences at these positions. Each paragraph becomes a line, and each list a block of lines."""
    out: list[str] = []
    last: tuple[int, int] | None = None
    for s, n in places:
        sentence = sections[s].sentences[n]
        here = (s, sentence.paragraph)
        gap = "" if last is None else " " if here == last and "\n" not in out[-1] else "\n\n"
        out += [gap, sentence.text]
        last = here
    return "".join(out)
