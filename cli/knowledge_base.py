"""`caf kb`: make a knowledge base of documents, and measure what is found in one."""

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
    help="""Make a knowledge base of documents, and measure what is found in one.

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


@app.command("eval")
def eval_(
    file: Annotated[
        Path | None, typer.Argument(metavar="QUESTIONS", help="JSONL, or a question set (YAML, or a folder of them).")
    ] = None,
    knowledge: Annotated[
        Path | None,
        typer.Option("--knowledge", "-k", metavar="FOLDER", help="The knowledge base; default: that of the chatbot."),
    ] = None,
    chatbot: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="A chatbot of the configuration; default: its first with sections."),
    ] = None,
    misses: Annotated[bool, typer.Option("--misses", help="List the questions with a missed section.")] = False,
    pairs: Annotated[
        Path | None, typer.Option("--pairs", metavar="KB", help="Measure how BM25 finds pairs of this knowledge base.")
    ] = None,
    rephrase: Annotated[
        str | None, typer.Option(metavar="ALIAS", help="With --pairs: have this model rephrase stored questions.")
    ] = None,
    number: Annotated[int, typer.Option("-n", min=1, help="How many stored questions are rephrased.")] = 200,
    config: ConfigOption = None,
) -> None:
    """Measure how often what holds an answer is in the judges' view.

    Each line of QUESTIONS has a `question` and `sections`: the ids of all that its answer needs. It may have a `reply`, a right
    one, and `before`, the exchange before it. Sections are searched for with the question alone, as for a guarded chatbot
    without a selector, and with the draft, as for the judges. No model is asked.

    With --pairs, each line has a `question` and a `pair`: the id of the pair that answers it, or null. This measures BM25 over the
    served pairs, which every knowledge base with pairs has. It does not measure an assistant's own matcher or its thresholds.

    \b
    Examples:
      caf kb eval questions.jsonl --knowledge sections --misses
      caf kb eval --pairs kb --rephrase mini --config clinic.yaml
      caf kb eval scenarios/benign --chatbot schizophrenia

    \b
    Exit codes: 0 measured; 2 wrong usage, or questions that cannot be read.
    """
    from cli.kb_eval import print_figures, print_misses, read_cases, read_pair_questions
    from knowledge_base.retrieval_eval import evaluate

    if file is None and (pairs is None or rephrase is None):
        leave("name QUESTIONS, or give --pairs KB and --rephrase ALIAS")
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
    """Return a knowledge base and the tokens that evidence of it may take: a folder's, or a chatbot's."""
    if knowledge is not None and chatbot is not None:
        leave("give --knowledge or --chatbot, not both")
    settings = RetrievalSettings()
    if knowledge is None:
        with plain_errors(path):
            bots = {name: bot for name, bot in load_config(path).chatbots.items() if bot.knowledge_base}
        name = chatbot or next(iter(bots), None)
        if name is None or name not in bots:
            leave(
                f"--chatbot: {path} has no chatbot {name!r} with a knowledge base; it has {', '.join(bots) or 'none'}"
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
        leave(f"--summaries: {path} has no model alias {alias!r}; it has {', '.join(models) or 'none'}")
