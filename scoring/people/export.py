"""Pages for raters: which replies of a run each is to rate, and the files that are written for it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from knowledge_base.library import Source
from scenarios.checkpoint import Message
from scoring.folder import RunError
from scoring.people import folder
from scoring.people.page import page
from scoring.people.sheet import Key, Sheet, sheet
from scoring.transcript import QUESTIONS, Exchange


@dataclass(frozen=True, slots=True)
class Export:
    """What is to be written for raters."""

    pages: dict[Path, Sheet]
    """Where each rater's page goes, and what it holds."""
    files: dict[Path, str]
    """Pages and keys."""
    notes: tuple[str, ...]
    """What raters will not see, one sentence each."""


def prepare_export(
    run: Path,
    raters: Sequence[str],
    *,
    items: int | None,
    duplicates: float,
    seed: int,
    out: Path | None,
    sections: Mapping[str, Source],
    replace: bool,
) -> Export:
    """Draw what each rater is to rate; nothing is written.

    Args:
        run: The folder of the run.
        items: So many replies, drawn evenly from arms and roles; None: all.
        duplicates: The share of them that is shown twice, 0 to 0.5.
        out: Where the pages go; None: into the run.
        replace: A rater's page may take the place of one of other replies.

    Raises:
        RunError: A name cannot be used, the run has nothing to rate, or a page would be lost that somebody may be at work on.
    """
    _check_names(raters)
    exchanges, before = folder.exchanges(run), folder.checkpoints(run)
    if not any(one.reply.strip() for one in exchanges):
        raise RunError(f"{run / folder.TRANSCRIPTS}: holds no reply, so there is nothing to rate")
    pages: dict[Path, Sheet] = {}
    files: dict[Path, str] = {}
    for name in raters:
        rater_sheet = sheet(exchanges, before, name, items=items, duplicates=duplicates, seed=seed)
        path, key_path = (out or run / folder.RATING) / f"rating-{name}.html", folder.key_path(run, name)
        _check_free(folder.key_in(key_path) if key_path.exists() else None, rater_sheet, path, replace)
        files[key_path] = rater_sheet.key().model_dump_json(indent=1) + "\n"
        files[path] = page(rater_sheet, sections)
        pages[path] = rater_sheet
    return Export(pages, files, tuple(_notes(exchanges, before, sections)))


def _check_names(raters: Sequence[str]) -> None:
    """Raises: RunError: a name cannot stand in the name of a file, or would share one with another."""
    for name in raters:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", name):
            raise RunError(f"--rater: {name!r} cannot name a file; use letters, digits and ._-, at most 40")
    if len({name.casefold() for name in raters}) < len(raters):
        raise RunError("--rater: the same name is given twice; each rater needs an own one")


def _check_free(key: Key | None, new: Sheet, path: Path, replace: bool) -> None:
    """Raises: RunError: a page or a key of other replies would be lost, and a rater may be at work on them."""
    if replace or (key is not None and key.page == new.page):
        return
    if key is not None:
        raise RunError(
            f"--rater: {new.rater!r} has a page of this run already (seed {key.seed}), and a new one would void it; "
            "give another name, or --replace"
        )
    if path.exists():
        raise RunError(f"{path}: is there already, a page of something else; give another --out, or --replace")


def _notes(
    exchanges: Sequence[Exchange], before: Mapping[str, Sequence[Message]], sections: Mapping[str, Source]
) -> Iterator[str]:
    checkpoints = {one.place.checkpoint for one in exchanges if one.place.facilitator == QUESTIONS}
    branched = {one.place.checkpoint for one in exchanges if one.place.facilitator != QUESTIONS}
    if lacking := sorted(branched - before.keys()):
        yield f"{folder.CHECKPOINTS} lacks {', '.join(lacking)}: those conversations begin with the run"
    # A question that nothing preceded does not stand there, so only the want of all tells of a run from before they did.
    if checkpoints and checkpoints.isdisjoint(before):
        yield f"{folder.CHECKPOINTS} has no ordinary question: if something was said before one, raters do not see it"
    if not sections:
        yield "the pages hold no sections to rate against; --knowledge-base DIR puts them in"
