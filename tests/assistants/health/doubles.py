"""Tasks, subjects, files and models that a test decides."""

import csv
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from assistants import view
from assistants.assistant import AssistantReply, AssistantRequest
from assistants.health.access import Access
from assistants.health.assistant import Health
from assistants.health.demo import demo_folder
from assistants.health.executor import Executor
from assistants.health.memory import Memory
from assistants.health.planner import Single
from assistants.health.sources import Subject, Subjects
from assistants.health.task import (
    Figure,
    Inputs,
    Passage,
    Period,
    Reference,
    Result,
    Stated,
    Task,
    TaskContext,
    TaskError,
)
from models.structured import StructuredAnswer
from models.turn_scope import Principal


class Value(Result):
    value: float
    passages: tuple[Passage, ...] = ()

    def figures(self) -> Sequence[Figure]:
        return [Figure("value", self.value, "min")]


class Count(Task[Period, Value]):
    """Counts the days of a period, and how often it was asked to."""

    name, title, description, sources = "count", "Day count", "Counts days.", ("sleep",)
    inputs, result = Period, Value
    examples = ({"start": "2020-08-01", "end": "2020-08-31"},)

    def __init__(self) -> None:
        self.asked: list[str] = []

    def run(self, inputs: Period, context: TaskContext) -> Value:
        assert context.subject is not None
        self.asked.append(inputs.subject)
        return Value(value=inputs.days)


class Times(Inputs):
    value: Reference
    by: float = 2


class Twice(Task[Any, Value]):
    name, title, description = "twice", "Doubling", "Doubles a value."
    inputs, result = Times, Value

    def run(self, inputs: Any, context: TaskContext) -> Value:
        return Value(value=float(inputs.value) * inputs.by)


class Number(Inputs):
    value: Stated


class Plus(Task[Any, Value]):
    name, title, description = "plus", "Adding", "Adds one."
    inputs, result = Number, Value

    def run(self, inputs: Any, context: TaskContext) -> Value:
        return Value(value=inputs.value + 1)


class Nothing(Inputs):
    pass


class Slow(Task[Nothing, Value]):
    name, title, description, timeout_s = "slow", "Slow task", "Takes its time.", 0.3
    inputs, result = Nothing, Value
    seconds = 0.2

    def run(self, inputs: Nothing, context: TaskContext) -> Value:
        time.sleep(self.seconds)
        return Value(value=1)


class Stuck(Slow):
    name, title, seconds = "stuck", "Stuck task", 2.0


class Failing(Slow):
    name, title = "failing", "Failing task"

    def run(self, inputs: Nothing, context: TaskContext) -> Value:
        raise TaskError("There are no data for this period.")


class Crashing(Slow):
    name, title = "crashing", "Crashing task"

    def run(self, inputs: Nothing, context: TaskContext) -> Value:
        raise RuntimeError("/home/anna/secret.csv")


class Reading(Slow):
    name, title = "reading", "Reading"

    def run(self, inputs: Nothing, context: TaskContext) -> Value:
        return Value(value=7, passages=(Passage(id="sleep-need", title="Sleep need", text="Adults need 7 hours."),))


class Folder:
    """Subjects without files."""

    def __init__(self) -> None:
        self.opened, self.versions = list[str](), dict[str, str]()

    def open(self, subject: str) -> Any:
        self.opened.append(subject)
        return object()

    def version(self, subject: str) -> str:
        return self.versions.get(subject, "1")


class Asked(NamedTuple):
    """A call of a model."""

    role: str
    step: str
    system: str
    case: Any


class Doctor:
    """An assistant over the tasks above, with models that answer what a test decides."""

    def __init__(
        self, *answers: Mapping[str, Any], subjects: Mapping[str, Sequence[str]] | None = None, **more: Any
    ) -> None:
        self.count, self.folder, self.calls = Count(), Folder(), list[Asked]()
        tasks = (self.count, Twice(), Plus(), Slow(), Stuck(), Failing(), Crashing(), Reading())
        by_name: Mapping[str, Task[Any, Any]] = {task.name: task for task in tasks}
        access = self.access = Access(subjects or {"*": ["anna"]}, more.pop("consent", {}))
        self.executor = Executor(by_name, self.folder, access, {})  # type: ignore[arg-type]
        self.memory = Memory(more.pop("memory", None), by_name, 3600)
        planner = more.pop("planner", Single())
        self.health = Health(self.executor, self.memory, access, planner, rounds=3, is_demo=False, **more)
        self._answers = list(answers)
        self.notes: list[tuple[str, str]] = []

    async def _ask(self, role: str, messages: Any, schema: Any, *, step: str = "", **_: Any) -> StructuredAnswer[Any]:
        self.calls.append(Asked(role, step, messages[0]["content"], json.loads(messages[1]["content"])))
        answer = self._answers.pop(0) if role == "planner" else {"reply": "Written.", "sections": ["sleep-need"]}
        return StructuredAnswer(schema.model_validate(answer), "", False)

    async def reply(self, *messages: str, key: str = "key-1", user: str = "", system: str = "") -> AssistantReply:
        """Reply to messages: those of the user and, between them, those of the assistant."""
        roles = ("user", "assistant")
        history = [{"role": roles[n % 2], "content": text} for n, text in enumerate(messages)]
        full = [*([{"role": "system", "content": system}] if system else []), *history]
        principal = Principal(key, user)
        asked = {"ask_structured": self._ask, "note": lambda *note: self.notes.append(note)}
        return await self.health.reply(AssistantRequest(full, view.read(full), principal=principal, **asked))

    @property
    def written(self) -> Any:
        """The last case of the writer."""
        return next(one.case for one in reversed(self.calls) if one.role == "writer")

    @property
    def found_earlier(self) -> list[Mapping[str, Any]]:
        return self.written["found_earlier"]  # type: ignore[no-any-return]

    @property
    def found(self) -> list[Mapping[str, Any]]:
        return self.written["found"]  # type: ignore[no-any-return]


def step(ident: str, task: str, **inputs: Any) -> dict[str, Any]:
    return {"id": ident, "task": task, "inputs": json.dumps(inputs)}


def plan(*steps: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    return {"strategies": [], "decision": "", "steps": [*steps], "ask": "", "again": False, **more}


def subject(folder: Path, kind: str, *lines: str) -> Subject:
    """Write a table of the subject `anna`."""
    (folder / "anna").mkdir()
    (folder / "anna" / f"{kind}.csv").write_text(HEADERS[kind] + "".join(f"{line}\n" for line in lines))
    return Subjects(folder).open("anna")


def demo_rows(kind: str, id: str, start: str, end: str) -> list[dict[str, str]]:
    with (demo_folder() / id / f"{kind}.csv").open() as file:
        return [row for row in csv.DictReader(file) if start <= row["date"] <= end]


def demo(id: str) -> Subject:
    return Subjects(demo_folder()).open(id)


HEADERS = {
    "sleep": "date,asleep,rem,deep,light,awake,bedtime,risetime\n",
    "activity": "date,steps,active_minutes,distance_km,kcal\n",
}
AUGUST = {"start": "2020-08-01", "end": "2020-08-31"}
