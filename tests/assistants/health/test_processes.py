"""Tasks that compute for long run in processes of their own: a hung one is killed, the others go on."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path

import pytest

from assistants.health import executor
from assistants.health.access import Access
from assistants.health.executor import NO_GUARD, Executor, Run
from assistants.health.plan import Plan, Step
from assistants.health.settings import load_tasks
from assistants.health.sources import Subjects
from assistants.health.task import Figure, Inputs, Result, Task, TaskContext, TaskError
from models.turn_scope import Principal


class Say(Inputs):
    what: str = ""


class Place(Result):
    process: int
    services: int

    def figures(self) -> Sequence[Figure]:
        return [Figure("process", self.process)]


class Where(Task[Say, Place]):
    """Says where it runs; or fails, ends its process, or hangs."""

    name, title, description, in_process = "where", "Where", "Says where it runs.", True
    inputs, result = Say, Place

    def run(self, inputs: Say, context: TaskContext) -> Place:
        if inputs.what == "fail":
            raise TaskError("There are no data for this period.")
        if inputs.what == "die":
            os._exit(1)
        time.sleep(60 if inputs.what == "hang" else 0)
        return Place(process=os.getpid(), services=len(context.services))


Ask = Callable[..., Coroutine[None, None, list[Run]]]


@pytest.fixture
def ask(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Ask]:
    """Runs steps in an executor with a single process."""
    monkeypatch.setattr(executor, "PROCESSES", 1)
    one = Executor({"where": Where()}, Subjects(tmp_path), Access({"*": ()}, {}), {"sections": lambda: 0})

    async def run(*said: str) -> list[Run]:
        steps = [Step(id=f"s{n}", task="where", inputs={"what": what}) for n, what in enumerate(said)]
        return await one.run(Plan(steps=steps), Principal(), [])

    yield run
    one.close()


async def test_a_task_in_a_process_has_no_services_and_its_errors_come_back(ask: Ask) -> None:
    """The process goes on after a failure."""
    first, failed, second = await ask("a", "fail", "b")
    assert failed.problem == "There are no data for this period."
    assert isinstance(first.result, Place)
    assert first.result == second.result == Place(process=first.result.process, services=0)
    assert first.result.process != os.getpid()


@pytest.mark.parametrize("broken", ["hang", "die"])
async def test_a_process_that_hangs_or_dies_is_replaced(ask: Ask, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    """The step becomes a stated gap at its deadline, the task after it gets a new process."""
    monkeypatch.setattr(executor, "LATE", 1)
    (first,) = await ask("a")
    monkeypatch.setattr(Where, "timeout_s", 0.5)
    assert (await ask(broken))[0].problem == "Where took longer than 0.5 s."
    monkeypatch.setattr(Where, "timeout_s", 20.0)
    (second,) = await ask("b")
    assert second.result.process != first.result.process  # type: ignore[union-attr]
    with pytest.raises(ProcessLookupError):
        os.kill(first.result.process, 0)  # type: ignore[union-attr]


PROGRAM = """
import asyncio, pathlib, sys
from tests.assistants.health.test_processes import executor, Access, Executor, Plan, Principal, Step, Subjects, Where

executor.PROCESSES = 1
one = Executor({"where": Where()}, Subjects(pathlib.Path(".")), Access({"*": ()}, {}), {})
steps = [Step(id=f"s{n}", task="where", inputs={}) for n in range(4)]
asyncio.run(one.run(Plan(steps=steps), Principal(), []))
one.close()
"""


def test_a_program_without_a_guard_is_told_why_no_process_starts(tmp_path: Path) -> None:
    """Once, though each step fails in the process, which imports the program and cannot start one of its own."""
    (tmp_path / "program.py").write_text(PROGRAM)
    paths = {**os.environ, "PYTHONPATH": str(Path.cwd())}
    command = [sys.executable, str(tmp_path / "program.py")]
    ended = subprocess.run(command, env=paths, capture_output=True, text=True, timeout=120, check=False)
    assert [ended.stdout.count(text) for text in (NO_GUARD, "task_process_not_started", "task_crashed")] == [1, 1, 4]


def test_tasks_on_pulse_recordings_run_in_processes() -> None:
    """They compute for seconds; all others are quick."""
    in_process = {name for name, task in load_tasks(None)[0].items() if task.in_process}
    assert in_process == {"heart_rate", "hrv", "stress_level"}
