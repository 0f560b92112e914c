"""Runs the steps of a valid plan, each with a deadline. Independent steps run in parallel. The reply states failed steps."""

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
from cachetools import FIFOCache
from pydantic import ValidationError

from assistants.health.access import UPLOAD, Access, AccessRefusedError
from assistants.health.plan import REFERENCE, Plan, Step, find_order, references
from assistants.health.sources import DataError, Subjects
from assistants.health.task import Inputs, InputsError, Result, Task, TaskContext, TaskError
from models.turn_scope import Principal

WORKERS, PROCESSES, LATE = 4, 2, 3
"""Number of threads; number of processes; number of deadlines after which the process of a late task is killed."""
MOST_RESULTS = 500
NO_GUARD = 'Tasks in a process import the main program: put the code that starts it below `if __name__ == "__main__":`.'
log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Run:
    """A step of a plan that was run, with its result or the reason why it failed."""

    step: str
    task: str
    subject: str
    inputs: Mapping[str, Any]
    """The inputs as JSON values, with references replaced by the results of earlier steps."""
    explained: str
    """A description of the task and its inputs, for users who ask "which tools did you use?"."""
    result: Result | None = None
    problem: str = ""
    """The reason why the step failed; "" if it succeeded."""
    ms: float = 0
    version: str = ""
    """Version of the subject's data when the step ran (`Subjects.version`)."""
    sources: tuple[str, ...] = ()
    """Sources of data that the step, and the steps it refers to, have read. The subject must consent to each."""
    is_correctable: bool = False
    """Whether the planner may try the step again with other inputs."""


class Executor:
    """Runs steps for all users. Results are cached, and reused for the same task with the same inputs and data."""

    def __init__(
        self, tasks: Mapping[str, Task[Any, Any]], subjects: Subjects, access: Access, services: Mapping[str, Any]
    ) -> None:
        self.tasks, self.subjects, self._access, self._services = tasks, subjects, access, services
        self._pool = ThreadPoolExecutor(WORKERS, thread_name_prefix="health")
        self._processes = _Processes()
        self._results = FIFOCache[bytes, Result](MOST_RESULTS)
        self._running: dict[bytes, asyncio.Task[Result]] = {}

    async def run(self, plan: Plan, principal: Principal, before: Sequence[Run]) -> list[Run]:
        """Run the steps of a valid plan. Return the runs in the order of the steps.

        Args:
            before: Earlier runs, to which the steps may refer.
        """
        done = {run.step: run for run in before}
        for ready in find_order(plan.steps) or ():
            runs = await asyncio.gather(*(self._run(step, principal, done) for step in ready))
            done |= {run.step: run for run in runs}
        return [done[step.id] for step in plan.steps]

    def is_current(self, runs: Sequence[Run]) -> bool:
        """Return whether the data that these runs have read are unchanged."""
        try:
            return all(run.version == self.subjects.version(run.subject) for run in runs if run.subject)
        except (DataError, OSError):
            return False

    def lend(self, subjects: Subjects, access: Access) -> "Executor":
        """Return an executor for other subjects that shares this executor's threads, processes and cached results."""
        other = copy(self)
        other.subjects, other._access = subjects, access
        return other

    def forget(self) -> None:
        """Delete all cached results."""
        self._results.clear()

    def close(self) -> None:
        """Stop the processes and idle threads. A task that is running in a thread is not stopped."""
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
        except Exception as error:  # your own task may raise any exception
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
        running = self._running[key]
        # A late task continues, so that a later request can use its result. A late task on uploads is cancelled.
        return await asyncio.wait_for(running if subject == UPLOAD else asyncio.shield(running), task.timeout_s)

    async def _compute(self, task: Task[Any, Any], inputs: Inputs, context: TaskContext, key: bytes) -> Result:
        if task.in_process:
            result = await self._processes.run(task, inputs, replace(context, services={}))
        else:
            result = await asyncio.get_running_loop().run_in_executor(self._pool, task.run, inputs, context)
        if type(result) is not task.result:
            raise TypeError(f"task {task.name!r} returned {type(result).__name__} (expected {task.result.__name__})")
        result.figures()
        result.model_dump_json()  # stored for follow-ups
        self._results[key] = result
        return result


class _Processes:
    """A pool of processes, started on demand. Each runs one task at a time; after a timeout, a new process replaces it."""

    def __init__(self) -> None:
        self._started, self._idle, self._is_logged = set[Pool](), asyncio.LifoQueue[Pool | None](), False
        for _ in range(PROCESSES):
            self._idle.put_nowait(None)

    async def run(self, task: Task[Any, Any], inputs: Inputs, context: TaskContext) -> Result:
        """Wait for a free process, and run a task in it.

        Raises:
            TimeoutError: The task took longer than `LATE` times its deadline, or its process died.
            RuntimeError: No process can be started.
        """
        process, done = await self._idle.get(), Future[Result]()
        try:
            if process is None:
                process = await asyncio.to_thread(self._start)
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

    def _start(self) -> Pool:
        """Start a process by `spawn`, which takes 0.1 s. A fork would copy locks that other threads hold."""
        try:
            process = get_context("spawn").Pool(1, signal.signal, (signal.SIGINT, signal.SIG_IGN))
        except RuntimeError as error:
            if "__main__" in str(error) and not self._is_logged:
                self._is_logged = True
                log.error("task_process_not_started", reason=NO_GUARD)
            raise
        self._started.add(process)
        return process

    def close(self) -> None:
        """Kill all processes."""
        for process in self._started.copy():
            process.terminate()


def _resolve(step: Step, done: Mapping[str, Run]) -> dict[str, Any]:
    """Return the inputs of a step, with each reference replaced by the result of the earlier step.

    Raises:
        TaskError: An earlier step that the inputs refer to has no result.
    """
    inputs = dict(step.inputs)
    for name, value in step.inputs.items():
        if isinstance(value, str) and (match := REFERENCE.fullmatch(value)):
            run = done.get(match[1])
            if run is None or run.result is None or match[2] not in type(run.result).model_fields:
                raise TaskError(f"An earlier step has no result: {run.explained if run else match[1]}.")
            inputs[name] = getattr(run.result, match[2])
    return inputs
