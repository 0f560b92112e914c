"""The `caf` command: its verbs and their order."""

import sys

import typer

from cli import audit, chat, check, key, rate, scenario, schema, serve, shadow, trace
from cli.drifting.app import app as drift
from cli.judging.app import app as judges

app = typer.Typer(
    name="caf",
    help="""The Critical Analysis Filter: a proxy that keeps a chatbot inside its role.

    \b
    Begin here:
      caf serve                    the proxy, on http://127.0.0.1:8080/v1 for any OpenAI client
      caf chat                     talk to a chatbot in this terminal
      caf trace list               what happened in each turn
      caf judges eval              how good the judges are, on labelled scenarios
      caf drift run FILE           whether the filter helps: an experiment, with a report

    \b
    Exit codes: 0 all is well; 1 problems were found; 2 wrong usage or configuration.
    """,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help: the same in a pipe, and without 0.1 s for loading rich
)
app.command()(serve.serve)
app.command()(chat.chat)
app.command()(check.check)
trace.app.command()(shadow.shadow)
app.add_typer(trace.app, name="trace")
app.add_typer(key.app, name="key")
app.add_typer(audit.app, name="audit")
app.add_typer(judges, name="judges")
app.add_typer(drift, name="drift")
app.add_typer(scenario.app, name="scenario")
app.add_typer(rate.app, name="rate")
app.command()(schema.schema)


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):  # texts may hold what the terminal's encoding has not
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    app(prog_name="caf")
