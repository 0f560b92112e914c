"""Defines the results of judging: verdicts, judgements with their evidence, and reviews by several judges.

Treat these objects as immutable. They are not frozen, because creating a frozen dataclass takes three times as long.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from pydantic import BaseModel

from judges.observation import Crisis, Sign

Verdict = Literal["accept", "warn", "reject", "unjudged"]
Stage = Literal["local", "swift", "chief"]

SEVERITY: dict[Verdict, int] = {"accept": 0, "warn": 1, "unjudged": 2, "reject": 3}
"""The order of verdicts, from the mildest to the most severe."""


@dataclass(slots=True)
class Finding:
    """A verdict with its rule and reason: the result of applying the rules to one observation, or of a Python judge."""

    verdict: Verdict
    rule: str | None = None
    """Id of the rule in `judges.rules.RULES` that decided; None for a plain accept."""
    reason: str = ""
    """The reason, for operators and the refiner. It may quote the draft, so it is never shown without `trace` permission."""
    warning: str = ""
    """Warning to the chatbot on its next turns, in place of the rule's message. It must not repeat text of the reply."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """The model call behind a verdict, kept so that a verdict can be audited."""

    model: str
    """The alias of the model."""
    prompt_hash: str
    """The hash of the prompt (`judges.prompt.Prompt.hash`)."""
    raw: str
    """The model's answer, unchanged."""


@dataclass(slots=True)
class Judgement:
    """One judge's verdict on one case, with its evidence."""

    judge: str
    stage: Stage
    verdict: Verdict
    rule: str | None = None
    reason: str = ""
    ms: float = 0.0
    """Duration, in milliseconds."""
    score: float | None = None
    """Confidence that the case breaks the rules, 0 to 1; None if the judge gives no confidence."""
    observation: BaseModel | None = field(default=None, repr=False)
    exchange: Exchange | None = field(default=None, repr=False)
    warning: str = ""
    """Warning to the chatbot on its next turns; empty: the message of the rule."""


def worst(verdicts: list[Verdict]) -> Verdict:
    """Return the most severe verdict; `accept` for an empty list."""
    return max(verdicts, key=SEVERITY.__getitem__, default="accept")


# The verdicts of several judges


@dataclass(slots=True)
class Review:
    """The judgements of one reply by all its judges."""

    judgements: list[Judgement] = field(default_factory=list)
    """The judgements of every stage that ran, in order."""
    decisive: list[Judgement] = field(default_factory=list)
    """The deciding judgement of each judge."""
    failed_closed: bool = False
    """Whether a judge with `on_error: closed` returned `unjudged`, so that the reply must be replaced."""
    completed: str | None = None
    """The reply with its missing statements added; None if adding them does not settle all objections."""

    @property
    def verdict(self) -> Verdict:
        return worst([j.verdict for j in self.decisive])

    @property
    def alarms(self) -> list[Judgement]:
        """All judgements with the verdict `warn` or `reject`, including judgements that a later stage overruled."""
        return [j for j in self.judgements if j.verdict in ("warn", "reject")]

    @property
    def objections(self) -> list[Judgement]:
        """The deciding judgements with the verdict `warn` or `reject`."""
        return [j for j in self.decisive if j.verdict in ("warn", "reject")]

    def __add__(self, other: "Review") -> "Review":
        return Review(
            self.judgements + other.judgements,
            self.decisive + other.decisive,
            self.failed_closed or other.failed_closed,
            self.completed or other.completed,
        )


def signs(judgements: Sequence[Judgement]) -> list[Sign]:
    """Return the signs of present danger that the judges saw. The signs of the last, strongest judge come first."""
    return [
        sign
        for judgement in reversed(judgements)
        if isinstance(judgement.observation, Crisis)
        for sign in judgement.observation.signs
        if sign.when == "now"
    ]
