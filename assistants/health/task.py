"""The interface of a task: typed inputs, a typed result, and the figures that a reply may state.

A task is a class in a module of `tasks/`. To add a task, add a module there (docs/health_agent.md).
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
    """A value that a reply may state, with its name and unit, as in "mean REM sleep: 110.63 min"."""

    name: str
    """The name in English, in lower case. `labels.yaml` translates it."""
    value: float | int | str
    unit: str = ""


class Passage(Strict):
    """A section of the knowledge base that a task found. A result lists its passages in the field `passages`."""

    id: str
    title: str
    text: str
    references: tuple[str, ...] = ()


class TaskError(Exception):
    """A task has no result. The message tells the user the reason. It contains no path and no row of data."""


class InputsError(TaskError):
    """A task cannot use its inputs. The planner gets the message, and may plan other inputs, such as another food."""


class Inputs(Strict):
    """Base class for the inputs of a task."""


class OneSubject(Inputs):
    """Inputs of a task on a subject's data. The executor checks the subject, or fills it in, before any data are read."""

    subject: str = Field("", description="whose data; left out, the only subject that the user may see")


class Period(OneSubject):
    """Inputs of a task on a subject's data of a period, which includes both days."""

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
        """Number of days in the period."""
        return (self.end - self.start).days + 1


MOST_DAYS = 3_660
MOST_GROUPS = 60
"""Maximum number of weeks or months in a trend."""
Stated = Annotated[float, Field(json_schema_extra={"stated": True}, allow_inf_nan=False)]
"""An input that must be a number from an earlier step, or one that the user wrote. The planner must not invent it."""
Reference = Annotated[
    Any, Field(description="a reference, $step.field; never a value", json_schema_extra={"reference_only": True})
]
"""An input that must be a reference to the result of an earlier step."""


def count_days(period: Period, every: str) -> Mapping[str, int]:
    """Return, by label (`tables.period_labels`), the number of days of a period in each week or month.

    Raises:
        InputsError: The period has more than `MOST_GROUPS` weeks or months.
    """
    if period.days > MOST_GROUPS * (7 if every == "week" else 31):
        raise InputsError(f"A trend has {MOST_GROUPS} weeks or months at most: choose month, or a shorter period.")
    return Counter(period_labels(pd.Series(pd.date_range(period.start, period.end)), every))


def require_rows(table: Table, period: Period, noun: str, remark: str) -> Table:
    """Return a table of nights or days, with a note that counts the nights or days without data.

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
    """Base class for the result of a task. Later steps can refer to its fields (`$step.field`)."""

    model_config = ConfigDict(frozen=True, arbitrary_types_allowed=True)

    notes: tuple[str, ...] = ()
    """Limits of the result, which the reply states: days without data, a bad signal, or rows that were left out."""

    @abstractmethod
    def figures(self) -> Sequence[Figure]:
        """Return the figures that a reply may state. The first tells the coverage, as in "nights with data: 26 of 31"."""


InputsT = TypeVar("InputsT", bound=Inputs)
ResultT = TypeVar("ResultT", bound=Result)


@dataclass(frozen=True)
class TaskContext:
    """Data and services that a task may use in addition to its inputs."""

    subject: Subject | None = None
    """The subject whose data the task may read; None for a task without a subject."""
    services: Mapping[str, Any] = field(default_factory=dict)
    """By name, services that the assistant provides to tasks, such as `sections` (the knowledge base)."""


class Task(ABC, Generic[InputsT, ResultT]):
    """Base class for tasks, which the steps of a plan run. A task reads data and has no side effects."""

    name: ClassVar[str]
    """The name in plans, such as "sleep_summary"."""
    title: ClassVar[str]
    """The name in replies, such as "Sleep summary"."""
    description: ClassVar[str]
    """A description for the planner, in one to three sentences: the result, and when to use the task."""
    inputs: type[InputsT]
    result: type[ResultT]
    examples: ClassVar[Sequence[Mapping[str, Any]]] = ()
    """Example inputs, as a plan contains them. The planner sees the first."""
    packages: ClassVar[Sequence[str]] = ()
    """Required Python packages. If one is missing, planners do not see the task."""
    environment: ClassVar[Sequence[str]] = ()
    """Required environment variables. If one is not set, planners do not see the task."""
    sources: ClassVar[Sequence[str]] = ()
    """Sources of data that the task reads: sleep, activity, heart, food, profile. The subject must consent to each."""
    timeout_s: ClassVar[float] = 20.0
    in_process: ClassVar[bool] = False
    """Whether the task runs in a separate process, for long computations. It then gets no `services`."""
    notes_for_writer: ClassVar[str] = ""
    """Rules for the model that writes the reply, such as "say that it is not a validated measure"."""

    @abstractmethod
    def run(self, inputs: InputsT, context: TaskContext) -> ResultT:
        """Compute the result. The executor calls this in a thread, or in a separate process if `in_process` is set.

        Raises:
            TaskError: There is no result, for example because there are no data.
            DataError: A file of the subject cannot be used.
        """

    def explain(self, inputs: InputsT) -> str:
        """Describe the task and its inputs for a user who asks "which tools did you use?". Texts of the planner are left out."""
        fields = {name: one.annotation for name, one in type(inputs).model_fields.items()}
        plain = {name for name, kind in fields.items() if kind not in (str, Any) and not get_args(kind)}
        shown = plain | {"subject"} | {name for name, kind in fields.items() if get_origin(kind) is Literal}
        values = inputs.model_dump(mode="json")
        given = ", ".join(f"{name} {values[name]}" for name in fields if name in shown and values[name] != "")
        return f"{self.title} ({given})" if given else self.title
