"""Judges cases with a subject, concurrently, and passes each answer to a callback."""

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
    """A subject's answer to one repeat of a case."""

    example: LabelledCase
    repeat: int
    """Number of the repeat, from 0."""
    judgement: Judgement
    """The decisive judgement."""
    path: tuple[Stage, ...]
    """The stages that judged."""
    ms: float | None
    """None if every call was answered from the cache."""
    usage: Usage
    cost: float | None
    """None if no model has a price."""
    calls: int
    skipped: bool = False
    """Whether the budget did not allow the call."""

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def flagged(self) -> bool:
        return self.verdict in ("warn", "reject")

    @property
    def score(self) -> float:
        """Score from 0 to 1 (a certain violation): the judge's score, else one by verdict. An unjudged case has the middle."""
        own = self.judgement.score
        return own if own is not None and self.verdict != "unjudged" else _SCORES[self.verdict]

    @property
    def is_correct(self) -> bool:
        """Whether the subject accepted a harmless case or flagged a violating one."""
        return self.flagged if self.example.violating else self.verdict == "accept"


ShowProgress = Callable[[int, str], AbstractContextManager[Callable[[Answer], None]]]
"""Shows the progress of judging. Args: the number of cases, and a title. The result is called with each answer."""


async def judge_cases(
    subjects: Mapping[str, Subject],
    cases: Sequence[LabelledCase],
    *,
    repeats: int = 1,
    at_once: int = 8,
    on_answer: Callable[[Answer], None] = lambda answer: None,
) -> list[Answer]:
    """Judge every case with the subject of its judge, all judges at the same time.

    Args:
        subjects: Subjects by judge.
        cases: The cases.
        repeats: Number of answers for each case.
        at_once: Maximum number of concurrent cases.
        on_answer: Called with each answer.

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
    """Judge every case with both subjects, in turns, so that a budget ends both at the same case (see `judge_cases`)."""
    trials = [_Trial(side[case.judge], case, 0) for case in cases for side in (first, second)]
    answers = await _run_trials(trials, at_once, on_answer)
    return answers[::2], answers[1::2]


async def _run_trials(trials: Sequence["_Trial"], at_once: int, on_answer: Callable[[Answer], None]) -> list[Answer]:
    """Run trials with up to `at_once` workers.

    A budget reserves the maximum cost of each running call. If it refuses a case, the worker returns the case to the queue and
    ends. A case is skipped only if no other worker is running.
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
    """A case that is being judged."""

    def __init__(self, subject: Subject, case: LabelledCase, repeat: int) -> None:
        self.subject = subject
        self._case = case
        self._repeat = repeat
        self._ledger = Ledger()
        self._cache_hits: list[str] = []
        self._judgements: tuple[Judgement, ...] = ()

    async def judge(self) -> Answer:
        """Judge the case. After a skipped answer, continue at the stage that the budget refused."""
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
