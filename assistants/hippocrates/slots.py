"""What a cohort is made of: concepts, events, windows, counts, rules, ages, ways to leave; and where each was said."""

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from assistants.hippocrates.vocabulary import Concept

T = TypeVar("T")
Sex = Literal["female", "male"]
EventsPerPerson = Literal["earliest", "all"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a slot comes from."""

    turn: int
    """Which of the user's messages, from 0."""
    words: str


@dataclass(frozen=True, slots=True)
class Filled(Generic[T]):
    """A slot with one value."""

    value: T
    origin: Origin


@dataclass(frozen=True, slots=True)
class Choice:
    """A concept of a concept set."""

    concept: Concept
    descendants: bool = True
    excluded: bool = False
    mapped: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """Words for concepts: with the concepts that are meant, or with candidates to choose from."""

    words: str
    choices: tuple[Choice, ...] = ()
    candidates: tuple[Concept, ...] = ()
    descendants: bool = True
    """Whether what is chosen takes its descendants along."""

    @property
    def is_open(self) -> bool:
        return not self.choices


@dataclass(frozen=True, slots=True)
class Event:
    """A record of any of the terms; without terms, a death."""

    terms: tuple[Term, ...]
    origin: Origin
    first: bool = False
    """Only the first in a person's history."""
    death: bool = False
    """A death; the terms are its causes."""
    era: bool = False
    """Drug eras, not single exposures."""

    @property
    def words(self) -> str:
        return " or ".join(term.words for term in self.terms) or "death"

    @property
    def concept_keys(self) -> set[int | str]:
        """The ids of its concepts; the words of those that are still to be chosen."""
        return {
            choice.concept.concept_id if choice else term.words.casefold()
            for term in self.terms
            for choice in (term.choices or (None,))
        }


@dataclass(frozen=True, slots=True)
class Days:
    """Days relative to the index date, both ends included; None is without end."""

    start: int | None
    end: int | None


BEFORE, AFTER, EVER = Days(None, -1), Days(1, None), Days(None, None)


Bound = Literal["at least", "at most", "exactly"]


@dataclass(frozen=True, slots=True)
class Count:
    """How many records a rule asks for."""

    bound: Bound
    n: int


ONE_OR_MORE, NONE = Count("at least", 1), Count("exactly", 0)


@dataclass(frozen=True, slots=True)
class Rule:
    """An inclusion rule; an exclusion is one that allows exactly 0 records."""

    event: Event
    count: Count
    window: Days

    @property
    def excludes(self) -> bool:
        return self.count == NONE

    def restates(self, old: "Rule") -> bool:
        """Tell whether this rule says again what one of an earlier message says: including or excluding the same concepts."""
        same = (self.excludes, self.event.death) == (old.excludes, old.event.death)
        return (
            same
            and old.event.origin.turn < self.event.origin.turn
            and self.event.concept_keys == old.event.concept_keys
        )


@dataclass(frozen=True, slots=True)
class Age:
    """Age in years at entry, both ends included."""

    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class FixedExit:
    """Leave some days after the entry event starts, or ends."""

    days: int
    after: Literal["start", "end"] = "start"


@dataclass(frozen=True, slots=True)
class DrugEraExit:
    """Leave when exposure to a drug ends; without terms, to the drugs of entry."""

    terms: tuple[Term, ...] = ()
    gap: int = 30
    """Days without the drug that do not end it."""
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ObservationExit:
    """Leave when observation ends."""


Exit = FixedExit | DrugEraExit | ObservationExit
