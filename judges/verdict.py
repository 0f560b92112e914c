"""What comes out of judging: verdicts, and the judgement that keeps the evidence behind one.

Nothing changes any of them. They are not frozen, here as elsewhere where turns make many: that would take three times as long.
"""

from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel

Verdict = Literal["accept", "warn", "reject", "unjudged"]
Stage = Literal["local", "swift", "chief"]

SEVERITY: dict[Verdict, int] = {"accept": 0, "warn": 1, "unjudged": 2, "reject": 3}


@dataclass(slots=True)
class Finding:
    """What the rules make of one observation."""

    verdict: Verdict
    rule: str | None = None
    """Id of the rule in `judges.rules.RULES` that decided; None for a plain accept."""
    reason: str = ""
    """Why, in words for operators and for the refiner. May quote the draft: never shown without `trace` permission."""
    warning: str = ""
    """What to tell the chatbot on its next turns, in place of the rule's own text. It must repeat nothing of the reply."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The model call behind a verdict, kept so that a verdict can be audited."""

    model: str
    prompt_hash: str
    raw: str


@dataclass(slots=True)
class Judgement:
    """One judge's verdict on one case, with its evidence."""

    judge: str
    stage: Stage
    verdict: Verdict
    rule: str | None = None
    reason: str = ""
    ms: float = 0.0
    score: float | None = None
    """How sure the judge is that the case breaks its rules, 0 to 1; None when the judge does not say."""
    observation: BaseModel | None = field(default=None, repr=False)
    exchange: Exchange | None = field(default=None, repr=False)
    warning: str = ""
    """What the chatbot is told on its next turns; empty: the rule's own text."""


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the most severe of some verdicts; `accept` when there are none."""
    return max(verdicts, key=SEVERITY.__getitem__, default="accept")
