"""`caf check`: validates a configuration and the files that belong to it, and prints every problem at once."""

import asyncio
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

from assistants.engine import AssistantEngine
from assistants.registry import ENGINES
from cli.check_files import Findings, Subject, check_files, count_text, unreviewed_notes
from cli.file_kind import is_configuration, with_source_line
from cli.terminal import PROBLEMS, ConfigOption, config_path, environment_config, leave, printable
from knowledge_base.library import KnowledgeBaseError, load
from models.client import open_models
from models.engine import Engine
from models.errors import ModelSettingsError
from models.extras import DISTRIBUTION
from models.fallback import chain as fallback_chain
from models.openai_engine import make_session
from models.settings import ModelSettings
from models.validation_errors import did_you_mean
from proxy.auth.key_ring import KeyRing, open_key_ring
from proxy.auth.loopback import is_loopback
from proxy.config.blueprint import Blueprint, assemble
from proxy.config.chatbot_settings import ChatbotSettings
from proxy.config.config import Config, ConfigError, in_file, load_config
from proxy.config.local_judges import describe_local_judges
from proxy.config.settings import SHIPPED
from proxy.serving.unsafe_settings import unsafe_settings, unwritten_texts

PACKAGES = (
    "assistants", "cli", "facilitators", "judges", "knowledge_base", "models", "plots", "proxy", "scenarios",
    "scoring",
)  # fmt: skip
"""The top-level Python packages of this distribution."""

SECRET_HEADERS = ("api-key", "authorization", "proxy-authorization", "x-api-key")
"""Lower-case names of HTTP headers that usually carry a secret."""


def check(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH",
            help="Configurations, or other files to check: scenarios (.yaml, .jsonl), checkpoints, questions, experiments, "
            "facilitators and prompts of judges (.md), knowledge bases. In a folder, its .yaml and .jsonl files are checked; "
            "if it has a config.yaml, with that configuration.",
        ),
    ] = None,
    config: ConfigOption = None,
) -> None:
    """Validate a configuration and its files.

    Also checks the prompts, knowledge bases, saved conversations and scenarios. Each problem names its file and key. For a
    misspelt word, the message suggests the most similar valid word. Notes report risks that are not errors: sections without a
    review, unset environment variables, settings that reduce protection, and violating scenarios without a harmless
    counterpart. The content of a file determines its kind. Several configurations are checked one after another. Other files
    are checked with the first configuration. A folder with a config.yaml is checked with that file, unless --config or
    CAF_CONFIG names another.

    \b
    Examples:
      caf check
      caf check clinic.yaml
      caf check desk
      caf check --config clinic.yaml drift.yaml
      caf check scenarios/mine replies.jsonl

    \b
    Exit codes: 0 no problems; 1 problems found; 2 a file does not exist.
    """
    if missing := [path for path in files or [] if not path.exists()]:
        leave(*(f"{path}: there is no such file or folder" for path in missing))
    named: list[tuple[Path, list[Path]]] = []  # configurations, each with the folder that is checked with it
    others: list[Path] = []
    for path in files or []:
        own = path / "config.yaml"
        if is_configuration(path):
            named.append((path, []))
        elif own.is_file() and config is None and environment_config() is None:
            named.append((own, [path]))
        else:
            others.append(path)
    first = config_path(config) if config is not None or not named else named[0][0]
    if not first.is_file():
        leave(f"{first}: there is no such configuration; name one with --config, or make one with `caf init FOLDER`")
    paths: dict[Path, Path] = {}
    further: dict[Path, list[Path]] = defaultdict(list)
    for path, checked_with_it in [(first, others), *named]:
        paths.setdefault(path.resolve(), path)
        further[path.resolve()] += checked_with_it
    count = 0
    for resolved, path in paths.items():
        with Console(stderr=True).status(f"Checking {path} ..."):  # printed only on a terminal
            findings = examine(path, further[resolved])
        lends = path == SHIPPED and further[resolved]
        count += _print_findings(", ".join(map(str, further[resolved] if lends else [path])), findings)
    if count:
        raise typer.Exit(PROBLEMS)


def _print_findings(checked: str, findings: Findings) -> int:
    """Print problems, notes and a summary; return the number of problems."""
    for problem in findings.problems:
        typer.echo(f"problem  {printable(problem)}")
    subjects = [(subject, notes) for subject, notes in findings.notes.items() if notes]
    for subject, notes in subjects:
        typer.echo(f"Notes on {subject}:")
        for note in notes:
            typer.echo(f"note     {printable(note)}")
    count = len(findings.problems)
    summary = ", ".join(findings.summary)
    if count:
        typer.echo(f"Checked {checked}" + (f": {summary}" if summary else ""))
        files = {problem.partition(":")[0] for problem in findings.problems if ": " in problem}
        typer.echo(count_text(count, "problem") + (f" in {count_text(len(files), 'file')}" if files else ""))
    else:
        typer.echo(f"{checked}: no problems" + (f" in {summary}" if summary else ""))
    return count


def examine(path: Path, files: list[Path]) -> Findings:
    """Check a configuration, the files that it names, the files beside it, and further files.

    With further files, the shipped configuration is not checked: it only lends the files its judges and sections.

    Args:
        path: The configuration.
        files: Further files and folders.
    """
    findings = Findings()
    chatbots = None
    try:
        config = load_config(path)
    except ConfigError as error:
        findings.problems += with_source_line(error)
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
            "local judges": [about] if (about := describe_local_judges(config.chatbots)) else [],
            "ignored settings": config.ignored,
        }
        for subject, lines in notes.items():
            findings.notes[subject] += [f"{path}: {line}" for line in lines]
    lends_only = path == SHIPPED and bool(files)
    if lends_only:
        findings = Findings()
    check_files(path, files, chatbots, findings, only_extra=lends_only)
    findings.problems += packages_of_others()
    findings.problems = _unique(findings.problems)
    return findings


def _unique(problems: Iterable[str]) -> list[str]:
    """Deduplicate problems, and make paths below the current folder relative.

    A file is checked twice if the configuration names it and the user gave it as an argument.
    """
    here = f"{Path.cwd()}{os.sep}"
    return list(dict.fromkeys(problem.replace(here, "") for problem in problems))


def _check_keys(config: Config) -> tuple[KeyRing | None, list[str]]:
    """Load the API keys. Return them with their problems; the keys are None if they cannot be loaded.

    The environment variable `keys.env` need not be set where a configuration is checked, so an empty list replaces it.
    """
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
    """Check the chatbots of a configuration. Return them, or None if not all of them could be assembled."""
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
            continue  # `assemble` has already reported the error
        sections += len(library)
        findings.notes["knowledge bases"] += unreviewed_notes(folder, library)
    findings.summary.append(count_text(sections, "section"))
    for bot in blueprints or ():
        findings.notes["evidence"] += [
            f"{path}: chatbots.{bot.name}.evidence: {note}" for note in _evidence(bot.settings, config)
        ]
    return blueprints


def _evidence(bot: ChatbotSettings, config: Config) -> Iterator[str]:
    """Yield a note for each kind of evidence of a chatbot that has no effect on its judges."""
    if "upstream" in bot.evidence:
        for alias in fallback_chain(bot.model, config.models):
            model = config.models.get(alias)
            if model is not None and not model.trusted_evidence and model.engine != "assistant":
                yield (
                    f"contains `upstream`, but models.{alias} has no `trusted_evidence: true`, so the documents of {bot.model} "
                    "are ignored"
                )
    if not bot.judges and any(one != "knowledge_base" for one in bot.evidence):
        yield "the chatbot has no judges, so its replies are not compared with its documents"


async def _open_models(models: dict[str, ModelSettings]) -> tuple[list[str], list[str]]:
    """Open every model, with placeholders in place of secrets.

    Returns:
        The faults, and the aliases of assistants that can act outside the conversation.
    """
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
    """Yield a note for each assistant whose actions are never executed, because it has a fallback or is one.

    Args:
        acting: Aliases of assistants that can act.
    """
    for alias in acting:
        if models[alias].fallback:
            yield (
                f"models.{alias}.fallback: an assistant with a fallback cannot act, so the actions that it proposes are never "
                "executed; remove `fallback`, or use an assistant that does not act"
            )
        for other, settings in models.items():
            if alias in settings.fallback:
                yield f"models.{other}.fallback: the assistant {alias} cannot act when it is used as a fallback"


def _unset_variables(config: Config) -> Iterator[str]:
    """Yield a note for each unset environment variable that `caf serve` will need."""
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
    """Yield a note if the audit folder is not writable. The test creates a temporary folder and deletes it."""
    if config.audit is None:
        return
    folder = config.audit.folder
    try:
        parent = next(one for one in (folder, *folder.parents) if one.exists())  # `caf serve` creates the folder
        with TemporaryDirectory(prefix=".caf-check-", dir=parent):
            pass
    except OSError as error:
        yield f"audit.folder: the folder {folder} is not writable for this user ({error.strerror}); `caf serve` writes into it"


def _literal_secrets(models: dict[str, ModelSettings]) -> Iterator[str]:
    """Yield a note for each header whose value is a secret in the configuration file."""
    for alias, settings in models.items():
        for name, value in settings.headers.items():
            if name.lower() in SECRET_HEADERS and not value.startswith("env:"):
                yield (
                    f"models.{alias}.headers.{name}: the value is a secret that every reader of this file can see; put it into "
                    "an environment variable, and write `env:NAME` here"
                )


def _secret_variables(settings: ModelSettings) -> Iterator[str]:
    """Yield the names of the environment variables that hold secrets of a model."""
    if settings.api_key_env:
        yield settings.api_key_env
    for value in settings.headers.values():
        if value.startswith("env:"):
            yield value.removeprefix("env:")


def packages_of_others() -> Iterator[str]:
    """Yield a problem for each of our top-level packages that another installed distribution contains too."""
    installed = packages_distributions()
    for package in PACKAGES:
        others = sorted({name for name in installed.get(package, ()) if name.lower().replace("_", "-") != DISTRIBUTION})
        if others:
            yield (
                f"the Python package `{package}` is also part of {', '.join(others)}, and one may hide the other; uninstall "
                f"{', '.join(others)}, or install {DISTRIBUTION} in a separate environment"
            )
