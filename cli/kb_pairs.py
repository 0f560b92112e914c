"""`caf kb build`, `check`, `review` and `misses`: question-answer pairs of documents, and their review by people."""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from cli.check_files import count_text
from cli.drawing import figure_table, table_console
from cli.extras import ImportCommand
from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, plain_errors, printable
from knowledge_base.library import KnowledgeBaseError, load
from knowledge_base.pairs.pair import (
    PAIRS_FILE,
    Pair,
    PairsError,
    Taxonomy,
    load_pairs,
    load_taxonomy,
    replace_file,
    write_pairs,
)
from knowledge_base.pairs.words import Words

app = typer.Typer()
review = typer.Typer(help="Have experts review pairs, in a table for each topic.", no_args_is_help=True)
app.add_typer(review, name="review")
KbArgument = Annotated[Path, typer.Argument(metavar="KB", help="A folder with taxonomy.yaml and pairs.jsonl.")]


@app.command(cls=ImportCommand)
def build(
    documents: Annotated[
        list[Path], typer.Argument(metavar="DOCS...", help="Markdown, HTML, PDF, Word or plain text.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="KB", help="A folder with taxonomy.yaml.")],
    model: Annotated[
        str | None,
        typer.Option(metavar="ALIAS", help="The model that writes the pairs; default: extract them without a model."),
    ] = None,
    dropped: Annotated[
        bool, typer.Option("--dropped", help="List the pairs that failed a check, with the reason.")
    ] = False,
    config: ConfigOption = None,
) -> None:
    """Make question-answer pairs from documents.

    KB/taxonomy.yaml maps documents to a focus, and headings to an aspect. Pairs that pass all checks are written to KB/pairs.jsonl.
    Unreviewed pairs of the given documents are replaced. Reviewed pairs and pairs of other documents do not change.

    With --model, repeat the command to resume a stopped build: KB/pairs.journal.jsonl keeps the model's answers.

    \b
    Examples:
      caf kb build kb/*.md --out kb
      caf kb build kb/*.md --out kb --model mini --config clinic.yaml --dropped

    \b
    Exit codes:
      0  all pairs were built
      1  a document could not be read, or the model failed
      2  wrong usage; nothing was written
    """
    from cli.kb_build import build_pairs

    taxonomy, stored = open_pairs(out, may_lack_pairs=True)
    try:
        kept, findings, read = build_pairs(documents, out, taxonomy, stored, model, config_path(config))
    except OSError as error:
        leave(f"{error.filename or out}: cannot be written: {error.strerror}")
    lines = [f"note     {note}" for note in read.notes] + [f"dropped  {one}" for one in findings if dropped]
    typer.echo("".join(f"{printable(line)}\n" for line in lines), nl=False)
    if read.texts:
        clusters = len({pair.cluster for pair in kept})
        typer.echo(f"{out}: {len(kept)} pairs in {clusters} clusters: {list_counts(pair.complexity for pair in kept)}")
        gates = [finding.gate for finding in findings] + ["empty paragraph"] * read.empty_paragraphs
        typer.echo(f"dropped: {list_counts(gates)}")
    finish(read.problems)


@app.command()
def check(kb: KbArgument) -> None:
    """Check sections, taxonomy and pairs of a knowledge base, and count the pairs by focus and aspect.

    \b
    Exit codes:
      0  no problems
      1  a pair fails a check, clusters share a wording, or a topic has no pairs
      2  a file cannot be used
    """
    from knowledge_base.pairs.gates import count_aspects, find_problems, plainness

    taxonomy, pairs = open_pairs(kb)
    try:
        sections = {one.id: one.text for one in load(kb, language=taxonomy.language).sources}
    except KnowledgeBaseError as error:
        leave(*error.problems)
    served = [pair for pair in pairs if pair.served]
    counts = count_aspects(served)
    table = figure_table(("focus",), [f"{aspect.name[:6]}." for aspect in taxonomy.aspects])
    for focus in taxonomy.foci:
        table.add_row(focus.id, *(str(counts[focus.id, aspect.name] or "-") for aspect in taxonomy.aspects))
    table_console().print(table)
    reviewed = sum(pair.review is not None for pair in pairs)
    typer.echo(f"{len(pairs)} pairs: {list_counts(pair.complexity for pair in pairs)}")
    typer.echo(f"{reviewed} reviewed, {len(pairs) - len(served)} of them rejected")
    if served:
        letters, length = plainness(served, Words(taxonomy.language))
        typer.echo(f"plain language: {letters:.1f} letters a word, {length:.1f} words a sentence")
    finish(find_problems(served, taxonomy, sections))


@review.command("export")
def export_tables(
    kb: KbArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the tables.")],
) -> None:
    """Write a CSV table of pairs for each topic, in the spreadsheet format of the knowledge base's language.

    Experts fill in `answer ok`, `topic ok` and `wording ok` (yes or no), their name and the date. If answer or wording is not ok,
    they name an `error kind` (wrong, omits, useless, complex), and may correct the text. The column `variants` shows other wordings
    of the question that get the same answer. If an expert corrects the question, these wordings are dropped.
    """
    from knowledge_base.pairs.review import render_table

    taxonomy, pairs = open_pairs(kb)
    try:
        out.mkdir(parents=True, exist_ok=True)
        for topic in taxonomy.topics:
            own = [pair for pair in pairs if pair.topic == topic.name]
            path = out / f"{topic.name.replace('/', '-')}.csv"
            if path.exists():
                leave(f"{path}: already exists and may be filled in: import it first, or give another --out")
            replace_file(path, render_table(own, Words(taxonomy.language)))
            typer.echo(f"{path}: {len(own)} pairs")
    except OSError as error:
        leave(f"{error.filename or out}: cannot be written: {error.strerror}")


@review.command("import")
def import_tables(
    kb: KbArgument, files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Completed tables.")]
) -> None:
    """Import the reviews in tables. If one row is wrong, no review is imported.

    \b
    Exit codes: 0 imported; 1 a row is invalid, nothing written; 2 invalid file.
    """
    from knowledge_base.pairs.review import read_tables

    taxonomy, pairs = open_pairs(kb)
    try:
        tables = {str(path): path.read_bytes() for path in files}
        reviewed, problems = read_tables(tables, pairs, Words(taxonomy.language), date.today())
        if not problems:
            write_pairs(kb, reviewed)
            changed = sum(new != old for new, old in zip(reviewed, pairs, strict=True))
            typer.echo(
                f"{kb}: {count_text(changed, 'pair')} changed; a running proxy serves them after SIGHUP or a restart"
            )
    except OSError as error:
        leave(f"{error.filename or kb}: {error.strerror}")
    finish(problems)


@app.command()
def misses(
    config: ConfigOption = None,
    chatbot: Annotated[str | None, typer.Option(help="Only this chatbot.")] = None,
) -> None:
    """List the questions in traces that no pair answered, most frequent first.

    Similar questions form a group, printed with a JSON line for `caf kb eval --pairs`. Addresses and numbers of more than three
    digits are removed. Names are not removed.
    """
    from knowledge_base.pairs.pair_eval import group_misses
    from proxy.config.config import load_config
    from proxy.traces.backend import trace_backend
    from proxy.traces.query import iterate_traces
    from proxy.traces.redaction import is_redacted

    path = config_path(config)
    with plain_errors(path):
        settings = load_config(path)
        traces = [*iterate_traces(trace_backend(settings.privacy), chatbot=chatbot)]
    bots = settings.chatbots
    bot = bots[chatbot] if chatbot in bots else next(iter(bots.values()))
    groups = group_misses(traces, Words(bot.retrieval.language))
    for group in groups:
        question = printable(group[0].question)
        typer.echo(f"{len(group):>4}  {list_counts(one.band for one in group)}: {question}")
        typer.echo(f"      {json.dumps({'question': question, 'pair': None}, ensure_ascii=False)}")
    typer.echo(f"{sum(map(len, groups))} questions without a pair in {len(traces)} turns")
    if hidden := sum(map(is_redacted, traces)):
        typer.echo(f"{hidden} turns have no texts: to keep texts, set privacy.store: full")


def open_pairs(kb: Path, *, may_lack_pairs: bool = False) -> tuple[Taxonomy, tuple[Pair, ...]]:
    """Return taxonomy and pairs of a knowledge base. Exit if they cannot be used."""
    try:
        is_new = may_lack_pairs and not (kb / PAIRS_FILE).exists()
        return load_taxonomy(kb), () if is_new else load_pairs(kb, may_share_wordings=True)
    except PairsError as error:
        leave(str(error))


def list_counts(names: Iterable[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(names).most_common()) or "none"


def finish(problems: list[str]) -> None:
    """Print problems, one per line. Exit with code 1 if the list is not empty."""
    for problem in problems:
        typer.echo(f"problem  {printable(problem)}")
    if problems:
        raise typer.Exit(PROBLEMS)
