"""Have a subject judge cases: many at once, each answer told as it comes."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from judges.evaluation.labelled import Labelled
from judges.evaluation.subject import Subject
from judges.verdict import Judgement, Stage, Verdict
from models.remembering import remembered
from models.usage import Ledger, Usage

_SCORES: dict[Verdict, float] = {"accept": 0.0, "warn": 0.5, "reject": 1.0, "unjudged": 0.5}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a subject made of a case, once."""

    labelled: Labelled
    repeat: int
    """Which of the repeats, from 0."""
    judgement: Judgement
    """The one that it ended on."""
    path: tuple[Stage, ...]
    """The stages that judged."""
    ms: float | None
    """None when all that was asked was remembered."""
    usage: Usage
    cost: float | None
    """None when no model has a price."""
    calls: int
    skipped: bool = False
    """The budget did not allow to ask."""

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def flagged(self) -> bool:
        return self.verdict in ("warn", "reject")

    @property
    def score(self) -> float:
        """0 to 1, 1 a sure violation: the judge's own, else by the verdict. An unjudged case is in the middle."""
        own = self.judgement.score
        return own if own is not None and self.verdict != "unjudged" else _SCORES[self.verdict]

    @property
    def right(self) -> bool:
        """It accepted what is to be accepted, or flagged what is not."""
        return self.flagged if self.labelled.violating else self.verdict == "accept"


async def ask(
    subject: Subject,
    cases: Sequence[Labelled],
    *,
    repeats: int = 1,
    at_once: int = 8,
    told: Callable[[Answer], None] = lambda answer: None,
) -> list[Answer]:
    """Put every case to the subject.

    Args:
        cases: Cases of the subject's judge.
        at_once: How many are under way at the same time.
        told: Called with each answer as it comes.

    Returns:
        The answers, in the order of the cases, repeats of one case together.
    """
    jobs = [(case, repeat) for case in cases for repeat in range(repeats)]
    answers: dict[int, Answer] = {}

    async def work(left: Iterator[tuple[int, tuple[Labelled, int]]]) -> None:
        for place, (case, repeat) in left:
            answers[place] = await _judge(subject, case, repeat)
            told(answers[place])

    left = iter(enumerate(jobs))  # shared: whoever is free takes the next
    async with asyncio.TaskGroup() as group:
        for _ in range(1 if subject.local else min(at_once, len(jobs))):
            group.create_task(work(left))
    return [answers[place] for place in range(len(jobs))]


async def _judge(subject: Subject, case: Labelled, repeat: int) -> Answer:
    ledger = Ledger()
    from_memory: list[str] = []
    remembered.set(from_memory)
    review = await subject.cascade.run(case.case, ledger)
    skipped = any(call.error == "BudgetSpent" for call in ledger.calls)
    fresh = len(ledger.calls) > len(from_memory) or not ledger.calls
    return Answer(
        labelled=case,
        repeat=repeat,
        judgement=review.decisive[0],
        path=tuple(j.stage for j in review.judgements),
        ms=sum(j.ms for j in review.judgements) if fresh else None,
        usage=ledger.usage,
        cost=ledger.cost,
        calls=len(ledger.calls),
        skipped=skipped,
    )
