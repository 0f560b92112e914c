"""`caf rate`: replies to people who rate them, and their ratings back into the run; a survey, and a table of its answers."""

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

FormArgument = Annotated[Path, typer.Argument(metavar="FORM", help="The form, a YAML file.")]
RunArgument = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, with its transcripts.jsonl.")]

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
survey = typer.Typer(help="Ask the participants of a study, on a page or on paper.", no_args_is_help=True)
app.add_typer(survey, name="survey")


@app.command("export", cls=LabCommand)
def export_(
    run: RunArgument,
    rater: Annotated[
        list[str],
        typer.Option(metavar="NAME", help="Who rates; give it once for each. Letters, digits and ._- only."),
    ],
    items: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, help="So many replies, drawn evenly from arms and roles; default: all."),
    ] = None,
    duplicates: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=0.5, help="Share of them to show twice, for self-agreement.")
    ] = 0.1,
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="The same seed draws the same replies; default: by chance.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Where the pages go; default: RUN/rating.")
    ] = None,
    knowledge_base: Annotated[
        Path | None,
        typer.Option("--knowledge-base", metavar="DIR", help="Put these sections into the pages, to rate against."),
    ] = None,
    replace: Annotated[
        bool, typer.Option("--replace", help="Make a new page for a rater who has one; the old one is then void.")
    ] = False,
) -> None:
    """Write a page for each rater.

    A page is one HTML file that is opened from disk, loads nothing and sends nothing. It shows replies in their conversations
    and not which arm they are from; each rater has them in another order. The rater downloads a file and sends it back, for
    `caf rate import`. What the ids of a page stand for is kept in RUN/rating/key-NAME.json: do not send that along.

    \b
    Examples:
      caf rate export runs/7 --rater anna --rater ben --knowledge-base knowledge_base/schizophrenia
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
    typer.echo(f"caf: --seed {chance} draws the same replies for further raters", err=True)


@app.command("import", cls=LabCommand)
def import_(
    run: RunArgument,
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="What raters downloaded from their pages.")],
    partial: Annotated[bool, typer.Option("--partial", help="Take files in which ratings are missing.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Have these ratings instead of what the same raters gave before.")
    ] = False,
) -> None:
    """Put what raters gave into RUN/ratings.jsonl.

    Each is a rater of its own there, human:NAME. What was rated twice stands in RUN/rating/self-NAME.json, and its first rating
    counts. If a file has a fault, nothing is written.

    \b
    Examples:
      caf rate import runs/7 ratings-anna.json ratings-ben.json
      caf rate import runs/7 ratings-anna.json --partial --replace
    """
    try:
        keys = folder.keys(run)
        if not keys:
            leave(f"{run / folder.RATING}: holds no key of a page; name the run that `caf rate export` was given")
        accepted = folder.accept_files(files, keys, partial=partial)
        write_files(folder.merge_ratings(run, accepted, replace=replace))
    except ReturnError as error:
        leave(*map(printable, error.problems), "nothing was imported")
    except RunError as error:
        leave(printable(str(error)))
    for rater, ratings in accepted.items():
        typer.echo(_summary(rater, ratings))


def _summary(rater: str, ratings: AcceptedRatings) -> str:
    twins = ratings.twins
    again = (
        f"; rated twice {len(twins.twins)}: {twins.same} the same, {twins.within_one} within 1" if twins.twins else ""
    )
    return f"human:{rater}: {len(ratings.ratings)} of {ratings.replies} replies, {ratings.seconds:.0f} s each (median){again}"


def _read_sections(path: Path | None) -> Mapping[str, Source]:
    if path is None:
        return {}
    try:
        return load(path)
    except KnowledgeBaseError as error:
        leave(*(f"--knowledge-base: {problem}" for problem in error.problems))


@survey.command("print")
def print_(
    form: FormArgument,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where the pages are written.")],
    participants: Annotated[
        int, typer.Option(metavar="N", min=0, max=999, help="A page each for P01 to PN; 0: one that asks for the code.")
    ] = 0,
) -> None:
    """Write the page on which a participant answers: one HTML file that is opened from disk, loads nothing and sends nothing.

    Participants download a file for `caf rate survey export`, or fill the printed page in by hand.

    \b
    Example:
      caf rate survey print assistants/gesundheit/survey.yaml --out pages --participants 12
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
    files: Annotated[list[Path], typer.Argument(metavar="ANSWERS...", help="What participants downloaded.")],
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FILE", help="Where the table is written.")],
    conversations: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Count the events of conversations with Gesundheit.")
    ] = None,
) -> None:
    """Put all answers into one table, a row for each participant: CSV for German Excel. If a file is wrong, nothing is written.

    `sus_score` is the System Usability Scale, 0 to 100. DIR holds a file for each participant: what `caf chat --save P01.yaml`
    wrote, or a *.json: {"participant": "P01", "messages": [{"role": "user", "content": "..."}, ...]}.

    \b
    Example:
      caf rate survey export assistants/gesundheit/survey.yaml answers-*.json --conversations talks --out answers.csv
    """
    try:
        asked = yaml_files.load(form, "a form", Form)
        answers = read_returned(answers_model(asked), files)
        talks = read_returned(Conversation, sorted(conversations.glob("*.[jy]*"))) if conversations else {}
        if unknown := sorted(talks.keys() - answers.keys()):
            raise ReturnError([f"{conversations}: participant: {unknown[0]!r} has no file of answers"])
        if conversations and not talks:
            raise ReturnError([f"{conversations}: has no conversation, *.json or *.yaml"])
        write_files({out: render_table(asked, answers, _count_events(talks) if talks else {})})
    except (ReturnError, ScenarioError, RunError) as error:
        leave(*printable(str(error)).splitlines(), "nothing was written")
    typer.echo(f"wrote {out}: participants: {len(answers)}, conversations: {len(talks)}", err=True)


def _count_events(talks: Mapping[str, Conversation]) -> dict[str, dict[str, int]]:
    """Count in conversations that were answered from the shipped knowledge base."""
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
