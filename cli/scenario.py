"""`caf scenario`: makes files of labelled cases, with which the judges are measured."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from cli import exchange
from cli.terminal import ConfigOption, config_path, find_traces, leave, plain_errors
from cli.trace import FileOption
from judges.evaluation.traced_turn import TracedTurn, scenario_of
from proxy.config.blueprint import assemble
from proxy.config.config import load_config
from proxy.traces.judged_draft import TracedTurnError
from proxy.traces.labels import RightVerdict, labels
from proxy.traces.query import earlier_traces, show
from scenarios import files
from scenarios.scenario import Family
from scenarios.scenario_files import dumps

app = typer.Typer(
    help="""Make labelled cases for the judges.

    \b
    Examples:
      caf scenario from-trace 7f3a --out scenarios/mine/7f3a.yaml
      caf scenario import replies.csv --map response=answer --out replies.jsonl
      caf scenario export --out scenarios.parquet
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


app.command("import")(exchange.import_)
app.command("export")(exchange.export)


@app.command("from-trace")
def from_trace(
    turn: Annotated[str, typer.Argument(metavar="ID", help="Id of the turn, or a unique prefix.")],
    choice: Annotated[int, typer.Option(metavar="N", min=0, help="Number of the choice, if the turn has several.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="Output file; default: print the scenario.")
    ] = None,
    family: Annotated[
        str | None, typer.Option(metavar="NAME", help="Name of the family; default: from the turn.")
    ] = None,
    expect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="JUDGE=VERDICT",
            help="Expected verdict of a judge, or several as in role=warn,reject. Overrides labels.",
        ),
    ] = None,
    file: FileOption = None,
    config: ConfigOption = None,
) -> None:
    """Convert a traced turn to a scenario.

    The scenario has the user's message, the history, the judged draft and its citations. The expected verdicts come from
    `caf trace label` or --expect, never from the judges' own verdicts. A label of the emergency judge belongs to the choice that
    was labelled. Sections that have changed since the turn, or were deleted, are written in full.

    \b
    Examples:
      caf scenario from-trace 7f3a
      caf scenario from-trace 7f3a --expect role=accept --out 7f3a.yaml
    """
    path = config_path(config)
    with plain_errors(path):
        settings = load_config(path)
        traces = file or find_traces(path, settings)
        trace = show(traces, turn)
        bot = assemble(settings).get(trace["chatbot"])
        turn_labels = labels(traces).get(trace["turn_id"], [])
        traced = TracedTurn(trace, earlier_traces(traces, trace), turn_labels, bot.library if bot else None)
        right = _parse_expected(expect or [], [plan.name for plan in bot.plans] if bot else None)
        try:
            scenario, doubts = scenario_of(traced, choice, right)
        except TracedTurnError as error:
            leave(str(error))
        try:
            text = dumps(Family(family=family or scenario.id, scenarios=(scenario,)))
        except ValueError:
            leave(f"--family: {family!r}: expected letters, digits and . _ : / -")
        try:
            if out is not None:
                out.parent.mkdir(parents=True, exist_ok=True)
                files.write(text, out)
        except OSError as error:
            leave(f"{out}: cannot be written: {error.strerror}")
        except files.ScenarioError as error:
            leave(*error.problems)
    for doubt in doubts:
        typer.echo(f"caf: {doubt}", err=True)
    if out is None:
        typer.echo(text, nl=False)
        return
    typer.echo(f"wrote {out}" + ("" if scenario.expect else "; add `expect` before you use it"), err=True)


def _parse_expected(options: list[str], judges: list[str] | None) -> dict[str, frozenset[RightVerdict]]:
    """Parse the options JUDGE=VERDICT.

    Args:
        judges: The known judges; None: accept any name.
    """
    right: dict[str, frozenset[RightVerdict]] = {}
    for text in options:
        judge, _, verdict_text = text.partition("=")
        parts = {part.strip() for part in verdict_text.split(",")}
        verdicts = frozenset(verdict for verdict in get_args(RightVerdict) if verdict in parts)
        if not judge or len(verdicts) < len(parts):
            leave(f"--expect: {text!r}: expected JUDGE=accept, =warn or =reject, or several as in role=warn,reject")
        if judges is not None and judge not in judges:
            leave(f"--expect: the chatbot has no judge {judge!r} (configured: {', '.join(judges) or 'none'})")
        right[judge] = verdicts
    return right
