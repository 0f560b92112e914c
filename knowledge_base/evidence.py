"""Evidence: what judges and refiner see of a knowledge base. It is found by the draft first, then by the question. Pure.

Why the draft comes first (40 sections of five desks, 200 right replies that paraphrase them): the section that holds the answer is
among the top 3 for .99 of the drafts, for .74 of the questions; with both it is in view for .995.
"""

import textwrap
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal

from knowledge_base.bm25 import Language, SectionChoice, SectionIndex
from knowledge_base.library import Library, Source
from models.usage import estimate_tokens

BY_DRAFT, BY_QUESTION, BY_QUOTE = 3, 2, 1
"""Sections searched for with the draft, with the question, and with each quote that a judge flagged."""
PASSAGE_CHARS = 1_200
"""Characters of a passage at most: a line of a section, or a part of one."""
How = Literal["whole", "model", "draft", "question", "near", "quote"]
"""Why a section is in view: the whole library fits, a model selected it, what it was found by, or `near`: the next nearest."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A section in the judges' view."""

    source: Source
    """The section; of one that does not fit, the passages nearest to draft and question."""
    by: How
    reason: str


def find_evidence(
    library: Library,
    draft: str,
    question: str,
    before: str,
    budget: int,
    selected: Sequence[SectionChoice] = (),
    *,
    fill: bool = False,
) -> list[Evidence]:
    """Return the sections that a reply is held against, best first; where the library fits the budget, all of it in its order.

    Args:
        library: The knowledge base.
        draft: The reply.
        question: The user's message.
        before: The exchange before it, which the question may refer back to.
        budget: Tokens of all texts together.
        selected: What a model selected for this draft. It comes first.
        fill: Spend the rest of the budget on the next nearest sections, for a reply that has no citations to go by.
    """
    by_draft = library.index.search(draft, BY_DRAFT)
    if library.tokens <= budget:
        reasons = {one.id: one.reason for one in by_draft}
        return [
            Evidence(one, "draft", reasons[one.id]) if one.id in reasons else Evidence(one, "whole", "")
            for one in library.sources
        ]
    by_question = library.index.choose(question, before, BY_QUESTION)
    searches: list[tuple[How, Sequence[SectionChoice]]] = [
        ("model", selected), ("draft", by_draft), ("question", by_question),
    ]  # fmt: skip
    evidence = _fit(searches, library, f"{question}\n{draft}", budget)
    if not fill:
        return evidence
    seen, left = {one.source.id for one in evidence}, budget - sum(one.source.tokens for one in evidence)
    for choice in library.index.search(f"{question}\n{draft}", len(library)):
        source = library[choice.id]
        if choice.id not in seen and source.tokens <= left:
            left -= source.tokens
            evidence.append(Evidence(source, "near", choice.reason))
    return evidence


def find_by_quotes(library: Library, quotes: Sequence[str], seen: Container[str], budget: int) -> list[Evidence]:
    """Return the sections nearest to what a judge flagged.

    Args:
        library: The knowledge base.
        quotes: Words of the reply.
        seen: Ids of the sections that the judge has seen, which are left out.
        budget: Tokens of all texts together.
    """
    choices = [one for quote in quotes for one in library.index.search(quote, BY_QUOTE) if one.id not in seen]
    return _fit([("quote", choices)], library, "\n".join(quotes), budget)


def _fit(
    searches: Iterable[tuple[How, Iterable[SectionChoice]]], library: Library, query: str, budget: int
) -> list[Evidence]:
    """Return what searches found, each section once, until the budget is spent."""
    evidence: dict[str, Evidence] = {}
    for by, choice in chain.from_iterable(((by, one) for one in choices) for by, choices in searches):
        if choice.id in evidence:
            continue
        source = excerpt(library[choice.id], query, budget, library.language)
        if source is not None:
            budget -= source.tokens
            evidence[choice.id] = Evidence(source, by, choice.reason)
    return list(evidence.values())


def excerpt(source: Source, query: str, budget: int, language: Language = "english") -> Source | None:
    """Return a source with as much of its text as fits a budget: all of it, or the passages nearest to a query in their order.

    Where no passage shares a word with the query, as in another language, the first ones stand for the section.

    Returns:
        The source; None where not even one passage fits.
    """
    if source.tokens <= budget:
        return source
    passages = {
        str(n): Source(str(n), "", "", text)
        for n, text in enumerate(
            part for line in source.text.split("\n") if line.strip() for part in textwrap.wrap(line, PASSAGE_CHARS)
        )
    }
    nearest = [one.id for one in SectionIndex(passages, language).search(query, len(passages))]
    kept: list[int] = []
    for n in nearest or passages:
        if (tokens := estimate_tokens(passages[n].text) + 1) <= budget:
            budget -= tokens
            kept.append(int(n))
    text = "\n".join(passages[str(n)].text for n in sorted(kept))
    return replace(source, text=text) if kept else None
