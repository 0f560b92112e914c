"""Starts or resumes a run: reads its files, opens arms and raters, and holds and rates all conversations."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from scoring.experiment import ADAPTIVE, Experiment
from scoring.experiments.manifest import manifest
from scoring.experiments.material import CaseBuilder, Material, check_sections, load_material
from scoring.experiments.replay import answers_of
from scoring.experiments.resources import open_resources
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
    print_note: Callable[[str], None],
    show_progress: Callable[[int, int], AbstractContextManager[Progress]],
) -> None:
    """Run an experiment. Conversations and ratings that are already in the folder are not repeated.

    Args:
        budget: Maximum cost of the calls of this process; None: no limit.
        replay: Folder of a run whose recorded answers to use instead of model calls; None: call the models.
        concurrency: Number of conversations at the same time.
        command: The command line, for the manifest.
        print_note: Called with each remark for the user.
        show_progress: Opens a progress display, given the numbers of turns and ratings.

    Raises:
        RunError: The folder cannot be used, or the run had to stop.
        ScenarioError: A file that the experiment names is missing or invalid.
        ConfigError: The configuration or an arm's change is invalid.
        ModelSettingsError: A model cannot be used.
    """
    material = load_material(experiment)
    for note in material.notes:
        print_note(note)
    folder.open()
    with folder.lock():
        answers = answers_of(folder, replay)
        async with open_resources(experiment, answers, budget=budget, replay=replay is not None) as resources:
            check_sections(material, resources.library)
            planned = samples(experiment, material.facilitators, material.checkpoints, material.questions)
            turns = sum(sample.turns for sample in planned)
            folder.begin(
                manifest(experiment, resources, material, budget, command)
                | {"replayed": replay is not None, "planned": turns}
            )
            folder.write("checkpoints.json", json.dumps(_histories(material), ensure_ascii=False) + "\n")
            with show_progress(turns, len(experiment.raters) * turns) as progress:
                stages = None if experiment.stages == ADAPTIVE else experiment.stage
                await Run(
                    folder, planned, stages, experiment.seed, resources.arms, resources.voice, resources.raters, resources.check,
                    CaseBuilder(resources.library, resources.role), resources.stop_reason, concurrency, progress,
                ).run()  # fmt: skip


def _histories(material: Material) -> dict[str, list[dict[str, str]]]:
    """Return the messages before each sample, by checkpoint and question."""
    messages_before = {name: one.messages for name, one in material.checkpoints.items()}
    messages_before |= {question.id: before(question) for question in material.questions}
    return {
        name: [message.model_dump(include={"role", "content"}) for message in messages]
        for name, messages in messages_before.items()
        if messages
    }
