"""Finds quotes in their source text, to mark them. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_QUOTE = 2_000
"""Maximum characters of a quote that are searched for."""
_ELLIPSIS = re.compile(r"[\[(]?(?:\.{3,}|…)[\])]?")
_WORD = re.compile(r"[^\W_]+")


Span = tuple[int, int]
"""Start and end offsets of a passage in a text; the end is exclusive."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a text."""

    text: str
    is_quote: bool = False


def mark_quotes(text: str, quotes: Iterable[str]) -> list[Passage]:
    """Split a text into passages, with quotes marked. Case, white space and punctuation are ignored.

    The parts of a quote before and after an ellipsis are searched for separately.
    """
    return divide(text, merge_spans(span for quote in set(quotes) for span in _find_parts(text, quote)))


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return spans sorted by start. Overlapping and touching spans are merged."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def divide(text: str, spans: Iterable[Span]) -> list[Passage]:
    """Split a text into passages and mark those at the spans as quotes. Spans must be sorted and must not overlap."""
    passages, at = [], 0
    for start, end in spans:
        passages += [Passage(text[at:start]), Passage(text[start:end], is_quote=True)]
        at = end
    return [passage for passage in (*passages, Passage(text[at:])) if passage.text]


def _find_parts(text: str, quote: str) -> list[Span]:
    """Return the spans of a quote in a text. An ellipsis splits the quote into parts."""
    spans = []
    for part in _ELLIPSIS.split(quote[:LONGEST_QUOTE]):
        words = _WORD.findall(part)
        if words:
            pattern = r"\b" + r"[\W_]+".join(map(re.escape, words)) + r"\b[.!?]?"
            match = re.search(pattern, text, re.IGNORECASE)
            if match is not None:
                spans.append(match.span())
    return spans
