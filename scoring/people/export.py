"""Prepares pages for raters: selects the replies of a run for each rater, and lists the files to write."""

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
    """The files to write for raters."""

    pages: dict[Path, Sheet]
    """Path and content of each rater's page."""
    files: dict[Path, str]
    """All files to write, pages and keys, by path."""
    notes: tuple[str, ...]
    """Sentences about missing context: what raters will not see on the pages."""


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
    """Select replies at random for each rater, and make the pages and keys. No file is written.

    Args:
        run: The folder of the run.
        items: Number of replies, drawn evenly from arms and roles; None: all replies.
        duplicates: The share of replies to show twice, 0 to 0.5.
        out: Folder of the pages; None: inside the run.
        replace: Allow a page to replace an earlier page of the same rater.

    Raises:
        RunError: A name is invalid, the run has no replies, or an existing page would be replaced and `replace` is false.
    """
    _check_names(raters)
    exchanges, before = folder.exchanges(run), folder.checkpoints(run)
    if not any(one.reply.strip() for one in exchanges):
        raise RunError(f"{run / folder.TRANSCRIPTS}: the run has no replies to rate: finish it with `caf drift run`")
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
    """Check the names of raters. Raises: RunError: A name is not a valid part of a file name, or is listed twice."""
    for name in raters:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", name):
            raise RunError(f"--rater {name!r}: expected at most 40 letters, digits and ._-")
    if len({name.casefold() for name in raters}) < len(raters):
        raise RunError("--rater: duplicate name: expected a different name for each rater")


def _check_free(key: Key | None, new: Sheet, path: Path, replace: bool) -> None:
    """Check that no existing page is lost. Raises: RunError: A file exists with other replies, which a rater may be rating."""
    if replace or (key is not None and key.page == new.page):
        return
    if key is not None:
        raise RunError(
            f"--rater: {new.rater!r} already has a page of this run (seed {key.seed}), and a new one would make it unusable: "
            "give another name, or --replace"
        )
    if path.exists():
        raise RunError(f"{path}: already exists and belongs to another page: give another --out, or --replace")


def _notes(
    exchanges: Sequence[Exchange], before: Mapping[str, Sequence[Message]], sections: Mapping[str, Source]
) -> Iterator[str]:
    checkpoints = {one.place.checkpoint for one in exchanges if one.place.facilitator == QUESTIONS}
    branched = {one.place.checkpoint for one in exchanges if one.place.facilitator != QUESTIONS}
    if lacking := sorted(branched - before.keys()):
        yield f"{folder.CHECKPOINTS} does not have {', '.join(lacking)}: raters do not see the start of those conversations"
    # The file leaves out questions without earlier messages. So only a file without any question may come from an older run.
    if checkpoints and checkpoints.isdisjoint(before):
        yield f"{folder.CHECKPOINTS} has no ordinary question: raters do not see the messages before ordinary questions"
    if not sections:
        yield "the pages hold no sections to rate against: add them with --knowledge-base DIR"
