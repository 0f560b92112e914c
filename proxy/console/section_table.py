"""The table of sections on the knowledge page: use, review state, filters and order. Pure."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from knowledge_base.library import Library, Source
from proxy.traces.counts import SectionUse

SHOWN = {"all": "All", "never": "Never cited", "unreviewed": "Not reviewed"}


@dataclass(frozen=True, slots=True)
class Review:
    """The review state of a section or a question-answer pair."""

    words: str
    """The label."""
    style: str
    """CSS class: `good`, `warn` or `bad`."""


@dataclass(frozen=True, slots=True)
class Row:
    """A section in the table."""

    source: Source
    review: Review
    chosen: int
    """Number of turns in which the section was selected."""
    cited: int
    """Number of turns whose delivered reply cites the section."""


ORDERS: Mapping[str, Callable[[Row], Any]] = {
    "title": lambda row: row.source.title.casefold(),
    "tokens": lambda row: (-row.source.tokens, row.source.id),
    "review": lambda row: (row.review.words, row.source.id),
    "chosen": lambda row: (-row.chosen, -row.cited, row.source.id),
    "cited": lambda row: (-row.cited, -row.chosen, row.source.id),
}


def make_rows(library: Library, use: SectionUse) -> list[Row]:
    """Return one row for each section, sorted by id."""
    return [
        Row(source, describe_review(source), use.chosen.get(source.id, 0), use.cited.get(source.id, 0))
        for source in library.sources
    ]


def select_rows(rows: Iterable[Row], *, words: str, shown: str, order: str) -> list[Row]:
    """Filter and sort rows.

    Args:
        rows: The rows.
        words: Words that must all occur in title, summary, text or id; empty: no search.
        shown: A key of `SHOWN`.
        order: A key of `ORDERS`.
    """
    search_words = words.casefold().split()
    keep = [
        row
        for row in rows
        if (shown != "never" or not row.cited)
        and (shown != "unreviewed" or row.review.style != "good")
        and all(word in _searched(row.source) for word in search_words)
    ]
    return sorted(keep, key=ORDERS[order])


def describe_review(source: Source) -> Review:
    """Return the review state of a section."""
    if source.reviewed_by is not None:
        return Review(f"Reviewed by {source.reviewed_by}, {source.reviewed_on}", "good")
    if source.reviewed is not None:
        return Review("Reviewed", "good") if source.reviewed else Review("Imported, not reviewed", "bad")
    return Review("No reviewer named", "warn")


def missing_sections(library: Library, use: SectionUse) -> list[str]:
    """Return the ids of cited sections that are no longer in the knowledge base."""
    return [id for id in use.cited if id not in library and not id.startswith("doc:")]


def _searched(source: Source) -> str:
    return f"{source.id} {source.title} {source.summary} {source.text}".casefold()
