"""Checks an experiment for `caf check`: finds all problems of `caf drift run`, without calls to models."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from knowledge_base.library import Library
from models.errors import ModelSettingsError
from proxy.config.config import Config, ConfigError, in_file, parse_config
from scenarios import files
from scenarios.files import ScenarioError
from scoring.experiment import load
from scoring.experiments.arm_config import arm_config
from scoring.experiments.material import check_sections, load_material
from scoring.experiments.resources import aliases, chatbot_of


def check_experiment(path: Path) -> tuple[list[str], list[str]]:
    """Return the problems and notes of an experiment. The messages are those of `caf drift run`, and name the file."""
    problems: list[str] = []
    try:
        experiment = load(path)
    except ScenarioError as error:
        return error.problems, []
    collecting_problems = partial(_collecting_problems, problems, experiment.config)
    material = library = None
    with collecting_problems():
        material = load_material(experiment)
    with collecting_problems():
        data = files.read(experiment.config, "a configuration", ", ".join(Config.model_fields))
        config = parse_config(data, experiment.config)
        with collecting_problems():
            aliases(experiment, config)
        with collecting_problems():
            library = chatbot_of(experiment, config).library or Library([])
        for name, arm in experiment.arms.items():
            if arm.url is None and (arm.chatbot or experiment.chatbot in config.chatbots):
                with collecting_problems():
                    arm_config(data, experiment, name, arm)
    if material is not None and library is not None:
        with collecting_problems():
            check_sections(material, library)
    notes = material.notes if material else ()
    return [f"{path}: {one}" for one in dict.fromkeys(problems)], [f"{path}: {one}" for one in notes]


@contextmanager
def _collecting_problems(problems: list[str], config: Path) -> Iterator[None]:
    """Append the errors that the block raises to `problems`, with the messages of `caf drift run`."""
    try:
        yield
    except ScenarioError as error:
        problems += error.problems
    except ConfigError as error:
        problems += [in_file(config, problem) for problem in error.problems]
    except ModelSettingsError as error:
        problems.append(in_file(config, str(error)))
