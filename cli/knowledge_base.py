"""`caf kb`: a knowledge base of documents."""

from pathlib import Path
from typing import Annotated

import typer

from cli.extras import ImportCommand
from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, plain_errors, printable
from proxy.config.config import load_config

app = typer.Typer(
    help="""Make a knowledge base of documents.

    \b
    Examples:
      caf kb import leaflets/*.docx guide.pdf --into sections --dry-run
      caf kb import leaflets/*.docx guide.pdf --into sections
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def kb() -> None:
    """Nothing is common to its verbs; with one alone typer would leave out its name."""


@app.command("import", cls=ImportCommand)
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Markdown, HTML, PDF, Word or plain text.")],
    into: Annotated[
        Path, typer.Option("--into", "-i", metavar="FOLDER", help="The knowledge base; made where there is none.")
    ],
    prefix: Annotated[
        str, typer.Option(metavar="NAME", help="What all ids begin with, where documents have the same names.")
    ] = "",
    summaries: Annotated[
        str | None,
        typer.Option(
            metavar="ALIAS", help="Have this model of the configuration write summaries; default: first sentences."
        ),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SELECTOR", help="Leave out of HTML what this CSS selector finds, such as footer; may be repeated."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Say what would be written, and write nothing.")
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite", help="Replace sections whose document has changed, and delete what is gone from it."
        ),
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Make sections of documents.

    Each is a markdown file of at most 1,500 tokens with its headings, a draft summary, where it is from, and `reviewed: false`.
    Read them, correct them, and write `reviewed: true`: what a person has reviewed or edited is never replaced, even with
    --overwrite, and no section that was written by hand is. Documents are known by their file names. What a document says in
    the form of a chatbot's command is made inert.

    \b
    Examples:
      caf kb import leaflets/*.docx guide.pdf --into sections --dry-run
      caf kb import guide.pdf --into sections --overwrite
      caf kb import guide.pdf --into sections --summaries mini --config clinic.yaml

    \b
    Exit codes: 0 all documents are in the folder as they are now, but for what a person has reviewed; 1 some could not be read
    or written, have changed and were not overwritten, or got no summary by the model; 2 wrong usage.
    """
    from cli.kb_import import print_plan, read, write
    from knowledge_base.building.importing import read_files
    from knowledge_base.building.plan import make_plan
    from knowledge_base.building.slug import slug
    from knowledge_base.building.summary import EXTRACTED

    if into.exists() and not into.is_dir():
        leave(f"--into: {into} is a file; name a folder")
    if prefix and not slug(prefix):
        leave(f"--prefix: {prefix!r} has no letters or digits")
    if summaries is not None:
        _check_alias(summaries, config_path(config))
    try:
        present = read_files(into)
    except OSError as error:
        leave(f"{error.filename or into}: cannot be read: {error.strerror}")
    documents = read(files, prefix, present, leave_out or [])
    plan = make_plan(
        documents.sections, documents.beginnings, present, overwrite=overwrite, summary_by=summaries or EXTRACTED
    )
    problems = [*documents.problems]
    if not dry_run:
        try:
            problems += write(plan, documents.sections, into, summaries, config)
        except OSError as error:
            leave(f"{error.filename or into}: cannot be written: {error.strerror}")
    print_plan(plan, documents, into, dry_run, summaries)
    for problem in problems:
        typer.echo(f"problem  {printable(problem)}")
    if problems or plan.having("outdated", "orphan", "clash"):
        raise typer.Exit(PROBLEMS)


def _check_alias(alias: str, path: Path) -> None:
    with plain_errors(path):
        models = load_config(path).models
    if alias not in models:
        leave(f"--summaries: {path} has no model alias {alias!r}; it has {', '.join(models) or 'none'}")
