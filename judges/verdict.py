"""What comes out of judging: verdicts, and the judgement that keeps the evidence behind one.

They are not changed once made. They are not frozen, because to create a frozen one takes three times as long.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel

from judges.observation import Crisis, Sign

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


# Several judges


@dataclass(slots=True)
class Review:
    """What the judges make of one reply."""

    judgements: list[Judgement] = field(default_factory=list)
    """Of every stage that ran, in order."""
    decisive: list[Judgement] = field(default_factory=list)
    """The judgement each judge ends on."""
    failed_closed: bool = False
    """A judge whose failure replaces the reply is unjudged."""
    completed: str | None = None
    """The reply with the statements that it lacked, where that settles all that the judges found."""

    @property
    def verdict(self) -> Verdict:
        return worst([j.verdict for j in self.decisive])

    @property
    def alarms(self) -> list[Judgement]:
        """The judgements that flag something, whether they settle it or not."""
        return [j for j in self.judgements if j.verdict in ("warn", "reject")]

    @property
    def objections(self) -> list[Judgement]:
        return [j for j in self.decisive if j.verdict in ("warn", "reject")]

    def __add__(self, other: "Review") -> "Review":
        return Review(
            self.judgements + other.judgements,
            self.decisive + other.decisive,
            self.failed_closed or other.failed_closed,
            self.completed or other.completed,
        )


def signs(judgements: Sequence[Judgement]) -> list[Sign]:
    """Return the signs of present danger that the judges saw, the strongest judge's first."""
    return [
        sign
        for judgement in reversed(judgements)
        if isinstance(judgement.observation, Crisis)
        for sign in judgement.observation.signs
        if sign.when == "now"
    ]
