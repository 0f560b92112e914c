"""`caf judges`: its commands and their order."""

import typer

from cli.extras import LabCommand
from cli.judging import compare, evaluate, tune

app = typer.Typer(
    help="""Measure, compare and tune the judges.

    The cases are labelled scenarios, or your own rows.

    \b
    Examples:
      caf judges eval                  configured judges, shipped dev scenarios
      caf judges eval --stage local --split holdout
      caf judges compare chief new-prompt.md --judge role
      caf judges tune role --rounds 4 --budget 5
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("eval", cls=LabCommand)(evaluate.evaluate)
app.command("compare", cls=LabCommand)(compare.compare)
app.command("tune", cls=LabCommand)(tune.tune)
