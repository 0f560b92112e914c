"""`caf rate`: makes pages on which people rate replies, imports their ratings, and makes surveys and tables of answers."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer

from cli.extras import LabCommand
from cli.terminal import leave, printable
from knowledge_base.library import KnowledgeBaseError, Source, load
from scenarios import files as yaml_files
from scenarios.files import ScenarioError
from scoring.folder import RunError, write_files
from scoring.people import folder
from scoring.people.export import prepare_export
from scoring.people.returned_ratings import AcceptedRatings, ReturnError
from scoring.people.survey import Conversation, Form, answers_model, page, read_returned, render_table

FormArgument = Annotated[Path, typer.Argument(metavar="FORM", help="YAML file of the form.")]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, with its transcripts.jsonl.")]

app = typer.Typer(
    help="""Have people rate the replies of a run.

    \b
    Examples:
      caf rate export runs/7 --rater anna --rater ben --items 60
      caf rate import runs/7 ratings-anna.json ratings-ben.json
    """,
    no_args_is_help=True,
    rich_markup_mode=None,
)
survey = typer.Typer(help="Make a survey for the participants of a study, on a page or on paper.", no_args_is_help=True)
app.add_typer(survey, name="survey")


@app.command("export", cls=LabCommand)
def export_(
    run: RunArgument,
    rater: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="Name of a rater: letters, digits and ._-; may be repeated."),
    ],
    items: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="Number of replies, drawn evenly from arms and roles; default: all."),
    ] = None,
    duplicates: Annotated[
        float,
        typer.Option(
            metavar="SHARE", min=0, max=0.5, help="Share of replies to show twice, to measure self-agreement."
        ),
    ] = 0.1,
    seed: Annotated[int | None, typer.Option(metavar="N", help="Seed of the random choices; default: random.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder for the pages; default: RUN/rating.")
    ] = None,
    knowledge_base: Annotated[
        Path | None,
        typer.Option("--knowledge-base", metavar="DIR", help="Add the sections of this knowledge base to the pages."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Replace the existing page of a rater; the old page becomes invalid.")
    ] = False,
) -> None:
    """Write a page for each rater.

    A page is one HTML file that works from disk, and loads and sends nothing. It shows replies in their conversations, but not
    whether the filter was on. Each rater sees the replies in a different order. The rater downloads a file and sends it back to
    you, for `caf rate import`.
    RUN/rating/key-NAME.json maps the ids of a page to replies: do not send it to the rater.

    \b
    Examples:
      caf rate export runs/7 --rater anna --rater ben --knowledge-base sections
      caf rate export runs/7 --rater cleo --items 60 --seed 4711 --out pages
    """
    chance = secrets.randbelow(10**6) if seed is None else seed
    try:
        export = prepare_export(
            run, rater, items=items, duplicates=duplicates, seed=chance, out=out, sections=_read_sections(knowledge_base),
            replace=replace,
        )  # fmt: skip
        write_files(export.files)
    except RunError as error:
        leave(printable(str(error)))
    for note in export.notes:
        typer.echo(f"caf: {note}", err=True)
    for path, sheet in export.pages.items():
        twice = sum(item.twin_of is not None for item in sheet.items)
        typer.echo(f"wrote {path}: {len(sheet.items) - twice} replies, {twice} of them twice", err=True)
    typer.echo(f"caf: for more raters with the same replies, give --seed {chance}", err=True)


@app.command("import", cls=LabCommand)
def import_(
    run: RunArgument,
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files that raters downloaded from their pages.")
    ],
    partial: Annotated[bool, typer.Option("--partial", help="Accept files with missing ratings.")] = False,
    replace: Annotated[bool, typer.Option("--replace", help="Replace earlier ratings of the same raters.")] = False,
) -> None:
    """Import the ratings of people into RUN/ratings.jsonl.

    Each person becomes a rater human:NAME. For replies that were rated twice, the first rating counts, and
    RUN/rating/self-NAME.json holds both. If a file is invalid, nothing is written.

    \b
    Examples:
      caf rate import runs/7 ratings-anna.json ratings-ben.json
      caf rate import runs/7 ratings-anna.json --partial --replace
    """
    try:
        keys = folder.keys(run)
        if not keys:
            leave(
                f"{run / folder.RATING}: found no key-NAME.json: expected the run that was given to `caf rate export`"
            )
        accepted = folder.accept_files(files, keys, partial=partial)
        write_files(folder.merge_ratings(run, accepted, replace=replace))
    except ReturnError as error:
        leave(*map(printable, error.problems), "nothing was imported")
    except RunError as error:
        leave(printable(str(error)))
    for rater, ratings in accepted.items():
        typer.echo(_summary(rater, ratings))


def _summary(rater: str, ratings: AcceptedRatings) -> str:
    """Return one line about the imported ratings of a person."""
    twins = ratings.twins
    text = f"human:{rater}: {len(ratings.ratings)} of {ratings.replies} replies rated, median {ratings.seconds:.0f} s per reply"
    if not twins.twins:
        return text
    return (
        f"{text}; of {len(twins.twins)} replies rated twice, {twins.same} got the same score and {twins.within_one} scores that "
        "differ by at most 1"
    )


def _read_sections(path: Path | None) -> Mapping[str, Source]:
    if path is None:
        return {}
    try:
        return load(path)
    except KnowledgeBaseError as error:
        leave(f"--knowledge-base {str(path)!r}: the knowledge base has problems:", *error.problems)


@survey.command("print")
def print_(
    form: FormArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Folder for the pages.")],
    participants: Annotated[
        int,
        typer.Option(
            metavar="N",
            min=0,
            max=999,
            help="Number of pages, with the codes P01 to PN; 0: one page that asks for the code.",
        ),
    ] = 0,
) -> None:
    """Write the survey page: one HTML file that works from disk, and loads and sends nothing.

    Participants download a file for `caf rate survey export`, or fill in the printed page by hand.

    \b
    Example:
      caf rate survey print survey.yaml --out pages --participants 12
    """
    codes = [f"P{n:02}" for n in range(1, participants + 1)] or [""]
    try:
        asked = yaml_files.load(form, "a form", Form)
        write_files({out / f"survey{code and '-'}{code}.html": page(asked, code) for code in codes})
    except (ScenarioError, RunError) as error:
        leave(*printable(str(error)).splitlines())
    typer.echo(f"wrote {out}: form {asked.version}, pages: {len(codes)}", err=True)


@survey.command("export")
def export_answers(
    form: FormArgument,
    files: Annotated[list[Path], typer.Argument(metavar="ANSWERS...", help="Files that participants downloaded.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="File for the table.")],
    conversations: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of conversations with Gesundheit, to count their events.")
    ] = None,
) -> None:
    """Write a table with a row for each participant: CSV for German Excel. If a file is invalid, nothing is written.

    `sus_score` is the System Usability Scale, 0 to 100. DIR holds a file for each participant: a checkpoint from
    `caf chat --save P01.yaml`, or a *.json: {"participant": "P01", "messages": [{"role": "user", "content": "..."}, ...]}.

    \b
    Example:
      caf rate survey export survey.yaml answers-*.json --out answers.csv
    """
    try:
        asked = yaml_files.load(form, "a form", Form)
        answers = read_returned(answers_model(asked), files)
        talks = read_returned(Conversation, sorted(conversations.glob("*.[jy]*"))) if conversations else {}
        if unknown := sorted(talks.keys() - answers.keys()):
            raise ReturnError([f"{conversations}: participant: {unknown[0]!r}: found no file of answers"])
        if conversations and not talks:
            raise ReturnError([f"{conversations}: found no conversation (*.json or *.yaml)"])
        write_files({out: render_table(asked, answers, _count_events(talks) if talks else {})})
    except (ReturnError, ScenarioError, RunError) as error:
        leave(*printable(str(error)).splitlines(), "nothing was written")
    typer.echo(f"wrote {out}: participants: {len(answers)}, conversations: {len(talks)}", err=True)


def _count_events(talks: Mapping[str, Conversation]) -> dict[str, dict[str, int]]:
    """Count the dialogue events of each participant's conversation with Gesundheit and its shipped knowledge base."""
    from assistants import view
    from assistants.gesundheit import answers, counters, dialogue, settings
    from models.settings import ModelSettings

    alias = ModelSettings(engine="assistant", name="gesundheit", options={"encoder": "off"})
    sources, language = settings.open_sources(alias)
    stored = answers.Answers(sources, language)
    texts = dialogue.Texts(language, stored.pairs, stored.sentences)
    counts = {}
    for code, one in talks.items():
        read = view.read([*one.messages, {"role": "user", "content": ""}])  # `earlier` ends before the last message
        counts[code] = counters.count(read.earlier, texts, stored.foci_in)._asdict()
    return counts
