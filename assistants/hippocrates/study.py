"""A cohort as a researcher has described it: what a model or the form fills in, and what `cohort.py` turns into JSON. Pure.

A study names concepts by the researcher's words. Which entries of the vocabulary these words mean stands beside it, in `Chosen`:
ids come from the vocabulary and from the researcher's choices alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from assistants.hippocrates.vocabulary import Concept

Sex = Literal["female", "male"]
Bound = Literal["at least", "at most", "exactly"]
Visit = Literal["inpatient", "outpatient", "emergency room"]
Question = Literal["entry", "concept", "observation", "rules", "exit"]
"""What the researcher is asked next, in this order."""
MOST_DAYS, OLDEST, MOST_RECORDS = 36_500, 120, 10_000
MOST_RULES = 50
"""Rules of a study, and criteria of a group."""
Words = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]
"""Words that may be shown: on one line, so that they pass for no other."""
Json = dict[str, Any]
"""A cohort expression, or a part of one."""


class _Slots(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Range(_Slots):
    """A range whose ends are its first two fields."""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        low, high = [*dict(self).values()][:2]
        if low is None and high is None:
            raise ValueError("one end is needed")
        if low is not None and high is not None and low > high:
            raise ValueError("the first end is above the second")
        return self


class Age(_Range):
    """Age in years, both ends included."""

    least: int | None = Field(None, ge=0, le=OLDEST)
    most: int | None = Field(None, ge=0, le=OLDEST)


class Value(_Range):
    """The value of a measurement."""

    low: float | None = Field(None, allow_inf_nan=False)
    high: float | None = Field(None, allow_inf_nan=False)
    strict: bool = False
    """Whether the ends do not belong to it, as in "below 8"."""
    unit: str | None = None
    """As the researcher writes it."""


class Dates(_Range):
    """Calendar days, both ends included."""

    start: date | None = None
    end: date | None = None


class Event(_Slots):
    """A record of any of some concepts, or a death."""

    concepts: tuple[Words, ...] = ()
    """The researcher's words, any of which will do; of a death, its causes, or none."""
    kind: Literal["record", "drug era", "death"] = "record"
    first: bool = False
    """Only the first in a person's history."""
    value: Value | None = None
    age: Age | None = None
    """At the event."""
    dates: Dates | None = None
    """Within which the event begins."""
    visit: Visit | None = None
    """The kind of visit that the record belongs to."""
    words: Words = ""
    """The researcher's words for the whole."""

    @model_validator(mode="after")
    def _is_something(self) -> Self:
        if not self.concepts and self.kind != "death":
            raise ValueError("an event has concepts, or is a death")
        return self


class Window(_Slots):
    """Days relative to entry, both ends included; None is without end. Day 0 is the day of entry."""

    start: int | None = Field(None, ge=-MOST_DAYS, le=MOST_DAYS)
    end: int | None = Field(None, ge=-MOST_DAYS, le=MOST_DAYS)

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.start is not None and self.end is not None and self.start > self.end:
            raise ValueError("a window starts before it ends")
        return self


class Criterion(_Slots):
    """How many records of an event a person has in a window."""

    event: Event
    bound: Bound = "at least"
    count: int = Field(1, ge=0, le=MOST_RECORDS)
    distinct: bool = False
    """Count different concepts, not records."""
    window: Window = Window()
    same_visit: bool = False
    """Only records of the visit in which the person enters."""

    @property
    def excludes(self) -> bool:
        return self.count == 0 and self.bound != "at least"


class SubGroup(_Slots):
    """Criteria of which all, any, or a number hold."""

    match: Literal["all", "any", "at least", "at most"] = "all"
    n: int = Field(1, ge=0, le=100)
    """With `at least` and `at most`."""
    criteria: tuple[Criterion, ...] = Field(min_length=1, max_length=MOST_RULES)


class Group(SubGroup):
    """The same, with groups among the criteria."""

    criteria: tuple[Criterion, ...] = Field((), max_length=MOST_RULES)
    groups: tuple[SubGroup, ...] = Field((), max_length=MOST_RULES)

    @model_validator(mode="after")
    def _is_something(self) -> Self:
        if not self.criteria and not self.groups:
            raise ValueError("a group has criteria or groups")
        return self


class Rule(_Slots):
    """An inclusion rule: one criterion, or a group. An exclusion is a criterion that allows exactly 0 records."""

    criterion: Criterion | None = None
    group: Group | None = None
    words: Words = ""
    """The researcher's words."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.criterion is None) == (self.group is None):
            raise ValueError("a rule is a criterion or a group")
        return self

    @property
    def criteria(self) -> Iterator[Criterion]:
        """Yield its criteria, those of its groups included."""
        if self.criterion is not None:
            yield self.criterion
        if self.group is not None:
            yield from self.group.criteria
            for group in self.group.groups:
                yield from group.criteria


class FixedExit(_Slots):
    """Leave some days after the entry event starts, or ends."""

    kind: Literal["fixed"] = "fixed"
    days: int = Field(ge=0, le=MOST_DAYS)
    after: Literal["start", "end"] = "start"


class TreatmentExit(_Slots):
    """Leave when exposure to drugs ends."""

    kind: Literal["treatment"] = "treatment"
    drugs: tuple[Words, ...] = ()
    """None: the drugs of entry."""
    gap: int = Field(30, ge=0, le=MOST_DAYS)
    """Days without the drug that do not end it."""
    later: int = Field(0, ge=0, le=MOST_DAYS)
    """Days that are added."""


class ObservationExit(_Slots):
    """Leave when observation ends."""

    kind: Literal["observation"] = "observation"


class Study(_Slots):
    """What is known of the cohort. None and () are slots that nobody filled."""

    entry: tuple[Event, ...] = ()
    """Events, any of which starts the cohort."""
    entries: Literal["first", "all"] | None = None
    """Of a person's entry events that meet the rules."""
    prior_days: int | None = Field(None, ge=0, le=MOST_DAYS)
    """Days of observation required before entry, and after it."""
    post_days: int | None = Field(None, ge=0, le=MOST_DAYS)
    age: Age | None = None
    """At entry."""
    sex: Sex | None = None
    rules: tuple[Rule, ...] = Field((), max_length=MOST_RULES)
    exit: FixedExit | TreatmentExit | ObservationExit | None = None
    censoring: tuple[Event, ...] = ()
    """Events that end a person's time in the cohort."""
    gap: int | None = Field(None, ge=0, le=MOST_DAYS)
    """Days between two periods of a person that are joined into one."""
    dates: Dates | None = None
    """Calendar days within which a person is in the cohort."""
    left_open: tuple[Literal["observation", "rules", "exit", "include", "exclude", "age", "sex"], ...] = ()
    """Questions that the researcher leaves at their default; the form asks four where others ask about `rules`."""
    name: Words | None = Field(None, max_length=100)

    @property
    def events(self) -> Iterator[Event]:
        """Yield all events."""
        yield from self.entry
        yield from (criterion.event for rule in self.rules for criterion in rule.criteria)
        yield from self.censoring

    @property
    def concepts(self) -> dict[str, bool]:
        """All words for concepts, in the order in which they are asked about, and whether they can only be drugs."""
        words = {concept: False for event in self.events for concept in event.concepts}
        if isinstance(self.exit, TreatmentExit):
            words |= {drug: True for drug in self.exit.drugs if drug not in words}
        return words

    @property
    def default_name(self) -> str:
        """What the cohort is called if nobody named it."""
        words = dict.fromkeys(concept for event in self.entry for concept in event.concepts)
        return (self.name or " or ".join(words) or "death")[:100]


@dataclass(frozen=True, slots=True)
class Choice:
    """A concept of a concept set."""

    concept: Concept
    descendants: bool = True
    excluded: bool = False
    mapped: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """Words for concepts: with the entries that are meant, or with candidates to choose from."""

    words: str
    choices: tuple[Choice, ...] = ()
    candidates: tuple[Concept, ...] = ()
    unmatched: tuple[str, ...] = ()
    """Words that no chosen entry has in its names: "incident" of "incident stroke"."""
    name: str = ""
    """What an English vocabulary calls the words; empty: the same."""

    @property
    def is_open(self) -> bool:
        return not self.choices


Chosen = Mapping[str, Term]
"""The term of each of a study's words for concepts."""


@dataclass(frozen=True, slots=True)
class State:
    """A study with its concepts: all that is known after some messages."""

    study: Study = field(default_factory=Study)
    chosen: Chosen = field(default_factory=dict)

    @property
    def open_terms(self) -> tuple[Term, ...]:
        """The terms whose concepts have to be chosen, in the order in which they are asked about."""
        terms = (self.chosen.get(words) or Term(words) for words in self.study.concepts)
        return tuple(term for term in terms if term.is_open)

    @property
    def questions(self) -> tuple[Question, ...]:
        """What is open, in the order in which it is asked; empty if the cohort can be confirmed."""
        study = self.study
        if not study.entry:
            return ("entry",)
        unfilled: dict[Question, bool] = {
            "concept": bool(self.open_terms),
            "observation": study.prior_days is None,
            "rules": not (study.rules or study.age or study.sex),
            "exit": study.exit is None,
        }
        return tuple(name for name, empty in unfilled.items() if empty and name not in study.left_open)

    @property
    def question(self) -> Question | None:
        """What to ask next; None if the cohort can be confirmed."""
        return next(iter(self.questions), None)
