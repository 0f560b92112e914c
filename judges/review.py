"""What several judges make of one reply."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from judges.observation import Crisis, Sign
from judges.verdict import Judgement, Verdict, worst


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
