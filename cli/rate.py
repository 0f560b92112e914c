"""`caf rate`: replies to people who rate them, and their ratings back into the run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.extras import LabCommand
from cli.terminal import leave, printable

if TYPE_CHECKING:
    from scoring.people.page import Section
    from scoring.people.returned_ratings import Accepted
    from scoring.people.sheet import Key, Said, Sheet
    from scoring.transcript import Exchange

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


@app.command("export", cls=LabCommand)
def export(
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
    import secrets

    from scoring.folder import RunError
    from scoring.people import folder as folder
    from scoring.people.page import page
    from scoring.people.sheet import sheet

    _check_names(rater)
    chance = secrets.randbelow(10**6) if seed is None else seed
    try:
        said, before = folder.exchanges(run), folder.checkpoints(run)
        sections = _read_sections(knowledge_base)
        if not any(one.reply.strip() for one in said):
            leave(f"{run / folder.TRANSCRIPTS}: holds no reply, so there is nothing to rate")
        sheets = [sheet(said, before, name, items=items, duplicates=duplicates, seed=chance) for name in rater]
        files: dict[Path, str] = {}
        for one in sheets:
            path = (out or run / folder.RATING) / f"rating-{one.rater}.html"
            _check_free(folder.key_in(folder.key_path(run, one.rater)), one, path, replace)
            files[folder.key_path(run, one.rater)] = one.key().model_dump_json(indent=1) + "\n"
            files[path] = page(one, sections)
        folder.write(files)
    except RunError as error:
        leave(printable(str(error)))
    _warn(said, before, sections)
    for one, path in zip(sheets, [path for path in files if path.suffix == ".html"], strict=True):
        twice = sum(item.twin_of is not None for item in one.items)
        typer.echo(f"wrote {path}: {len(one.items) - twice} replies, {twice} of them twice", err=True)
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
    from scoring.folder import RunError
    from scoring.people import folder as folder
    from scoring.people.returned_ratings import ReturnError

    try:
        keys = folder.keys(run)
        if not keys:
            leave(f"{run / folder.RATING}: holds no key of a page; name the run that `caf rate export` was given")
        accepted: dict[str, Accepted] = {}
        problems: list[str] = []
        for file in files:
            try:
                rater, one = _read(file, keys, partial)
            except ReturnError as error:
                problems += [f"{file}: {problem}" for problem in error.problems]
                continue
            if rater in accepted:
                problems.append(f"{file}: is the second file of {rater!r}; give one file for each rater")
            accepted[rater] = one
        if problems:
            leave(*map(printable, problems), "nothing was imported")
        folder.write(folder.rated(run, accepted, replace=replace))
    except RunError as error:
        leave(printable(str(error)))
    for rater, one in accepted.items():
        typer.echo(_summary(rater, one))


def _read(file: Path, keys: "Mapping[str, Key]", partial: bool) -> "tuple[str, Accepted]":
    from scoring.people.returned_ratings import ReturnError, accept, key_of, parse

    try:
        text = file.read_bytes()
    except OSError as error:
        raise ReturnError([f"cannot be read: {error.strerror}"]) from error
    returned = parse(text)
    return returned.rater, accept(returned, key_of(returned, keys), partial=partial)


def _summary(rater: str, one: "Accepted") -> str:
    twins = one.twins
    again = (
        f"; rated twice {len(twins.twins)}: {twins.same} the same, {twins.within_one} within 1" if twins.twins else ""
    )
    return f"human:{rater}: {len(one.ratings)} of {one.replies} replies, {one.seconds:.0f} s each (median){again}"


def _check_names(raters: Sequence[str]) -> None:
    """Leave if a name cannot stand in the name of a file, or would share one with another."""
    import re

    for name in raters:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", name):
            leave(f"--rater: {name!r} cannot name a file; use letters, digits and ._-, at most 40")
    if len({name.casefold() for name in raters}) < len(raters):
        leave("--rater: the same name is given twice; each rater needs an own one")


def _check_free(key: "Key | None", sheet: "Sheet", path: Path, replace: bool) -> None:
    """Leave if a page or a key of other replies would be lost: a rater may be at work on them."""
    if replace or (key is not None and key.page == sheet.page):
        return
    if key is not None:
        leave(
            f"--rater: {sheet.rater!r} has a page of this run already (seed {key.seed}), and a new one would void it; "
            "give another name, or --replace"
        )
    if path.exists():
        leave(f"{path}: is there already, a page of something else; give another --out, or --replace")


def _read_sections(path: Path | None) -> "dict[str, Section]":
    from knowledge_base.library import KnowledgeBaseError, load
    from scoring.people.page import Section

    if path is None:
        return {}
    try:
        return {source.id: Section(source.title, source.text) for source in load(path).sources}
    except KnowledgeBaseError as error:
        leave(*(f"--knowledge-base: {problem}" for problem in error.problems))


def _warn(
    said: "Sequence[Exchange]", before: "Mapping[str, Sequence[Said]]", sections: "Mapping[str, Section]"
) -> None:
    from scoring.people.folder import CHECKPOINTS
    from scoring.transcript import QUESTIONS

    asked = {one.place.checkpoint for one in said if one.place.facilitator == QUESTIONS}
    branched = {one.place.checkpoint for one in said if one.place.facilitator != QUESTIONS}
    if lacking := sorted(branched - before.keys()):
        typer.echo(f"caf: {CHECKPOINTS} lacks {', '.join(lacking)}: those conversations begin with the run", err=True)
    # A question that nothing preceded does not stand there, so only the want of all tells of a run from before they did.
    if asked and asked.isdisjoint(before):
        typer.echo(
            f"caf: {CHECKPOINTS} has no ordinary question: if something was said before one, raters do not see it",
            err=True,
        )
    if not sections:
        typer.echo("caf: the pages hold no sections to rate against; --knowledge-base DIR puts them in", err=True)
