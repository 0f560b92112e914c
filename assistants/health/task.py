"""A task: typed inputs, a typed result, and the figures that a reply may state.

A task is a class in a module of `tasks/`. Add one by adding a file there (docs/health_agent.md).
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Annotated, Any, ClassVar, Generic, Literal, NamedTuple, TypeVar, get_args, get_origin

import pandas as pd
from pydantic import BaseModel, ConfigDict, Field, model_validator

from assistants.health.sources import Strict, Subject, Table
from assistants.health.tables import period_labels


class Figure(NamedTuple):
    """A figure that a reply may state: "mean REM sleep: 110.63 min"."""

    name: str
    """In English, in small letters; `labels.yaml` has it in other languages."""
    value: float | int | str
    unit: str = ""


class Passage(Strict):
    """A section that a task found. A result with passages has a field `passages`."""

    id: str
    title: str
    text: str
    references: tuple[str, ...] = ()


class TaskError(Exception):
    """A task has no result. The message gives the reason to the user, without a path or a row of data."""


class InputsError(TaskError):
    """The task cannot use its inputs. The planner gets the message, and may plan other inputs, such as another food."""


class Inputs(Strict):
    """Inputs of a task."""


class OneSubject(Inputs):
    """Inputs with a subject. The executor fills it in or checks it before anything is read."""

    subject: str = Field("", description="whose data; left out, the only subject that the user may see")


class Period(OneSubject):
    """Inputs with a period, both days included."""

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
"""Most weeks or months of a trend."""
Stated = Annotated[float, Field(json_schema_extra={"stated": True}, allow_inf_nan=False)]
"""A number from an earlier step or the user, never from the planner."""
Reference = Annotated[
    Any, Field(description="a reference, $step.field; never a value", json_schema_extra={"reference_only": True})
]
"""An input from an earlier step only."""


def count_days(period: Period, every: str) -> Mapping[str, int]:
    """Return the days of a period in each week or month, by label (`tables.period_labels`).

    Raises:
        InputsError: The period has more than `MOST_GROUPS` weeks or months.
    """
    if period.days > MOST_GROUPS * (7 if every == "week" else 31):
        raise InputsError(f"A trend has {MOST_GROUPS} weeks or months at most: choose month, or a shorter period.")
    return Counter(period_labels(pd.Series(pd.date_range(period.start, period.end)), every))


def require_rows(table: Table, period: Period, noun: str, remark: str) -> Table:
    """Return a table of nights or days, with a note on those without data.

    Raises:
        TaskError: No night or day has data.
    """
    missing = period.days - len(table.frame)
    if table.frame.empty:
        absent = f"There is no {noun} with data from {period.start} to {period.end}: 0 of {period.days}."
        raise TaskError(" ".join((absent, *table.notes)))
    note = (f"{missing} of {period.days} {noun}s have no data; {remark}.",) if missing else ()
    return Table(table.frame, (*table.notes, *note))


class Result(BaseModel, ABC):
    """The result of a task. Its fields can be inputs of later steps (`$step.field`)."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    notes: tuple[str, ...] = ()
    """Its limits, which the reply states: days without data, a bad signal, rows left out."""

    @abstractmethod
    def figures(self) -> Sequence[Figure]:
        """Return the figures that a reply may state, coverage first ("nights with data", "26 of 31")."""


InputsT = TypeVar("InputsT", bound=Inputs)
ResultT = TypeVar("ResultT", bound=Result)


@dataclass(frozen=True)
class TaskContext:
    """Data and services that a task may use beside its inputs."""

    subject: Subject | None = None
    """The data of `inputs.subject`, which the user may see; None for a task without a subject."""
    services: Mapping[str, Any] = field(default_factory=dict)
    """Services that the assistant opens for tasks, such as `sections`."""


class Task(ABC, Generic[InputsT, ResultT]):
    """A step that a plan can run. It reads data and changes nothing."""

    name: ClassVar[str]
    """For plans: "sleep_summary"."""
    title: ClassVar[str]
    """For people: "Sleep summary"."""
    description: ClassVar[str]
    """For the planner: the result, and when to use the task. One to three sentences."""
    inputs: type[InputsT]
    result: type[ResultT]
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Inputs as in a plan. Tests validate or run each."""
    packages: ClassVar[Sequence[str]] = ()
    """Required Python packages; without them the task cannot be planned."""
    environment: ClassVar[Sequence[str]] = ()
    """Required environment variables."""
    sources: ClassVar[Sequence[str]] = ()
    """Data that the task reads, for a subject's consent: sleep, activity, heart, food, profile."""
    timeout_s: ClassVar[float] = 20.0
    in_process: ClassVar[bool] = False
    """Whether the task runs in a separate process, without `services`: for long computations."""
    notes_for_writer: ClassVar[str] = ""
    """Rules for the writer, such as "say that it is not a validated measure"."""

    @abstractmethod
    def run(self, inputs: InputsT, context: TaskContext) -> ResultT:
        """Compute the result, in a thread or a separate process.

        Raises:
            TaskError: There is no result.
            DataError: A file of the subject cannot be used.
        """

    def explain(self, inputs: InputsT) -> str:
        """Return a line for "which tools did you use?". It is evidence, so it holds no free text of a planner."""
        fields = {name: one.annotation for name, one in type(inputs).model_fields.items()}
        plain = {name for name, kind in fields.items() if kind not in (str, Any) and not get_args(kind)}
        shown = plain | {"subject"} | {name for name, kind in fields.items() if get_origin(kind) is Literal}
        values = inputs.model_dump(mode="json")
        given = ", ".join(f"{name} {values[name]}" for name in fields if name in shown and values[name] != "")
        return f"{self.title} ({given})" if given else self.title
