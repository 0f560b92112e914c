"""What a task is: typed inputs, a typed result, and the figures of it that a reply may state.

A task is a class in a module of `tasks/`. Add one by adding a file there (docs/health_agent.md).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, model_validator

from assistants.health.sources import Subject, Table


class Figure(NamedTuple):
    """A figure that a reply may state: "mean REM sleep: 110.63 min"."""

    name: str
    """In English, in small letters; `labels.yaml` has it in other languages."""
    value: float | int | str
    unit: str = ""


class Passage(BaseModel):
    """A section that a task found. A result with passages has a field `passages`."""

    model_config = ConfigDict(frozen=True)

    id: str
    title: str
    text: str
    references: tuple[str, ...] = ()


class TaskError(Exception):
    """A task has no result. The message says why in a sentence that the user may read: no path, no row of data."""


class InputsError(TaskError):
    """The task cannot use its inputs, and others may do, such as the nearest names of a food: the planner is asked again."""


class Inputs(BaseModel):
    """Inputs of a task. A field `subject` is injected or checked by the executor before anything is read."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Period(Inputs):
    """Inputs with a period, both days included."""

    subject: str = Field("", description="whose data; left out, the only subject that the user may see")
    start: date = Field(description="first day, YYYY-MM-DD")
    end: date = Field(description="last day, YYYY-MM-DD, included")

    @model_validator(mode="after")
    def _in_order(self) -> "Period":
        if self.end < self.start:
            raise ValueError("end is before start")
        if (self.end - self.start).days > MOST_DAYS:
            raise ValueError(f"a period has {MOST_DAYS} days at most")
        return self

    @property
    def days(self) -> int:
        """Days of the period."""
        return (self.end - self.start).days + 1


MOST_DAYS = 3_660
MOST_GROUPS = 60
"""Weeks or months of a trend."""
Stated = Annotated[float, Field(json_schema_extra={"stated": True}, allow_inf_nan=False)]
"""A number that an earlier step or the user gives, never the planner."""
Reference = Annotated[
    Any, Field(description="a reference, $step.field; never a value", json_schema_extra={"reference_only": True})
]
"""An input that only an earlier step can give."""


def check_groups(period: Period, every: str) -> None:
    """Refuse a trend with more figures than a reply can hold.

    Raises:
        InputsError: The period has more than `MOST_GROUPS` weeks or months.
    """
    if period.days > MOST_GROUPS * (7 if every == "week" else 31):
        raise InputsError(f"A trend has {MOST_GROUPS} weeks or months at most: choose month, or a shorter period.")


def require_rows(table: Table, period: Period, noun: str, remark: str) -> Table:
    """Return a table of nights or days with a note on those without data, or raise a TaskError if none has data."""
    missing = period.days - len(table.frame)
    if table.frame.empty:
        absent = f"There is no {noun} with data from {period.start} to {period.end}: 0 of {period.days}."
        raise TaskError(" ".join((absent, *table.notes)))
    note = (f"{missing} of {period.days} {noun}s have no data; {remark}.",) if missing else ()
    return Table(table.frame, (*table.notes, *note))


class Result(BaseModel, ABC):
    """What a task found. Its fields can be inputs of later steps (`$step.field`)."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    notes: tuple[str, ...] = ()
    """What limits it: days without data, a bad signal, rows that were left out. Always stated."""

    @abstractmethod
    def figures(self) -> Sequence[Figure]:
        """Return what a reply may state, coverage first ("nights with data", "26 of 31")."""


InputsT = TypeVar("InputsT", bound=Inputs)
ResultT = TypeVar("ResultT", bound=Result)


@dataclass(frozen=True)
class TaskContext:
    """What a task may use beside its inputs."""

    subject: Subject | None = None
    """The data of `inputs.subject`, which the user may see; None for a task without a subject."""
    services: Mapping[str, Any] = field(default_factory=dict)
    """What the configuration opens for tasks, such as `sections`."""


class Task(ABC, Generic[InputsT, ResultT]):
    """Something that a plan can have done. It reads, and changes nothing."""

    name: ClassVar[str]
    """In plans."""
    title: ClassVar[str]
    """For people: "Sleep summary"."""
    description: ClassVar[str]
    """For the planner: what it finds, and when to use it. One to three sentences."""
    inputs: type[InputsT]
    result: type[ResultT]
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Inputs as a plan would have them; a test runs each on the demo data."""
    packages: ClassVar[Sequence[str]] = ()
    """Python packages that it needs; without them it cannot be planned."""
    environment: ClassVar[Sequence[str]] = ()
    """Environment variables that it needs."""
    sources: ClassVar[Sequence[str]] = ()
    """The data that it reads, for a subject's consent: sleep, activity, heart, food, profile."""
    timeout_s: ClassVar[float] = 20.0
    in_process: ClassVar[bool] = False
    """Whether it computes for long: it runs in a process of its own, without `services`."""
    notes_for_writer: ClassVar[str] = ""
    """What the writer must keep to, such as "say that it is not a validated measure"."""

    @abstractmethod
    def run(self, inputs: InputsT, context: TaskContext) -> ResultT:
        """Do it, in a thread or process of its own.

        Raises:
            TaskError: There is no result.
            DataError: A file of the subject cannot be used.
        """

    def explain(self, inputs: InputsT) -> str:
        """Return a line for "which tools did you use?": it is evidence, so no free text of a planner is in it."""
        fields = {name: one.annotation for name, one in type(inputs).model_fields.items()}
        plain = {name for name, kind in fields.items() if kind not in (str, Any) and not get_args(kind)}
        shown = plain | {"subject"} | {name for name, kind in fields.items() if get_origin(kind) is Literal}
        values = inputs.model_dump(mode="json")
        given = ", ".join(f"{name} {values[name]}" for name in fields if name in shown and values[name] != "")
        return f"{self.title} ({given})" if given else self.title
