"""`caf drift`: the verbs and their order."""

import typer

from cli.drifting import compare, find, run
from cli.extras import LabCommand

app = typer.Typer(
    help="""Measure whether the filter helps.

    Simulated users nudge the chatbot out of its role, with the filter on and off.

    \b
    Examples:
      caf drift run scenarios/experiments/embedded.yaml     three roles, no model, under two minutes
      caf drift find --facilitator activist                 a checkpoint to start from
      caf drift compare RUN_A RUN_B
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("run", cls=LabCommand)(run.run)
app.command("find", cls=LabCommand)(find.find)
app.command("compare", cls=LabCommand)(compare.compare)
