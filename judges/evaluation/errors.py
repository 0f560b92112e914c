"""What keeps judges from being measured; each says what to do about it.

EvaluationError
├── SubjectError    there is no such judge, stage, prompt or model
├── HoldoutError    the uses of held-out cases cannot be counted
├── JournalError    the folder of a tuning run cannot be used
└── TuneError       there is nothing to tune, or no way to
    └── NothingToTune
"""


class EvaluationError(Exception):
    """Judges cannot be measured so; `problems` lists everything that is wrong."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class SubjectError(EvaluationError):
    """There is no such judge, stage, prompt or model to measure; says which there are."""


class HoldoutError(EvaluationError):
    """The uses cannot be counted; says which file and why."""


class JournalError(EvaluationError):
    """The folder of a run cannot be used; says which and why."""


class TuneError(EvaluationError):
    """There is nothing to tune, or no way to; says why and what to do."""


class NothingToTune(TuneError):
    """No case fails, or too few do for a proof."""
