"""Judges that share a prompt, asked with a wording of it: what the journal of the run has is not asked again."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from judges.evaluation.errors import TuneError
from judges.evaluation.journal import Journal, failed
from judges.evaluation.labelled import Labelled
from judges.evaluation.run_cases import Answer, ask_all
from judges.evaluation.subject import Subject
from judges.prompt import Prompt

MOST_FAILURES = 0.2
"""Share of answers that may be missing because the model failed."""
Shown = Callable[[int, str], AbstractContextManager[Callable[[Answer], None]]]
"""Shows how far the asking is, of so many cases."""


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
    at_once: int
    shown: Shown

    async def judge(
        self,
        prompt: Prompt,
        cases: Sequence[Labelled],
        what: str,
        decided: Callable[[list[Answer]], bool] = lambda answers: False,
    ) -> list[Answer]:
        """Have cases judged with a prompt, those that the journal does not have, until it is decided.

        Raises:
            BudgetEnded: Some could not be asked.
            TuneError: The model fails too often.
        """
        subjects = {one.judge: one.reading(prompt) for one in self.subjects}
        recorded = {case.key: self.journal.answer(prompt, case, subjects[case.judge].questions) for case in cases}
        given = [answer for answer in recorded.values() if answer is not None]
        if decided(given):
            return given
        left = [case for case in cases if recorded[case.key] is None]
        with self.shown(len(left), what) as progress:

            def told(answer: Answer) -> None:
                progress(answer)
                self.journal.keep(prompt, answer)
                given.append(answer)
                if not answer.right and decided(given):  # a right one is what was hoped for
                    raise _Decided

            try:
                await ask_all(subjects, left, at_once=self.at_once, told=told)
            except* _Decided:  # what is still under way is cancelled: nobody will read it
                pass
        if any(answer.skipped for answer in given):
            raise BudgetEnded
        failures = [answer for answer in given if failed(answer)]
        if len(failures) > MOST_FAILURES * len(given):
            raise TuneError(
                f"the model {prompt.model!r} gave no answer to {len(failures)} of {len(given)} cases "
                f"({failures[0].judgement.reason}); mend that first"
            )
        return given
