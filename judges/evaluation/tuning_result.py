"""What a tuning run came to: the wordings that it measured, and how it ended. Pure."""

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
    """A wording and what it made of the dev cases."""

    name: str
    wording: Wording
    prompt: Prompt
    file: Path
    answers: list[Answer]


@dataclass(frozen=True, slots=True)
class TuningResult:
    """How a run ended."""

    start: Version
    winner: Version
    """The start, when nothing better was found."""
    attempts: dict[str, Attempt]
    """What came of each candidate."""
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
    """How often this holdout has been used for this judge, this time included; of several, for the one it was used most for."""
