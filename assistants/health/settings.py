"""Options and tasks of the assistant, read and checked once, when the proxy starts."""

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

Source = Literal["sleep", "activity", "heart", "food", "profile"]
SECTIONS = Path(__file__).parent / "knowledge_base"


class Options(BaseModel):
    """The options of the alias. Paths are absolute, or relative to where the proxy is started."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    data: Path | None = None
    """A folder with a folder for each subject; default: synthetic demo subjects."""
    access: dict[str, tuple[str, ...]] | None = None
    """By id of an API key, the subjects that it may see; `*`: any key. Required with `data`; every key may see demo data."""
    consent: dict[str, dict[Source, date]] = Field(default_factory=dict)
    """By subject and source, the last day of the consent; a subject without an entry has consented to all."""
    knowledge_base: Path = SECTIONS
    """Sections for the task `knowledge`."""
    planner: str = "single"
    """tree, react, single, or module:Class."""
    prompts: dict[Literal["planner", "writer"], FilePath] = Field(default_factory=dict)
    """Files that replace prompts/*.md, for planner and writer; with `tree`, for its first call."""
    writer_prefix: str = ""
    """Text before the writer's instructions, such as on tone."""
    tasks: tuple[str, ...] | None = None
    """Tasks that can be planned; default: all."""
    task_modules: tuple[str, ...] = ()
    """Your own modules with `TASKS`."""
    rounds: int = Field(3, ge=1, le=10)
    """Most plans for one message; for react, most steps."""
    memory: Path | None = None
    """A SQLite file for the runs of conversations; default: in memory, until the proxy ends."""
    memory_hours: float = Field(24.0, gt=0)
    """Hours until the runs of a message are forgotten."""


def read_options(settings: ModelSettings) -> Options:
    """Read the options of the alias.

    Raises:
        ModelSettingsError: An option is invalid; the message names it and the expected options.
    """
    try:
        options = Options.model_validate(settings.options)
    except ValidationError as error:
        problems = "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors())
        raise ModelSettingsError(f"{problems} (expected options: {', '.join(Options.model_fields)})") from None
    if options.data is not None and options.access is None:
        raise ModelSettingsError("access: is needed with data: name the subjects of each API key: {keyless: [anna]}")
    return options


def read_prompts(options: Options) -> dict[str, str]:
    """Return the texts that replace prompts/*.md, by name; "" for none."""
    prompts: dict[str, str] = {role: path.read_text("utf-8") for role, path in options.prompts.items()}
    writer = f"{options.writer_prefix}\n\n{read_prompt('writer', prompts)}".lstrip()
    return {options.planner: prompts.get("planner", ""), "writer": writer}


def load_tasks(
    chosen: Sequence[str] | None, modules: Sequence[str] = ()
) -> tuple[dict[str, Task[Any, Any]], dict[str, str]]:
    """Return the tasks that can be planned, by name, and the reason for each that cannot.

    Args:
        chosen: Names of tasks; None: all.
        modules: Further modules with `TASKS`.

    Raises:
        ModelSettingsError: A module cannot be loaded, or a chosen task does not exist.
    """
    found: dict[str, Task[Any, Any]] = {}
    own = (f"{own_tasks.__name__}.{one.name}" for one in iter_modules(own_tasks.__path__))
    for name in (*own, *modules):
        try:
            loaded = {task.name: task for task in import_module(name).TASKS}
        except Exception as error:  # your own module may raise any exception
            raise ModelSettingsError(f"task_modules: {name}: {type(error).__name__}: {error}") from None
        for task_name, task in loaded.items():
            if not isinstance(task, Task):
                raise ModelSettingsError(f"task_modules: {name}: {task_name}: TASKS holds instances, as in (MyTask(),)")
            if task_name in found:
                raise ModelSettingsError(f"task_modules: {name}: there is already a task {task_name!r}")
        found |= loaded
    if chosen is not None:
        if unknown := sorted(set(chosen) - found.keys()):
            raise ModelSettingsError(f"tasks: there is no task {unknown[0]!r}: expected {', '.join(sorted(found))}")
        found = {name: task for name, task in found.items() if name in chosen}
    hidden = {name: reason for name, task in found.items() if (reason := _missing(task))}
    return {name: task for name, task in found.items() if name not in hidden}, hidden


def _missing(task: Task[Any, Any]) -> str:
    """Return the missing requirements of a task; "" for none."""
    packages = [name for name in task.packages if find_spec(name) is None]
    variables = [name for name in task.environment if not os.environ.get(name)]
    lacking = [f"the package {name} is not installed" for name in packages]
    return "; ".join(lacking + [f"the environment variable {name} is not set" for name in variables])
