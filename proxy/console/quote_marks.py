"""Finds quotes in the text that they are from, to be marked there. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

LONGEST_QUOTE = 2_000
"""Characters of a quote that is looked for."""
_ELLIPSIS = re.compile(r"[\[(]?(?:\.{3,}|…)[\])]?")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of a text."""

    text: str
    marked: bool


def mark_quotes(text: str, quotes: Iterable[str]) -> list[Stretch]:
    """Cut a text where quotes begin and end. Case, white space and punctuation do not matter; an ellipsis divides a quote."""
    spans = sorted(span for quote in set(quotes) for span in _spans(text, quote))
    stretches: list[Stretch] = []
    at = 0
    for start, end in spans:
        if end <= at:
            continue
        if start > at:
            stretches.append(Stretch(text[at:start], False))
        stretches.append(Stretch(text[max(at, start) : end], True))
        at = end
    if at < len(text):
        stretches.append(Stretch(text[at:], False))
    return stretches


def _spans(text: str, quote: str) -> list[tuple[int, int]]:
    """Return where the parts of a quote stand."""
    found = []
    for part in _ELLIPSIS.split(quote[:LONGEST_QUOTE]):
        words = _WORD.findall(part)
        if words:
            pattern = r"\b" + r"[\W_]+".join(map(re.escape, words)) + r"\b[.!?]?"
            match = re.search(pattern, text, re.IGNORECASE)
            if match is not None:
                found.append(match.span())
    return found
