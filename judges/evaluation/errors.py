"""Errors of measuring and tuning judges. Each message says what to do next.

EvaluationError
└── TuneError           tuning is not possible
    └── NothingToTune
"""


class EvaluationError(Exception):
    """The requested evaluation cannot run. `problems` lists all problems, one sentence each."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class TuneError(EvaluationError):
    """A prompt cannot be tuned. The message gives the reason and the next step."""


class NothingToTune(TuneError):
    """The judge fails on no case, or on too few cases for a significant improvement."""
