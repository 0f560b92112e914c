"""The ways to read a sentence as documented phrases that follow one another without a gap."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

from assistants.hippocrates.heads import FILLER, HEADS, Head
from assistants.hippocrates.phrases import Closed, closed_at
from assistants.hippocrates.slots import Count, DrugEraExit, Event
from assistants.hippocrates.study import AskKind


class Unclear(Exception):
    """Why a sentence cannot be taken, addressed to the researcher."""

    kind: ClassVar[AskKind] = "unclear"


class NoConcept(Unclear):
    """Its words are like no name of the vocabulary."""

    kind = "no_concept"


class Conflict(Unclear):
    """It can be taken in two ways."""

    kind = "conflict"


@dataclass(frozen=True, slots=True)
class Phrase:
    """A head with the concepts that follow it."""

    head: Head
    event: Event
    count: Count | None = None
    past: bool = False
    every: bool = False
    end: DrugEraExit | None = None
    """Of a head that is about the end of a treatment."""
    by_name: bool = True
    """The vocabulary has all names that stand in it."""


Piece = Closed | Phrase


class Sentence:
    """The ways to read a sentence as phrases that follow one another without a gap."""

    def __init__(self, text: str, read_phrase: Callable[[Head, str], Phrase | None]) -> None:
        self._text = text.rstrip(" ,;:.!")
        self._read_phrase = read_phrase
        self.without_concept = ""
        """The last phrase that looks like one for concepts, but is like no name."""
        self._steps = cache(self._steps_from)

    def readings(self, place: int = 0) -> Iterator[tuple[Piece, ...]]:
        place = self._after_filler(place)
        if place >= len(self._text):
            yield ()
            return
        for end, pieces in self._steps(place):
            for rest in self.readings(end):
                yield (*pieces, *rest)

    def _after_filler(self, place: int) -> int:
        match = FILLER.match(self._text, place)
        return match.end() if match else place

    def _is_readable(self, place: int) -> bool:
        place = self._after_filler(place)
        return place >= len(self._text) or bool(self._steps(place))

    def _steps_from(self, place: int) -> list[tuple[int, tuple[Piece, ...]]]:
        """Return the phrases that begin at a place and after which the sentence can be read on: the likeliest first."""
        steps: list[tuple[int, tuple[Piece, ...]]] = [
            (end, (*pieces,)) for end, pieces in closed_at(self._text, place) if self._is_readable(end)
        ]
        for head in HEADS:
            if match := head.pattern.match(self._text, place):
                steps += self._with_concepts(head, match.end())
        return steps

    def _with_concepts(self, head: Head, start: int) -> list[tuple[int, tuple[Piece, ...]]]:
        names: list[tuple[int, tuple[Piece, ...]]] = []
        others: list[tuple[int, tuple[Piece, ...]]] = []
        for boundary in re.finditer(r"(?<=[^\s,;])(?=[\s,;]|$)", self._text[start:]):
            end = start + boundary.start()
            if self._text.count('"', start, end) % 2 or not self._is_readable(end):
                continue
            words = self._text[start:end].strip(" ,;")
            try:
                phrase = self._read_phrase(head, words) if words else None
            except NoConcept as problem:
                self.without_concept = str(problem)
                continue
            if phrase and (phrase.by_name or not head.names_only):
                (names if phrase.by_name else others).append((end, (phrase,)))
        return [*reversed(names), *others]
