"""Defines a study: a cohort as the researcher describes it. A model or the form fills it in, and cohort.py converts it to JSON.

A study names concepts by the researcher's words. `Chosen` maps these words to entries of the vocabulary, so that concept ids come
only from the vocabulary and from the researcher's choices.

The docstrings of the slot classes are part of the JSON schema that the language model reads.
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
"""The questions to the researcher, in the order in which the assistant asks them."""
MOST_DAYS, OLDEST, MOST_RECORDS = 36_500, 120, 10_000
MOST_RULES = 50
"""Maximum number of rules in a study, and of criteria in a group."""
Words = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]
"""A text that a reply may quote. Its lines are joined to one, so that the text cannot imitate another line of the reply."""
Json = dict[str, Any]
"""A cohort expression, or a part of one."""


class _Slots(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Range(_Slots):
    """Base class for ranges. The first two fields are the ends of the range."""

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
    """Whether the range excludes its ends, as in "below 8"."""
    unit: str | None = None
    """The unit as the researcher wrote it."""


class Dates(_Range):
    """Calendar days, both ends included."""

    start: date | None = None
    end: date | None = None


class Event(_Slots):
    """A record that has one of the given concepts, or a death."""

    concepts: tuple[Words, ...] = ()
    """The researcher's words for concepts, one of which the record must have. For a death, its causes, or () for any cause."""
    kind: Literal["record", "drug era", "death"] = "record"
    first: bool = False
    """Whether only the first such event in a person's history counts."""
    value: Value | None = None
    age: Age | None = None
    """Age of the person when the event begins."""
    dates: Dates | None = None
    """Calendar days on which the event may begin."""
    visit: Visit | None = None
    """The kind of visit during which the event must be recorded; None for any."""
    words: Words = ""
    """The researcher's words for the whole event, which replies quote."""

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
    """Whether to count different concepts instead of records."""
    window: Window = Window()
    same_visit: bool = False
    """Whether to count only records of the visit in which the person enters the cohort."""

    @property
    def excludes(self) -> bool:
        return self.count == 0 and self.bound != "at least"


class SubGroup(_Slots):
    """Criteria of which all, any, or a number hold."""

    match: Literal["all", "any", "at least", "at most"] = "all"
    n: int = Field(1, ge=0, le=100)
    """The number of criteria that must hold if `match` is `at least` or `at most`."""
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
    """The researcher's words for the rule, which replies quote."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.criterion is None) == (self.group is None):
            raise ValueError("a rule is a criterion or a group")
        return self

    @property
    def criteria(self) -> Iterator[Criterion]:
        """Yield all criteria of the rule, including the criteria in its groups."""
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
    """The researcher's words for the drugs. Empty means the drugs of the entry event."""
    gap: int = Field(30, ge=0, le=MOST_DAYS)
    """Maximum number of days without the drug that do not end an exposure."""
    later: int = Field(0, ge=0, le=MOST_DAYS)
    """Number of days from the end of exposure to the exit."""


class ObservationExit(_Slots):
    """Leave when observation ends."""

    kind: Literal["observation"] = "observation"


class Study(_Slots):
    """What is known of the cohort. None and () are slots that nobody filled."""

    entry: tuple[Event, ...] = ()
    """The entry events. A person enters the cohort with any of them."""
    entries: Literal["first", "all"] | None = None
    """Whether a person enters with the first entry event that meets the rules, or with all of them."""
    prior_days: int | None = Field(None, ge=0, le=MOST_DAYS)
    """Minimum number of days of observation before entry."""
    post_days: int | None = Field(None, ge=0, le=MOST_DAYS)
    """Minimum number of days of observation after entry."""
    age: Age | None = None
    """Age of the person at entry."""
    sex: Sex | None = None
    rules: tuple[Rule, ...] = Field((), max_length=MOST_RULES)
    exit: FixedExit | TreatmentExit | ObservationExit | None = None
    censoring: tuple[Event, ...] = ()
    """Events that end a person's time in the cohort."""
    gap: int | None = Field(None, ge=0, le=MOST_DAYS)
    """Maximum number of days between two periods in the cohort that are joined to one."""
    dates: Dates | None = None
    """Calendar days to which a person's time in the cohort is limited."""
    left_open: tuple[Literal["observation", "rules", "exit", "include", "exclude", "age", "sex"], ...] = ()
    """Questions for which the researcher accepts the default. The form replaces `rules` by its own four questions."""
    name: Words | None = Field(None, max_length=100)

    @property
    def events(self) -> Iterator[Event]:
        """Yield all events of the study: of entry, of rules, and of censoring."""
        yield from self.entry
        yield from (criterion.event for rule in self.rules for criterion in rule.criteria)
        yield from self.censoring

    @property
    def concepts(self) -> dict[str, bool]:
        """All words for concepts, in the order in which the assistant asks about them. The value is True if it must be a drug."""
        words = {concept: False for event in self.events for concept in event.concepts}
        if isinstance(self.exit, TreatmentExit):
            words |= {drug: True for drug in self.exit.drugs if drug not in words}
        return words

    @property
    def default_name(self) -> str:
        """The name of the cohort, or if it has none, the words for the concepts of its entry events."""
        words = dict.fromkeys(concept for event in self.entry for concept in event.concepts)
        return (self.name or " or ".join(words) or "death")[:100]


@dataclass(frozen=True, slots=True)
class Choice:
    """A chosen concept in a concept set, with options such as whether to include its descendants."""

    concept: Concept
    descendants: bool = True
    excluded: bool = False
    mapped: bool = False


@dataclass(frozen=True, slots=True)
class Term:
    """The researcher's words for concepts, with the chosen concepts, or with candidates from which to choose."""

    words: str
    choices: tuple[Choice, ...] = ()
    candidates: tuple[Concept, ...] = ()
    unmatched: tuple[str, ...] = ()
    """Those words that occur in no name of a chosen concept, such as "incident" in "incident stroke"."""
    name: str = ""
    """The words in English, the language of the vocabulary. If empty, `words` is used."""

    @property
    def is_open(self) -> bool:
        return not self.choices


Chosen = Mapping[str, Term]
"""By the researcher's words, the terms of a study."""


@dataclass(frozen=True, slots=True)
class State:
    """The state of a conversation: the study, and the terms for its concepts."""

    study: Study = field(default_factory=Study)
    chosen: Chosen = field(default_factory=dict)

    @property
    def open_terms(self) -> tuple[Term, ...]:
        """The terms whose concepts are not chosen yet, in the order in which the assistant asks about them."""
        terms = (self.chosen.get(words) or Term(words) for words in self.study.concepts)
        return tuple(term for term in terms if term.is_open)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The open questions, in order; empty if the cohort is complete and can be confirmed."""
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
        """The next question; None if the cohort is complete and can be confirmed."""
        return next(iter(self.questions), None)
