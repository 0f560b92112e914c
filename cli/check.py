"""`caf check`: reports every problem of a configuration and its files at once."""

import asyncio
import os
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from assistants.engine import AssistantEngine
from assistants.registry import ENGINES
from cli.check_files import Findings, Subject, check_files, count_text, unreviewed_notes
from cli.file_kind import is_configuration
from cli.terminal import PROBLEMS, ConfigOption, config_path, leave, printable
from knowledge_base.library import KnowledgeBaseError, load
from models.client import open_models
from models.engine import Engine
from models.errors import ModelSettingsError
from models.fallback import chain as fallback_chain
from models.openai_engine import make_session
from models.settings import ModelSettings
from models.suggestions import did_you_mean
from proxy.auth.key_ring import KeyRing, open_key_ring
from proxy.auth.loopback import is_loopback
from proxy.config.blueprint import Blueprint, assemble
from proxy.config.chatbot_settings import ChatbotSettings
from proxy.config.config import Config, ConfigError, in_file, load_config
from proxy.config.local_judges import WORTH, judged_locally
from proxy.serving.unsafe_settings import unsafe_settings, unwritten_texts

DISTRIBUTION = "critical-analysis-filter"
PACKAGES = (
    "assistants", "cli", "facilitators", "judges", "knowledge_base", "models", "plots", "proxy", "scenarios",
    "scoring",
)  # fmt: skip

SECRET_HEADERS = ("api-key", "authorization", "proxy-authorization", "x-api-key")


def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE|FOLDER]...",
            help="A configuration, or further scenarios, rows (.jsonl), checkpoints, questions, experiments, facilitators and "
            "judges' prompts (.md), a knowledge base.",
        ),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Validate a configuration and its files.

    Checks prompts, knowledge bases, saved conversations and scenarios too. A problem names its file and key, and suggests
    the nearest known word for a misspelt one. Notes report risks that are not errors: sections without a review, unset
    environment variables, settings that reduce protection, violating scenarios without a harmless twin. The content of a file
    decides its kind. Several configurations are checked in turn; other files are checked with the first one.

    \b
    Examples:
      caf check
      caf check clinic.yaml
      caf check --config clinic.yaml drift.yaml
      caf check scenarios/mine replies.jsonl

    \b
    Exit codes: 0 no problems; 1 problems; 2 a file does not exist.
    """
    if missing := [path for path in files or [] if not path.exists()]:
        leave(*(f"{path}: there is no such file" for path in missing))
    configurations = [path for path in files or [] if is_configuration(path)]
    further = [path for path in files or [] if path not in configurations]
    first = config_path(config) if config is not None or not configurations else configurations[0]
    if not first.is_file():
        leave(f"{first}: there is no such file; name the configuration with --config")
    paths = {first.resolve(): first}
    for path in configurations:
        paths.setdefault(path.resolve(), path)
    counts = [_print_findings(path, examine(path, further if path is first else [])) for path in paths.values()]
    if any(counts):
        raise typer.Exit(PROBLEMS)


def _print_findings(path: Path, findings: Findings) -> int:
    """Print problems, notes and a summary; return the number of problems."""
    for problem in findings.problems:
        typer.echo(f"problem  {printable(problem)}")
    subjects = [(subject, notes) for subject, notes in findings.notes.items() if notes]
    for subject, notes in subjects:
        typer.echo(f"Notes on {subject}:")
        for note in notes:
            typer.echo(f"note     {printable(note)}")
    count = len(findings.problems)
    result = count_text(count, "problem") if count else "no problems"
    typer.echo(f"{path}: {result}" + (f" in {', '.join(findings.summary)}" if findings.summary else ""))
    return count


def examine(path: Path, files: list[Path]) -> Findings:
    """Check a configuration, the files it names, those beside it, and further files."""
    findings = Findings()
    chatbots = None
    try:
        config = load_config(path)
    except ConfigError as error:
        findings.problems += error.problems
    else:
        chatbots = _check_chatbots(config, path, findings)
        faults, acting = asyncio.run(_open_models(config.models))
        keys, key_faults = _check_keys(config)
        unwritten = [] if is_loopback(config.server.host) else unwritten_texts(config)
        findings.problems += [f"{path}: {fault}" for fault in faults + key_faults + unwritten]
        unsafe = (f"not safe: {warning}" for warning in unsafe_settings(config, keys))
        notes: dict[Subject, Iterable[str]] = {
            "actions": _fallbacks_of_acting(acting, config.models),
            "environment": chain(_unset_variables(config), _check_audit_folder(config)),
            "safety": chain(_literal_secrets(config.models), unsafe),
            "local judges": [f"chatbots.{name}: {WORTH}" for name in judged_locally(config)],
            "ignored settings": config.ignored,
        }
        for subject, lines in notes.items():
            findings.notes[subject] += [f"{path}: {line}" for line in lines]
    check_files(path.parent, files, chatbots, findings)
    findings.problems += packages_of_others()
    findings.problems = _unique(findings.problems)
    return findings


def _unique(problems: Iterable[str]) -> list[str]:
    """Return problems without duplicates, with paths in the current folder relative to it.

    A file can be checked twice: because the configuration names it, and because it was given.
    """
    here = f"{Path.cwd()}{os.sep}"
    return list(dict.fromkeys(problem.replace(here, "") for problem in problems))


def _check_keys(config: Config) -> tuple[KeyRing | None, list[str]]:
    """Return the keys and their problems. Their environment variable need not be set here, so an empty list stands in for it."""
    stand_in = {config.keys.env: "[]"} if config.keys and config.keys.env else {}
    try:
        keys = open_key_ring(config, stand_in | os.environ)
    except ConfigError as error:
        return None, error.problems
    return keys, [
        f"keys: key {record.id} ({record.name}) is for the chatbot {bot!r} (configured: {', '.join(config.chatbots)})"
        + did_you_mean(bot, config.chatbots)
        for record in (keys.valid if keys else ())
        for bot in record.chatbots or ()
        if bot not in config.chatbots
    ]


def _check_chatbots(config: Config, path: Path, findings: Findings) -> list[Blueprint] | None:
    """Check the chatbots, and return them; None: not all of them could be assembled."""
    blueprints = None
    try:
        blueprints = [*assemble(config).values()]
    except ConfigError as error:
        findings.problems += [in_file(path, problem) for problem in error.problems]
    findings.summary.append(count_text(len(config.chatbots), "chatbot"))
    sections = 0
    for folder in dict.fromkeys(bot.knowledge_base for bot in config.chatbots.values() if bot.knowledge_base):
        try:
            library = load(folder)
        except KnowledgeBaseError:
            continue  # `assemble` has reported it
        sections += len(library)
        findings.notes["knowledge bases"] += unreviewed_notes(folder, library)
    findings.summary.append(count_text(sections, "section"))
    for bot in blueprints or ():
        findings.notes["evidence"] += [
            f"{path}: chatbots.{bot.name}.evidence: {note}" for note in _evidence(bot.settings, config)
        ]
    return blueprints


def _evidence(bot: ChatbotSettings, config: Config) -> Iterator[str]:
    """Yield the reasons why a chatbot's evidence does not count, or is not compared with its replies."""
    if "upstream" in bot.evidence:
        for alias in fallback_chain(bot.model, config.models):
            model = config.models.get(alias)
            if model is not None and not model.trusted_evidence and model.engine != "assistant":
                yield f"upstream, but models.{alias} has no `trusted_evidence: true`, so no documents of {bot.model} count"
    if not bot.judges and any(one != "knowledge_base" for one in bot.evidence):
        yield "without judges, replies are not compared with documents: the chatbot sees the documents and names them only"


async def _open_models(models: dict[str, ModelSettings]) -> tuple[list[str], list[str]]:
    """Open every model with placeholders for secrets; return the faults, and the assistants that act outside."""
    faults: list[str] = []
    acting: list[str] = []

    def note_acting(alias: str, engine: Engine) -> Engine:
        if isinstance(engine, AssistantEngine) and engine.acts:
            acting.append(alias)
        return engine

    async with make_session() as session:
        for alias, settings in models.items():
            secrets = dict.fromkeys(_secret_variables(settings), "stand-in")
            try:
                await open_models({alias: settings}, session, ENGINES, secrets, wrap_engine=note_acting).close()
            except ModelSettingsError as error:
                faults.append(str(error))
    return faults, acting


def _fallbacks_of_acting(acting: list[str], models: dict[str, ModelSettings]) -> Iterator[str]:
    """Name the assistants that do not act, because a `fallback` carries no actions."""
    for alias in acting:
        if models[alias].fallback:
            yield (
                f"models.{alias}.fallback: a fallback carries no actions, so the proposals of this assistant are never "
                "executed; remove one"
            )
        for other, settings in models.items():
            if alias in settings.fallback:
                yield f"models.{other}.fallback: {alias} does not act as a fallback"


def _unset_variables(config: Config) -> Iterator[str]:
    """Name the unset environment variables that serving needs."""
    needed: list[tuple[str, str | None]] = [
        (f"models.{alias}", name) for alias, model in config.models.items() for name in _secret_variables(model)
    ]
    if config.memory.store == "redis":
        needed.append(("memory.password_env", config.memory.password_env))
    if config.privacy.url is not None:
        needed.append(("privacy.password_env", config.privacy.password_env))
    if config.keys is not None:
        needed.append(("keys.env", config.keys.env))
    for key, variable in needed:
        if variable is not None and not os.environ.get(variable):
            yield f"{key}: the environment variable {variable} is not set here; `caf serve` needs it"


def _check_audit_folder(config: Config) -> Iterator[str]:
    """Check that the audit folder can be written to, by making and deleting a temporary folder there."""
    if config.audit is None:
        return
    folder = config.audit.folder
    try:
        parent = next(one for one in (folder, *folder.parents) if one.exists())  # the rest is made when serving
        with TemporaryDirectory(prefix=".caf-check-", dir=parent):
            pass
    except OSError as error:
        yield f"audit.folder: {folder} cannot be written here ({error.strerror}); `caf serve` needs it"


def _literal_secrets(models: dict[str, ModelSettings]) -> Iterator[str]:
    """Name the headers with a secret as their value."""
    for alias, settings in models.items():
        for name, value in settings.headers.items():
            if name.lower() in SECRET_HEADERS and not value.startswith("env:"):
                yield (
                    f"models.{alias}.headers.{name}: contains a secret that every reader of this file can see; put it "
                    "into an environment variable and write `env:` and its name here"
                )


def _secret_variables(settings: ModelSettings) -> Iterator[str]:
    if settings.api_key_env:
        yield settings.api_key_env
    for value in settings.headers.values():
        if value.startswith("env:"):
            yield value.removeprefix("env:")


def packages_of_others() -> Iterator[str]:
    """Name the installed distributions that have a package with the name of one of ours."""
    installed = packages_distributions()
    for package in PACKAGES:
        others = sorted({name for name in installed.get(package, ()) if name.lower().replace("_", "-") != DISTRIBUTION})
        if others:
            yield (
                f"the package `{package}` is also installed by {', '.join(others)}, so one may hide the other; "
                f"uninstall that, or install {DISTRIBUTION} in an environment of its own"
            )
