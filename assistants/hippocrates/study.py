"""Pure: a cohort as far as a researcher has described it, folded from the messages.

Nothing is remembered between requests: the same messages give the same study, so that editing an earlier message, or
branching from it, needs no bookkeeping.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeVar

from assistants.hippocrates.vocabulary import Concept
from models.request import Message, text_of

T = TypeVar("T")
Sex = Literal["female", "male"]
EventsPerPerson = Literal["earliest", "all"]
Question = Literal["entry", "concept", "prior_days", "rules", "exit"]
"""What the researcher is asked next, in this order; everything else has a default that the read-back states."""


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


@dataclass(frozen=True, slots=True)
class Days:
    """Days relative to the index date, both ends included; None is without end."""

    start: int | None
    end: int | None


BEFORE, AFTER, EVER = Days(None, -1), Days(1, None), Days(None, None)


@dataclass(frozen=True, slots=True)
class Count:
    """How many records a rule asks for."""

    bound: Literal["at least", "at most", "exactly"]
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


@dataclass(frozen=True, slots=True)
class Ask:
    """Something of the last message that has to be asked back."""

    kind: Literal["unclear", "question", "no_concept", "conflict"]
    """`question` is a digression: something that the researcher wants to know."""
    words: str
    text: str
    """What to say to the researcher; empty for a question."""


@dataclass(frozen=True, slots=True)
class Study:
    """What is known of the cohort. None is a slot that nobody filled."""

    entry: tuple[Event, ...] = ()
    events_per_person: Filled[EventsPerPerson] | None = None
    prior_days: Filled[int] | None = None
    post_days: Filled[int] | None = None
    age: Filled[Age] | None = None
    sex: Filled[Sex] | None = None
    rules: tuple[Rule, ...] = ()
    exit: Filled[Exit] | None = None
    censoring: tuple[Event, ...] = ()
    gap: Filled[int] | None = None
    """Days between two periods of a person that are joined into one."""
    skipped: frozenset[Question] = frozenset()
    """Questions that the researcher leaves at their default."""
    asks: tuple[Ask, ...] = ()

    def terms(self) -> Iterator[Term]:
        """Yield every term, in the order in which they are asked about."""
        exit_terms = self.exit.value.terms if self.exit and isinstance(self.exit.value, DrugEraExit) else ()
        events = (*self.entry, *(rule.event for rule in self.rules), *self.censoring)
        yield from (term for event in events for term in event.terms)
        yield from exit_terms

    @property
    def open_term(self) -> Term | None:
        """The term whose concepts have to be chosen next."""
        return next((term for term in self.terms() if term.is_open), None)

    @property
    def question(self) -> Question | None:
        """What to ask next; None when the cohort can be confirmed."""
        if not self.entry:
            return "entry"
        if self.open_term:
            return "concept"
        unfilled: dict[Question, bool] = {
            "prior_days": self.prior_days is None,
            "rules": not (self.rules or self.age or self.sex),
            "exit": self.exit is None,
        }
        return next((name for name, empty in unfilled.items() if empty and name not in self.skipped), None)


Slot = Literal["events_per_person", "prior_days", "post_days", "age", "sex", "exit", "gap"]


@dataclass(frozen=True, slots=True)
class Fill:
    """Give a slot its value, or with None empty it."""

    slot: Slot
    value: Filled[Any] | None


@dataclass(frozen=True, slots=True)
class AddEntry:
    """Add an entry event, or let it take the place of those there are."""

    event: Event
    instead: bool = False


@dataclass(frozen=True, slots=True)
class AddRule:
    """Add a rule; one of an earlier message on the same concepts, including or excluding alike, gives way to it."""

    rule: Rule
    also: bool = False
    """The earlier one stays."""


@dataclass(frozen=True, slots=True)
class AddCensoring:
    """Add an event that ends a person's time in the cohort."""

    event: Event


@dataclass(frozen=True, slots=True)
class Remove:
    """Take out an entry event, a rule or a censoring event."""

    part: Event | Rule


@dataclass(frozen=True, slots=True)
class ReplaceTerm:
    """Exchange a term wherever it stands; with None take it out, and what has no other term with it."""

    old: Term
    new: Term | None


@dataclass(frozen=True, slots=True)
class Skip:
    """Leave a question at its default."""

    question: Question


@dataclass(frozen=True, slots=True)
class Undo:
    """Take back the last message that changed something."""


@dataclass(frozen=True, slots=True)
class Reset:
    """Begin anew."""


Change = Fill | AddEntry | AddRule | AddCensoring | Remove | ReplaceTerm | Skip | Undo | Reset


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message says: changes, and what has to be asked back."""

    changes: tuple[Change, ...] = ()
    asks: tuple[Ask, ...] = ()


class Reader(Protocol):
    """Reads a message as an answer to what the study still lacks."""

    def read(self, study: Study, turn: int, text: str) -> Reading: ...


def fold(messages: Sequence[Message], reader: Reader) -> Study:
    """Return the study that the user's messages describe."""
    history = [Study()]
    texts = [text_of(message) for message in messages if message.get("role") == "user"]
    for turn, text in enumerate(texts):
        before = replace(history[-1], asks=())
        reading = reader.read(before, turn, text)
        if Undo() in reading.changes:
            history = history[:-1] or history
            history.append(replace(history.pop(), asks=reading.asks))
            continue
        study = before
        for change in reading.changes:
            study = apply(study, change, turn)
        if study == before:
            history.pop()
        history.append(replace(study, asks=reading.asks))
    return history[-1]


def apply(study: Study, change: Change, turn: int) -> Study:
    """Return the study after a change of this turn."""
    match change:
        case Fill(slot, value):
            filled: dict[str, Any] = {slot: value}
            return replace(study, **filled)
        case AddEntry(event, instead):
            return replace(study, entry=(event,) if instead else (*study.entry, event))
        case AddRule(rule, also):
            given_way = [] if also else [old for old in study.rules if _restates(rule, old, turn)]
            rules = tuple(old for old in study.rules if old not in given_way)
            return replace(study, rules=(*rules, rule))
        case AddCensoring(event):
            return replace(study, censoring=(*study.censoring, event))
        case Remove(part):
            return replace(
                study,
                entry=tuple(event for event in study.entry if event != part),
                rules=tuple(rule for rule in study.rules if rule != part),
                censoring=tuple(event for event in study.censoring if event != part),
            )
        case ReplaceTerm(old, new):
            return _with_term(study, old, new)
        case Skip(question):
            return replace(study, skipped=study.skipped | {question})
        case Reset():
            return Study()
        case Undo():
            return study


def _restates(rule: Rule, old: Rule, turn: int) -> bool:
    same = old.excludes == rule.excludes and old.event.death == rule.event.death
    return same and old.event.origin.turn < turn and _concepts(old.event) == _concepts(rule.event)


def _concepts(event: Event) -> set[int | str]:
    return {
        choice.concept.concept_id if choice else term.words.casefold()
        for term in event.terms
        for choice in (term.choices or (None,))
    }


def _with_term(study: Study, old: Term, new: Term | None) -> Study:
    def exchange(terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(one for one in (new if term == old else term for term in terms) if one is not None)

    def events(all_events: tuple[Event, ...]) -> tuple[Event, ...]:
        exchanged = (replace(event, terms=exchange(event.terms)) for event in all_events)
        return tuple(event for event, was in zip(exchanged, all_events, strict=True) if event.terms or not was.terms)

    rules = tuple(replace(rule, event=event) for rule in study.rules for event in events((rule.event,)))
    leaving = study.exit
    if leaving and isinstance(leaving.value, DrugEraExit):
        leaving = replace(leaving, value=replace(leaving.value, terms=exchange(leaving.value.terms)))
    return replace(study, entry=events(study.entry), rules=rules, censoring=events(study.censoring), exit=leaving)
