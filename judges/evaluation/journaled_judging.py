"""Judges cases with one version of a prompt, and reuses the answers in the journal of the tuning run."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from judges.evaluation.errors import TuneError
from judges.evaluation.journal import Journal, has_failed
from judges.evaluation.labelled import LabelledCase
from judges.evaluation.run_cases import Answer, ShowProgress, judge_cases
from judges.evaluation.subject import Subject
from judges.prompt import Prompt

MAX_FAILURES = 0.2
"""Maximum share (0 to 1) of cases to which the model gives no answer. Above it, judging fails."""


class BudgetEnded(Exception):
    """The budget does not allow the next model call."""


class _Decided(Exception):
    """The remaining answers cannot change the decision about a candidate."""


@dataclass(frozen=True, slots=True)
class JournaledJudging:
    """Judges cases for a tuning run, and records each answer in the journal."""

    subjects: Sequence[Subject]
    """The judges that use the prompt."""
    journal: Journal
    at_once: int = 8
    """Maximum number of concurrent cases."""
    show_progress: ShowProgress = lambda total, title: nullcontext(lambda answer: None)

    @property
    def judges(self) -> list[str]:
        """The names of the judges that use the prompt."""
        return [one.judge for one in self.subjects]

    async def judge(
        self,
        prompt: Prompt,
        cases: Sequence[LabelledCase],
        title: str,
        is_decided: Callable[[list[Answer]], bool] = lambda answers: False,
    ) -> list[Answer]:
        """Judge the cases that are not in the journal, until further answers cannot change the decision.

        Args:
            prompt: The version of the prompt.
            cases: The cases.
            title: The title of the progress display.
            is_decided: Returns whether the answers so far suffice for the decision. By default, all cases are judged.

        Returns:
            The recorded and the new answers.

        Raises:
            BudgetEnded: The budget did not allow all cases.
            TuneError: The model gave no answer to more than `MAX_FAILURES` of the cases.
        """
        subjects = {one.judge: one.with_prompt(prompt) for one in self.subjects}
        recorded = {case.key: self.journal.answer(prompt, case) for case in cases}
        answers = [answer for answer in recorded.values() if answer is not None]
        if is_decided(answers):
            return answers
        pending = [case for case in cases if recorded[case.key] is None]
        with self.show_progress(len(pending), title) as progress:

            def record(answer: Answer) -> None:
                progress(answer)
                self.journal.record(prompt, answer)
                answers.append(answer)
                if not answer.is_correct and is_decided(answers):  # a right answer cannot end the candidate
                    raise _Decided

            try:
                await judge_cases(subjects, pending, at_once=self.at_once, on_answer=record)
            except* _Decided:  # the task group cancels the remaining calls, whose answers are not needed
                pass
        if any(answer.skipped for answer in answers):
            raise BudgetEnded
        failures = [answer for answer in answers if has_failed(answer)]
        if len(failures) > MAX_FAILURES * len(answers):
            raise TuneError(
                f"cannot measure the prompt: the model {prompt.model!r} gave no answer to {len(failures)} of {len(answers)} "
                f"cases (first failure: {failures[0].judgement.reason}); fix the model's settings or server, then resume"
            )
        return answers
