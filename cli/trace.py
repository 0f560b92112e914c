"""`caf trace`: lists, shows, labels and deletes stored turns."""

import asyncio
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from cli.drawing import print_line
from cli.story import story
from cli.terminal import ConfigOption, config_path, find_traces, leave, plain_errors, print_json
from cli.trace_output import SHORT_ID, print_shadow, print_turns
from models.errors import ModelError
from proxy.config.config import load_config
from proxy.traces.backend import TraceBackend, TraceError
from proxy.traces.labels import RightVerdict, as_data, labels
from proxy.traces.query import iterate_traces, list_turns
from proxy.traces.query import purge as delete
from proxy.traces.query import show as read
from proxy.traces.shadow import as_data as counts_as_data
from proxy.traces.shadow import count_shadow
from proxy.traces.trace import Outcome
from proxy.traces.turn_label import label_turn

app = typer.Typer(
    help="""List, show, label and delete stored turns.

    Traces are read from `privacy.path` of the configuration, or from --file.

    \b
    Examples:
      caf trace list --outcome refined --since 2h
      caf trace shadow --since 7d
      caf trace show 7f3a
      caf trace label 7f3a --judge role --verdict accept
      caf trace purge --older-than 7
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


def parse_since(text: str) -> float:
    """Return the Unix time of an age such as 2h, or of an ISO date or time in the local time zone.

    Raises:
        typer.BadParameter: The text is neither an age nor a date or time.
    """
    age = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([mhd])", text.strip())
    if age:
        return time.time() - float(age[1]) * {"m": 60, "h": 3_600, "d": 86_400}[age[2]]
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError, OSError):
        raise typer.BadParameter(
            f"invalid time {text!r}: expected an age such as 30m, 2h or 7d, or a time such as 2026-01-31T14:00",
            param_hint="--since",
        ) from None


FileOption = Annotated[
    Path | None,
    typer.Option(
        "--file",
        metavar="FILE",
        help="A trace file; default: `privacy.path` of the configuration. With the shipped configuration, "
        "./data/traces.db takes precedence if it exists.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ChatbotOption = Annotated[str | None, typer.Option(help="Only this chatbot.")]
SinceOption = Annotated[
    float | None,
    typer.Option(
        metavar="WHEN", parser=parse_since, help="Only later turns: 30m, 2h, 7d, or a time such as 2026-01-31T14:00."
    ),
]


@contextmanager
def _open_traces(file: Path | None, config: Path | None) -> Iterator[TraceBackend]:
    """Yield the trace file or database. Print configuration and trace errors, one per line, and exit."""
    path = config_path(config)
    with plain_errors(path):
        yield file or find_traces(path, load_config(path))


@app.command("list")
def list_(
    file: FileOption = None,
    config: ConfigOption = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number of turns.")] = 20,
    chatbot: ChatbotOption = None,
    outcome: Annotated[Outcome | None, typer.Option(help="Only turns with this outcome.")] = None,
    conversation: Annotated[str | None, typer.Option(metavar="ID", help="Only this conversation.")] = None,
    since: SinceOption = None,
    labelled: Annotated[bool, typer.Option("--labelled", help="Only turns with a label by a person.")] = False,
    as_json: JsonOption = False,
) -> None:
    """List turns, newest first, one line each: time, id, chatbot, outcome, duration and question.

    The lines fit the terminal, or 80 columns in a pipe. `caf trace show ID` prints a whole turn.

    \b
    Examples:
      caf trace list
      caf trace list --chatbot schizophrenia --since 7d --limit 100
      caf trace list --json | jq '.[].outcome'
    """
    with _open_traces(file, config) as path:
        labels_by_turn = labels(path)
        turns = list_turns(
            path, limit=limit, chatbot=chatbot, outcome=outcome, conversation=conversation, since=since,
            turns=labels_by_turn.keys() if labelled else None,
        )  # fmt: skip
    if as_json:
        rows = [asdict(turn) | {"labels": as_data(labels_by_turn.get(turn.turn_id, ()))} for turn in turns]
        for row in rows:
            del row["question"]  # texts are for `caf trace show`
        print_json(rows, indent=2)
    elif turns:
        print_turns(turns, labels_by_turn)
    else:
        typer.echo(f"no matching turns in {path}")


@app.command()
def show(
    turn: Annotated[str, typer.Argument(metavar="ID", help="The turn's id, or a unique prefix.")],
    file: FileOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show one turn: sources, drafts, judges' verdicts and observations, the delivered reply, time and tokens.

    \b
    Examples:
      caf trace show 7f3a91c2
      caf trace show 7f3a91c2 --json
    """
    with _open_traces(file, config) as path:
        trace = read(path, turn)
        trace["labels"] = as_data(labels(path).get(trace["turn_id"], ()))
    if as_json:
        print_json(trace, indent=2)
    else:
        for indent, style, text in story(trace):
            print_line(text, indent, style)


@app.command()
def label(
    turn: Annotated[str, typer.Argument(metavar="ID", help="The turn's id, or a unique prefix.")],
    judge: Annotated[str, typer.Option("--judge", "-j", metavar="NAME", help="The judge to label.")],
    verdict: Annotated[RightVerdict, typer.Option(help="The verdict that the judge should have given.")],
    note: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "",
    choice: Annotated[int, typer.Option(metavar="N", min=0, help="The choice, if the request had `n` > 1.")] = 0,
    file: FileOption = None,
    config: ConfigOption = None,
) -> None:
    """Label a turn with the verdict that a judge should have given.

    The label applies to the first judged draft, not to the refined reply. A label for the emergency judge applies to the user's
    message, which all choices share. Labels are stored and deleted with the trace. The last label for a judge counts.

    \b
    Examples:
      caf trace label 7f3a --judge role --verdict accept --note "only explains"
      caf trace list --labelled
      caf judges eval --traces
    """
    with _open_traces(file, config) as path:
        trace = read(path, turn)
        from proxy.config.blueprint import assemble  # with all judges, which the other commands of traces do without

        bot = assemble(load_config(config_path(config))).get(trace["chatbot"])
        previous_verdict = label_turn(
            path, trace, judge, verdict, choice, note,
            others=[plan.name for plan in bot.plans] if bot else (), library=bot.library if bot else None,
        )  # fmt: skip
    was = f" (it said {previous_verdict})" if previous_verdict else ""
    typer.echo(f"{trace['turn_id'][:SHORT_ID]}: {judge} should be {verdict}{was}")


@app.command()
def shadow(
    file: FileOption = None,
    config: ConfigOption = None,
    chatbot: ChatbotOption = None,
    since: SinceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Count the outcomes that the filter would have had on live traffic.

    Counts the turns of chatbots with `filter: shadow` by outcome: accepted, warned, refined, fallback or emergency. Then counts,
    for each judge, the effect of its verdicts on the first draft. An unjudged verdict means that the judge failed. With
    `on_error: closed`, a failed judge replaces the reply.

    \b
    Examples:
      caf trace shadow
      caf trace shadow --chatbot schizophrenia --since 7d
      caf trace shadow --json | jq '.judges.role.refined'
    """
    with _open_traces(file, config) as path:
        counts = count_shadow(iterate_traces(path, chatbot=chatbot, since=since))
    if as_json:
        print_json(counts_as_data(counts), indent=2)
    elif counts.turns:
        print_shadow(counts)
    else:
        typer.echo(
            f"no shadow turns in {path}; to record some, set `filter: shadow` for a chatbot, or send the header "
            "`X-CAF-Filter: shadow`"
        )


@app.command()
def purge(
    file: FileOption = None,
    config: ConfigOption = None,
    conversation: Annotated[
        str | None, typer.Option(metavar="ID", help="Delete the turns of this conversation.")
    ] = None,
    turn: Annotated[str | None, typer.Option(metavar="ID", help="Delete this turn.")] = None,
    older_than: Annotated[
        float | None, typer.Option(metavar="DAYS", min=0, help="Delete turns older than this.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Delete all turns.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="With --all: delete without asking.")] = False,
) -> None:
    """Delete traces permanently. Their text is overwritten in the file and in its write-ahead log.

    With --conversation or --all, and without --file, the data that assistants store about these conversations are deleted too. Run
    the command in the working directory of the proxy, because paths in the options of assistants are relative to it.

    \b
    Examples:
      caf trace purge --conversation 91c2
      caf trace purge --older-than 7
      caf trace purge --all --yes
    """
    if sum((conversation is not None, turn is not None, older_than is not None, everything)) != 1:
        raise typer.BadParameter("expected exactly one of --conversation, --turn, --older-than and --all")
    with _open_traces(file, config) as path:
        if everything and not yes:
            if not sys.stdin.isatty():
                leave("--all deletes every trace: without a terminal, confirm with --yes")
            typer.confirm(f"Delete all traces in {path}?", abort=True)
        with suppress(TraceError):  # without traces, assistants may still have data of a conversation with this full id
            if conversation is not None:
                conversation = list_turns(path, limit=1, conversation=conversation)[0].conversation_id
        try:
            deleted_count = delete(
                path, everything=everything, conversation=conversation, turn=turn, older_than_days=older_than
            )
        finally:
            if file is None and (everything or conversation is not None):
                _erase_in_assistants(config_path(config), conversation)
    typer.echo(f"{deleted_count} {'turn' if deleted_count == 1 else 'turns'} deleted")


def _erase_in_assistants(config: Path, conversation: str | None) -> None:
    """Delete the data that assistants store about a conversation; None: about all conversations."""
    from assistants.registry import erase_kept

    try:
        ids = None if conversation is None else [conversation]
        erased = asyncio.run(erase_kept(load_config(config).models.values(), ids))
    except ModelError as error:
        leave(f"cannot delete the data that assistants store: {error}")
    if erased:
        typer.echo(f"{erased} {'entry' if erased == 1 else 'entries'} deleted from the data of assistants")
