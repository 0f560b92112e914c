"""`caf judges`: the verbs and their order."""

import typer

from cli.judging import evaluate

app = typer.Typer(
    help="""Measure, compare, tune and calibrate the judges on labelled scenarios.

    \b
    Examples:
      caf judges eval                                   the configured judges on the shipped dev scenarios
      caf judges eval --stage local --split holdout
      caf judges compare chief new-prompt.md --judge role
      caf judges calibrate --recall 0.97 --write
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("eval")(evaluate.evaluate)
