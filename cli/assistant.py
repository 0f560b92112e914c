"""`caf assistant`: information about assistants."""

from pathlib import Path
from typing import Annotated

import typer

from cli.terminal import environment_config, leave, plain_errors
from models.errors import ModelSettingsError
from models.extras import install_command
from proxy.config.config import load_config

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
        leave(f"{path}: has no model alias with `engine: assistant` and `name: health`")
    try:
        from assistants.health.settings import describe_tasks, load_tasks, read_options

        options = read_options(found[0])
        typer.echo(describe_tasks(*load_tasks(options.tasks, options.task_modules)))
    except ModuleNotFoundError as error:
        leave(f"the assistant needs {error.name}, which is not installed: {install_command('health')}")
    except ModelSettingsError as error:
        leave(f"{path}: {error}")
