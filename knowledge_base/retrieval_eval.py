"""How often what holds an answer is in the judges' view, measured on one's own questions. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from knowledge_base.evidence import find_evidence
from knowledge_base.library import Library, Source

TOP = 3
"""Sections that the question alone may find."""


@dataclass(frozen=True, slots=True)
class RetrievalCase:
    """A question whose answer is known to be in certain sections."""

    question: str
    sections: tuple[str, ...]
    """Ids of all that the answer needs."""
    reply: str = ""
    """A right reply to it; empty: there is none."""
    before: str = ""
    """The exchange before it."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What was found for a case."""

    case: RetrievalCase
    ids: tuple[str, ...]
    tokens: int

    @property
    def missing(self) -> tuple[str, ...]:
        """The sections that the answer needs and that were not found."""
        return tuple(one for one in self.case.sections if one not in self.ids)


@dataclass(frozen=True, slots=True)
class RetrievalFigures:
    """How one way of finding sections did."""

    by: str
    retrieved: tuple[Retrieved, ...]

    @property
    def misses(self) -> list[Retrieved]:
        return [one for one in self.retrieved if one.missing]

    @property
    def all_in_view(self) -> float:
        """The share of cases of which all sections were found."""
        return 1 - len(self.misses) / len(self.retrieved)

    @property
    def mean_sections(self) -> float:
        return fmean(len(one.ids) for one in self.retrieved)

    @property
    def mean_tokens(self) -> float:
        return fmean(one.tokens for one in self.retrieved)


def evaluate(library: Library, cases: Sequence[RetrievalCase], budget: int) -> list[RetrievalFigures]:
    """Return how often all that an answer needs is found by the question alone, and with the draft of a reply.

    Args:
        library: The knowledge base.
        cases: The questions. Of those without a reply, the question alone is measured.
        budget: Tokens that evidence may take, as `retrieval.evidence_tokens`.
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
