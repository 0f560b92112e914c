"""An experiment run, or gone on with: its material gathered, everybody who takes part opened, every sample held and rated."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from scoring.experiment import Experiment
from scoring.experiments.cast import open_cast
from scoring.experiments.manifest import manifest
from scoring.experiments.material import Material, Shown, check_sections, gather
from scoring.experiments.replay import answers_of
from scoring.folder import RunFolder
from scoring.plan import before, samples
from scoring.runner import Progress, Run


async def run_experiment(
    experiment: Experiment,
    folder: RunFolder,
    *,
    budget: float | None,
    replay: Path | None,
    concurrency: int,
    command: str,
    told: Callable[[str], None],
    shown: Callable[[int, int], AbstractContextManager[Progress]],
) -> None:
    """Do all of an experiment that does not stand in the folder of its run yet.

    Args:
        budget: Money that all calls of this process may cost together.
        replay: The run whose answers are taken; no model is asked then.
        concurrency: Samples under way at the same time.
        command: How it was started, for the manifest.
        told: Told in a sentence what should be known of the material.
        shown: Shows how far the run is, of so many turns and ratings.

    Raises:
        RunError: The folder cannot be used, or the run had to stop.
        ScenarioError: Something that the experiment names is not there, or not right.
        ConfigError: The configuration, or an arm's change of it, is not right.
        ModelSettingsError: A model cannot be used.
    """
    material = gather(experiment)
    for note in material.notes:
        told(note)
    folder.open()
    with folder.alone():
        answers = answers_of(folder, replay)
        async with open_cast(experiment, answers, budget=budget, replay=replay is not None) as cast:
            check_sections(material, cast.library)
            folder.begin(
                manifest(
                    experiment, cast, material.facilitators, material.checkpoints, material.questions, budget, command
                )
                | {"replayed": replay is not None}
            )
            folder.write("checkpoints.json", json.dumps(_starts(material), ensure_ascii=False) + "\n")
            planned = samples(experiment, material.facilitators, material.checkpoints, material.questions)
            turns = sum(sample.turns for sample in planned)
            with shown(turns, len(experiment.raters) * turns) as progress:
                await Run(
                    folder, planned, experiment.stage, experiment.seed, cast.arms, cast.voice, cast.raters, cast.check,
                    Shown(cast.library, cast.role), cast.stopped, concurrency, progress,
                ).go()  # fmt: skip


def _starts(material: Material) -> dict[str, list[dict[str, str]]]:
    """Return what was said before the run began, by checkpoint and question."""
    said = {name: one.messages for name, one in material.checkpoints.items()}
    said |= {question.id: before(question) for question in material.questions}
    return {
        name: [message.model_dump(include={"role", "content"}) for message in messages]
        for name, messages in said.items()
        if messages
    }
