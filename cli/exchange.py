"""`caf scenario import` and `export`: convert tables to labelled scenarios, and scenarios to tables."""

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
"""Maximum number of problems to print. A file of the wrong kind has a problem in every row."""

OverwriteOption = Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")]


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="JSONL, JSON, CSV, TSV or Parquet.")],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE.jsonl", help="Output file; default: print the rows.")
    ] = None,
    format: Annotated[
        Literal["jsonl", "json", "csv", "tsv", "parquet"] | None,
        typer.Option("--format", help="Format of FILE; default: from its extension."),
    ] = None,
    map: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=COLUMN",
            help="Column that fills a field, or several columns, as in sources=a,b. An empty value leaves the field out.",
        ),
    ] = None,
    judge: Annotated[str | None, typer.Option(metavar="NAME", help="The judge that the labels are for.")] = None,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="The column with the labels.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE=VERDICT,...", help="Verdicts of the labels, as in supported=accept,other=warn|reject."
        ),
    ] = None,
    family: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Rows with the same value in this column form a family; default: one family per row."
        ),
    ] = None,
    skip_unlabelled: Annotated[
        bool, typer.Option("--skip-unlabelled", help="Skip rows whose label is not in --labels.")
    ] = False,
    overwrite: OverwriteOption = False,
    config: ConfigOption = None,
) -> None:
    """Convert a table to scenarios.

    Fields are id, user_message, history, response, sources, citations, family, split, tags, note and expect. Columns with these
    names need no --map, and neither do the columns expect_JUDGE from `caf scenario export`. Ids and families with invalid
    characters, such as spaces, are rewritten and end with a hash.

    \b
    Example, for replies that people labelled:
      caf scenario import begin.tsv --map sources=knowledge \\
        --map user_message=message --out begin.jsonl \\
        --judge source_fidelity --label begin_label --skip-unlabelled \\
        --labels "Fully attributable=accept,Not fully attributable=reject"
      caf judges eval --judge source_fidelity --stage local --data begin.jsonl
    """
    if out is not None and out.suffix != ".jsonl":
        leave(f"--out: {out}: expected a .jsonl file")
    _check_free(out, overwrite)
    plan = exchange.ImportPlan(_parse_mapping(map or [], family), _parse_labels(judge, label, labels), skip_unlabelled)
    if skip_unlabelled and plan.label is None:
        leave("--skip-unlabelled: needs --judge, --label and --labels")
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
    skipped = f"; skipped {made.skipped} rows without a label" if made.skipped else ""
    target = f"wrote {out}: " if out is not None else "caf: "
    typer.echo(f"{target}{count} scenarios in {len(made.families)} families{skipped}", err=True)
    if made.unused:
        typer.echo(printable(f"caf: unused columns: {', '.join(made.unused)}"), err=True)


def export(
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Output file: .jsonl, .csv or .parquet.")],
    paths: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[FILE|FOLDER]...", help="YAML families and JSONL rows; default: the shipped ones."),
    ] = None,
    overwrite: OverwriteOption = False,
) -> None:
    """Write scenarios as a table.

    Each scenario is a row with text columns: id, family, split, user_message, history, response, citations, sources, tags, note,
    and expect_JUDGE with the right verdicts, as in warn|reject. History and sources are JSON. `caf scenario import` restores the
    same scenarios.

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
        leave(f"{out}: already exists: give another name, or --overwrite")


def _leave_with_first(problems: list[str]) -> None:
    more = [f"and {len(problems) - MAX_PROBLEMS} more problems"] if len(problems) > MAX_PROBLEMS else []
    leave(*map(printable, problems[:MAX_PROBLEMS]), *more)


def _parse_mapping(options: list[str], family: str | None) -> dict[str, str]:
    """Parse the options FIELD=COLUMN."""
    columns: dict[str, str] = {}
    for text in [*options, *([f"family={family}"] if family is not None else [])]:
        name, sign, column = text.partition("=")
        if not sign:
            leave(f"--map: {text!r}: expected FIELD=COLUMN, as in response=answer")
        if name not in FIELDS:
            leave(f"--map: unknown field {name!r} (fields: {', '.join(FIELDS)})")
        if name in columns:
            leave(
                f"--map: duplicate field {name}: for several columns of sources, citations or tags, write sources=a,b"
            )
        columns[name] = column
    return columns


def _check_judge(judge: str, config: Path | None) -> None:
    """Exit if no chatbot has this judge. The configuration is read only for judges that are not built in."""
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
        leave("--judge, --label and --labels: give all three: the judge, the column, and the verdicts of its values")
    try:
        return LabelColumn(judge, column, parse_labels(labels))
    except ValueError as error:
        leave(f"--labels: {error}")
