"""`caf scenario import` and `export`: labelled cases from other people's data, and ours for other programs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from cli.terminal import ConfigOption, config_path, leave, plain_errors, printable
from judges.evaluation.judge_names import known_judges, unknown_judge
from judges.evaluation.shipped_scenarios import SCENARIOS
from proxy.config.blueprint import assemble
from proxy.config.config import load_config
from scenarios import exchange, files
from scenarios.exchange import FIELDS, LabelColumn, parse_labels
from scenarios.scenario_files import load_all

MAX_PROBLEMS = 20
"""So many faults are told; a set of the wrong kind has one in each of its rows."""

OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace the file if it is there.")]


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSONL, JSON, CSV, TSV or Parquet.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.jsonl", help="Write it there; default: print it.")
    ] = None,
    format: Annotated[
        Literal["jsonl", "json", "csv", "tsv", "parquet"] | None,
        typer.Option("--format", help="What FILE is; default: by its ending."),
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=COLUMN",
            help="Which column a field is in, or several as in sources=a,b; nothing after = leaves the field out.",
        ),
    ] = None,
    judge: Annotated[str | None, typer.Option(metavar="NAME", help="The judge that --label is for.")] = None,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column that says what is right.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE=VERDICT,...", help="What its values mean, as in supported=accept,other=warn|reject."
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Rows with the same value are a family; default: each row is one."),
    ] = None,
    skip_unlabelled: Annotated[
        bool, typer.Option("--skip-unlabelled", help="Leave out rows whose label is not among --labels.")
    ] = False,
    overwrite: OverwriteOption = False,
    config: ConfigOption = None,
) -> None:
    """Make scenarios of a table.

    Fields are id, user_message, history, response, sources, citations, family, split, tags, note and expect; columns of
    these names, and expect_JUDGE as `caf scenario export` writes them, need no --map. Ids and families that hold spaces
    and the like are rewritten, with a hash at their end.

    \b
    Example, of a set of replies labelled by people:
      caf scenario import begin.tsv --map sources=knowledge --map user_message=message --out begin.jsonl \\
        --judge source_fidelity --label begin_label --skip-unlabelled \\
        --labels "Fully attributable=accept,Not fully attributable=reject"
      caf judges eval --judge source_fidelity --stage local --data begin.jsonl
    """
    if out is not None and out.suffix != ".jsonl":
        leave(f"--out: {out} is to hold rows, and those are told by the ending .jsonl; name it so")
    _check_free(out, overwrite)
    plan = exchange.ImportPlan(_parse_mapping(map or [], family), _parse_labels(judge, label, labels), skip_unlabelled)
    if skip_unlabelled and plan.label is None:
        leave("--skip-unlabelled: says what to do with labels; give --judge, --label and --labels as well")
    if plan.label is not None:
        _check_judge(plan.label.judge, config)
    try:
        made = exchange.load(file, plan, format, out)
        if out is not None:
            files.write(made.text, out, overwrite=overwrite)
    except files.ScenarioError as error:
        _leave_with_first(error.problems)
    if out is None:
        typer.echo(made.text, nl=False)
    count = sum(len(family.scenarios) for family in made.families)
    skipped = f"; {made.skipped} without a label were skipped" if made.skipped else ""
    target = f"wrote {out}: " if out is not None else "caf: "
    typer.echo(f"{target}{count} scenarios in {len(made.families)} families{skipped}", err=True)
    if made.unused:
        typer.echo(printable(f"caf: not taken: {', '.join(made.unused)}"), err=True)


def export(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Ends in .jsonl, .csv or .parquet.")],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE|FOLDER]...", help="YAML families and JSONL rows; default: the shipped ones."),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write scenarios as a table.

    One row a scenario, in columns of plain text: id, family, split, user_message, history, response, citations, sources, tags,
    note, and expect_JUDGE with the verdicts that are right, as in warn|reject. History and sources are JSON. `caf scenario
    import` gives the same scenarios back.

    \b
    Examples:
      caf scenario export --out scenarios.csv
      caf scenario export scenarios/mine rows.jsonl --out mine.parquet
    """
    _check_free(out, overwrite)
    try:
        read = load_all(paths or [SCENARIOS])
        exchange.export(read, out, overwrite=overwrite)
    except files.ScenarioError as error:
        _leave_with_first(error.problems)
    count = sum(len(one.family.scenarios) for one in read)
    typer.echo(f"wrote {out}: {count} scenarios in {len(read)} families", err=True)


def _check_free(out: Path | None, overwrite: bool) -> None:
    if out is not None and out.exists() and not overwrite:
        leave(f"{out}: is there already; give another name, or --overwrite")


def _leave_with_first(problems: list[str]) -> None:
    more = [f"and {len(problems) - MAX_PROBLEMS} more"] if len(problems) > MAX_PROBLEMS else []
    leave(*map(printable, problems[:MAX_PROBLEMS]), *more)


def _parse_mapping(options: list[str], family: str | None) -> dict[str, str]:
    """Read FIELD=COLUMN."""
    columns: dict[str, str] = {}
    for text in [*options, *([f"family={family}"] if family is not None else [])]:
        name, sign, column = text.partition("=")
        if not sign:
            leave(f"--map: {text!r} is none; give FIELD=COLUMN, as in response=answer")
        if name not in FIELDS:
            leave(f"--map: there is no field {name!r}; there is {', '.join(FIELDS)}")
        if name in columns:
            leave(f"--map: {name} is mapped twice; of sources, citations and tags several columns go as in sources=a,b")
        columns[name] = column
    return columns


def _check_judge(judge: str, config: Path | None) -> None:
    """Leave if no chatbot has such a judge; the configuration is read only for one that is not built in."""
    if judge in known_judges([]):
        return

    path = config_path(config)
    with plain_errors(path):
        bots = assemble(load_config(path)).values()
    names = known_judges(plan.name for bot in bots for plan in bot.plans)
    if judge not in names:
        leave(f"--judge: {judge!r}: {unknown_judge(judge, names)}")


def _parse_labels(judge: str | None, column: str | None, labels: str | None) -> LabelColumn | None:
    if judge is None and column is None and labels is None:
        return None
    if not judge or not column or labels is None:
        leave("--judge, --label and --labels go together: which judge, which column, and what its values mean")
    try:
        return LabelColumn(judge, column, parse_labels(labels))
    except ValueError as error:
        leave(f"--labels: {error}")
