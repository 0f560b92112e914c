"""Output of `caf judges` besides figures: progress, pages, errors in files."""

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
    """Print errors that prevent a measurement, one per line, and exit with the code for wrong usage."""
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
    """Show a progress bar, and save the progress if a file is given. Yield the function to call after each answer."""
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
    """Silence the judges' log lines, which would interrupt the figures and repeat the report."""
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),  # standard output is for figures or JSON
    )


def check_page(path: Path | None) -> None:
    """Exit if the page cannot be written, before paying for model calls."""
    if path is None:
        return
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        with NamedTemporaryFile(
            dir=path.parent, prefix=f".{path.name}."
        ):  # checking permissions is not enough: the disk may be full
            pass
    except OSError as error:
        leave(f"{path}: cannot be written: {error.strerror}")


def write_page(path: Path, text: str) -> None:
    """Write a page that only its owner can read, because it holds users' texts."""
    try:
        write(text, path, overwrite=True)
    except ScenarioError as error:
        leave(*error.problems)
    typer.echo(f"wrote {path}", err=True)
