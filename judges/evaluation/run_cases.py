"""Judge cases with a subject, concurrently; a callback gets each answer as it comes."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import takewhile

from judges.evaluation.labelled import LabelledCase
from judges.evaluation.subject import Subject
from judges.verdict import Judgement, Stage, Verdict
from models.answer_cache import cache_hits
from models.usage import Ledger, Usage

_SCORES: dict[Verdict, float] = {"accept": 0.0, "warn": 0.5, "reject": 1.0, "unjudged": 0.5}


@dataclass(frozen=True, slots=True)
class Answer:
    """What a subject made of a case, once."""

    example: LabelledCase
    repeat: int
    """Which of the repeats, from 0."""
    judgement: Judgement
    """The decisive one."""
    path: tuple[Stage, ...]
    """The stages that judged."""
    ms: float | None
    """None when every call was answered from the cache."""
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
    def is_correct(self) -> bool:
        """Whether it accepted a harmless case, or flagged a violating one."""
        return self.flagged if self.example.violating else self.verdict == "accept"


ShowProgress = Callable[[int, str], AbstractContextManager[Callable[[Answer], None]]]
"""Shows the progress of judging so many cases; what it gives is called with each answer."""


async def judge_cases(
    subjects: Mapping[str, Subject],
    cases: Sequence[LabelledCase],
    *,
    repeats: int = 1,
    at_once: int = 8,
    on_answer: Callable[[Answer], None] = lambda answer: None,
) -> list[Answer]:
    """Put every case to the subject of its judge; all judges at the same time.

    Args:
        subjects: By judge.
        at_once: How many cases are under way at the same time.
        on_answer: Called with each answer as it comes.

    Returns:
        The answers, in the order of the cases, repeats of one case together.
    """
    trials = [_Trial(subjects[case.judge], case, repeat) for case in cases for repeat in range(repeats)]
    return await _run_trials(trials, at_once, on_answer)


async def judge_both(
    first: Mapping[str, Subject],
    second: Mapping[str, Subject],
    cases: Sequence[LabelledCase],
    *,
    at_once: int = 8,
    on_answer: Callable[[Answer], None] = lambda answer: None,
) -> tuple[list[Answer], list[Answer]]:
    """Put every case to both sides, as `judge_cases` does. They take turns, so that a budget ends them at the same case."""
    trials = [_Trial(side[case.judge], case, 0) for case in cases for side in (first, second)]
    answers = await _run_trials(trials, at_once, on_answer)
    return answers[::2], answers[1::2]


async def _run_trials(trials: Sequence["_Trial"], at_once: int, on_answer: Callable[[Answer], None]) -> list[Answer]:
    """Run so many trials at once.

    A budget sets the worst case of each call aside while it is under way. A case that it refuses is therefore left to the workers
    that go on, and is skipped only when no other is under way.
    """
    queue = deque(enumerate(trials))
    answers: dict[int, Answer] = {}
    workers = 1 if all(trial.subject.cascade.local_only for trial in trials) else min(at_once, len(trials))

    async def work() -> None:
        nonlocal workers
        while queue:
            index, trial = queue.popleft()
            answer = await trial.judge()
            if answer.skipped and workers > 1:
                queue.appendleft((index, trial))
                break
            answers[index] = answer
            on_answer(answer)
        workers -= 1

    async with asyncio.TaskGroup() as group:
        for _ in range(workers):
            group.create_task(work())
    return [answers[index] for index in range(len(trials))]


class _Trial:
    """A case on its way to an answer."""

    def __init__(self, subject: Subject, case: LabelledCase, repeat: int) -> None:
        self.subject = subject
        self._case = case
        self._repeat = repeat
        self._ledger = Ledger()
        self._cache_hits: list[str] = []
        self._judgements: tuple[Judgement, ...] = ()

    async def judge(self) -> Answer:
        """Judge the case. After an answer that was skipped, go on at the stage that the budget refused."""
        cache_hits.set(self._cache_hits)
        review = await self.subject.cascade.run(self._case.case, self._ledger, earlier=self._judgements)
        calls = self._ledger.calls
        refused_steps = {call.step for call in calls if call.error == "BudgetSpent"}
        self._ledger.calls = [call for call in calls if call.error != "BudgetSpent"]
        self._judgements = tuple(takewhile(lambda j: f"{j.judge}.{j.stage}" not in refused_steps, review.judgements))
        return Answer(
            example=self._case,
            repeat=self._repeat,
            judgement=review.decisive[0],
            path=tuple(j.stage for j in review.judgements),
            ms=sum(j.ms for j in review.judgements) if len(calls) > len(self._cache_hits) or not calls else None,
            usage=self._ledger.usage,
            cost=self._ledger.cost,
            calls=len(self._ledger.calls),
            skipped=bool(refused_steps),
        )
