"""Errors of measuring and tuning judges. Each message says what to do.

EvaluationError
└── TuneError           tuning is not possible
    └── NothingToTune
"""


class EvaluationError(Exception):
    """Judges cannot be measured with these arguments; `problems` lists every problem."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class TuneError(EvaluationError):
    """Tuning is not possible. The message says why, and what to do."""


class NothingToTune(TuneError):
    """No case fails, or too few fail for a significant improvement."""
