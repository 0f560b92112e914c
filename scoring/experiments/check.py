"""Checks an experiment for `caf check`: all that `caf drift run` would refuse, without asking a model."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from knowledge_base.library import Library
from models.errors import ModelSettingsError
from proxy.config.config import Config, ConfigError, in_file, parse_config
from scenarios import files
from scenarios.files import ScenarioError
from scoring.experiment import Experiment, load
from scoring.experiments.arm_config import arm_config
from scoring.experiments.cast import aliases, chatbot_of
from scoring.experiments.material import check_sections, load_material


def check_experiment(path: Path) -> tuple[list[str], list[str]]:
    """Return problems and notes of an experiment, each with its file; the messages are those of `caf drift run`."""
    problems: list[str] = []
    try:
        experiment = load(path)
    except ScenarioError as error:
        return error.problems, []
    material = library = None
    with _collecting_problems(problems, experiment.config):
        material = load_material(experiment)
    with _collecting_problems(problems, experiment.config):
        data = files.read(experiment.config, "a configuration", ", ".join(Config.model_fields))
        library = _check_chatbot(experiment, parse_config(data, experiment.config), problems)
        _check_arms(experiment, data, problems)
    if material is not None and library is not None:
        with _collecting_problems(problems, experiment.config):
            check_sections(material, library)
    return _prefixed(path, problems), _prefixed(path, material.notes if material else ())


def _check_chatbot(experiment: Experiment, config: Config, problems: list[str]) -> Library | None:
    """Check the aliases and the chatbot of an experiment, and return its knowledge base, if there is one."""
    with _collecting_problems(problems, experiment.config):
        aliases(experiment, config)
    with _collecting_problems(problems, experiment.config):
        return chatbot_of(experiment, config).library or Library([])
    return None


def _check_arms(experiment: Experiment, data: Mapping[str, Any], problems: list[str]) -> None:
    """Assemble the configuration of each arm; secrets need not be set."""
    for name, arm in experiment.arms.items():
        if arm.url is None and (arm.chatbot or experiment.chatbot in data.get("chatbots", {})):
            with _collecting_problems(problems, experiment.config):
                arm_config(data, experiment, name, arm)


@contextmanager
def _collecting_problems(problems: list[str], config: Path) -> Iterator[None]:
    """Add errors raised in the block to the problems, worded as by `caf drift run`."""
    try:
        yield
    except ScenarioError as error:
        problems += error.problems
    except ConfigError as error:
        problems += [in_file(config, problem) for problem in error.problems]
    except ModelSettingsError as error:
        problems.append(in_file(config, str(error)))


def _prefixed(path: Path, problems: Sequence[str]) -> list[str]:
    """Prefix problems with the experiment's file, without duplicates."""
    return [f"{path}: {one}" for one in dict.fromkeys(problems)]
