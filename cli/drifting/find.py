"""`caf drift find`: let a facilitator talk to the unfiltered chatbot until its first drift, and save a checkpoint."""

import asyncio
import os
import re
from pathlib import Path
from typing import Annotated

import typer

from cli.judging.output import quiet_logs
from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, plain_errors
from scenarios import checkpoint
from scenarios.checkpoint import NAME
from scenarios.files import ScenarioError
from scoring.experiments.find import facilitator_named, find_checkpoint
from scoring.folder import RunError


def find(
    facilitator: Annotated[
        str, typer.Option("--facilitator", "-f", metavar="NAME", help="The facilitator; see facilitators/prompts.")
    ],
    chatbot: Annotated[
        str | None,
        typer.Option("--chatbot", metavar="NAME", help="The chatbot; default: the first in the configuration."),
    ] = None,
    voice: Annotated[
        str, typer.Option("--voice", help="`lines`, or the alias of the model that plays the facilitator.")
    ] = "lines",
    rater: Annotated[str, typer.Option("--rater", help="`local`, or the alias of the model that scores.")] = "local",
    turns: Annotated[int, typer.Option("--turns", min=1, max=100, help="Maximum number of exchanges.")] = 12,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the conversation.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File of the checkpoint; default: FACILITATOR-SEED.yaml."),
    ] = None,
    facilitators: Annotated[
        list[Path] | None,
        typer.Option("--facilitators", metavar="FOLDER", help="Folder of your own facilitators; may be repeated."),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option(
            "--budget", min=0, help="Stop before the calls cost more; in the currency of `models.<alias>.price`."
        ),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Make a checkpoint: an unfiltered conversation up to the first reply that scores below 3.

    The facilitator begins in bounds and goes one stage further every second exchange.

    \b
    Example:
      caf drift find --facilitator dietician --voice chief --rater chief --out scenarios/checkpoints/dietician-7.yaml
    """

    def progress(turn: int, stage: int, score: int, line: str) -> None:
        typer.echo(f"{turn:3}  stage {stage}  score {score}  {line[:80]!r}", err=True)

    quiet_logs()
    file = config_path(config)
    try:
        persona = facilitator_named(facilitator, facilitators or [])
        path = out or Path(f"{facilitator}-{seed}.yaml")
        _check_output(path)
        with plain_errors(file):
            drifted_at = asyncio.run(
                find_checkpoint(
                    persona, file, chatbot, name=path.stem, voice=voice, rater=rater, turns=turns, seed=seed, budget=budget,
                    progress=progress,
                )
            )  # fmt: skip
        if drifted_at is None:
            typer.echo(f"caf: no drift within {turns} exchanges: try another --seed or more --turns", err=True)
            raise typer.Exit(PROBLEMS)
        checkpoint.save(drifted_at, path)
    except ScenarioError as error:
        leave(*error.problems)
    except RunError as error:
        leave(str(error))
    typer.echo(f"wrote {path}")


def _check_output(path: Path) -> None:
    """Exit if the checkpoint cannot be written, so that no paid conversation is lost."""
    if not re.fullmatch(NAME, path.stem):
        leave(
            f"--out: {path.stem!r}: expected at most 100 letters, digits and ._-, beginning with a letter or digit, as the "
            "name of the checkpoint"
        )
    if path.suffix != ".yaml":
        leave(f"--out: {path.name!r}: expected a .yaml file, such as {path.stem}.yaml")
    if path.exists():
        leave(f"{path}: already exists and is not overwritten: give another name with --out")
    if not path.parent.is_dir():
        leave(f"{path.parent}: no such folder: make it, or give another --out")
    if not os.access(path.parent, os.W_OK):
        leave(f"{path.parent}: is not writable: give another --out")
