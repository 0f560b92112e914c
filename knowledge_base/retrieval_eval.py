"""Measures how often the search finds the sections that hold the answer to a question, on labelled questions. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from knowledge_base.evidence import find_evidence
from knowledge_base.library import Library, Source

TOP = 3
"""Maximum number of sections in the search with the question alone."""


@dataclass(frozen=True, slots=True)
class RetrievalCase:
    """A labelled question: the sections that hold its answer are known."""

    question: str
    sections: tuple[str, ...]
    """Ids of all sections that are needed to answer."""
    reply: str = ""
    """A correct reply to the question. Empty: no reply is known."""
    before: str = ""
    """The previous message and reply; empty for a first question."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The sections that a search found for a case."""

    case: RetrievalCase
    ids: tuple[str, ...]
    tokens: int
    """Estimated tokens of the sections together."""

    @property
    def missing(self) -> tuple[str, ...]:
        """Ids of the needed sections that the search did not find."""
        return tuple(one for one in self.case.sections if one not in self.ids)


@dataclass(frozen=True, slots=True)
class RetrievalFigures:
    """The results of one search method over all cases."""

    by: str
    """Name of the search method, for reports."""
    retrieved: tuple[Retrieved, ...]

    @property
    def misses(self) -> list[Retrieved]:
        return [one for one in self.retrieved if one.missing]

    @property
    def all_in_view(self) -> float:
        """Share of the cases for which the search found all needed sections, 0 to 1."""
        return 1 - len(self.misses) / len(self.retrieved)

    @property
    def mean_sections(self) -> float:
        return fmean(len(one.ids) for one in self.retrieved)

    @property
    def mean_tokens(self) -> float:
        return fmean(one.tokens for one in self.retrieved)


def evaluate(library: Library, cases: Sequence[RetrievalCase], budget: int) -> list[RetrievalFigures]:
    """Measure two search methods: with the question alone, and with the draft of a reply.

    Args:
        library: The knowledge base.
        cases: The labelled questions. Cases without a reply are left out of the second method.
        budget: Maximum estimated tokens of the sections found with the draft (`retrieval.evidence_tokens`).
    """

    def by_question(case: RetrievalCase) -> list[Source]:
        return [library[choice.id] for choice in library.index.choose(case.question, case.before, TOP)]

    def with_draft(case: RetrievalCase) -> list[Source]:
        return [one.source for one in find_evidence(library, case.reply, case.question, case.before, budget)]

    replied = [case for case in cases if case.reply]
    return [
        RetrievalFigures(by, tuple(_retrieve(case, find(case)) for case in measured))
        for by, find, measured in (
            (f"question alone, top {TOP}", by_question, cases),
            ("with the draft", with_draft, replied),
        )
        if measured
    ]


def _retrieve(case: RetrievalCase, sources: Sequence[Source]) -> Retrieved:
    return Retrieved(case, tuple(one.id for one in sources), sum(one.tokens for one in sources))
