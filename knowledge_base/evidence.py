"""Evidence: the sections of a knowledge base that judges and refiner see. A search by draft comes before one by question. Pure.

The draft comes first for this reason (40 sections of five desks, 200 correct replies that paraphrase them): the section with the
answer is among the top 3 for .99 of the drafts and for .74 of the questions. With both, it is in view for .995.
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
"""Maximum sections found by the draft, by the question, and by each quote that a judge flagged."""
PASSAGE_CHARS = 1_200
"""Maximum characters of a passage, which is a line of a section or a part of one."""
How = Literal["whole", "model", "draft", "question", "near", "quote"]
"""Why a section is in view. `whole`: the library fits the budget; `model`: a model selected it; `draft`, `question`, `quote`: that
search found it; `near`: it fills the rest of the budget."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A section in the judges' view."""

    source: Source
    """The section. If it does not fit the budget, its text is reduced to the passages nearest to draft and question."""
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
    """Return the sections to check a reply against, best first. If the whole library fits the budget, return all of it in order.

    Args:
        library: The knowledge base.
        draft: The reply.
        question: The user's message.
        before: The previous exchange, which the question may refer to.
        budget: Maximum tokens of all texts together.
        selected: Sections that a model selected for this draft. They come first.
        fill: Fill the rest of the budget with the next nearest sections, for a reply without citations.
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
    """Return the sections nearest to the quotes that a judge flagged.

    Args:
        library: The knowledge base.
        quotes: Quotes of the reply.
        seen: Ids of the sections that the judge has already seen. They are left out.
        budget: Maximum tokens of all texts together.
    """
    choices = [one for quote in quotes for one in library.index.search(quote, BY_QUOTE) if one.id not in seen]
    return _fit([("quote", choices)], library, "\n".join(quotes), budget)


def _fit(
    searches: Iterable[tuple[How, Iterable[SectionChoice]]], library: Library, query: str, budget: int
) -> list[Evidence]:
    """Return the sections of several searches, without duplicates, within the budget."""
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
    """Return a source whose text fits a budget: all of it, or the passages nearest to a query, in their order.

    If no passage shares a word with the query, for example in another language, the first passages are used.

    Returns:
        The source, or None if not even one passage fits.
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
