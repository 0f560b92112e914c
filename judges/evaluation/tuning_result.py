"""The result of a tuning run: the measured wordings, and the reason for its end. Pure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from judges.evaluation.edits import Wording
from judges.evaluation.proposer import Attempt
from judges.evaluation.run_cases import Answer
from judges.prompt import Prompt

EndReason = Literal["rounds", "budget", "nothing fails", "too few fail"]


@dataclass(frozen=True, slots=True)
class Version:
    """A wording and its answers to the dev cases."""

    name: str
    wording: Wording
    prompt: Prompt
    file: Path
    answers: list[Answer]


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The result of a run."""

    start: Version
    winner: Version
    """The best version; the start if no candidate is better."""
    attempts: dict[str, Attempt]
    """The outcome of each candidate, by name."""
    end_reason: EndReason

    @property
    def improved(self) -> bool:
        return self.winner is not self.start


@dataclass(frozen=True, slots=True)
class HoldoutResult:
    """The start and the winner on the holdout."""

    before: list[Answer]
    after: list[Answer]
    uses: int
    """Number of uses of this holdout for the judge, including this one; for several judges, the highest number."""
