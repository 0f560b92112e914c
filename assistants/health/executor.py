"""Runs the steps of a valid plan: independent ones at once, each with a deadline; a step that fails becomes a stated gap."""

import asyncio
import signal
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass, replace
from datetime import date
from multiprocessing import get_context
from multiprocessing.pool import Pool
from typing import Any

import orjson
import structlog
from pydantic import ValidationError

from assistants.health.access import Access, AccessRefusedError
from assistants.health.plan import REFERENCE, Plan, Step, find_order, references
from assistants.health.sources import DataError, Subjects
from assistants.health.task import Inputs, InputsError, Result, Task, TaskContext, TaskError
from models.turn_scope import Principal

WORKERS, PROCESSES, LATE = 4, 2, 3
"""Threads; processes; how often its deadline a task may take in a process before it is killed."""
MOST_RESULTS = 500
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Run:
    """A step that was run."""

    step: str
    task: str
    subject: str
    inputs: Mapping[str, Any]
    """As they were used, as JSON."""
    explained: str
    """A sentence for "which tools did you use?"."""
    result: Result | None = None
    problem: str = ""
    """Why the step failed; empty if it succeeded."""
    ms: float = 0
    version: str = ""
    """Of the subject's data."""
    sources: tuple[str, ...] = ()
    """The data that the result rests on, for consent; also through steps that it refers to."""
    is_correctable: bool = False
    """Whether other inputs may do."""


class Executor:
    """Runs steps for many users; it shares nothing between them but results of the same task on the same data."""

    def __init__(
        self, tasks: Mapping[str, Task[Any, Any]], subjects: Subjects, access: Access, services: Mapping[str, Any]
    ) -> None:
        self.tasks, self.subjects, self._access, self._services = tasks, subjects, access, services
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="health")
        self._processes = _Processes()
        self._results: dict[bytes, Result] = {}
        self._running: dict[bytes, asyncio.Task[Result]] = {}

    async def run(self, plan: Plan, principal: Principal, before: Sequence[Run]) -> list[Run]:
        """Run the steps of a plan that has no problems, and return them in its order.

        Args:
            before: Runs of earlier rounds, to which steps may refer.
        """
        done = {run.step: run for run in before}
        for ready in find_order(plan.steps) or ():
            runs = await asyncio.gather(*(self._run(step, principal, done) for step in ready))
            done |= {run.step: run for run in runs}
        return [done[step.id] for step in plan.steps]

    def is_current(self, runs: Sequence[Run]) -> bool:
        """Tell whether the data of runs are still the same."""
        try:
            return all(run.version == self.subjects.version(run.subject) for run in runs if run.subject)
        except (DataError, OSError):
            return False

    def lend(self, subjects: Subjects, access: Access) -> "Executor":
        """Return an executor for other subjects, with the same threads and results."""
        other = copy(self)
        other.subjects, other._access = subjects, access
        return other

    def forget(self) -> None:
        """Drop the results that are kept for equal steps."""
        self._results.clear()

    def close(self) -> None:
        """End processes and threads; a task that still runs in a thread is left to itself."""
        self._processes.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def _run(self, step: Step, principal: Principal, done: Mapping[str, Run]) -> Run:
        task, started = self.tasks[step.task], time.perf_counter()
        inputs, result, problem, is_correctable = None, None, "", False
        used = [done[ident] for ident, _ in references(step) if ident in done]
        subject, version = (used[0].subject, used[0].version) if used else ("", "")
        sources = tuple({source: None for one in used for source in one.sources} | dict.fromkeys(task.sources))
        explained = task.title
        try:
            inputs = task.inputs.model_validate(_resolve(step, done))
            if "subject" in task.inputs.model_fields:
                subject = self._access.choose(principal, inputs.subject, task.sources, date.today())
                inputs = inputs.model_copy(update={"subject": subject})
                version = self.subjects.version(subject)
            explained = task.explain(inputs)
            result = await self._result(task, inputs, subject, version)
        except (TaskError, AccessRefusedError, DataError) as error:
            problem, is_correctable = str(error), isinstance(error, InputsError)
        except ValidationError as error:
            fields = ", ".join(".".join(map(str, one["loc"])) or "inputs" for one in error.errors(include_input=False))
            problem, is_correctable = f"The inputs do not fit: {fields}.", True
        except TimeoutError:
            problem = f"{task.title} took longer than {task.timeout_s:g} s."
        except Exception as error:  # a task of a user's own may raise anything
            log.error("task_crashed", task=task.name, error=type(error).__name__)
            problem = f"{task.title} failed ({type(error).__name__})."
        given = inputs.model_dump(mode="json") if inputs is not None else {}
        ms = (time.perf_counter() - started) * 1000
        return Run(step.id, task.name, subject, given, explained, result, problem, ms, version, sources, is_correctable)

    async def _result(self, task: Task[Any, Any], inputs: Inputs, subject: str, version: str) -> Result:
        key = orjson.dumps([task.name, version, inputs.model_dump(mode="json")], option=orjson.OPT_SORT_KEYS)
        if (known := self._results.get(key)) is not None:
            return known
        if key not in self._running:
            owner = self.subjects.open(subject) if "subject" in task.inputs.model_fields else None
            running = asyncio.create_task(self._compute(task, inputs, TaskContext(owner, self._services), key))
            self._running[key] = running
            running.add_done_callback(lambda done: (self._running.pop(key, None), done.cancelled() or done.exception()))
        # A task that misses its deadline goes on; a later request gets its result.
        return await asyncio.wait_for(asyncio.shield(self._running[key]), task.timeout_s)

    async def _compute(self, task: Task[Any, Any], inputs: Inputs, context: TaskContext, key: bytes) -> Result:
        if task.in_process:
            result = await self._processes.run(task, inputs, replace(context, services={}))
        else:
            result = await asyncio.get_running_loop().run_in_executor(self._pool, task.run, inputs, context)
        if type(result) is not task.result:
            raise TypeError(f"{task.name}: no {task.result.__name__}")
        result.figures()
        result.model_dump_json()  # it is kept for follow-ups
        if len(self._results) >= MOST_RESULTS:
            self._results.pop(next(iter(self._results)))
        self._results[key] = result
        return result


class _Processes:
    """Processes that run a task each, started when they are needed; one whose task is late is killed and replaced."""

    def __init__(self) -> None:
        self._started, self._idle = set[Pool](), asyncio.LifoQueue[Pool | None]()
        for _ in range(PROCESSES):
            self._idle.put_nowait(None)

    async def run(self, task: Task[Any, Any], inputs: Inputs, context: TaskContext) -> Result:
        """Run a task when a process is free; a TimeoutError says that it took far too long, or that its process died."""
        process, done = await self._idle.get(), Future[Result]()
        try:
            if process is None:  # a fork would copy locks that other threads hold; a start takes 0.1 s
                ignore = (signal.signal, (signal.SIGINT, signal.SIG_IGN))
                process = await asyncio.to_thread(get_context("spawn").Pool, 1, *ignore)
                self._started.add(process)
            tell, fail = done.set_result, done.set_exception
            process.apply_async(task.run, (inputs, context), callback=tell, error_callback=fail)
            return await asyncio.wait_for(asyncio.wrap_future(done), LATE * task.timeout_s)
        except (TimeoutError, asyncio.CancelledError):
            if process is not None:
                self._started.discard(process)
                process.terminate()
            process = None
            raise
        finally:
            self._idle.put_nowait(process)

    def close(self) -> None:
        """Kill all processes."""
        for process in self._started:
            process.terminate()


def _resolve(step: Step, done: Mapping[str, Run]) -> dict[str, Any]:
    """Return the inputs of a step, its references replaced by values.

    Raises:
        TaskError: A step that it refers to has no result.
    """
    inputs = dict(step.inputs)
    for name, value in step.inputs.items():
        if isinstance(value, str) and (match := REFERENCE.fullmatch(value)):
            run = done.get(match[1])
            if run is None or run.result is None or match[2] not in type(run.result).model_fields:
                raise TaskError(f"An earlier step has no result: {run.explained if run else match[1]}.")
            inputs[name] = getattr(run.result, match[2])
    return inputs
