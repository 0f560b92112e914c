"""Defines the result of a tuning run: the measured versions of the prompt, and the reason why the run ended. Pure."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from judges.evaluation.edits import Wording
from judges.evaluation.proposer import Attempt
from judges.evaluation.run_cases import Answer
from judges.prompt import Prompt

EndReason = Literal["rounds", "budget", "nothing fails", "too few fail"]
"""`rounds`: all rounds ran. `budget`: the budget was spent. `nothing fails`, `too few fail`: no significant gain is possible."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the tuned prompt, with the judge's answers to the dev cases."""

    name: str
    """`start`, or the name of the candidate."""
    wording: Wording
    prompt: Prompt
    file: Path
    """The prompt file in the folder of the run."""
    answers: list[Answer]


@dataclass(frozen=True, slots=True)
class TuningResult:
    """The result of a tuning run."""

    start: Version
    """The original prompt."""
    winner: Version
    """The best version; `start` if no candidate is better."""
    attempts: dict[str, Attempt]
    """The outcome of each candidate, by name."""
    end_reason: EndReason

    @property
    def improved(self) -> bool:
        return self.winner is not self.start


@dataclass(frozen=True, slots=True)
class HoldoutResult:
    """The answers to the held-out cases with the original prompt and with the winner."""

    before: list[Answer]
    after: list[Answer]
    uses: int
    """Number of uses of the holdout for the judge, including this use; for several judges, the highest number."""
