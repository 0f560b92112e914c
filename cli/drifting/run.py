"""`caf drift run`: run an experiment, or go on with one, and report it."""

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.judging.output import quiet_logs
from cli.terminal import PROBLEMS, leave, plain_errors

if TYPE_CHECKING:
    from cli.drifting.material import Material
    from scoring.experiment import Experiment
    from scoring.folder import RunFolder

TELL_EVERY_S = 30.0
"""How often progress is told where no bar can be drawn."""


def run(
    experiment: Annotated[
        Path, typer.Argument(metavar="EXPERIMENT.yaml", help="What to run; see docs/experiments.md.")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="DIR", help="Where the run is kept; default: data/runs/NAME.")
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
        typer.Option("--replay", metavar="RUN", help="Ask no model: answers come from this run's answers.jsonl."),
    ] = None,
    concurrency: Annotated[
        int | None,
        typer.Option("--concurrency", min=1, help="Samples under way at the same time; default: the file's."),
    ] = None,
) -> None:
    """Run an experiment: nudged conversations with the filter on and off, every reply scored, one report.

    A run that was stopped goes on when the same command is given again: nothing that stands in its folder is asked or paid for
    twice. The folder gets transcripts.jsonl, ratings.jsonl, fidelity.jsonl, answers.jsonl (what every model said),
    manifest.json, and at the end scores.csv, summary.json and report.html.

    \b
    Examples:
      caf drift run scenarios/experiments/embedded.yaml
      caf drift run my.yaml --out runs/monday --budget 5
      caf drift run my.yaml --out runs/again --replay runs/monday
    """
    from cli.drifting import outcome
    from scenarios.files import ScenarioError
    from scoring.experiment import load
    from scoring.folder import RunError, RunFolder

    quiet_logs()
    try:
        asked = load(experiment)
        folder = RunFolder(out or Path("data/runs") / asked.name)
        with plain_errors(asked.config):
            asyncio.run(_run(asked, folder, budget, replay, concurrency or asked.concurrency))
        found = outcome.look(folder)
        outcome.write(folder, found)
    except ScenarioError as error:
        leave(*error.problems)
    except RunError as error:
        leave(str(error))
    except KeyboardInterrupt:
        typer.echo(
            f"\ncaf: stopped; what was done is kept in {folder.path}: give the same command again to go on", err=True
        )
        raise typer.Exit(PROBLEMS) from None
    outcome.headline(folder, found)
    failed = sum(one.error is not None for one in found.exchanges)
    unrated = (len(found.exchanges) - failed) * len(asked.raters) - len(found.ratings)
    if failed:
        typer.echo(
            f"caf: {failed} conversations broke off for want of a reply (see `error` in transcripts.jsonl); run again to retry",
            err=True,
        )
    if unrated > 0:
        typer.echo(
            f"caf: {unrated} ratings are missing, because a rater could not be reached; run again to retry", err=True
        )
    if failed or unrated > 0:
        raise typer.Exit(PROBLEMS)


async def _run(
    experiment: "Experiment", folder: "RunFolder", budget: float | None, replay: Path | None, concurrency: int
) -> None:
    from cli.drifting.material import gather

    material = gather(experiment)
    for note in material.notes:
        typer.echo(f"caf: {note}", err=True)
    folder.open()
    with folder.alone():
        await _go(experiment, folder, material, _answers(folder, replay), budget, replay is not None, concurrency)


async def _go(
    experiment: "Experiment",
    folder: "RunFolder",
    material: "Material",
    answers: Path,
    budget: float | None,
    replay: bool,
    concurrency: int,
) -> None:
    from cli.drifting.cast import open_cast
    from cli.drifting.manifest import manifest
    from cli.drifting.material import Shown, check_sections
    from knowledge_base.lexical import Lexical
    from scoring.plan import before, samples
    from scoring.runner import Run

    async with open_cast(experiment, answers, budget=budget, replay=replay) as cast:
        check_sections(material, cast.library)
        folder.begin(
            manifest(experiment, cast, material.facilitators, material.checkpoints, material.questions, budget)
            | {"replayed": replay}
        )
        told_before = {name: one.messages for name, one in material.checkpoints.items()}
        told_before |= {question.id: before(question) for question in material.questions}
        starts = {
            name: [m.model_dump(include={"role", "content"}) for m in said]
            for name, said in told_before.items()
            if said
        }
        folder.write("checkpoints.json", json.dumps(starts, ensure_ascii=False) + "\n")
        planned = samples(experiment, material.facilitators, material.checkpoints, material.questions)
        raters = len(experiment.raters) * sum(sample.turns for sample in planned)
        with progress(sum(sample.turns for sample in planned), raters) as told:
            await Run(
                folder, planned, experiment.stage, experiment.seed, cast.arms, cast.voice, cast.raters, cast.check,
                Shown(cast.library, Lexical(cast.library), cast.role), cast.stopped, concurrency, told,
            ).go()  # fmt: skip


def _answers(folder: "RunFolder", replay: Path | None) -> Path:
    """Return the file of a run's answers; a replayed run begins with those of the run that it replays.

    Raises:
        RunError: There is nothing to replay, or the folder holds a run whose answers were asked for.
    """
    from scoring.folder import ANSWERS, MANIFEST, RunError

    answers = folder.path / ANSWERS
    if replay is None:
        return answers
    source = replay / ANSWERS if replay.is_dir() else replay
    if (folder.path / MANIFEST).exists() and not folder.manifest().get("replayed"):
        raise RunError(f"{folder.path}: holds a run that is no replay; give another --out")
    try:
        recorded = source.read_bytes()
        json.loads(recorded.split(b"\n", 1)[0] or b"{}")["key"]
    except OSError as error:
        raise RunError(
            f"{source}: cannot be replayed: {error.strerror}; name a run's folder or its {ANSWERS}"
        ) from None
    except (ValueError, KeyError, TypeError):
        raise RunError(f"{source}: is no recording; name a run's folder or its {ANSWERS}") from None
    if source.resolve() != answers.resolve():
        new = answers.with_name(f".{ANSWERS}.new")
        new.write_bytes(recorded)
        new.chmod(0o600)
        new.replace(answers)
    return answers


@contextmanager
def progress(turns: int, ratings: int) -> Iterator[Callable[[str, float | None], None]]:
    """Show how far the run is, on standard error, where a person is looking."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    spent = 0.0
    with Progress(
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(),
        TextColumn("{task.fields[cost]}"), console=console, transient=True, disable=not console.is_terminal,
    ) as bar:  # fmt: skip
        tasks = {
            "turn": bar.add_task("replies", total=turns, cost=""),
            "rating": bar.add_task("ratings", total=ratings, cost=""),
        }

        done = dict.fromkeys(tasks, 0)
        said = time.monotonic()

        def told(kind: str, cost: float | None) -> None:
            nonlocal spent, said
            spent += cost or 0.0
            if kind not in tasks:
                return
            done[kind] += 1
            bar.update(tasks[kind], advance=1, cost=f"cost {spent:.4f}" if spent else "")
            if not console.is_terminal and time.monotonic() - said > TELL_EVERY_S:
                said = time.monotonic()
                typer.echo(
                    f"caf: {done['turn']} of {turns} replies, {done['rating']} of {ratings} ratings, cost {spent:.4f}",
                    err=True,
                )

        yield told
