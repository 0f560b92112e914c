"""`caf drift compare`: two runs beside each other."""

from pathlib import Path
from typing import Annotated

import typer

from cli.terminal import leave


def compare(
    first: Annotated[Path, typer.Argument(metavar="RUN_A", help="The folder of a run.")],
    second: Annotated[Path, typer.Argument(metavar="RUN_B", help="The folder of another.")],
) -> None:
    """Compare two runs: the figures of every arm, and for arms of one name the paired difference on what both runs have.

    \b
    Example:
      caf drift compare runs/monday runs/tuesday
    """
    from cli.drifting import outcome
    from scoring.folder import RunError, RunFolder
    from scoring.reports import comparison

    try:
        runs = [outcome.told(RunFolder(path)) for path in (first, second)]
    except RunError as error:
        leave(str(error))
    (told_a, rows_a), (told_b, rows_b) = runs
    names, seed = (str(first), str(second)), RunFolder(first).manifest()["seed"]
    try:
        typer.echo(comparison.compare(told_a, rows_a, told_b, rows_b, names=names, seed=seed))
    except ValueError as error:  # no arm of one name
        leave(str(error))
