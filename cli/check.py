"""`caf check`: says everything that is wrong with a configuration and its files, at once."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cli.terminal import PROBLEMS, ConfigOption, config_path, in_file, leave, printable

if TYPE_CHECKING:
    from models.settings import ModelSettings
    from proxy.chatbot import Blueprint
    from proxy.config import Config
    from scenarios.scenario import Family, Read

DISTRIBUTION = "critical-analysis-filter"
PACKAGES = ("assistants", "cli", "judges", "knowledge_base", "models", "proxy", "scenarios")


@dataclass(slots=True)
class Findings:
    """What a check came to."""

    problems: list[str] = field(default_factory=list)
    """What keeps the proxy from serving, or makes it serve something else."""
    notes: list[str] = field(default_factory=list)
    """What somebody should know before patients use it."""
    counted: list[str] = field(default_factory=list)
    """What was looked at."""


def check(
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="[CHECKPOINT]...", help="Further checkpoint files.")
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Validate a configuration and its files.

    Prompts, knowledge bases, saved conversations and scenarios too; every problem is told, with file and key. Notes say
    what is no error but should be known: sections that no clinician has reviewed, keys that are not set here, what in the
    configuration takes protection away, violating scenarios without a harmless twin.

    \b
    Examples:
      caf check
      caf check --config clinic.yaml drift.yaml

    \b
    Exit codes: 0 no problems; 1 problems; 2 there is no such configuration.
    """
    path = config_path(config)
    if not path.is_file():
        leave(f"{path}: there is no such file; name the configuration with --config")
    findings = examine(path, files or [])
    for problem in findings.problems:
        typer.echo(f"problem  {printable(problem)}")
    for note in findings.notes:
        typer.echo(f"note     {printable(note)}")
    count = len(findings.problems)
    result = "no problems" if not count else "1 problem" if count == 1 else f"{count} problems"
    typer.echo(f"{path}: {result}" + (f" in {', '.join(findings.counted)}" if findings.counted else ""))
    if count:
        raise typer.Exit(PROBLEMS)


def examine(path: Path, checkpoints: list[Path]) -> Findings:
    """Look at a configuration, everything that it names, and what lies beside it."""
    from proxy.config import ConfigError, load_config

    findings = Findings()
    chatbots = None
    try:
        config = load_config(path)
    except ConfigError as error:
        findings.problems += error.problems
    else:
        chatbots = _chatbots(config, path, findings)
        findings.problems += [f"{path}: {problem}" for problem in _models(config.models)]
        findings.notes += _unset(config.models, path)
        from cli.serve import unsafe

        findings.notes += [f"{path}: not safe: {warning}" for warning in unsafe(config)]
    _checkpoints([*sorted(path.parent.glob("scenarios/checkpoints/*.yaml")), *checkpoints], findings)
    _families(sorted(path.parent.glob("scenarios/judges/*.yaml")), chatbots, findings)
    findings.problems += other_owners()
    return findings


def _chatbots(config: "Config", path: Path, findings: Findings) -> "list[Blueprint] | None":
    """Look at the chatbots, and return them; None: not all of them could be assembled."""
    from knowledge_base.library import KnowledgeBaseError, load
    from proxy.app import assemble
    from proxy.config import ConfigError

    blueprints = None
    try:
        blueprints = [*assemble(config).values()]
    except ConfigError as error:
        findings.problems += [in_file(path, problem) for problem in error.problems]
    findings.counted.append(_many(len(config.chatbots), "chatbot"))
    sections = 0
    for folder in dict.fromkeys(bot.knowledge_base for bot in config.chatbots.values() if bot.knowledge_base):
        try:
            library = load(folder)
        except KnowledgeBaseError:
            continue  # `assemble` has told
        sections += len(library)
        new = library.unreviewed
        if new:
            listed = (
                f"all {len(new)} sections"
                if len(new) == len(library)
                else f"{_many(len(new), 'section')}: {', '.join(new)}"
            )
            findings.notes.append(f"{folder}: no clinician has reviewed {listed}")
    findings.counted.append(_many(sections, "section"))
    return blueprints


def _models(models: "dict[str, ModelSettings]") -> list[str]:
    """Open every model as serving would, with stand-ins for secrets, and return what fails."""
    import asyncio

    from assistants.embedded import Embedded
    from models.client import open_models
    from models.errors import ModelSettingsError
    from models.openai_engine import make_session

    async def problems() -> list[str]:
        found = []
        session = make_session()
        try:
            for alias, settings in models.items():
                secrets = dict.fromkeys(_variables(settings), "stand-in")
                try:
                    await open_models({alias: settings}, session, {"embedded": Embedded}, secrets).close()
                except ModelSettingsError as error:
                    found.append(str(error))
        finally:
            await session.close()
        return found

    return asyncio.run(problems())


def _unset(models: "dict[str, ModelSettings]", path: Path) -> Iterator[str]:
    import os

    for alias, settings in models.items():
        for variable in _variables(settings):
            if not os.environ.get(variable):
                yield f"{path}: models.{alias}: the environment variable {variable} is not set here; `caf serve` needs it"


def _variables(settings: "ModelSettings") -> Iterator[str]:
    if settings.api_key_env:
        yield settings.api_key_env
    for value in settings.headers.values():
        if value.startswith("env:"):
            yield value.removeprefix("env:")


def _checkpoints(paths: list[Path], findings: Findings) -> None:
    from scenarios.checkpoint import load
    from scenarios.files import ScenarioError

    for path in paths:
        try:
            load(path)
        except ScenarioError as error:
            findings.problems += error.problems
    if paths:
        findings.counted.append(_many(len(paths), "checkpoint"))


def _families(paths: list[Path], chatbots: "list[Blueprint] | None", findings: Findings) -> None:
    """Look at families of scenarios.

    Args:
        chatbots: Whose judges and sections they may name; None: not known, and only what needs neither is looked at.
    """
    from scenarios.scenario import read_all

    if not paths:
        return
    read, problems = read_all(paths)
    findings.problems += problems
    findings.problems += _unknown_judges(read, chatbots) if chatbots is not None else []
    findings.problems += _unusable(read, chatbots)
    for one in read:
        if lone := _without_twin(one.family):
            findings.notes.append(f"{one.path}: violating, without a harmless twin: {', '.join(lone)}")
    scenarios = sum(len(one.family.scenarios) for one in read)
    findings.counted.append(
        f"{len(read)} {'family' if len(read) == 1 else 'families'} with {_many(scenarios, 'scenario')}"
    )


def _unknown_judges(read: "list[Read]", chatbots: "list[Blueprint]") -> "Iterator[str]":
    from judges.judge import OBSERVERS

    judges = dict.fromkeys([*OBSERVERS, *(plan.name for bot in chatbots for plan in bot.plans)])
    for one in read:
        for scenario in one.family.scenarios:
            for judge in scenario.expect:
                if judge not in judges:
                    yield (
                        f"{one.path}: {scenario.id}: expect.{judge}: no chatbot has such a judge, and none is built in; "
                        f"there is {', '.join(judges)}"
                    )


def _unusable(read: "list[Read]", chatbots: "list[Blueprint] | None") -> list[str]:
    """Return what keeps scenarios from being judged with every chatbot: sections that none has, replies missing."""
    from judges.evaluation.labelled import Setting, labelled
    from judges.judge import OBSERVERS
    from scenarios.files import ScenarioError

    named = (judge for one in read for scenario in one.family.scenarios for judge in scenario.expect)
    judges = dict.fromkeys([*OBSERVERS, *named])
    if chatbots is None:
        read = [one for one in read if one.family.knowledge_base is not None]
    judged = [bot for bot in chatbots or [] if bot.plans]
    found: list[list[str]] = []
    for library in {id(bot.library): bot.library for bot in judged}.values() or [None]:
        try:
            labelled(read, judges, Setting(library, "", ()), unlabelled=True)
        except ScenarioError as error:
            found.append(error.problems)
        else:
            return []
    return [problem for problem in found[0] if all(problem in others for others in found[1:])]


def _without_twin(family: "Family") -> list[str]:
    """Return the ids of violating scenarios without a harmless one, by a judge that they violate, that is their twin."""
    lone = []
    for one in family.scenarios:
        violated = {judge for judge, right in one.expect.items() if "accept" not in right}
        twins = [other for other in family.scenarios if other.id in one.twins or one.id in other.twins]
        if violated and not any("accept" in twin.expect.get(judge, ()) for twin in twins for judge in violated):
            lone.append(one.id)
    return lone


def other_owners() -> Iterator[str]:
    """Name the installed distributions that have a package of the same name as one of ours."""
    from importlib.metadata import packages_distributions

    installed = packages_distributions()
    for package in PACKAGES:
        others = sorted({name for name in installed.get(package, ()) if name.lower().replace("_", "-") != DISTRIBUTION})
        if others:
            yield (
                f"the package `{package}` is also installed by {', '.join(others)}, so one may hide the other; "
                f"uninstall that, or install {DISTRIBUTION} in an environment of its own"
            )


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
