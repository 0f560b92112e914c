"""Judge cases with a wording of a prompt; answers that the journal of the run has are reused."""

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
"""Share of answers that may be missing because the model failed."""


class BudgetEnded(Exception):
    """The budget does not allow what would have to be asked next."""


class _Decided(Exception):
    """No answer still to come can change what becomes of a candidate."""


@dataclass(frozen=True, slots=True)
class JournaledJudging:
    """Has cases judged, and writes the answers down."""

    subjects: Sequence[Subject]
    """The judges that read the prompt."""
    journal: Journal
    at_once: int = 8
    show_progress: ShowProgress = lambda total, title: nullcontext(lambda answer: None)

    @property
    def judges(self) -> list[str]:
        """The names of those that read the prompt."""
        return [one.judge for one in self.subjects]

    async def judge(
        self,
        prompt: Prompt,
        cases: Sequence[LabelledCase],
        title: str,
        is_decided: Callable[[list[Answer]], bool] = lambda answers: False,
    ) -> list[Answer]:
        """Judge cases with a prompt, except those in the journal, until further answers would decide nothing.

        Raises:
            BudgetEnded: Some could not be asked.
            TuneError: The model fails too often.
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
                if not answer.is_correct and is_decided(answers):  # a right one is what was hoped for
                    raise _Decided

            try:
                await judge_cases(subjects, pending, at_once=self.at_once, on_answer=record)
            except* _Decided:  # what is still under way is cancelled: nobody will read it
                pass
        if any(answer.skipped for answer in answers):
            raise BudgetEnded
        failures = [answer for answer in answers if has_failed(answer)]
        if len(failures) > MAX_FAILURES * len(answers):
            raise TuneError(
                f"the model {prompt.model!r} gave no answer to {len(failures)} of {len(answers)} cases "
                f"({failures[0].judgement.reason}); mend that first"
            )
        return answers
