"""An experiment as `caf check` looks at it: everything that `caf drift run` would refuse, before a model is asked."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from knowledge_base.library import Library
from models.errors import ModelSettingsError
from proxy.config.blueprint import assemble
from proxy.config.config import Config, ConfigError, in_file, parse_config
from scenarios import files
from scenarios.files import ScenarioError
from scoring.experiment import Experiment, load
from scoring.experiments.arm_config import arm_config
from scoring.experiments.cast import aliases
from scoring.experiments.material import check_sections, gather


def check_experiment(path: Path) -> tuple[list[str], list[str]]:
    """Return problems and notes of an experiment, each with its file; the messages are those of `caf drift run`."""
    problems: list[str] = []
    try:
        experiment = load(path)
    except ScenarioError as error:
        return error.problems, []
    material = library = None
    with _collected(problems, experiment.config):
        material = gather(experiment)
    with _collected(problems, experiment.config):
        data = files.read(experiment.config, "a configuration", ", ".join(Config.model_fields))
        library = _library(experiment, parse_config(data, experiment.config), problems)
        _arms(experiment, data, problems)
    if material is not None and library is not None:
        with _collected(problems, experiment.config):
            check_sections(material, library)
    return _within(path, problems), _within(path, material.notes if material else ())


def _library(experiment: Experiment, config: Config, problems: list[str]) -> Library | None:
    """Look at the aliases and the chatbot of an experiment, and return its sections, if they can be had."""
    with _collected(problems, experiment.config):
        aliases(experiment, config)
    if experiment.chatbot not in config.chatbots:
        known = ", ".join(config.chatbots)
        problems.append(f"{experiment.config}: has no chatbot {experiment.chatbot!r}; it has {known}")
        return None
    with _collected(problems, experiment.config):
        return assemble(config)[experiment.chatbot].library or Library([])
    return None


def _arms(experiment: Experiment, data: Mapping[str, Any], problems: list[str]) -> None:
    """Assemble what each arm changes; whether its secrets are set is not looked at."""
    for name, arm in experiment.arms.items():
        if arm.url is None and (arm.chatbot or experiment.chatbot in data.get("chatbots", {})):
            with _collected(problems, experiment.config):
                changed = arm_config(data, experiment, name, arm)
                if arm.set:
                    _assemble(changed, name)


def _assemble(config: Config, arm: str) -> None:
    try:
        assemble(config)
    except ConfigError as error:
        raise ConfigError([f"arm {arm!r}: {problem}" for problem in error.problems]) from None


@contextmanager
def _collected(problems: list[str], config: Path) -> Iterator[None]:
    """Keep what is wrong, as `caf drift run` tells it."""
    try:
        yield
    except ScenarioError as error:
        problems += error.problems
    except ConfigError as error:
        problems += [in_file(config, problem) for problem in error.problems]
    except ModelSettingsError as error:
        problems.append(in_file(config, str(error)))


def _within(path: Path, told: Sequence[str]) -> list[str]:
    """Name the experiment that needs what is told of; the same may be told of several."""
    return [f"{path}: {one}" for one in dict.fromkeys(told)]
