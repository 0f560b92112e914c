"""A choice among labelled cases: by file, judge, split, tag and family. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from judges.evaluation.labelled import LabelledCase
from scenarios.scenario import Family, Scenario


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice among cases; an empty field does not restrict it."""

    data: list[Path] = field(default_factory=list)
    judges: list[str] = field(default_factory=list)
    split: Literal["dev", "holdout", "all"] | None = None
    tags: list[str] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    limit: int | None = None

    @property
    def effective_split(self) -> str:
        """Dev of the shipped scenarios and all of others, unless it is said."""
        return self.split or ("all" if self.data else "dev")

    def keep(self, family: Family, scenario: Scenario) -> bool:
        return (
            self.effective_split in ("all", family.split)
            and (not self.tags or not set(self.tags).isdisjoint(scenario.tags))
            and (not self.families or family.family in self.families)
        )

    def limited(self, cases: Sequence[LabelledCase], judges: Sequence[str]) -> list[LabelledCase]:
        """Return at most `limit` cases of each judge, taking the first of each family, then the second of each, and so on."""
        if self.limit is None:
            return list(cases)
        chosen: list[LabelledCase] = []
        for judge in judges:
            counts: dict[str, int] = {}
            places: list[tuple[int, int]] = []
            for number, case in enumerate(cases):
                if case.judge == judge:
                    counts[case.family] = counts.get(case.family, -1) + 1
                    places.append((counts[case.family], number))
            chosen += [cases[number] for _, number in sorted(places)[: self.limit]]
        return chosen
