"""The entry point of the `caf` command, and the list of its subcommands."""

import sys
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from cli.extras import missing_extras

VERBS = {
    "init": ("cli.init:init", "Set up a chatbot of your own."),
    "serve": ("cli.serve:serve", "Serve the chatbots to OpenAI clients."),
    "chat": ("cli.chat:chat", "Talk to a chatbot in this terminal."),
    "check": ("cli.check:check", "Validate a configuration and its files."),
    "kb": ("cli.knowledge_base:app", "Make a knowledge base from documents, and measure its search."),
    "assistant": ("cli.assistant:app", "Show what assistants can do."),
    "schema": ("cli.schema:schema", "Write the JSON Schemas of CAF's files."),
    "trace": ("cli.trace:app", "List, show, label and delete stored turns."),
    "key": ("cli.key:app", "Make, list and revoke API keys."),
    "audit": ("cli.audit:app", "Check the audit log."),
    "judges": ("cli.judging.app:app", "Measure, compare and tune the judges."),
    "compare": ("cli.compare:compare", "Compare replies to your own questions with the filter on and off."),
    "drift": ("cli.drifting.app:app", "Measure the effect of the filter on long conversations."),
    "scenario": ("cli.scenario:app", "Make labelled cases for the judges."),
    "rate": ("cli.rate:app", "Have people rate the replies of a run."),
}
"""The module and object of each command or group, and the first sentence of its help, in the order of `caf --help`."""


class Verbs(TyperGroup):
    """Imports the module of a subcommand only when it is called, so that `caf --help` and `caf serve` start quickly."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes | {"commands": dict.fromkeys(VERBS)})

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in VERBS:
            return None
        module, _, name = VERBS[cmd_name][0].partition(":")
        verb = getattr(import_module(module), name)
        alone = typer.Typer(rich_markup_mode=None)
        if isinstance(verb, typer.Typer):
            alone.add_typer(verb, name=cmd_name)
        else:
            alone.command()(verb)
        return get_group(alone).commands[cmd_name]

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Return completions for the name of a subcommand, without importing its module."""
        verbs = [TyperCommand(name, help=help) for name, (_, help) in VERBS.items()]
        names = TyperGroup(name=self.name, commands=verbs, params=self.params)
        return names.shell_complete(typer.Context(names), incomplete)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help) for name, (_, help) in VERBS.items()])


app = typer.Typer(
    name="caf",
    cls=Verbs,
    help="""The Critical Analysis Filter: a proxy that keeps a chatbot within its role.

    \b
    Begin here:
      caf init FOLDER              set up a chatbot of your own
      caf serve                    serve chatbots on http://127.0.0.1:8080/v1
      caf serve --upstream URL     filter an existing chatbot
      caf chat                     talk to a chatbot in this terminal
      caf compare FILE             compare replies with the filter on and off
      caf kb import FILE...        convert documents to a knowledge base
      caf trace list               list stored turns and their outcomes
      caf judges eval              measure the judges on labelled scenarios
      caf drift run embedded       measure the effect of the filter (needs the extra `lab`)

    \b
    Exit codes: 0 success; 1 problems found; 2 wrong usage or configuration.
    """,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help is the same in a pipe, and saves 0.1 s for loading rich
    context_settings={"help_option_names": ["-h", "--help"]},  # commands inherit it
)


def _print_version(is_set: bool) -> None:
    if is_set:
        from importlib.metadata import version

        typer.echo(f"caf {version('critical-analysis-filter')}")
        raise typer.Exit


@app.callback()
def caf(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Define the options of `caf` itself, which typer reads from this callback."""


def main() -> None:
    """Run the `caf` command with the arguments of the process."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):  # the terminal's encoding may lack characters of a text
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with missing_extras():
        app(prog_name="caf")
