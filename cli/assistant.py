"""`caf assistant`: shows what assistants can do."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.terminal import environment_config, leave, plain_errors
from models.errors import ModelSettingsError
from models.extras import install_command
from proxy.config.config import load_config

if TYPE_CHECKING:
    from assistants.health.task import Task

SHIPPED = Path(__file__).parent.parent / "assistants" / "health" / "config.yaml"

app = typer.Typer(help="Show what assistants can do.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def _group() -> None:
    """Show what assistants can do."""


@app.command()
def tasks(
    config: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="Configuration; default: the file named by CAF_CONFIG, else the shipped one of Health.",
        ),
    ] = None,
) -> None:
    """List the tasks of the assistant Health, with inputs, results and an example. Also list tasks that cannot be planned, and why.

    \b
    Examples:
      caf assistant tasks
      caf assistant tasks --config config.yaml
    """
    path = config or environment_config() or SHIPPED
    with plain_errors(path):
        models = load_config(path).models
    found = [settings for settings in models.values() if settings.engine == "assistant" and settings.name == "health"]
    if not found:
        leave(f"{path}: the configuration has no model alias with `engine: assistant` and `name: health`")
    try:
        from assistants.health.settings import load_tasks, read_options

        options = read_options(found[0])
        _print_tasks(*load_tasks(options.tasks, options.task_modules))
    except ModuleNotFoundError as error:
        leave(f"the assistant needs {error.name}, which is not installed: {install_command('health')}")
    except ModelSettingsError as error:
        leave(f"{path}: {error}")


def _print_tasks(found: "Mapping[str, Task[Any, Any]]", hidden: Mapping[str, str]) -> None:
    for task in found.values():
        fields = task.inputs.model_fields
        inputs = ", ".join(f"{name}{'' if field.is_required() else ' (optional)'}" for name, field in fields.items())
        results = ", ".join(name for name in task.result.model_fields if name != "notes")
        typer.echo(f"{task.name}: {task.description}\n  inputs   {inputs}\n  result   {results}")
        for example in task.examples[:1]:
            typer.echo(f"  example  {example}")
    for name, reason in hidden.items():
        typer.echo(f"{name}: cannot be planned: {reason}")
