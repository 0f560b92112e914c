"""What the verbs of `caf judges` show beside their figures: progress, pages, errors in files."""

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import TYPE_CHECKING

import structlog
import typer

from cli.drawing import cost_text, progress_bars
from cli.terminal import leave, plain_errors
from judges.evaluation.errors import EvaluationError
from judges.evaluation.run_cases import Answer
from scenarios.files import ScenarioError, write

if TYPE_CHECKING:
    from judges.evaluation.saved_evaluation import SavedEvaluation


@contextmanager
def judging_errors(config: Path) -> Iterator[None]:
    """Print errors that keep judges from being measured, a line each, and exit with the code for wrong usage."""
    with plain_errors(config):
        try:
            yield
        except (EvaluationError, ScenarioError) as error:
            leave(*error.problems)


def print_hint(text: str) -> None:
    """Print a remark about the cases on standard error."""
    typer.echo(f"caf: {text}", err=True)


@contextmanager
def show_progress(total: int, title: str, saved: "SavedEvaluation | None" = None) -> Iterator[Callable[[Answer], None]]:
    """Show a progress bar, and keep it in a file as well where there is one; yields what advances it by an answer."""
    spent = 0.0
    if saved is not None:
        saved.begin(total)
    with progress_bars() as bars:
        task = bars.add_task(title, total=total, cost="")

        def advance(answer: Answer) -> None:
            nonlocal spent
            spent += answer.cost or 0.0
            bars.update(task, advance=1, cost=cost_text(spent))
            if saved is not None:
                saved.advance()

        yield advance


def quiet_logs() -> None:
    """Keep the judges' own log lines from standing between the figures: they say what the report says."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),  # on standard output stand figures, or JSON
    )


def check_page(path: Path | None) -> None:
    """Exit if a page cannot be written there, before any model is asked and paid for."""
    if path is None:
        return
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}."
        ):  # permissions alone do not tell: disks are full
            pass
    except OSError as error:
        leave(f"{path}: cannot be written: {error.strerror}")


def write_page(path: Path, text: str) -> None:
    """Write a page, readable by its owner alone, since it holds users' texts."""
    try:
        write(text, path, overwrite=True)
    except ScenarioError as error:
        leave(*error.problems)
    typer.echo(f"wrote {path}", err=True)
