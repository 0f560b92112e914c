"""Evidence selects the sections of a knowledge base that judges and the refiner see. Pure.

The search with the draft has priority over the search with the question. On 200 correct replies that paraphrase 40 sections
(bench/evidence.py), the section with the answer is among the top 3 for 99 % of the drafts and for 74 % of the questions. With
both searches, 99.5 % of the replies get that section.
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
"""Maximum number of sections from the search with the draft, with the question, and with each quote that a judge flagged."""
PASSAGE_CHARS = 1_200
"""Maximum characters of a passage. A passage is a line of a section, or a part of a longer line."""
How = Literal["whole", "model", "draft", "question", "near", "quote"]
"""Why a section was selected. `whole`: the whole library fits the budget; `model`: a model selected the section; `draft`,
`question`, `quote`: the search with that text found the section; `near`: the section fills the remaining budget."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A section that judges see, with the reason for its selection."""

    source: Source
    """The section. If its text does not fit the budget, the text is reduced to the passages most similar to draft and question."""
    by: How
    reason: str
    """Detail of `by`, such as the words in common with the draft; may be empty."""


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
    """Return the sections to check a reply against, best first. If the whole library fits the budget, return all sections by id.

    Args:
        library: The knowledge base.
        draft: The reply to check.
        question: The user's message.
        before: The previous message and reply, to which the question may refer.
        budget: Maximum estimated tokens of all texts together.
        selected: Sections that a model selected for this draft. They come first.
        fill: Whether to fill the remaining budget with the next best sections, for a reply without citations.
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
    """Return the sections most similar to quotes that a judge flagged, for a second check of these quotes.

    Args:
        library: The knowledge base.
        quotes: Flagged quotes from the reply.
        seen: Ids of the sections that the judge has already seen. The result does not include them.
        budget: Maximum estimated tokens of all texts together.
    """
    choices = [one for quote in quotes for one in library.index.search(quote, BY_QUOTE) if one.id not in seen]
    return _fit([("quote", choices)], library, "\n".join(quotes), budget)


def _fit(
    searches: Iterable[tuple[How, Iterable[SectionChoice]]], library: Library, query: str, budget: int
) -> list[Evidence]:
    """Merge the results of several searches, without duplicates, as far as the budget allows."""
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
    """Reduce the text of a source to a budget: keep the passages most similar to a query, in the order of the text.

    If no passage shares a word with the query, for example because the languages differ, the first passages are kept.

    Args:
        budget: maximum estimated tokens of the text.

    Returns:
        The source, unchanged if its text fits; None if not even one passage fits.
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
