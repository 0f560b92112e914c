"""Measures, on your own questions, how often the sections with the answer are in the judges' view. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from knowledge_base.evidence import find_evidence
from knowledge_base.library import Library, Source

TOP = 3
"""Maximum sections for the search by question alone."""


@dataclass(frozen=True, slots=True)
class RetrievalCase:
    """A question and the sections that hold its answer."""

    question: str
    sections: tuple[str, ...]
    """Ids of all sections that the answer needs."""
    reply: str = ""
    """A correct reply, or empty."""
    before: str = ""
    """The previous exchange."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The sections found for a case."""

    case: RetrievalCase
    ids: tuple[str, ...]
    tokens: int

    @property
    def missing(self) -> tuple[str, ...]:
        """The needed sections that were not found."""
        return tuple(one for one in self.case.sections if one not in self.ids)


@dataclass(frozen=True, slots=True)
class RetrievalFigures:
    """The results of one search method."""

    by: str
    retrieved: tuple[Retrieved, ...]

    @property
    def misses(self) -> list[Retrieved]:
        return [one for one in self.retrieved if one.missing]

    @property
    def all_in_view(self) -> float:
        """Share of cases with all sections found (0 to 1)."""
        return 1 - len(self.misses) / len(self.retrieved)

    @property
    def mean_sections(self) -> float:
        return fmean(len(one.ids) for one in self.retrieved)

    @property
    def mean_tokens(self) -> float:
        return fmean(one.tokens for one in self.retrieved)


def evaluate(library: Library, cases: Sequence[RetrievalCase], budget: int) -> list[RetrievalFigures]:
    """Measure two search methods: by the question alone, and with the draft of a reply.

    Args:
        library: The knowledge base.
        cases: The questions. Cases without a reply count only for the search by question.
        budget: Maximum tokens of the evidence, as `retrieval.evidence_tokens`.
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
