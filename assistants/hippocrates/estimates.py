"""Pure: how many patients databases have of what is wanted, as far as counts say.

Counts of several concepts (a concept and its descendants, or two that are both wanted) overlap by an unknown number of persons.
What is said is what the counts bound; what is ranked by takes them as independent. Counts below `SMALL_CELL` are unknown here
already.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assistants.hippocrates.catalogue import SMALL_CELL, SUPPRESSED, Catalogue, Counts
from assistants.hippocrates.query import ConceptTerm
from assistants.hippocrates.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Patients:
    """How many persons have a concept, as far as counts say."""

    low: int
    high: int

    def __str__(self) -> str:
        if self.high < SMALL_CELL:
            return f"fewer than {SMALL_CELL}"
        if self.low == self.high:
            return f"{self.high:,}"
        return f"{self.low:,} to {self.high:,}" if self.low >= SMALL_CELL else f"at most {self.high:,}"


class Estimate(NamedTuple):
    """For every database: how many persons have one wanted concept."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    expected: NDArray[np.float64]


def estimate(catalogue: Catalogue, vocabulary: Vocabulary, term: ConceptTerm) -> Estimate:
    """Bound and estimate how many persons have any of the concepts."""
    persons = sizes(catalogue)
    low, high, free = np.zeros(len(persons)), np.zeros(len(persons)), np.ones(len(persons))
    for root, below, entire in roots(vocabulary, term):
        root_low, root_high, root_free = np.zeros(len(persons)), np.zeros(len(persons)), np.ones(len(persons))
        for concept_id in below:
            if (counts := catalogue.counts(concept_id)) is not None:
                places, cell = counts.places, _cells(counts, persons)
                # A count that holds more than is wanted bounds it from above alone.
                root_low[places] = np.maximum(root_low[places], np.where(counts.whole & (not entire), 0, cell.low))
                root_high[places] += cell.high
                root_free[places] *= 1 - cell.expected / persons[places]
        if entire and (counts := catalogue.counts(root)) is not None:
            cell = Estimate(*(column[counts.whole] for column in _cells(counts, persons)))
            places = counts.places[counts.whole]
            root_low[places], root_high[places] = cell.low, cell.high
            root_free[places] = 1 - cell.expected / persons[places]
        low, high, free = np.maximum(low, root_low), high + root_high, free * root_free
    return Estimate(low, np.maximum(np.minimum(high, persons), low), persons * (1 - free))


def _cells(counts: Counts, persons: NDArray[np.float64]) -> Estimate:
    """Return what single counts say; a suppressed one is expected to be what the concept's counts elsewhere suggest."""
    hidden, sizes = counts.persons == SUPPRESSED, persons[counts.places]
    share = counts.persons[~hidden].sum() / max(sizes[~hidden].sum(), 1)
    low, high = np.where(hidden, 1, counts.persons), np.where(hidden, SMALL_CELL - 1, counts.persons)
    expected = np.where(hidden, np.clip(share * sizes, 1, SMALL_CELL - 1), counts.persons)
    return Estimate(low, high, np.minimum(expected, sizes))


def roots(vocabulary: Vocabulary, term: ConceptTerm) -> Iterator[tuple[int, frozenset[int], bool]]:
    """Return the concepts that are not below another of them, each with what of it is meant, and whether that is all of it.

    No descendant comes twice, and none that is excluded.
    """
    below: dict[bool, dict[int, frozenset[int]]] = {False: {}, True: {}}
    for choice in term.matches:
        root = choice.concept.concept_id
        below[choice.excluded][root] = vocabulary.descendants(root) if choice.descendants else frozenset({root})
    excluded = frozenset().union(*below[True].values())
    seen = set(excluded)
    for root, concepts in sorted(below[False].items(), key=lambda pair: (-len(pair[1]), pair[0])):
        if root not in seen:
            yield root, concepts - seen, not excluded & concepts and concepts == vocabulary.descendants(root)
            seen |= concepts


def together(
    wanted: Collection[Patients | None], persons: float, excluded: Collection[Patients | None] = ()
) -> Patients | None:
    """Bound how many persons have all of several concepts, and none of others; None if one is lacking."""
    every = [one for one in wanted if one is not None]
    if len(every) < len(wanted) or not every:
        return None
    absent = [one for one in excluded if one is not None]
    low = sum(one.low for one in every) - (len(every) - 1) * persons - sum(one.high for one in absent)
    high = min(min(one.high for one in every), persons - max((one.low for one in absent), default=0))
    return Patients(int(max(0, low)), int(max(0, low, high)))


def sizes(catalogue: Catalogue) -> NDArray[np.float64]:
    """Return the size of each database; of one that does not say, so many that its counts are as good as disjoint."""
    persons = [1e9 if one.persons is None else one.persons or SMALL_CELL - 1 for one in catalogue.databases]
    return np.array(persons, np.float64)
