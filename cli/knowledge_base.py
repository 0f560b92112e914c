"""`caf kb`: make a knowledge base from documents, and measure its search."""

from pathlib import Path
from typing import Annotated

import typer

from cli import kb_pairs
from cli.extras import ImportCommand
from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, plain_errors, printable
from knowledge_base.library import KnowledgeBaseError, Library, load
from proxy.config.chatbot_settings import RetrievalSettings
from proxy.config.config import load_config

app = typer.Typer(
    help="""Make a knowledge base from documents, and measure its search.

    \b
    Examples:
      caf kb import leaflets/*.docx guide.pdf --into sections --dry-run
      caf kb import leaflets/*.docx guide.pdf --into sections
      caf kb eval questions.jsonl --knowledge sections
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.add_typer(kb_pairs.app)


@app.command("import", cls=ImportCommand)
def import_(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Markdown, HTML, PDF, Word or plain text.")],
    into: Annotated[
        Path, typer.Option("--into", "-i", metavar="FOLDER", help="Folder of the knowledge base, created if necessary.")
    ],
    prefix: Annotated[
        str, typer.Option(metavar="NAME", help="Prefix of all ids, for documents with the same names.")
    ] = "",
    summaries: Annotated[
        str | None,
        typer.Option(
            metavar="ALIAS", help="The model that writes summaries; default: the first sentences of the text."
        ),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SELECTOR",
            help="Leave out HTML elements that match this CSS selector, such as footer; may be repeated.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Print the planned changes, and write nothing.")
    ] = False,
    overwrite: Annotated[
        bool,
        typer.Option(
            "--overwrite",
            help="Replace the sections of changed documents, and delete sections that are no longer in a document.",
        ),
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Convert documents to sections.

    Each section is a markdown file of at most 1,500 tokens with its headings, a draft summary, its origin, and `reviewed: false`.
    Read and correct the sections, then write `reviewed: true`. Sections that a person wrote, edited or reviewed are never replaced,
    even with --overwrite. Documents are identified by their file names. Text that looks like a chatbot command is escaped.

    \b
    Examples:
      caf kb import leaflets/*.docx guide.pdf --into sections --dry-run
      caf kb import guide.pdf --into sections --overwrite
      caf kb import guide.pdf --into sections --summaries mini -c clinic.yaml

    \b
    Exit codes:
      0  the folder is up to date, except for sections that a person reviewed
      1  a document could not be read or written, has changed and was not
         overwritten, or got no summary from the model
      2  wrong usage
    """
    from cli.kb_import import print_plan, read, write
    from knowledge_base.building.importing import read_files
    from knowledge_base.building.plan import make_plan
    from knowledge_base.building.slug import slug
    from knowledge_base.building.summary import EXTRACTED

    if into.exists() and not into.is_dir():
        leave(f"--into: {into}: is a file: expected a folder")
    if prefix and not slug(prefix):
        leave(f"--prefix: {prefix!r}: expected letters or digits")
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


@app.command("eval")
def eval_(
    file: Annotated[
        Path | None,
        typer.Argument(metavar="QUESTIONS", help="A .jsonl file, or question sets (a YAML file or a folder)."),
    ] = None,
    knowledge: Annotated[
        Path | None,
        typer.Option(
            "--knowledge", "-k", metavar="FOLDER", help="Folder of the knowledge base; default: that of the chatbot."
        ),
    ] = None,
    chatbot: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A configured chatbot; default: the first with sections."),
    ] = None,
    misses: Annotated[bool, typer.Option("--misses", help="List the questions with a missed section.")] = False,
    pairs: Annotated[
        Path | None,
        typer.Option("--pairs", metavar="KB", help="Measure BM25 search over the pairs of this knowledge base."),
    ] = None,
    rephrase: Annotated[
        str | None, typer.Option(metavar="ALIAS", help="With --pairs: the model that rephrases stored questions.")
    ] = None,
    number: Annotated[
        int, typer.Option("-n", min=1, help="With --rephrase: number of stored questions to rephrase.")
    ] = 200,
    config: ConfigOption = None,
) -> None:
    """Measure how often the search finds the sections with the answer.

    Each line of QUESTIONS has a `question` and `sections`, the ids of all sections that the answer needs. Optional keys are
    `reply`, a correct reply, and `before`, the previous exchange. Sections are searched with the question alone, as for a guarded
    chatbot without a selector, and with the draft, as for the judges. No model is called.

    With --pairs, each line has a `question` and a `pair`, the id of the pair that answers it, or null. This measures BM25 over the
    served pairs. It does not measure an assistant's own matcher or its thresholds.

    \b
    Examples:
      caf kb eval questions.jsonl --knowledge sections --misses
      caf kb eval --pairs kb --rephrase mini --config clinic.yaml
      caf kb eval scenarios/benign --chatbot schizophrenia

    \b
    Exit codes: 0 measured; 2 wrong usage, or the questions cannot be read.
    """
    from cli.kb_eval import print_figures, print_misses, read_cases, read_pair_questions
    from knowledge_base.retrieval_eval import evaluate

    if file is None and (pairs is None or rephrase is None):
        leave("expected QUESTIONS, or --pairs KB with --rephrase ALIAS")
    if pairs is not None:
        from cli.kb_build import print_outcomes

        taxonomy, stored = kb_pairs.open_pairs(pairs)
        served = [pair for pair in stored if pair.served]
        questions = read_pair_questions(file, served) if file else []
        print_outcomes(served, taxonomy, questions, rephrase, number, config_path(config))
        return
    assert file is not None
    library, budget = _open_library(knowledge, chatbot, config_path(config))
    cases, unanswered = read_cases(file, library)
    figures = evaluate(library, cases, budget)
    print_figures(figures, library, budget, unanswered)
    if misses:
        print_misses(figures)


def _open_library(knowledge: Path | None, chatbot: str | None, path: Path) -> tuple[Library, int]:
    """Return the knowledge base of a folder or of a chatbot, and the maximum tokens of evidence for the judges."""
    if knowledge is not None and chatbot is not None:
        leave("--knowledge and --chatbot: give only one of them")
    settings = RetrievalSettings()
    if knowledge is None:
        with plain_errors(path):
            bots = {name: bot for name, bot in load_config(path).chatbots.items() if bot.knowledge_base}
        name = chatbot or next(iter(bots), None)
        if name is None or name not in bots:
            leave(
                f"--chatbot: {path} has no chatbot {name!r} with a knowledge base (configured: {', '.join(bots) or 'none'})"
            )
        knowledge, settings = bots[name].knowledge_base, bots[name].retrieval
        assert knowledge is not None
    try:
        return load(knowledge, language=settings.language), settings.evidence_tokens
    except KnowledgeBaseError as error:
        leave(*error.problems)


def _check_alias(alias: str, path: Path) -> None:
    with plain_errors(path):
        models = load_config(path).models
    if alias not in models:
        leave(f"--summaries: {path} has no model alias {alias!r} (configured: {', '.join(models) or 'none'})")
