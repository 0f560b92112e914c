"""Defines a plan: the steps that a planner proposes. A plan is data, is validated before any step runs, and contains no code."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field, ValidationError
from pydantic.fields import FieldInfo

from assistants.health.sources import Strict
from assistants.health.task import Task

MOST_STEPS = 12
MOST_CHARACTERS = 500
"""Maximum length of the description of a problem."""
_NUMBER = re.compile(r"\d{1,12}(?:[.,]\d{1,6})?")
IDENT = re.compile(r"\w{1,40}")
REFERENCE = re.compile(r"\$(\w{1,40})\.(\w{1,60})")
"""Matches a reference, `$step.field`, to a field in the result of another step."""


class Strategy(Strict):
    """A way to answer, weighed before one is chosen."""

    tasks: list[str]
    pros: str
    cons: str


class Step(Strict):
    """A task with its inputs."""

    id: str
    task: str
    inputs: dict[str, Any]


class Plan(Strict):
    """Steps to run now, or a question to the user. A plan has neither if the earlier results are enough."""

    strategies: list[Strategy] = Field([])
    decision: str = ""
    steps: list[Step] = Field([])
    ask: str = ""
    """A question to the user, if no plan is possible without the answer; else ""."""
    again: bool = False
    """Whether the planner wants to plan another round after these steps have run."""


def find_problems(
    plan: Plan, tasks: Mapping[str, Task[Any, Any]], before: Mapping[str, str], said: str = ""
) -> list[str]:
    """Return the problems of a plan, as sentences for the planner. The list is empty if the plan can run.

    Args:
        tasks: By name, the tasks that can be planned.
        before: By id of an earlier step that the plan may refer to, the name of the step's task.
        said: The text of the conversation. A `Stated` number must be in this text, or come from a step.
    """
    if len(plan.steps) > MOST_STEPS:
        return [f"{len(plan.steps)} steps; {MOST_STEPS} at most"]
    problems, known = [], {step: tasks[task].result for step, task in before.items()}
    results = known | {step.id: tasks[step.task].result for step in plan.steps if step.task in tasks}
    for step in plan.steps:
        if not IDENT.fullmatch(step.id):
            problems.append("an id has letters and digits alone, 40 at most")
        if step.id in known or sum(other.id == step.id for other in plan.steps) > 1:
            problems.append(f"step {step.id}: the id is used twice")
        if step.task not in tasks:
            problems.append(f"step {step.id}: there is no task {step.task!r}; there is: {', '.join(sorted(tasks))}")
            continue
        for ident, name in references(step):
            if ident not in results:
                problems.append(f"step {step.id}: there is no step {ident!r}")
            elif name not in results[ident].model_fields:
                problems.append(f"step {step.id}: the result of {ident} has no field {name!r}")
        problems += _input_problems(step, tasks[step.task], said)
    if not problems and find_order(plan.steps) is None:
        problems.append("the steps refer to each other in a circle")
    return [problem[:MOST_CHARACTERS] for problem in problems]


def references(step: Step) -> Iterator[tuple[str, str]]:
    """Yield, for each reference in a step's inputs, the id of the other step and the field of its result."""
    for value in step.inputs.values():
        if isinstance(value, str) and (match := REFERENCE.fullmatch(value)):
            yield match[1], match[2]


def find_order(steps: Sequence[Step]) -> list[list[Step]] | None:
    """Group steps into rounds that can run in parallel, each after the steps it refers to. Return None for a circular plan."""
    left, done, rounds = list(steps), set[str](), []
    own = {step.id for step in steps}
    while left:
        ready = [step for step in left if all(ident in done or ident not in own for ident, _ in references(step))]
        if not ready:
            return None
        rounds.append(ready)
        done |= {step.id for step in ready}
        left = [step for step in left if step not in ready]
    return rounds


def _input_problems(step: Step, task: Task[Any, Any], said: str) -> list[str]:
    """Return the problems of a step's inputs. References are validated later, when the executor knows their values."""
    fields, problems = task.inputs.model_fields, []
    values = {name: one for name, one in step.inputs.items() if not (isinstance(one, str) and REFERENCE.fullmatch(one))}
    numbers = {float(one.replace(",", ".")) for one in _NUMBER.findall(said)}
    for name in (name for name in fields if name in values):
        expected = f"step {step.id}: {name} must be a reference, $step.field"
        is_stated = isinstance(values[name], int | float) and values[name] in numbers
        if _is_marked(fields[name], "reference_only"):
            problems.append(expected)
        if _is_marked(fields[name], "stated") and not is_stated:
            problems.append(f"{expected}, or a number that the user has written")
    if len(values) < len(step.inputs):  # some values are not known yet: check the names
        missing = [name for name, field in fields.items() if field.is_required() and name not in step.inputs]
        unknown = [name for name in step.inputs if name not in fields]
        problems += [f"step {step.id}: {name}: is missing" for name in missing]
        return problems + [f"step {step.id}: {name}: {step.task} has no such input" for name in unknown]
    try:
        task.inputs.model_validate(step.inputs)
    except ValidationError as error:
        for one in error.errors(include_input=False, include_url=False):
            problems.append(f"step {step.id}: {'.'.join(map(str, one['loc'])) or 'inputs'}: {one['msg']}")
    return problems


def _is_marked(field: FieldInfo, mark: str) -> bool:
    """Return whether an input has a mark: `reference_only` for a `Reference`, `stated` for a `Stated` number (task.py)."""
    return isinstance(field.json_schema_extra, dict) and bool(field.json_schema_extra.get(mark))
