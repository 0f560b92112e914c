"""`caf drift run`: starts or resumes an experiment, and prints its results."""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.drawing import cost_text, progress_bars
from cli.judging.output import quiet_logs
from cli.terminal import PROBLEMS, leave, plain_errors
from scenarios.files import ScenarioError
from scoring.experiment import find_experiment, load
from scoring.experiments.run import run_experiment
from scoring.folder import RunError, RunFolder

if TYPE_CHECKING:
    from scoring.experiments.outcome import Outcome

PRINT_EVERY_S = 30.0
"""Seconds between progress lines if standard error is not a terminal."""


def run(
    experiment: Annotated[
        Path,
        typer.Argument(metavar="EXPERIMENT", help="A file, or the name of a shipped experiment, such as embedded."),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Folder of the run; default: data/runs/NAME.")
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget",
            min=0,
            help="Stop before this command's calls cost more; in the currency of `models.<alias>.price`.",
        ),
    ] = None,
    replay: Annotated[
        Path | None,
        typer.Option("--replay", metavar="RUN", help="Call no model: take the answers from this run's answers.jsonl."),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            "--concurrency", min=1, help="Conversations at the same time; default: `concurrency` of the experiment."
        ),
    ] = None,
) -> None:
    """Run an experiment: conversations with the filter on and off, scores, and a report.

    To resume a stopped run, give the same command again. Model answers in the folder are not requested or paid for twice. The
    folder gets report.html, summary.json and scores.csv at the end. During the run it gets manifest.json, transcripts.jsonl,
    ratings.jsonl, fidelity.jsonl and answers.jsonl (all model answers).

    \b
    Examples:
      caf drift run embedded
      caf drift run my.yaml --out runs/monday --budget 5
      caf drift run my.yaml --out runs/again --replay runs/monday
    """
    from scoring.experiments.outcome import read_outcome, write_outcome

    quiet_logs()
    try:
        settings = load(find_experiment(experiment))
        folder = RunFolder(out or Path("data/runs") / settings.name)
        with plain_errors(settings.config):
            asyncio.run(
                run_experiment(
                    settings, folder, budget=budget, replay=replay, concurrency=concurrency or settings.concurrency,
                    command=" ".join(["caf", *sys.argv[1:]]), print_note=lambda note: typer.echo(f"caf: {note}", err=True),
                    show_progress=show_progress,
                )
            )  # fmt: skip
        outcome = read_outcome(folder)
        write_outcome(folder, outcome)
    except ScenarioError as error:
        leave(*error.problems)
    except RunError as error:
        leave(str(error))
    except KeyboardInterrupt:
        typer.echo(
            f"\ncaf: stopped; the results so far are in {folder.path}: give the same command again to resume", err=True
        )
        raise typer.Exit(PROBLEMS) from None
    _print_headline(folder, outcome)
    failed = sum(one.error is not None for one in outcome.run.exchanges)
    unrated = len(outcome.run.rows) * len(settings.raters) - len(outcome.run.ratings)
    if failed:
        typer.echo(
            f"caf: {failed} conversations ended without a reply (see `error` in transcripts.jsonl): repeat the command to retry",
            err=True,
        )
    if unrated > 0:
        typer.echo(
            f"caf: {unrated} ratings are missing, because a rater could not be reached: repeat the command to retry",
            err=True,
        )
    if failed or unrated > 0:
        raise typer.Exit(PROBLEMS)


def _print_headline(folder: RunFolder, run: "Outcome") -> None:
    """Print each arm's figures, the headline and the path of the report."""
    from scoring.experiments.outcome import REPORT
    from scoring.reports.figures import number, percent
    from scoring.reports.headline import headline

    for name, arm in run.summary["arms"].items():
        if not arm["n"]:
            continue
        low, high = arm["interval"]["acceptable"]
        interval = "" if low is None or high is None else f" ({percent(low)} to {percent(high)})"
        typer.echo(
            f"{name:>12}  {arm['n']:4} replies  acceptable {percent(arm['acceptable'])}{interval}  "
            f"good {percent(arm['good'])}  mean {number(arm['mean'], 2)}  unscored {arm['unscored']}"
        )
    typer.echo(headline(run.summary))
    typer.echo(f"Report: {folder.path / REPORT}")


@contextmanager
def show_progress(turns: int, ratings: int) -> Iterator[Callable[[str, float | None], None]]:
    """Show a progress bar. Without a terminal, print a line every PRINT_EVERY_S seconds."""
    spent = 0.0
    with progress_bars() as bars:
        tasks = {
            "turn": bars.add_task("replies", total=turns, cost=""),
            "rating": bars.add_task("ratings", total=ratings, cost=""),
        }
        done = dict.fromkeys(tasks, 0)
        printed_at = time.monotonic()

        def advance(kind: str, cost: float | None) -> None:
            nonlocal spent, printed_at
            spent += cost or 0.0
            if kind not in tasks:
                return
            done[kind] += 1
            bars.update(tasks[kind], advance=1, cost=cost_text(spent))
            if bars.disable and time.monotonic() - printed_at > PRINT_EVERY_S:
                printed_at = time.monotonic()
                typer.echo(
                    f"caf: {done['turn']} of {turns} replies, {done['rating']} of {ratings} ratings, cost {spent:.4f}",
                    err=True,
                )

        yield advance
