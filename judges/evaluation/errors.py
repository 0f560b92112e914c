"""What keeps judges from being measured; each says what to do about it.

EvaluationError
└── TuneError           there is nothing to tune, or no way to
    └── NothingToTune
"""


class EvaluationError(Exception):
    """Judges cannot be measured so; `problems` lists everything that is wrong."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class TuneError(EvaluationError):
    """There is nothing to tune, or no way to; says why and what to do."""


class NothingToTune(TuneError):
    """No case fails, or too few do for a proof."""
