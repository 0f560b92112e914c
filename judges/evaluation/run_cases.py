"""Judges labelled cases concurrently, each with the subject of its judge, and passes each answer to a callback."""

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
"""The score of an answer by verdict, for judges that give no score."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A subject's answer to a labelled case, with its time and cost."""

    example: LabelledCase
    repeat: int
    """Number of the repeat, from 0."""
    judgement: Judgement
    """The deciding judgement."""
    path: tuple[Stage, ...]
    """The stages that judged the case, in order."""
    ms: float | None
    """Time to the verdict, in milliseconds; None if every call was answered from the cache."""
    usage: Usage
    cost: float | None
    """None if no model has a price."""
    calls: int
    """Number of model calls."""
    skipped: bool = False
    """Whether the budget did not allow a call, so that the case was not judged."""

    @property
    def verdict(self) -> Verdict:
        return self.judgement.verdict

    @property
    def flagged(self) -> bool:
        """Whether the verdict is `warn` or `reject`."""
        return self.verdict in ("warn", "reject")

    @property
    def score(self) -> float:
        """Confidence that the case is violating, 0 to 1.

        Without a score of the judge, the score follows from the verdict. An unjudged case always has the score 0.5.
        """
        own = self.judgement.score
        return own if own is not None and self.verdict != "unjudged" else _SCORES[self.verdict]

    @property
    def is_correct(self) -> bool:
        """Whether the subject accepted a harmless case or flagged a violating case."""
        return self.flagged if self.example.violating else self.verdict == "accept"


ShowProgress = Callable[[int, str], AbstractContextManager[Callable[[Answer], None]]]
"""Opens a progress display for (number of cases, title). Its context value is a function to call with each answer."""


async def judge_cases(
    subjects: Mapping[str, Subject],
    cases: Sequence[LabelledCase],
    *,
    repeats: int = 1,
    at_once: int = 8,
    on_answer: Callable[[Answer], None] = lambda answer: None,
) -> list[Answer]:
    """Judge every case with the subject of its judge.

    Args:
        subjects: The subject of each judge, by judge name.
        cases: The cases.
        repeats: Number of answers for each case.
        at_once: Maximum number of concurrent cases.
        on_answer: Called with each answer, as soon as it arrives.

    Returns:
        The answers in the order of the cases. The repeats of a case follow each other.
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
    """Judge every case with two subjects, for a comparison. The arguments are those of `judge_cases`.

    The subjects alternate case by case, so that a spent budget ends both at the same case.

    Returns:
        The answers of the first subject and of the second subject, each in the order of the cases.
    """
    trials = [_Trial(side[case.judge], case, 0) for case in cases for side in (first, second)]
    answers = await _run_trials(trials, at_once, on_answer)
    return answers[::2], answers[1::2]


async def _run_trials(trials: Sequence["_Trial"], at_once: int, on_answer: Callable[[Answer], None]) -> list[Answer]:
    """Judge the trials with up to `at_once` concurrent workers, and return the answers in order.

    A budget reserves the maximum cost of each running call. If the budget refuses a call, the worker returns the case to the
    queue and ends. Only the last worker skips a case, because only then the budget is really spent.
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
    """One repeat of a case, with the judgements and calls so far."""

    def __init__(self, subject: Subject, case: LabelledCase, repeat: int) -> None:
        self.subject = subject
        self._case = case
        self._repeat = repeat
        self._ledger = Ledger()
        self._cache_hits: list[str] = []
        self._judgements: tuple[Judgement, ...] = ()

    async def judge(self) -> Answer:
        """Judge the case. A second call, after a skipped answer, continues at the stage that the budget refused."""
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
