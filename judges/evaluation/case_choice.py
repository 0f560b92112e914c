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
    """The options that select the cases of an evaluation. An empty field does not restrict the selection."""

    data: list[Path] = field(default_factory=list)
    """Scenario files or folders; empty: the shipped scenarios."""
    judges: list[str] = field(default_factory=list)
    split: Literal["dev", "holdout", "all"] | None = None
    tags: list[str] = field(default_factory=list)
    """A scenario with any of these tags is selected."""
    families: list[str] = field(default_factory=list)
    limit: int | None = None
    """Maximum number of cases per judge."""

    @property
    def effective_split(self) -> str:
        """The requested split. The default is `dev` for the shipped scenarios, and `all` for other scenarios."""
        return self.split or ("all" if self.data else "dev")

    def keep(self, family: Family, scenario: Scenario) -> bool:
        """Return whether a scenario has the selected split, tags and family."""
        return (
            self.effective_split in ("all", family.split)
            and (not self.tags or not set(self.tags).isdisjoint(scenario.tags))
            and (not self.families or family.family in self.families)
        )

    def limited(self, cases: Sequence[LabelledCase], judges: Sequence[str]) -> list[LabelledCase]:
        """Return at most `limit` cases per judge, spread over families: the first of each family, then the second, and so on."""
        if self.limit is None:
            return list(cases)
        by_judge = (interleave((c for c in cases if c.judge == judge), lambda c: c.family) for judge in judges)
        return [case for own in by_judge for case in own[: self.limit]]


def interleave(items: Iterable[T], kind: Callable[[T], Hashable]) -> list[T]:
    """Return items in an order in which their kinds alternate.

    Args:
        items: The items.
        kind: Returns the kind of an item.
    """
    counts: Counter[Hashable] = Counter()
    turns = []
    for item in items:
        turns.append((counts[kind(item)], item))
        counts[kind(item)] += 1
    return [item for _, item in sorted(turns, key=lambda turn: turn[0])]
