"""Selects labelled cases by file, judge, split, tag and family. Pure."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from judges.evaluation.labelled import LabelledCase
from scenarios.scenario import Family, Scenario

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Choice:
    """A selection of cases. An empty field does not restrict it."""

    data: list[Path] = field(default_factory=list)
    judges: list[str] = field(default_factory=list)
    split: Literal["dev", "holdout", "all"] | None = None
    tags: list[str] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    limit: int | None = None

    @property
    def effective_split(self) -> str:
        """The split; by default `dev` for the shipped scenarios, and every split for others."""
        return self.split or ("all" if self.data else "dev")

    def keep(self, family: Family, scenario: Scenario) -> bool:
        return (
            self.effective_split in ("all", family.split)
            and (not self.tags or not set(self.tags).isdisjoint(scenario.tags))
            and (not self.families or family.family in self.families)
        )

    def limited(self, cases: Sequence[LabelledCase], judges: Sequence[str]) -> list[LabelledCase]:
        """Return at most `limit` cases of each judge: the first of each family, then the second of each, and so on."""
        if self.limit is None:
            return list(cases)
        by_judge = (interleave((c for c in cases if c.judge == judge), lambda c: c.family) for judge in judges)
        return [case for own in by_judge for case in own[: self.limit]]


def interleave(items: Iterable[T], kind: Callable[[T], Hashable]) -> list[T]:
    """Order items so that their kinds alternate."""
    counts: Counter[Hashable] = Counter()
    turns = []
    for item in items:
        turns.append((counts[kind(item)], item))
        counts[kind(item)] += 1
    return [item for _, item in sorted(turns, key=lambda turn: turn[0])]
