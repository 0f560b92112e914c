"""Computes bounds on the number of patients in databases. All functions are pure.

A person may have several concepts, such as a concept and its descendant, and the catalogue does not tell how many persons do. So
counts of several concepts yield only bounds. Counts below `SMALL_CELL` are not in the catalogue.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from assistants.hippocrates.catalogue import SMALL_CELL, Catalogue
from assistants.hippocrates.study import Term
from assistants.hippocrates.vocabulary import Vocabulary

NO_SIZE = 10**9
"""The assumed number of persons of a database whose size is unknown or suppressed. It is too large to affect a bound."""


@dataclass(frozen=True, slots=True)
class Patients:
    """The lowest and highest possible number of persons with a concept."""

    low: int
    high: int

    def __str__(self) -> str:
        if self.high < SMALL_CELL:
            return f"fewer than {SMALL_CELL}"
        if self.low == self.high:
            return f"{self.high:,}"
        return f"{self.low:,} to {self.high:,}" if self.low >= SMALL_CELL else f"at most {self.high:,}"


def bounds(catalogue: Catalogue, vocabulary: Vocabulary, term: Term) -> list[Patients | None]:
    """Return, for each database of the catalogue, bounds on the persons with any concept of a term; None for no persons."""
    low, high = np.zeros((2, len(catalogue.databases)), np.int64)
    for root, added in added_concepts(vocabulary, term).items():
        entire = added == vocabulary.descendants(root)
        total = np.zeros_like(high)
        for concept_id in added:
            if (counts := catalogue.counts.get(concept_id)) is not None:
                # A count that includes unwanted descendants is only an upper bound.
                least = np.where(counts.whole & (not entire), 0, np.maximum(counts.persons, 1))
                low[counts.places] = np.maximum(low[counts.places], least)
                total[counts.places] += np.maximum(counts.persons, SMALL_CELL - 1)
        if entire and (counts := catalogue.counts.get(root)) is not None:
            total[counts.places[counts.whole]] = np.maximum(counts.persons[counts.whole], SMALL_CELL - 1)
        high += total
    low, high = np.minimum((low, high), [one.persons or NO_SIZE for one in catalogue.databases])
    return [Patients(*pair) if pair[1] else None for pair in zip(low.tolist(), high.tolist(), strict=True)]


def added_concepts(vocabulary: Vocabulary, term: Term) -> dict[int, frozenset[int]]:
    """Return, by concept id of each choice, the concepts that it adds to larger choices, without duplicates or excluded ones."""
    spans = []
    for choice in term.choices:
        root = choice.concept.concept_id
        spans.append((root, vocabulary.descendants(root) if choice.descendants else frozenset({root}), choice.excluded))
    seen = frozenset[int]().union(*(span for _, span, excluded in spans if excluded))
    added = {}
    for root, span, _ in sorted(spans, key=lambda one: -len(one[1])):
        if span - seen:
            added[root] = span - seen
            seen |= span
    return added


def together(wanted: Sequence[Patients | None], excluded: Sequence[Patients | None], persons: int) -> Patients | None:
    """Return bounds on the persons in a database with all wanted and no excluded concepts; None if a wanted one has no persons."""
    every, absent = ([one for one in some if one] for some in (wanted, excluded))
    if len(every) < len(wanted) or not every:
        return None
    low = sum(one.low for one in every) - (len(every) - 1) * persons - sum(one.high for one in absent)
    high = min(*(one.high for one in every), persons - max((one.low for one in absent), default=0))
    return Patients(max(0, low), max(high, SMALL_CELL - 1))  # rank and search must not distinguish small counts
