"""Reads the assistant's options in config.yaml, and loads its tasks, once when the proxy starts."""

import os
from collections.abc import Sequence
from datetime import date
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, FilePath, ValidationError

import assistants.health.tasks as own_tasks
from assistants.health.planner import read_prompt
from assistants.health.task import Task
from models.errors import ModelSettingsError
from models.settings import ModelSettings
from models.validation_errors import describe_faults

Source = Literal["sleep", "activity", "heart", "food", "profile"]
SECTIONS = Path(__file__).parent / "knowledge_base"


class Options(BaseModel):
    """The field `options` of the assistant's alias. Relative paths start at the proxy's working directory."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    data: Path | None = None
    """The data folder, with one folder per subject. The default is the synthetic demo data."""
    access: dict[str, tuple[str, ...]] | None = None
    """By id of an API key (`*`: any key), the subjects that the key may see. Required with `data`. Every key may see demo data."""
    consent: dict[str, dict[Source, date]] = Field(default_factory=dict)
    """By subject and source of data, the last day of the consent. A subject without an entry consents to all uses."""
    knowledge_base: Path = SECTIONS
    """The folder with the sections in which the task `knowledge` searches."""
    planner: str = "single"
    """The planner: `tree`, `react`, `single`, or `module:Class` for your own."""
    prompts: dict[Literal["planner", "writer"], FilePath] = Field(default_factory=dict)
    """Files that replace the planner's and the writer's prompts. For the planner `tree`, the file replaces its first prompt."""
    writer_prefix: str = ""
    """Text to insert before the writer's prompt, for example about the tone."""
    tasks: tuple[str, ...] | None = None
    """Names of the tasks that can be planned. The default is all tasks."""
    task_modules: tuple[str, ...] = ()
    """Names of your own Python modules. Each defines its tasks in `TASKS`."""
    rounds: int = Field(3, ge=1, le=10)
    """Maximum number of plans for one message. For `react`, this is the maximum number of steps."""
    memory: Path | None = None
    """A SQLite file that stores the runs of conversations. By default they are in memory, and are lost when the proxy stops."""
    memory_hours: float = Field(24.0, gt=0)
    """Hours after which the stored runs of a message expire."""


def read_options(settings: ModelSettings) -> Options:
    """Read and check the options of the assistant's alias.

    Raises:
        ModelSettingsError: An option is invalid. The message names it, and lists the expected options.
    """
    try:
        options = Options.model_validate(settings.options)
    except ValidationError as error:
        problems = "; ".join(describe_faults(error, Options, may_show=lambda location: False))
        raise ModelSettingsError(f"{problems} (expected options: {', '.join(Options.model_fields)})") from None
    if options.data is not None and options.access is None:
        raise ModelSettingsError("access: required if `data` is set: list subjects per key, as in {keyless: [anna]}")
    return options


def read_prompts(options: Options) -> dict[str, str]:
    """Return, by name, the texts to use instead of prompts/*.md. An empty text means that the file is used."""
    prompts: dict[str, str] = {role: path.read_text("utf-8") for role, path in options.prompts.items()}
    writer = f"{options.writer_prefix}\n\n{read_prompt('writer', prompts)}".lstrip()
    return {options.planner: prompts.get("planner", ""), "writer": writer}


def load_tasks(
    chosen: Sequence[str] | None, modules: Sequence[str] = ()
) -> tuple[dict[str, Task[Any, Any]], dict[str, str]]:
    """Load tasks. Return the usable tasks by name, and by name the reason why a task is unusable.

    Args:
        chosen: Names of the tasks to load; None for all.
        modules: Names of further Python modules that define `TASKS`.

    Raises:
        ModelSettingsError: A module cannot be loaded, or a chosen task does not exist.
    """
    found: dict[str, Task[Any, Any]] = {}
    own = (f"{own_tasks.__name__}.{one.name}" for one in iter_modules(own_tasks.__path__))
    for name in (*own, *modules):
        try:
            loaded = {task.name: task for task in import_module(name).TASKS}
        except Exception as error:  # a user's module may raise any exception
            raise ModelSettingsError(f"task_modules: cannot load {name!r}: {type(error).__name__}: {error}") from None
        for task_name, task in loaded.items():
            if not isinstance(task, Task):
                raise ModelSettingsError(f"task_modules: {name}: {task_name}: expected instances, as in (MyTask(),)")
            if task_name in found:
                raise ModelSettingsError(f"task_modules: {name}: duplicate task name {task_name!r}: rename the task")
        found |= loaded
    if chosen is not None:
        if unknown := sorted(set(chosen) - found.keys()):
            raise ModelSettingsError(f"tasks: unknown task {unknown[0]!r} (expected: {', '.join(sorted(found))})")
        found = {name: task for name, task in found.items() if name in chosen}
    hidden = {name: reason for name, task in found.items() if (reason := _missing(task))}
    return {name: task for name, task in found.items() if name not in hidden}, hidden


def _missing(task: Task[Any, Any]) -> str:
    """Describe the packages and environment variables that a task needs and that are missing; "" if none is missing."""
    packages = [name for name in task.packages if find_spec(name) is None]
    variables = [name for name in task.environment if not os.environ.get(name)]
    lacking = [f"the package {name} is not installed" for name in packages]
    return "; ".join(lacking + [f"the environment variable {name} is not set" for name in variables])
