"""The question-answer pairs of a knowledge base with their reviews, counted and filtered."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal, get_args

from knowledge_base.pairs.pair import PAIRS_FILE, TAXONOMY_FILE, Pair, PairsError, load_pairs, load_taxonomy
from proxy.console.section_table import Review

PairState = Literal["reviewed", "unreviewed", "rejected"]
"""The review state of a pair; `reviewed`: accepted by an expert."""
STATES: tuple[PairState, ...] = get_args(PairState)
STATE_LABELS: Mapping[PairState, str] = {
    "reviewed": "Reviewed",
    "unreviewed": "Not reviewed",
    "rejected": "Rejected",
}
Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class PairRow:
    """A pair in the table."""

    pair: Pair
    state: PairState
    review: Review
    searched: str
    """All texts of the pair in lower case, for the search."""


@dataclass(frozen=True)
class PairTable:
    """All pairs of a knowledge base."""

    rows: tuple[PairRow, ...] = ()
    foci: Mapping[str, str] = field(default_factory=dict)
    """Names of the foci by id."""
    problem: str = ""
    """Why the files cannot be read; empty: they were read."""

    @cached_property
    def counts(self) -> Mapping[PairState, int]:
        counts = Counter(row.state for row in self.rows)
        return {state: counts[state] for state in STATES}


def read_pair_table(folder: Path) -> PairTable | None:
    """Return the question-answer pairs of a knowledge base, or None if it has none. The files are cached until they change."""
    if not os.path.exists(folder / PAIRS_FILE):
        return None
    return _read(folder, _version(folder / PAIRS_FILE), _version(folder / TAXONOMY_FILE))


def select_pairs(rows: Iterable[PairRow], *, words: str, focus: str, state: str) -> list[PairRow]:
    """Filter rows: every word occurs in question, wordings, answer or id, and focus and state match (empty: any)."""
    search_words = words.casefold().split()
    return [
        row
        for row in rows
        if focus in ("", row.pair.focus)
        and state in ("", row.state)
        and all(word in row.searched for word in search_words)
    ]


def _version(path: Path) -> Version | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


@lru_cache(maxsize=8)
def _read(folder: Path, pairs: Version | None, taxonomy: Version | None) -> PairTable:
    """Read both files. A problem is returned, not raised, so that it is cached too."""
    try:
        foci = {focus.id: focus.name for focus in load_taxonomy(folder).foci}
        return PairTable(tuple(map(_make_row, load_pairs(folder))), foci)
    except PairsError as error:
        return PairTable(problem=str(error).removeprefix(f"{folder}{os.sep}"))


def _make_row(pair: Pair) -> PairRow:
    searched = "\n".join((pair.id, pair.question, *pair.variants, pair.answer)).casefold()
    if pair.review is None:
        return PairRow(pair, "unreviewed", Review("Not reviewed", "warn"), searched)
    by = f"by {pair.review.reviewer}, {pair.review.date}"
    if pair.served:
        return PairRow(pair, "reviewed", Review(f"Reviewed {by}", "good"), searched)
    reason = f": {pair.review.error}" if pair.review.error else ""
    return PairRow(pair, "rejected", Review(f"Rejected {by}{reason}", "bad"), searched)
