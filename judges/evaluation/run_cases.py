"""Have a subject judge cases: many at once, each answer told as it comes."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from judges.evaluation.labelled import Labelled
from judges.evaluation.subject import Subject
from judges.verdict import Judgement, Stage, Verdict
from models.answer_cache import cache_hits
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
    return await ask_all({subject.judge: subject}, cases, repeats=repeats, at_once=at_once, told=told)


async def ask_all(
    subjects: Mapping[str, Subject],
    cases: Sequence[Labelled],
    *,
    repeats: int = 1,
    at_once: int = 8,
    told: Callable[[Answer], None] = lambda answer: None,
) -> list[Answer]:
    """Put every case to the subject of its judge, as `ask` does; all judges at the same time.

    A budget sets the worst case of each call aside while it is under way. A case that it refuses is therefore put again when
    another has ended, and skipped only when no other is under way.
    """
    jobs = [(case, repeat) for case in cases for repeat in range(repeats)]
    answers: dict[int, Answer] = {}
    under_way: set[int] = set()
    ended = asyncio.Event()

    async def judge(place: int, trial: "_Trial") -> Answer:
        nonlocal ended
        under_way.add(place)
        try:
            return await trial.judge()
        finally:
            under_way.remove(place)
            ended.set()
            ended = asyncio.Event()

    async def work(left: Iterator[tuple[int, tuple[Labelled, int]]]) -> None:
        for place, (case, repeat) in left:
            trial = _Trial(subjects[case.judge], case, repeat)
            answer = await judge(place, trial)
            while answer.skipped and under_way:
                await ended.wait()
                answer = await judge(place, trial)
            answers[place] = answer
            told(answer)

    left = iter(enumerate(jobs))  # shared: whoever is free takes the next
    async with asyncio.TaskGroup() as group:
        for _ in range(1 if all(subject.local for subject in subjects.values()) else min(at_once, len(jobs))):
            group.create_task(work(left))
    return [answers[place] for place in range(len(jobs))]


async def ask_both(
    first: Mapping[str, Subject],
    second: Mapping[str, Subject],
    cases: Sequence[Labelled],
    *,
    within_budget: bool,
    at_once: int = 8,
    told: Callable[[Answer], None] = lambda answer: None,
) -> tuple[list[Answer], list[Answer]]:
    """Put every case to both sides, as `ask_all` does.

    Args:
        within_budget: Have both sides go through the cases together: what one has answered alone is no comparison.
    """
    answers: tuple[list[Answer], list[Answer]] = ([], [])
    portion = at_once if within_budget else max(1, len(cases))
    for start in range(0, len(cases), portion):
        for side, given in zip((first, second), answers, strict=True):
            given += await ask_all(side, cases[start : start + portion], at_once=at_once, told=told)
    return answers


class _Trial:
    """A case on its way to an answer."""

    def __init__(self, subject: Subject, case: Labelled, repeat: int) -> None:
        self._subject = subject
        self._case = case
        self._repeat = repeat
        self._ledger = Ledger()
        self._from_memory: list[str] = []
        self._heard: tuple[Judgement, ...] = ()

    async def judge(self) -> Answer:
        """Judge the case. After an answer that was skipped, go on at the stage that the budget refused."""
        cache_hits.set(self._from_memory)
        review = await self._subject.cascade.run(self._case.case, self._ledger, heard=self._heard)
        calls = self._ledger.calls
        refused = {call.step for call in calls if call.error == "BudgetSpent"}
        self._ledger.calls = [call for call in calls if call.error != "BudgetSpent"]
        self._heard = tuple(takewhile(lambda j: f"{j.judge}.{j.stage}" not in refused, review.judgements))
        return Answer(
            labelled=self._case,
            repeat=self._repeat,
            judgement=review.decisive[0],
            path=tuple(j.stage for j in review.judgements),
            ms=sum(j.ms for j in review.judgements) if len(calls) > len(self._from_memory) or not calls else None,
            usage=self._ledger.usage,
            cost=self._ledger.cost,
            calls=len(self._ledger.calls),
            skipped=bool(refused),
        )
