"""`caf drift`: its commands, and `caf drift compare`, which compares two runs."""

from pathlib import Path
from typing import Annotated

import typer

from cli.drifting import find, run
from cli.extras import LabCommand
from cli.terminal import leave
from scoring.folder import RunError, RunFolder

app = typer.Typer(
    help="""Measure the effect of the filter on long conversations.

    Simulated users (facilitators) press the chatbot to leave its role. Each conversation runs with the filter on and off, and
    every reply is scored.

    \b
    Examples:
      caf drift run embedded             shipped experiment, no model, 2 minutes
      caf drift find -f activist         make a checkpoint
      caf drift compare RUN_A RUN_B
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("run", cls=LabCommand)(run.run)
app.command("find", cls=LabCommand)(find.find)


@app.command(cls=LabCommand)
def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="Folder of the first run.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="Folder of the second run.")],
) -> None:
    """Compare two runs: the figures of every arm. Arms that are in both runs also get a paired difference.

    \b
    Example:
      caf drift compare runs/monday runs/tuesday
    """
    from scoring.experiments.outcome import read_outcome
    from scoring.reports import comparison

    try:
        a, b = (read_outcome(RunFolder(path)) for path in (first, second))
    except RunError as error:
        leave(str(error))
    names, seed = (str(first), str(second)), a.run.manifest["seed"]
    try:
        typer.echo(comparison.compare(a.summary, a.run.rows, b.summary, b.run.rows, names=names, seed=seed))
    except ValueError as error:  # no arm is in both runs
        leave(str(error))
