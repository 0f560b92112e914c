"""Pure: a cohort as far as a researcher has described it, folded from the messages.

Nothing is remembered between requests: the same messages give the same study, so that editing an earlier message, or
branching from it, needs no bookkeeping.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from assistants.hippocrates.slots import (
    Age,
    DrugEraExit,
    Event,
    EventsPerPerson,
    Exit,
    Filled,
    Origin,
    Rule,
    Sex,
    Term,
)
from models.request import Message, text_of

Question = Literal["entry", "concept", "prior_days", "rules", "exit"]
"""What the researcher is asked next, in this order; everything else has a default that the read-back states."""
Slot = Literal["events_per_person", "prior_days", "post_days", "age", "sex", "exit", "gap"]
AskKind = Literal["unclear", "question", "no_concept", "conflict"]
"""`question` is a digression: something that the researcher wants to know."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Something of the last message that has to be asked back."""

    kind: AskKind
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

    def fill(self, slot: Slot, value: object, origin: Origin) -> Self:
        """Return the study with another value of a slot; with None it is empty."""
        filled: dict[str, Any] = {slot: None if value is None else Filled(value, origin)}
        return replace(self, **filled)

    def add_rule(self, rule: Rule, *, also: bool = False) -> Self:
        """Return the study with a rule; one of an earlier message on the same concepts gives way, unless `also`."""
        other_rules = tuple(old for old in self.rules if also or not rule.restates(old))
        return replace(self, rules=(*other_rules, rule))

    def remove(self, parts: Collection[Event | Rule]) -> Self:
        """Return the study without some entry events, rules or censoring events."""
        return replace(
            self,
            entry=tuple(event for event in self.entry if event not in parts),
            rules=tuple(rule for rule in self.rules if rule not in parts),
            censoring=tuple(event for event in self.censoring if event not in parts),
        )

    def replace_term(self, old: Term, new: Term | None) -> Self:
        """Return the study with a term exchanged wherever it stands; with None it goes, and what has no other term with it."""

        def exchange(terms: tuple[Term, ...]) -> tuple[Term, ...]:
            return tuple(one for one in (new if term == old else term for term in terms) if one is not None)

        def exchange_in(events: Iterable[Event]) -> tuple[Event, ...]:
            changed = ((event, replace(event, terms=exchange(event.terms))) for event in events)
            return tuple(after for before, after in changed if after.terms or not before.terms)

        leaving = self.exit
        if leaving and isinstance(leaving.value, DrugEraExit):
            leaving = replace(leaving, value=replace(leaving.value, terms=exchange(leaving.value.terms)))
        return replace(
            self,
            entry=exchange_in(self.entry),
            rules=tuple(replace(rule, event=event) for rule in self.rules for event in exchange_in([rule.event])),
            censoring=exchange_in(self.censoring),
            exit=leaving,
        )

    def skip(self, question: Question) -> Self:
        """Return the study with a question left at its default."""
        return replace(self, skipped=self.skipped | {question})


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message says: the study after it, and what has to be asked back."""

    study: Study
    asks: Sequence[Ask] = ()
    undo: bool = False
    """It takes back the last message that changed something, whatever else it says."""


Read = Callable[[Study, int, str], Reading]
"""Reads a message as an answer to what the study still lacks; the number says which of the user's messages it is, from 0."""


def fold(messages: Sequence[Message], read: Read) -> Study:
    """Return the study that the user's messages describe."""
    history = [Study()]
    texts = [text_of(message) for message in messages if message.get("role") == "user"]
    for turn, text in enumerate(texts):
        before = replace(history[-1], asks=())
        reading = read(before, turn, text)
        if reading.undo:
            history = history[:-1] or history
        elif reading.study == before:
            history[-1] = before
        else:
            history.append(reading.study)
        history[-1] = replace(history[-1], asks=tuple(reading.asks))
    return history[-1]
